// SPDX-License-Identifier: GPL-2.0-only
/* Events of the socket layer. */
#define EVENT_IS_FREQUENT
#include "event/sock/sock.h"
#include "event/bpf/brief.bpf.h"
#include "event/bpf/calls.bpf.h"
#include "event/bpf/syscall.bpf.h"

#define MSG_PEEK 2

/* --- sock.send, sock.recv: in process context, after the call has done its work --- */

EVENT(sock_send, struct sock_io_event)
EVENT(sock_recv, struct sock_io_event)
EVENT_ADDS_BRIEFLY(sock_send)
EVENT_ADDS_BRIEFLY(sock_recv)

/* Filter clauses on bytes, error and process: calls that they reject cost nothing more. */
const volatile struct event_config sock_send_early = {}, sock_recv_early = {};

static __always_inline void set_result(struct sock_io *io, int result)
{
	io->bytes = result < 0 ? EVENT_UNKNOWN64 : (__u64)result;
	io->error = result < 0 ? (__u32)-result : 0;
}

/* Failed calls have no bytes to aggregate. */
static __always_inline bool is_left_out(const volatile struct event_config *config, int result)
{
	return result < 0 && config->mode != EVENT_COUNT;
}

static __always_inline bool passes_early(const volatile struct event_config *early, struct sock_io_event *e)
{
	event_set_process(early, &e->head);
	return early->term_count == 0 || event_matches(early, (const char *)e);
}

/* typed: the verifier knows the pointer as a socket, which it does not in a kprobe. */
static __always_inline int send_returned(void *ctx, struct sock *sk, int result, bool typed)
{
	struct sock_io_event *e;

	if (sock_send_config.brief)
		return is_left_out(&sock_send_config, result) ? 0 : sock_send_add_briefly(sk, result);
	e = sock_send_begin_early();
	if (!e)
		return 0;
	set_result(&e->data, result);
	if (!passes_early(&sock_send_early, e)) {
		sock_send_cancel(e);
		return 0;
	}
	event_init(&sock_send_config, &e->head);
	if (typed)
		event_set_used_sock(&sock_send_config, &e->head, sk);
	else
		event_set_found_sock(&sock_send_config, &e->head, sk);
	return sock_send_end(ctx, e);
}

static __always_inline int sent(void *ctx, struct sock *sk, int result)
{
	return send_returned(ctx, sk, result, true);
}

static __always_inline int receive_returned(void *ctx, struct sock *sk, int result, int flags, bool typed)
{
	struct sock_io_event *e;

	/* MSG_PEEK: the data is read again later. */
	if (flags & MSG_PEEK)
		return 0;
	if (sock_recv_config.brief)
		return is_left_out(&sock_recv_config, result) ? 0 : sock_recv_add_briefly(sk, result);
	e = sock_recv_begin_early();
	if (!e)
		return 0;
	set_result(&e->data, result);
	if (!passes_early(&sock_recv_early, e)) {
		sock_recv_cancel(e);
		return 0;
	}
	event_init(&sock_recv_config, &e->head);
	if (typed)
		event_set_used_sock(&sock_recv_config, &e->head, sk);
	else
		event_set_found_sock(&sock_recv_config, &e->head, sk);
	return sock_recv_end(ctx, e);
}

static __always_inline int received(void *ctx, struct sock *sk, int result, int flags)
{
	return receive_returned(ctx, sk, result, flags, true);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_send_length, struct sock *sk, int result, int flags)
{
	return sent(ctx, sk, result);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_recv_length, struct sock *sk, int result, int flags)
{
	return received(ctx, sk, result, flags);
}

/* These tracepoints exist since 6.3. */
SEC("fexit/inet_sendmsg")
int BPF_PROG(sock_send_inet, struct socket *socket, void *message, __u64 size, int result)
{
	return sent(ctx, socket->sk, result);
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(sock_send_inet6, struct socket *socket, void *message, __u64 size, int result)
{
	return sent(ctx, socket->sk, result);
}

/* sendfile and splice on those kernels. */
SEC("fexit/inet_sendpage")
int BPF_PROG(sock_send_page, struct socket *socket, void *page, int offset, __u64 size, int flags, long result)
{
	return sent(ctx, socket->sk, (int)result);
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(sock_recv_inet, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return received(ctx, socket->sk, result, flags);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(sock_recv_inet6, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return received(ctx, socket->sk, result, flags);
}

/* The same by kprobes. */
EVENT_CALLS(sock_send)
EVENT_CALLS(sock_recv)

static __always_inline int send_call_done(void *ctx, struct sock *sk, int result, int flags)
{
	return send_returned(ctx, sk, result, false);
}

static __always_inline int receive_call_done(void *ctx, struct sock *sk, int result, int flags)
{
	return receive_returned(ctx, sk, result, flags, false);
}

EVENT_SEND_CALL(sock_send, sock_send_call, inet_sendmsg, event_any_sock, send_call_done)
EVENT_SEND_CALL(sock_send, sock_send_call6, inet6_sendmsg, event_any_sock, send_call_done)
EVENT_RECEIVE_CALL(sock_recv, sock_recv_call, inet_recvmsg, event_any_sock, receive_call_done)
EVENT_RECEIVE_CALL(sock_recv, sock_recv_call6, inet6_recvmsg, event_any_sock, receive_call_done)

/* --- sock.splice: what leaves a socket by splice passes none of the above --- */

EVENT(sock_splice, struct sock_io_event)

static __always_inline int spliced(void *ctx, struct pt_regs *regs, long result)
{
	struct sock *sk = event_fd_sock((__u32)event_syscall_arg(regs, 0));
	struct sock_io_event *e;

	if (!sk)
		return 0;
	e = sock_splice_begin();
	if (!e)
		return 0;
	event_set_found_sock(&sock_splice_config, &e->head, sk);
	set_result(&e->data, (int)result);
	return sock_splice_end(ctx, e);
}

EVENT_SYSCALL(sock_splice, splice, spliced)
