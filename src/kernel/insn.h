/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions for BPF programs that nest assembles at run time: for programs whose work takes less time than loading
 * them with libbpf (13 ms).
 */
#pragma once

#include <linux/bpf.h>

#include "base/macros.h"

/* R0: return value; R1 to R5: arguments, clobbered by calls; R6 to R9: preserved. */
enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, STACK };

static inline struct bpf_insn insn(unsigned code, unsigned to, unsigned from, int offset, int value)
{
	return (struct bpf_insn){(uint8_t)code, to & 0xf, from & 0xf, (int16_t)offset, value};
}

#define LOAD(size, to, from, offset)  insn(BPF_LDX | BPF_MEM | (size), to, from, (int)(offset), 0)
#define STORE(size, to, offset, from) insn(BPF_STX | BPF_MEM | (size), to, from, (int)(offset), 0)
#define COPY(to, from)                insn(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define SET(to, value)                insn(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, (int)(value))
#define ADD(to, value)                insn(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, (int)(value))
#define CALCULATE(op, to, from)       insn(BPF_ALU64 | (op) | BPF_X, to, from, 0, 0)
#define CALCULATE_BY(op, to, value)   insn(BPF_ALU64 | (op) | BPF_K, to, 0, 0, (int)(value))
/* On 32 bits: the upper half becomes zero. */
#define CALCULATE32(op, to, from)      insn(BPF_ALU | (op) | BPF_X, to, from, 0, 0)
#define CALCULATE32_BY(op, to, value)  insn(BPF_ALU | (op) | BPF_K, to, 0, 0, (int)(value))
#define SKIP(count)                    insn(BPF_JMP | BPF_JA, 0, 0, count, 0)
#define SKIP_IF(test, a, b, count)     insn(BPF_JMP | (test) | BPF_X, a, b, count, 0)
#define SKIP_IF_BY(test, a, by, count) insn(BPF_JMP | (test) | BPF_K, a, 0, count, (int)(by))
#define SKIP_IF_NULL(what, count)      SKIP_IF_BY(BPF_JEQ, what, 0, count)
#define CALL(helper)                   insn(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
/* Calls a kfunc by its BTF id. */
#define CALL_KERNEL(function) insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, (int)(function))
#define RETURN                insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Two instructions: the address of a map value (BPF_PSEUDO_MAP_VALUE) or of a function (BPF_PSEUDO_FUNC). */
#define ADDRESS(kind, to, of) insn(BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, (int)(of)), insn(0, 0, 0, 0, 0)

/* A program under construction (program.h loads it). */
struct insns {
	struct bpf_insn items[1024];
	size_t count;
	size_t step;     /* start of the step */
	size_t repeated; /* the instruction that refers to it */
};

void insns_put(struct insns *code, const struct bpf_insn *insns, size_t count);

#define PUT(code, ...)                                                                                                 \
	insns_put((code), (const struct bpf_insn[]){__VA_ARGS__},                                                      \
		  sizeof((const struct bpf_insn[]){__VA_ARGS__}) / sizeof(struct bpf_insn))

/* The last instruction is a jump; insns_land sets its target to the next instruction. */
size_t insns_jump(const struct insns *code);
void insns_land(struct insns *code, size_t jump);
/* Runs the step at most `times` times, until it returns 1, then returns. The step follows. */
void insns_repeat(struct insns *code, int times);
