// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.accept: the end of accept and accept4. The new socket is found by its descriptor, so it does not matter whether the
 * application asked for the peer's address. Calls that found nobody (EAGAIN) are not told.
 */
#include <asm/unistd.h>

#include "event/fd.bpf.h"
#include "event/sock_accept.h"

#define EAGAIN 11

EVENT(sock_accept, struct sock_accept_event)

static __always_inline int accepted(void *ctx, long result)
{
	struct sock_accept_event *e;

	if (result == -EAGAIN)
		return 0;
	e = sock_accept_begin();
	if (!e)
		return 0;
	event_set_found_sock(&sock_accept_config, &e->head, result < 0 ? NULL : event_fd_sock((__u32)result));
	e->data.fd = result < 0 ? EVENT_UNKNOWN32 : (__u32)result;
	e->data.error = result < 0 ? (__u32)-result : 0;
	return sock_accept_end(ctx, e);
}

SEC("tracepoint/syscalls/sys_exit_accept")
int sock_accept_exit(struct event_sys_exit *ctx)
{
	return accepted(ctx, ctx->result);
}

SEC("tracepoint/syscalls/sys_exit_accept4")
int sock_accept4_exit(struct event_sys_exit *ctx)
{
	return accepted(ctx, ctx->result);
}

/* Where tracefs is not mounted: all system calls come by. */
SEC("tp_btf/sys_exit")
int BPF_PROG(sock_accept_any_exit, struct pt_regs *regs, long result)
{
	long number = event_syscall_number(regs);

	return number == __NR_accept || number == __NR_accept4 ? accepted(ctx, result) : 0;
}
