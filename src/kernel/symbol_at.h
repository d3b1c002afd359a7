/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel function at an address, asked of the kernel itself: a few names cost less than a millisecond, all of
 * /proc/kallsyms a hundred. Kernels without bpf_snprintf (before 5.13) and processes without BPF read that file.
 */
#pragma once

#include <stdint.h>

/* Kept for the life of the process; NULL when unknown. */
const char *kernel_symbol_at(uint64_t address);
