// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.wait: time from arrival of data in an empty receive queue to its read. Data that joins the queue later waits less
 * and is not timed.
 */
#include "event/tcp/tcp_wait.h"
#include "event/bpf/tcp.bpf.h"

EVENT(tcp_wait, struct tcp_wait_event)

struct wait_since {
	__u64 since_ns; /* 0: no data with a known arrival time */
	__u32 seq;
	__u32 unused;
};
EVENT_SOCK_STORE(tcp_wait, since, struct wait_since);

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_wait_arrival, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct wait_since *since;
	__u32 header = 0, seq;
	__be32 words[4];

	if (!tp || tp->rcv_nxt != tp->copied_seq ||
	    bpf_probe_read_kernel(words, sizeof(words), skb->head + skb->transport_header) < 0)
		return 0;
	/* Header length in 32-bit words: upper half of the byte. */
	header = bpf_ntohl(words[3]) >> 28 << 2;
	seq = bpf_ntohl(words[1]);
	if (skb->len <= header || seq != tp->rcv_nxt)
		return 0;
	since = event_remember_sock(&tcp_wait_since, sk, &tcp_wait_losses);
	if (since) {
		since->since_ns = bpf_ktime_get_boot_ns();
		since->seq = seq;
	}
	return 0;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(tcp_wait_read, struct sock *sk)
{
	struct wait_since *since = event_store_get(&tcp_wait_since, sk, 0);
	struct tcp_wait_event *e;
	struct tcp_sock *tp;
	__u64 since_ns;

	tp = bpf_skc_to_tcp_sock(sk);
	if (!since || !tp || !since->since_ns || (__s32)(tp->copied_seq - since->seq) <= 0)
		return 0;
	since_ns = since->since_ns;
	since->since_ns = 0;
	e = tcp_wait_begin();
	if (!e)
		return 0;
	event_set_used_sock(&tcp_wait_config, &e->head, sk);
	e->data.lat_ns = bpf_ktime_get_boot_ns() - since_ns;
	e->data.bytes = tp->copied_seq - since->seq;
	return tcp_wait_end(ctx, e);
}
