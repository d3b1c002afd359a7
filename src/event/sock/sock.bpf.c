// SPDX-License-Identifier: GPL-2.0-only
/* Events of the socket layer. */
#define EVENT_IS_FREQUENT
#include "event/sock/sock.h"
#include "event/bpf/brief.bpf.h"
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

/*
 * The same by kprobes, where functions cannot be traced otherwise (arm64 before 6.4): what the call was about is kept
 * until it returns.
 */
#define CALLS_MAX 65536

struct call {
	__u64 sk;
	__u64 flags;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CALLS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct call);
} sock_send_calls SEC(".maps"), sock_recv_calls SEC(".maps");

/*
 * The kernel follows the returns of few calls of a function at a time, and drops the others silently: one that is still
 * there at the end of the system call was lost. Kernel threads make none; there the thread's next call finds it.
 */
static __always_inline int call_began(void *calls, struct event_losses *losses, struct socket *socket, int flags)
{
	struct call call = {.sk = (__u64)BPF_CORE_READ(socket, sk), .flags = (__u32)flags};
	__u64 thread = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(calls, &thread))
		__sync_fetch_and_add(&losses->memory, 1);
	event_remember(calls, &thread, &call, losses);
	return 0;
}

static __always_inline bool call_ended(void *calls, struct call *ret_call)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct call *call = bpf_map_lookup_elem(calls, &thread);

	if (!call)
		return false;
	*ret_call = *call;
	bpf_map_delete_elem(calls, &thread);
	return true;
}

static __always_inline int count_left(void *calls, struct event_losses *losses)
{
	__u64 thread = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(calls, &thread) && bpf_map_delete_elem(calls, &thread) == 0)
		__sync_fetch_and_add(&losses->memory, 1);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sock_send_call_left, struct pt_regs *regs, long result)
{
	return count_left(&sock_send_calls, &sock_send_losses);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sock_recv_call_left, struct pt_regs *regs, long result)
{
	return count_left(&sock_recv_calls, &sock_recv_losses);
}

#define SEND_BY_KPROBE(program, function)                                                                              \
	SEC("kprobe/" #function)                                                                                       \
	int BPF_KPROBE(program, struct socket *socket)                                                                 \
	{                                                                                                              \
		return call_began(&sock_send_calls, &sock_send_losses, socket, 0);                                     \
	}                                                                                                              \
	SEC("kretprobe/" #function)                                                                                    \
	int BPF_KRETPROBE(program##_done, int result)                                                                  \
	{                                                                                                              \
		struct call call;                                                                                      \
		return call_ended(&sock_send_calls, &call) ? send_returned(ctx, (struct sock *)call.sk, result, false) \
							   : 0;                                                        \
	}

#define RECEIVE_BY_KPROBE(program, function)                                                                           \
	SEC("kprobe/" #function)                                                                                       \
	int BPF_KPROBE(program, struct socket *socket, void *message, __u64 size, int flags)                           \
	{                                                                                                              \
		return call_began(&sock_recv_calls, &sock_recv_losses, socket, flags);                                 \
	}                                                                                                              \
	SEC("kretprobe/" #function)                                                                                    \
	int BPF_KRETPROBE(program##_done, int result)                                                                  \
	{                                                                                                              \
		struct call call;                                                                                      \
		return call_ended(&sock_recv_calls, &call)                                                             \
			       ? receive_returned(ctx, (struct sock *)call.sk, result, (int)call.flags, false)         \
			       : 0;                                                                                    \
	}

SEND_BY_KPROBE(sock_send_call, inet_sendmsg)
SEND_BY_KPROBE(sock_send_call6, inet6_sendmsg)
RECEIVE_BY_KPROBE(sock_recv_call, inet_recvmsg)
RECEIVE_BY_KPROBE(sock_recv_call6, inet6_recvmsg)

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
