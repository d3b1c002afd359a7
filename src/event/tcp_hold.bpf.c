// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.hold: begins when a write returns and leaves data unsent, or when a segment leaves and the next one may not; ends when
 * the first byte that had to wait leaves. The reason is found as TCP finds it, when the wait begins; it may go on for
 * another.
 */
#include "event/tcp_hold.h"
#include "event/packet.bpf.h"
#include "event/tcp.bpf.h"

#define SK_PACING_NEEDED 1 /* TCP itself paces; a fq qdisc does not need its help */
#define PACING_NOT_UNTIL 10
#define TCP_NAGLE_CORK   2
#define NO_RATE          (~0ul)

EVENT(tcp_hold, struct tcp_hold_event)

struct hold_since {
	__u64 since_ns; /* 0: nothing is held */
	__u32 seq;      /* first byte that waits */
	__u32 bytes;
	__u32 reason;
	__u32 unused;
};
EVENT_SOCK_STORE(tcp_hold, since, struct hold_since);

/*
 * Variables are read one by one: a packet's socket is good for reading, but not accepted as a TCP socket. Most packets end
 * before it comes to that.
 */
#define READ(sk, member) BPF_CORE_READ((struct tcp_sock *)(sk), member)

/* A partial segment waits: corked by the application, or Nagle's rule while a small segment is on its way. */
static __always_inline __u32 partial_reason(struct sock *sk, __u32 in_flight, __u32 snd_una)
{
	__u8 nonagle = BPF_CORE_READ_BITFIELD_PROBED((struct tcp_sock *)sk, nonagle);

	if (nonagle & TCP_NAGLE_CORK)
		return TCP_HOLD_CORK;
	if (nonagle == 0 && in_flight && (__s32)(READ(sk, snd_sml) - snd_una) > 0)
		return TCP_HOLD_NAGLE;
	return 0;
}

/* Why so much from this sequence number on is not sent; 0 when nothing is in its way. */
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

static __always_inline bool is_paced(const struct sock *sk)
{
	return sk->sk_pacing_status == SK_PACING_NEEDED && sk->sk_pacing_rate && sk->sk_pacing_rate != NO_RATE;
}

static __always_inline void begin_hold(struct hold_since *since, __u32 seq, __u32 bytes, __u32 reason)
{
	/* It waits already. */
	if (since->since_ns && since->seq == seq)
		return;
	since->seq = seq;
	since->bytes = bytes;
	since->reason = reason;
	since->since_ns = bpf_ktime_get_boot_ns();
}

/* A write has returned. */
static __always_inline int written(struct sock *sk)
{
	struct hold_since *since;
	struct tcp_sock *tp;
	__u32 reason, seq, unsent;

	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || tp->write_seq == tp->snd_nxt)
		return 0;
	seq = tp->snd_nxt;
	unsent = tp->write_seq - seq;
	if (is_paced(sk) && tp->tcp_wstamp_ns > tp->tcp_clock_cache)
		reason = TCP_HOLD_PACING;
	else
		reason = hold_reason(sk, seq, unsent, 0);
	/* Packets of this socket are still in a queue below: TCP waits for them to leave. */
	if (!reason && sk->sk_wmem_alloc.refs.counter > 1)
		reason = TCP_HOLD_QUEUE;
	since = bpf_sk_storage_get(&tcp_hold_since, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (since)
		begin_hold(since, seq, unsent, reason);
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(tcp_hold_write, struct sock *sk, int result, int flags)
{
	return is_tcp(sk) ? written(sk) : 0;
}

SEC("fexit/inet_sendmsg")
int BPF_PROG(tcp_hold_write_inet, struct socket *socket)
{
	struct sock *sk = socket->sk;

	return sk && is_tcp(sk) ? written(sk) : 0;
}

SEC("fexit/inet6_sendmsg")
int BPF_PROG(tcp_hold_write_inet6, struct socket *socket)
{
	struct sock *sk = socket->sk;

	return sk && is_tcp(sk) ? written(sk) : 0;
}

/* What is known of a segment on its way out. */
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

static __always_inline int tell_hold(void *ctx, struct sock *sk, struct hold_since *since)
{
	struct tcp_hold_event *e = tcp_hold_begin();

	if (!e)
		return 0;
	packet_set_sock(&tcp_hold_config, &e->head, sk);
	e->data.lat_ns = bpf_ktime_get_boot_ns() - since->since_ns;
	e->data.bytes = since->bytes;
	e->data.seq = since->seq;
	e->data.reason = (__u8)since->reason;
	return tcp_hold_end(ctx, e);
}

/* More is there than has left: what keeps it? */
static __always_inline __u32 next_reason(struct sock *sk, const struct segment *segment, __u32 unsent)
{
	__u32 mss = READ(sk, mss_cache), end = segment->seq + segment->bytes;

	if (is_paced(sk) && READ(sk, data_segs_out) >= PACING_NOT_UNTIL)
		return TCP_HOLD_PACING;
	return hold_reason(sk, end, unsent, mss ? (segment->bytes + mss - 1) / mss : 1);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tcp_hold_segment, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct hold_since *since;
	struct segment segment;
	__u32 end, unsent, reason;

	/* What was forwarded still has the socket of the host that it came from. */
	if (!sk || skb->skb_iif || !is_whole(sk) || !is_tcp(sk) || !read_segment(&segment, skb))
		return 0;
	end = segment.seq + segment.bytes;
	since = bpf_sk_storage_get(&tcp_hold_since, sk, NULL, 0);
	if (since && since->since_ns && (__s32)(since->seq - segment.seq) >= 0 && (__s32)(since->seq - end) < 0) {
		(void)tell_hold(ctx, sk, since);
		since->since_ns = 0;
	}
	unsent = READ(sk, write_seq) - end;
	/* The last of what there is, or sent again. */
	if (!unsent || (__s32)(end - READ(sk, snd_nxt)) <= 0)
		return 0;
	reason = next_reason(sk, &segment, unsent);
	if (!reason)
		return 0;
	since = bpf_sk_storage_get(&tcp_hold_since, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (since)
		begin_hold(since, end, unsent, reason);
	return 0;
}
