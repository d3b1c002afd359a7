// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.accept: return of accept and accept4, by system call or io_uring. The new socket is found by its descriptor,
 * whether or not the application wants the peer's address. EAGAIN is not reported.
 */
#include "event/sock/sock_accept.h"
#include "event/bpf/syscall.bpf.h"

#define EAGAIN           11
#define IORING_OP_ACCEPT 13

EVENT(sock_accept, struct sock_accept_event)

static __always_inline int report_accept(void *ctx, struct sock *sk, long result)
{
	struct sock_accept_event *e = sock_accept_begin();

	if (!e)
		return 0;
	event_set_found_sock(&sock_accept_config, &e->head, sk);
	e->data.fd = result < 0 ? EVENT_UNKNOWN32 : (__u32)result;
	e->data.error = result < 0 ? (__u32)-result : 0;
	return sock_accept_end(ctx, e);
}

static __always_inline int accepted(void *ctx, struct pt_regs *regs, long result)
{
	if (result == -EAGAIN)
		return 0;
	return report_accept(ctx, result < 0 ? NULL : event_fd_sock((__u32)result), result);
}

EVENT_SYSCALL(sock_accept, accept, accepted)
EVENT_SYSCALL(sock_accept4, accept4, accepted)

/* A request completes in the thread that submitted it. Its type is not in the tracepoint's signature. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(sock_accept_ring, void *ring, void *request)
{
	struct io_kiocb___result *accept = request;
	struct sock *sk;
	int result;

	if (!accept || BPF_CORE_READ(accept, opcode) != IORING_OP_ACCEPT)
		return 0;
	result = BPF_CORE_READ(accept, cqe.res);
	if (result == -EAGAIN)
		return 0;
	sk = result < 0 ? NULL : event_fd_sock((__u32)result);
	/* Direct descriptors of io_uring have no file descriptor. */
	return result < 0 || sk ? report_accept(ctx, sk, result) : 0;
}
