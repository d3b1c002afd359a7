/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BPF program that is put together here (insn.h) and run by whoever wants its result, not by an event: a main part,
 * and a step that it has repeated (Linux 5.17 and later). Both share an area of memory with the caller.
 */
#pragma once

#include "base/why.h"

struct insns;

struct program {
	int fd;
	void *area;
	size_t area_size;
};

/* Memory shared with the program, zeroed. Returns the number that the program knows it by; close it after loading. */
int program_share(struct program *program, const char *name, size_t size, struct why *why) _must_check_;
int program_load(struct program *program, const char *name, const struct insns *code, struct why *why) _must_check_;
int program_run(const struct program *program) _must_check_;
void program_done(struct program *program);

/* Whether the kernel takes a program at the entry of a function at all: an empty one at that function is loaded. */
int program_try_entry(const char *function) _must_check_;
/* Whether programs can get at a variable of the kernel: BTF may name some whose place the kernel has forgotten. */
int program_try_variable(const char *variable) _must_check_;
