// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.cong: changes of the congestion state. The first state starts and the last one ends with the connection, so their
 * times add up to its duration. Connections that stay in open are not reported.
 */
#include "event/tcp/tcp_cong.h"
#include "event/bpf/tcp.bpf.h"

EVENT(tcp_cong, struct tcp_cong_event)

struct cong_since {
	__u64 since_ns;
	__u32 changed;
	__u32 unused;
};
EVENT_SOCK_STORE(tcp_cong, since, struct cong_since);

static __always_inline int report_cong(void *ctx, struct sock *sk, __u64 since_ns, __u8 next)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct tcp_cong_event *e;

	if (!tp)
		return 0;
	e = tcp_cong_begin();
	if (!e)
		return 0;
	event_set_sock(&tcp_cong_config, &e->head, sk);
	e->data.span_ns = since_ns ? bpf_ktime_get_boot_ns() - since_ns : EVENT_UNKNOWN64;
	e->data.cwnd = tp->snd_cwnd;
	e->data.ssthresh = ssthresh_of(tp);
	e->data.old_congestion = BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
	e->data.new_congestion = next;
	return tcp_cong_end(ctx, e);
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(tcp_cong_change, struct sock *sk, __u8 next)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct cong_since *since;
	__u64 since_ns = 0;

	/* Setting the same state is not a change. */
	if (!tp || BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state) == next)
		return 0;
	since = event_remember_sock(&tcp_cong_since, sk, &tcp_cong_losses);
	if (since) {
		since_ns = since->since_ns;
		since->since_ns = bpf_ktime_get_boot_ns();
		since->changed = 1;
	}
	return report_cong(ctx, sk, since_ns, next);
}

static __always_inline int life_changed(void *ctx, struct sock *sk, int oldstate, int newstate)
{
	struct cong_since *since;

	if (!is_tcp(sk))
		return 0;
	if (newstate == SOCKET_ESTABLISHED) {
		since = event_store_get(&tcp_cong_since, sk, BPF_SK_STORAGE_GET_F_CREATE);
		if (since && !since->since_ns)
			since->since_ns = bpf_ktime_get_boot_ns();
		return 0;
	}
	if (newstate != SOCKET_CLOSE)
		return 0;
	since = event_store_get(&tcp_cong_since, sk, 0);
	if (!since || !since->changed)
		return 0;
	/* The twin sees that it was reported. */
	since->changed = 0;
	return report_cong(ctx, sk, since->since_ns, TCP_CONG_UNKNOWN);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_cong_life, struct sock *sk, int oldstate, int newstate)
{
	return life_changed(ctx, sk, oldstate, newstate);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_cong_life_twin, struct sock *sk, int oldstate, int newstate)
{
	return life_changed(ctx, sk, oldstate, newstate);
}
