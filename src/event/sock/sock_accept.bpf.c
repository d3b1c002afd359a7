// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.accept: the end of accept and accept4, by system call or through io_uring. The new socket is found by its
 * descriptor, so it does not matter whether the application asked for the peer's address. Calls that found nobody
 * (EAGAIN) are not told.
 */
#include "event/sock/sock_accept.h"
#include "event/bpf/syscall.bpf.h"

#define EAGAIN           11
#define IORING_OP_ACCEPT 13

EVENT(sock_accept, struct sock_accept_event)

static __always_inline int tell_accept(void *ctx, struct sock *sk, long result)
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
	return tell_accept(ctx, result < 0 ? NULL : event_fd_sock((__u32)result), result);
}

EVENT_SYSCALL(sock_accept, accept, accepted)
EVENT_SYSCALL(sock_accept4, accept4, accepted)

/* A request is completed on behalf of the thread that made it. Its type is not in the tracepoint's signature. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(sock_accept_ring, void *ring, void *request)
{
	struct io_kiocb *accept = request;
	struct sock *sk;
	int result;

	if (!accept || BPF_CORE_READ(accept, opcode) != IORING_OP_ACCEPT)
		return 0;
	result = BPF_CORE_READ(accept, cqe.res);
	if (result == -EAGAIN)
		return 0;
	sk = result < 0 ? NULL : event_fd_sock((__u32)result);
	/* Sockets that stay inside the ring have no descriptor. */
	return result < 0 || sk ? tell_accept(ctx, sk, result) : 0;
}
