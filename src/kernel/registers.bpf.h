/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of a process in a system call, per architecture: members of struct pt_regs___kernel.
 *
 * KERNEL_STACK_BYTES: the registers are at the end of the task's kernel stack; bpf_task_pt_regs knows since 5.15.
 *
 * The first argument is read where the entry of the call saved it: on arm64 its register holds the result at exit.
 */
#pragma once

#if defined(__TARGET_ARCH_x86)
#define REGISTER_CALL      orig_ax
#define REGISTER_ARG0      di
#define REGISTER_ARG1      si
#define REGISTER_ARG2      dx
#define REGISTER_ARG3      r10
#define REGISTER_ARG4      r8
#define REGISTER_ARG5      r9
#define KERNEL_STACK_BYTES 16384
#elif defined(__TARGET_ARCH_arm64)
#define REGISTER_CALL      syscallno
#define REGISTER_ARG0      orig_x0
#define REGISTER_ARG1      regs[1]
#define REGISTER_ARG2      regs[2]
#define REGISTER_ARG3      regs[3]
#define REGISTER_ARG4      regs[4]
#define REGISTER_ARG5      regs[5]
#define KERNEL_STACK_BYTES 16384
#else
#error "the BPF programs of nest know the registers of x86 and arm64 only; add this architecture here"
#endif
