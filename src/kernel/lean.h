/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a BPF object that libbpf can load without the kernel's whole BTF: ids of types, functions and tracepoints are
 * written to the object, and a small file replaces the kernel's BTF (types_cut.h). The sections of its tracing programs
 * get other names, with their own section handler in libbpf.
 */
#pragma once

#include "base/macros.h"

/*
 * Changes the object, a copy made by slim_copy, and returns the file of types. Negative: the object is unchanged and
 * libbpf must read the kernel's BTF: a symbol is in a module.
 */
int lean_make(void *object, int *ret_types_fd) _must_check_;
