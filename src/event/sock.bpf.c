// SPDX-License-Identifier: GPL-2.0-only
/* Events of the socket layer. */
#include "event/sock.h"
#include "event/event.bpf.h"

#define MSG_PEEK  2
#define ECANCELED 125

/* --- sock.send, sock.recv: in process context, after the call has done its work --- */

EVENT(sock_send, struct sock_io_event)
EVENT(sock_recv, struct sock_io_event)

static __always_inline void set_result(struct sock_io *io, int result)
{
	io->bytes = result < 0 ? EVENT_UNKNOWN64 : (__u64)result;
	io->error = result < 0 ? (__u32)-result : 0;
}

static __always_inline int sent(void *ctx, struct sock *sk, int result)
{
	struct sock_io_event *e = sock_send_begin();

	if (!e)
		return 0;
	event_set_used_sock(&sock_send_config, &e->head, sk);
	set_result(&e->data, result);
	return sock_send_end(ctx, e);
}

static __always_inline int received(void *ctx, struct sock *sk, int result, int flags)
{
	struct sock_io_event *e;

	/* Who only looks will come again. */
	if (flags & MSG_PEEK)
		return 0;
	e = sock_recv_begin();
	if (!e)
		return 0;
	event_set_used_sock(&sock_recv_config, &e->head, sk);
	set_result(&e->data, result);
	return sock_recv_end(ctx, e);
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

/* Before 6.3 there are no such tracepoints. */
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

/* --- sock.connect: begins in process context, ends wherever the answer arrives --- */

EVENT(sock_connect, struct sock_connect_event)

struct connecting {
	__u64 began_ns; /* 0: nothing under way */
};
EVENT_SOCK_STORE(sock_connect, began, struct connecting);

static __always_inline int connect_ended(void *ctx, struct sock *sk, struct connecting *connecting, int newstate)
{
	struct sock_connect_event *e;
	__u64 began_ns = connecting->began_ns;

	/* Of two programs that see the same change, one speaks. */
	connecting->began_ns = 0;
	if (began_ns == 0)
		return 0;
	e = sock_connect_begin();
	if (!e)
		return 0;
	event_set_sock(&sock_connect_config, &e->head, sk);
	e->data.lat_ns = bpf_ktime_get_boot_ns() - began_ns;
	/* Closed without an error: the application did not wait for the answer. */
	if (newstate == SOCKET_CLOSE)
		e->data.error = (__u32)sk->sk_err ?: ECANCELED;
	return sock_connect_end(ctx, e);
}

static __always_inline int connect_state(void *ctx, struct sock *sk, int oldstate, int newstate)
{
	struct connecting *connecting;

	if (newstate == SOCKET_SYN_SENT) {
		connecting = bpf_sk_storage_get(&sock_connect_began, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
		if (connecting)
			connecting->began_ns = bpf_ktime_get_boot_ns();
		/* The owner's own program may run after this one. */
		event_learn_owner(sk);
		return 0;
	}
	if (oldstate != SOCKET_SYN_SENT)
		return 0;
	connecting = bpf_sk_storage_get(&sock_connect_began, sk, NULL, 0);
	return connecting ? connect_ended(ctx, sk, connecting, newstate) : 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_connect_state, struct sock *sk, int oldstate, int newstate)
{
	return connect_state(ctx, sk, oldstate, newstate);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_connect_state_twin, struct sock *sk, int oldstate, int newstate)
{
	return connect_state(ctx, sk, oldstate, newstate);
}
