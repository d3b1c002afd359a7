/* SPDX-License-Identifier: GPL-2.0-only */
/* Why TCP does not send, determined as TCP does: for tcp.hold and path.tx. */
#pragma once

#include "event/bpf/tcp.bpf.h"
#include "event/tcp/tcp_hold.h"

#define SK_PACING_NEEDED 1 /* TCP itself paces, not the fq qdisc */
#define PACING_NOT_UNTIL 10
#define TCP_NAGLE_CORK   2
#define NO_RATE          (~0ul)

/*
 * Reads members one by one: the verifier does not accept a packet's socket as a TCP socket. Most packets return before
 * this.
 */
#define READ(sk, member) BPF_CORE_READ((struct tcp_sock *)(sk), member)

/* typed: the verifier knows the pointer, which it does not in a kprobe. */
#define SEE(typed, object, member) ((typed) ? (object)->member : BPF_CORE_READ(object, member))

/* A partial segment waits: TCP_CORK, or Nagle while a small segment is in flight. */
static __always_inline __u32 partial_reason(struct sock *sk, __u32 in_flight, __u32 snd_una)
{
	__u8 nonagle = BPF_CORE_READ_BITFIELD_PROBED((struct tcp_sock *)sk, nonagle);

	if (nonagle & TCP_NAGLE_CORK)
		return TCP_HOLD_CORK;
	if (nonagle == 0 && in_flight && (__s32)(READ(sk, snd_sml) - snd_una) > 0)
		return TCP_HOLD_NAGLE;
	return 0;
}

/* Why the unsent bytes from this sequence number on are held; 0: no reason. */
static __always_inline __u32 hold_reason(struct sock *sk, __u32 seq, __u32 unsent, __u32 just_sent)
{
	__u32 mss = READ(sk, mss_cache), next = unsent < mss ? unsent : mss, snd_una = READ(sk, snd_una);
	__u32 in_flight =
		READ(sk, packets_out) - READ(sk, sacked_out) - READ(sk, lost_out) + READ(sk, retrans_out) + just_sent;

	if ((__s32)in_flight >= (__s32)READ(sk, snd_cwnd))
		return TCP_HOLD_CWND;
	if ((__s32)(seq + next - snd_una - READ(sk, snd_wnd)) > 0)
		return TCP_HOLD_WINDOW;
	return unsent < mss ? partial_reason(sk, in_flight, snd_una) : 0;
}

static __always_inline bool is_pacing(__u32 status, unsigned long rate)
{
	return status == SK_PACING_NEEDED && rate && rate != NO_RATE;
}

static __always_inline bool is_paced(const struct sock *sk)
{
	return is_pacing(sk->sk_pacing_status, sk->sk_pacing_rate);
}

/* For a write that returned with so much unsent data from this sequence number on. */
static __always_inline __u32 write_reason(struct sock *sk, struct tcp_sock *tp, __u32 seq, __u32 unsent, bool typed)
{
	__u32 reason;

	if (is_pacing(SEE(typed, sk, sk_pacing_status), SEE(typed, sk, sk_pacing_rate)) &&
	    SEE(typed, tp, tcp_wstamp_ns) > SEE(typed, tp, tcp_clock_cache))
		return TCP_HOLD_PACING;
	reason = hold_reason(sk, seq, unsent, 0);
	/* Packets of this socket are still in the qdisc or driver: TCP small queues. */
	return !reason && SEE(typed, sk, sk_wmem_alloc.refs.counter) > 1 ? TCP_HOLD_QUEUE : reason;
}

/* A transmitted segment. */
struct segment {
	__u32 seq;
	__u32 bytes;
};

static __always_inline bool read_segment(struct segment *segment, struct sk_buff *skb)
{
	__u32 at = skb->transport_header, begin = at - (__u32)(skb->data - skb->head), header;
	__be32 words[4];

	if (bpf_probe_read_kernel(words, sizeof(words), skb->head + at) < 0)
		return false;
	header = begin + (bpf_ntohl(words[3]) >> 28 << 2);
	segment->seq = bpf_ntohl(words[1]);
	segment->bytes = skb->len > header ? skb->len - header : 0;
	return segment->bytes > 0;
}

/* Why the data after this segment is held. */
static __always_inline __u32 next_reason(struct sock *sk, const struct segment *segment, __u32 unsent)
{
	__u32 mss = READ(sk, mss_cache), end = segment->seq + segment->bytes;

	if (is_paced(sk) && READ(sk, data_segs_out) >= PACING_NOT_UNTIL)
		return TCP_HOLD_PACING;
	return hold_reason(sk, end, unsent, mss ? (segment->bytes + mss - 1) / mss : 1);
}
