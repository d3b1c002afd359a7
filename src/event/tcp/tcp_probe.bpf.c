// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.probe: reported for each segment received on an established connection, before it is processed: the variables are
 * those before the segment.
 */
#define EVENT_IS_FREQUENT
#include <linux/tcp.h>

#include "event/bpf/tcp.bpf.h"
#include "event/tcp/tcp_probe.h"

EVENT(tcp_probe, struct tcp_probe_event)

static __always_inline void set_segment(struct tcp_probe *data, const struct tcp_sock *tp, struct sk_buff *skb)
{
	__u32 at = skb->transport_header;
	struct tcphdr header;

	if (bpf_probe_read_kernel(&header, sizeof(header), skb->head + at) < 0) {
		data->peer_wnd = EVENT_UNKNOWN32;
		return;
	}
	data->seq = bpf_ntohl(header.seq);
	data->bytes = skb->len > header.doff * 4u ? skb->len - header.doff * 4u : 0;
	data->peer_wnd = (__u32)bpf_ntohs(header.window) << BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
}

#define WANTED(member) EVENT_WANTS(&tcp_probe_config, struct tcp_probe, member)
#define SET(data, member, value)                                                                                       \
	do {                                                                                                           \
		if (WANTED(member))                                                                                    \
			(data)->member = (value);                                                                      \
	} while (0)

static __always_inline void set_variables(struct tcp_probe *data, struct sock *sk, const struct tcp_sock *tp)
{
	SET(data, srtt_ns, srtt_ns(tp));
	SET(data, min_rtt_ns, min_rtt_ns(tp));
	SET(data, cwnd, tp->snd_cwnd);
	SET(data, ssthresh, ssthresh_of(tp));
	SET(data, snd_wnd, tp->snd_wnd);
	SET(data, rcv_wnd, tp->rcv_wnd);
	SET(data, inflight_bytes, tp->snd_nxt - tp->snd_una);
	SET(data, sendq_bytes, tp->write_seq - tp->snd_una);
	SET(data, recvq_bytes, tp->rcv_nxt - tp->copied_seq);
	SET(data, mss, tp->mss_cache);
	SET(data, congestion, BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state));
	SET(data, sndbuf, (__u32)sk->sk_sndbuf);
	SET(data, rcvbuf, (__u32)sk->sk_rcvbuf);
	SET(data, wmem_bytes, (__u32)sk->sk_wmem_queued);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_probe_segment, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct tcp_probe_event *e;

	if (!tp)
		return 0;
	e = tcp_probe_begin();
	if (!e)
		return 0;
	event_set_sock(&tcp_probe_config, &e->head, sk);
	set_variables(&e->data, sk, tp);
	if (WANTED(seq) || WANTED(bytes) || WANTED(peer_wnd))
		set_segment(&e->data, tp, skb);
	return tcp_probe_end(ctx, e);
}
