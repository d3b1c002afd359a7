/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BPF program assembled at run time (insn.h) and run on demand, not by an event: a main part, and a step that it
 * repeats (Linux 5.17 and later). Both share an area of memory with the caller.
 */
#pragma once

#include "base/why.h"

struct insns;

struct program {
	int fd;
	void *area;
	size_t area_size;
};

/* Zeroed memory shared with the program. Returns the map's descriptor; close it after loading. */
int program_share(struct program *program, const char *name, size_t size, struct why *why) _must_check_;
int program_load(struct program *program, const char *name, const struct insns *code, struct why *why) _must_check_;
int program_run(const struct program *program) _must_check_;
void program_done(struct program *program);

/* Whether the kernel supports fentry: loads an empty program for that function. */
int program_try_entry(const char *function) _must_check_;
/* Whether programs may use atomic operations that return a value (Linux 5.12). */
int program_try_atomics(void) _must_check_;
/* Whether programs can access a kernel variable: BTF may list some without an address. */
int program_try_variable(const char *variable) _must_check_;
