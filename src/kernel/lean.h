/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BPF object that libbpf can load without the kernel's type information: where it would look something up in there,
 * the answer is in the object already (numbers of types, functions and tracepoints), or in a small file that it is
 * given instead (types_cut.h). The sections of its tracing programs get other names, with a handler of their own in
 * libbpf.
 */
#pragma once

#include "base/macros.h"

/*
 * Changes the object, which is a copy made by slim_copy, and hands out the file of types. Negative: it was left as it
 * is, and libbpf has to go the long way: where a program takes a variable of the kernel, say, or something is in a
 * module.
 */
int lean_make(void *object, int *ret_types_fd) _must_check_;
