/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs at the exit of a system call. The per-call tracepoint needs tracefs; without it sys_exit of all calls is
 * used, which costs every system call a little. One function serves both:
 *
 *	static __always_inline int bound(void *ctx, struct pt_regs *regs, long result) ...
 *	EVENT_SYSCALL(sock_bind, bind, bound)      programs sock_bind_exit and sock_bind_any_exit
 */
#pragma once

#include <asm/unistd.h>

#include "event/bpf/fd.bpf.h"

#define EVENT_SYSCALL(event, call, function)                                                                           \
	SEC("tracepoint/syscalls/sys_exit_" #call)                                                                     \
	int event##_exit(struct event_sys_exit *ctx)                                                                   \
	{                                                                                                              \
		return function(ctx, event_task_regs(), ctx->result);                                                  \
	}                                                                                                              \
	SEC("tp_btf/sys_exit")                                                                                         \
	int BPF_PROG(event##_any_exit, struct pt_regs *regs, long result)                                              \
	{                                                                                                              \
		return event_syscall_number(regs) == __NR_##call ? function(ctx, regs, result) : 0;                    \
	}

/* The same at entry, without a result: programs with _enter and _any_enter. */
#define EVENT_SYSCALL_ENTER(event, call, function)                                                                     \
	SEC("tracepoint/syscalls/sys_enter_" #call)                                                                    \
	int event##_enter(void *ctx)                                                                                   \
	{                                                                                                              \
		return function(ctx, event_task_regs());                                                               \
	}                                                                                                              \
	SEC("tp_btf/sys_enter")                                                                                        \
	int BPF_PROG(event##_any_enter, struct pt_regs *regs, long number)                                             \
	{                                                                                                              \
		return number == __NR_##call ? function(ctx, regs) : 0;                                                \
	}

/* User registers of the current process at kernel entry. */
static __always_inline struct pt_regs *event_task_regs(void)
{
#ifdef BPF_BASIC
	/* The end of the kernel stack. */
	char *stack = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack);

	return (struct pt_regs *)(stack + KERNEL_STACK_BYTES - bpf_core_type_size(struct pt_regs___kernel));
#else
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
#endif
}

/* Arguments of the call, from 0. Still valid at its exit. */
static __always_inline unsigned long event_syscall_arg(struct pt_regs *regs, int index)
{
	struct pt_regs___kernel *kernel = (struct pt_regs___kernel *)regs;

	switch (index) {
	case 0:
		return BPF_CORE_READ(kernel, REGISTER_ARG0);
	case 1:
		return BPF_CORE_READ(kernel, REGISTER_ARG1);
	case 2:
		return BPF_CORE_READ(kernel, REGISTER_ARG2);
	case 3:
		return BPF_CORE_READ(kernel, REGISTER_ARG3);
	case 4:
		return BPF_CORE_READ(kernel, REGISTER_ARG4);
	default:
		return BPF_CORE_READ(kernel, REGISTER_ARG5);
	}
}

#define AF_UNIX_PATH 2 /* offset of the path in the address */

/* A user-space socket address, if IP; the caller chooses the end of the head. */
static __always_inline void event_set_user_addr(struct event_head *head, const void *from, struct addr *addr,
						__u16 *port)
{
	struct {
		__u16 family;
		__be16 port;
		__be32 four; /* flow label of an IPv6 address */
		__u32 six[4];
	} user = {};

	if (bpf_probe_read_user(&user, 8, from) < 0)
		return;
	if (user.family == AF_INET) {
		event_set_v4(addr, user.four);
	} else if (user.family == AF_INET6) {
		if (bpf_probe_read_user(user.six, sizeof(user.six), (const char *)from + 8) < 0)
			return;
		event_set_v6(addr, user.six);
	} else {
		return;
	}
	*port = bpf_ntohs(user.port);
	head->family = addr->family;
}

/* Path of a UNIX address of that length; abstract names begin with @. */
static __always_inline void event_set_user_path(char *path, const void *from, unsigned long len)
{
	const char *name = (const char *)from + AF_UNIX_PATH;
	__u16 family = 0;

	if (len <= AF_UNIX_PATH || bpf_probe_read_user(&family, sizeof(family), from) < 0 || family != AF_UNIX)
		return;
	len -= AF_UNIX_PATH;
	if (len > EVENT_PATH_LEN - 1)
		len = EVENT_PATH_LEN - 1;
	if (bpf_probe_read_user(path, len & (EVENT_PATH_LEN - 1), name) == 0 && path[0] == 0)
		path[0] = '@';
}
