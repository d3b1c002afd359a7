// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.close and udp.close. cgroup programs see creation and release of every IP socket, in process context however the
 * descriptor is closed. There the addresses of a socket cannot be read by name, so its kernel address is saved at first
 * use.
 */
#define EVENT_WITHOUT_STACKS
#include "event/sock/sock_close.h"
#include "event/bpf/calls.bpf.h"
#include "event/bpf/fd.bpf.h"

#define IPPROTO_UDP     17
#define IPPROTO_UDPLITE 136
#define MSG_PEEK        2

/* Return value of cgroup programs: allow. */
#define ALLOW 1

struct sock_life {
	__u64 born_ns; /* 0: before the run */
	__u64 sk;      /* for reading while the socket exists; 0: not used yet */
	__u64 tx_bytes;
	__u64 rx_bytes;
	__u64 sends;
	__u64 receives;
};

EVENT(sock_close, struct sock_close_event)
EVENT(udp_close, struct sock_close_event)
EVENT_SOCK_STORE(sock_close, life, struct sock_life);
EVENT_SOCK_STORE(udp_close, life, struct sock_life);

/* By kprobes, which have no socket storage: the sums of each socket that sent or received. */
EVENT_CALLS(sock_close)
EVENT_CALLS(udp_close)
EVENT_FOUND_STORE(sock_close, sums, struct sock_life);
EVENT_FOUND_STORE(udp_close, sums, struct sock_life);

static __always_inline bool is_udp(__u32 protocol)
{
	return protocol == IPPROTO_UDP || protocol == IPPROTO_UDPLITE;
}

static __always_inline void life_begins(struct sock_life *life)
{
	if (life)
		life->born_ns = bpf_ktime_get_boot_ns();
}

static __always_inline int life_sent(struct sock_life *life, struct sock *sk, int result)
{
	if (!life || result < 0)
		return 0;
	life->sk = event_address(sk);
	__sync_fetch_and_add(&life->tx_bytes, (__u64)result);
	__sync_fetch_and_add(&life->sends, 1);
	return 0;
}

static __always_inline int life_received(struct sock_life *life, struct sock *sk, int result)
{
	if (!life || result < 0)
		return 0;
	life->sk = event_address(sk);
	__sync_fetch_and_add(&life->rx_bytes, (__u64)result);
	__sync_fetch_and_add(&life->receives, 1);
	return 0;
}

/* What is known of a socket that closes (the program's context), with its sums by kprobes, if any. */
static __always_inline struct sock_life *life_with_sums(void *sums, __u64 address, struct sock_life *life)
{
	struct sock_life *found = bpf_map_lookup_elem(sums, &address);

	if (!found)
		return life;
	found->born_ns = life ? life->born_ns : 0;
	return found;
}

static __always_inline void set_close(const volatile struct event_config *config, struct sock_close_event *e,
				      struct bpf_sock *ctx, struct sock_life *life)
{
	e->data.span_ns = EVENT_UNKNOWN64;
	e->data.tx_bytes = EVENT_UNKNOWN64;
	e->data.rx_bytes = EVENT_UNKNOWN64;
	e->data.sends = EVENT_UNKNOWN64;
	e->data.receives = EVENT_UNKNOWN64;
	event_set_found_sock(config, &e->head, life ? (struct sock *)life->sk : NULL);
	/* The closing process may be in another namespace. */
	if (!life || !life->sk)
		e->head.netns = 0;
	e->head.proto = (__u8)ctx->protocol;
	e->head.cookie = bpf_get_socket_cookie(ctx);
	if (!e->head.family)
		e->head.family = ctx->family == AF_INET ? ADDR_V4 : ADDR_V6;
	/* Totals of sockets opened before the run are unknown. */
	if (!life || !life->born_ns)
		return;
	e->data.span_ns = bpf_ktime_get_boot_ns() - life->born_ns;
	e->data.tx_bytes = life->tx_bytes;
	e->data.rx_bytes = life->rx_bytes;
	e->data.sends = life->sends;
	e->data.receives = life->receives;
}

/* --- sock.close --- */

static __always_inline struct sock_life *any_life(struct sock *sk, __u64 flags)
{
	return event_store_get(&sock_close_life, sk, flags);
}

SEC("cgroup/sock_create")
int sock_close_create(struct bpf_sock *ctx)
{
	life_begins(event_store_get(&sock_close_life, ctx, BPF_SK_STORAGE_GET_F_CREATE));
	return ALLOW;
}

/* A connection starts with connect(), or when it enters the accept queue. */
static __always_inline int life_state(struct sock *sk, int oldstate, int newstate)
{
	struct sock_life *life;

	if (newstate != SOCKET_SYN_SENT && !(oldstate == SOCKET_SYN_RECV && newstate == SOCKET_ESTABLISHED))
		return 0;
	life = any_life(sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (life)
		life->sk = event_address(sk);
	life_begins(life);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_close_state, struct sock *sk, int oldstate, int newstate)
{
	return life_state(sk, oldstate, newstate);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_close_state_twin, struct sock *sk, int oldstate, int newstate)
{
	return life_state(sk, oldstate, newstate);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_close_send, struct sock *sk, int result, int flags)
{
	return life_sent(any_life(sk, BPF_SK_STORAGE_GET_F_CREATE), sk, result);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_close_recv, struct sock *sk, int result, int flags)
{
	return flags & MSG_PEEK ? 0 : life_received(any_life(sk, BPF_SK_STORAGE_GET_F_CREATE), sk, result);
}

SEC("fexit/inet_sendmsg")
int BPF_PROG(sock_close_send_inet, struct socket *socket, void *message, __u64 size, int result)
{
	return life_sent(any_life(socket->sk, BPF_SK_STORAGE_GET_F_CREATE), socket->sk, result);
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(sock_close_send_inet6, struct socket *socket, void *message, __u64 size, int result)
{
	return life_sent(any_life(socket->sk, BPF_SK_STORAGE_GET_F_CREATE), socket->sk, result);
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(sock_close_recv_inet, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	if (flags & MSG_PEEK)
		return 0;
	return life_received(any_life(socket->sk, BPF_SK_STORAGE_GET_F_CREATE), socket->sk, result);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(sock_close_recv_inet6, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	if (flags & MSG_PEEK)
		return 0;
	return life_received(any_life(socket->sk, BPF_SK_STORAGE_GET_F_CREATE), socket->sk, result);
}

static __always_inline int close_sent(void *ctx, struct sock *sk, int result, int flags)
{
	return result < 0 ? 0
			  : life_sent(event_remember_found(&sock_close_found_sums, (__u64)sk, &sock_close_losses), sk,
				      result);
}

static __always_inline int close_received(void *ctx, struct sock *sk, int result, int flags)
{
	return result < 0 || flags & MSG_PEEK
		       ? 0
		       : life_received(event_remember_found(&sock_close_found_sums, (__u64)sk, &sock_close_losses), sk,
				       result);
}

EVENT_SEND_CALL(sock_close, sock_close_send_call, inet_sendmsg, event_any_sock, close_sent)
EVENT_SEND_CALL(sock_close, sock_close_send_call6, inet6_sendmsg, event_any_sock, close_sent)
EVENT_RECEIVE_CALL(sock_close, sock_close_recv_call, inet_recvmsg, event_any_sock, close_received)
EVENT_RECEIVE_CALL(sock_close, sock_close_recv_call6, inet6_recvmsg, event_any_sock, close_received)

SEC("cgroup/sock_release")
int sock_close_release(struct bpf_sock *ctx)
{
	struct sock_life *life = event_store_get(&sock_close_life, ctx, 0);
	struct sock_close_event *e = sock_close_begin();
	__u64 address = event_address(ctx);

	if (sock_close_config.by_kprobe)
		life = life_with_sums(&sock_close_found_sums, address, life);
	if (e) {
		set_close(&sock_close_config, e, ctx, life);
		sock_close_end(ctx, e);
	}
	if (sock_close_config.by_kprobe)
		bpf_map_delete_elem(&sock_close_found_sums, &address);
	return ALLOW;
}

/* --- udp.close: the same of UDP alone, so that TCP pays nothing --- */

static __always_inline struct sock_life *udp_life(struct sock *sk)
{
	return is_udp(sk->sk_protocol) ? event_store_get(&udp_close_life, sk, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
}

SEC("cgroup/sock_create")
int udp_close_create(struct bpf_sock *ctx)
{
	if (is_udp(ctx->protocol))
		life_begins(event_store_get(&udp_close_life, ctx, BPF_SK_STORAGE_GET_F_CREATE));
	return ALLOW;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(udp_close_send, struct sock *sk, int result, int flags)
{
	return life_sent(udp_life(sk), sk, result);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(udp_close_recv, struct sock *sk, int result, int flags)
{
	return flags & MSG_PEEK ? 0 : life_received(udp_life(sk), sk, result);
}

/* These tracepoints exist since 6.3. */
SEC("fexit/udp_sendmsg")
int BPF_PROG(udp_close_send_udp, struct sock *sk, void *message, __u64 size, int result)
{
	return life_sent(udp_life(sk), sk, result);
}

SEC("fexit/udpv6_sendmsg")
int BPF_PROG(udp_close_send_udp6, struct sock *sk, void *message, __u64 size, int result)
{
	return life_sent(udp_life(sk), sk, result);
}

SEC("fexit/udp_recvmsg")
int BPF_PROG(udp_close_recv_udp, struct sock *sk, void *message, __u64 size, int flags, int *address_len, int result)
{
	return flags & MSG_PEEK ? 0 : life_received(udp_life(sk), sk, result);
}

SEC("fexit/udpv6_recvmsg")
int BPF_PROG(udp_close_recv_udp6, struct sock *sk, void *message, __u64 size, int flags, int *address_len, int result)
{
	return flags & MSG_PEEK ? 0 : life_received(udp_life(sk), sk, result);
}

/* Before 5.19 those two have another argument; these are also called for TCP. */
SEC("fexit/inet_recvmsg")
int BPF_PROG(udp_close_recv_inet, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return flags & MSG_PEEK ? 0 : life_received(udp_life(socket->sk), socket->sk, result);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(udp_close_recv_inet6, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return flags & MSG_PEEK ? 0 : life_received(udp_life(socket->sk), socket->sk, result);
}

static __always_inline bool is_found_udp(const struct sock *sk)
{
	return is_udp(BPF_CORE_READ(sk, sk_protocol));
}

static __always_inline int udp_sent(void *ctx, struct sock *sk, int result, int flags)
{
	return result < 0 ? 0
			  : life_sent(event_remember_found(&udp_close_found_sums, (__u64)sk, &udp_close_losses), sk,
				      result);
}

static __always_inline int udp_received(void *ctx, struct sock *sk, int result, int flags)
{
	return result < 0 || flags & MSG_PEEK
		       ? 0
		       : life_received(event_remember_found(&udp_close_found_sums, (__u64)sk, &udp_close_losses), sk,
				       result);
}

EVENT_SEND_CALL(udp_close, udp_close_send_call, inet_sendmsg, is_found_udp, udp_sent)
EVENT_SEND_CALL(udp_close, udp_close_send_call6, inet6_sendmsg, is_found_udp, udp_sent)
EVENT_RECEIVE_CALL(udp_close, udp_close_recv_call, inet_recvmsg, is_found_udp, udp_received)
EVENT_RECEIVE_CALL(udp_close, udp_close_recv_call6, inet6_recvmsg, is_found_udp, udp_received)

SEC("cgroup/sock_release")
int udp_close_release(struct bpf_sock *ctx)
{
	struct sock_close_event *e;
	__u64 address = event_address(ctx);
	struct sock_life *life;

	if (!is_udp(ctx->protocol))
		return ALLOW;
	life = event_store_get(&udp_close_life, ctx, 0);
	if (udp_close_config.by_kprobe)
		life = life_with_sums(&udp_close_found_sums, address, life);
	e = udp_close_begin();
	if (e) {
		set_close(&udp_close_config, e, ctx, life);
		udp_close_end(ctx, e);
	}
	if (udp_close_config.by_kprobe)
		bpf_map_delete_elem(&udp_close_found_sums, &address);
	return ALLOW;
}
