/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A BPF program that is put together here (insn.h) and run by whoever wants its result, not by an event: a main part, and a step
 * that it has repeated (Linux 5.17 and later). Both share an area of memory with the caller.
 */
#pragma once

#include "base/why.h"
#include "kernel/insn.h"

struct code {
	struct bpf_insn items[768];
	size_t count;
	size_t step;     /* where the step begins */
	size_t repeated; /* the instruction that names it */
};

void code_put(struct code *code, const struct bpf_insn *insns, size_t count);

#define PUT(code, ...)                                                                                                 \
	code_put((code), (const struct bpf_insn[]){__VA_ARGS__},                                                       \
		 sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

/* The last instruction jumps; code_land sets where to: to what comes next. */
size_t code_jump(const struct code *code);
void code_land(struct code *code, size_t jump);
/* Repeats the step, at most so many times, until it returns 1; returns. The step comes next. */
void code_repeat(struct code *code, int times);

struct program {
	int fd;
	void *area;
	size_t area_size;
};

/* Memory that the program shares with the caller, zeroed. Returns the number that the program knows it by; close it after loading. */
int program_share(struct program *program, const char *name, size_t size, struct why *why) _must_check_;
int program_load(struct program *program, const char *name, const struct code *code, struct why *why) _must_check_;
int program_run(const struct program *program) _must_check_;
void program_done(struct program *program);
