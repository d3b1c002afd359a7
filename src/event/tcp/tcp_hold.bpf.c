// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.hold: starts when a write returns with unsent data, or when a segment is sent and the next one is held; ends when
 * the first held byte is sent. The reason is determined as TCP does, at the start of the wait; it may change later.
 */
#include "event/tcp/tcp_hold.h"
#include "event/bpf/calls.bpf.h"
#include "event/bpf/packet.bpf.h"
#include "event/tcp/tcp_hold.bpf.h"

EVENT(tcp_hold, struct tcp_hold_event)

struct hold_since {
	__u64 since_ns; /* 0: nothing is held */
	__u32 seq;      /* first held byte */
	__u32 bytes;
	__u32 reason;
	__u32 unused;
};
EVENT_SOCK_STORE(tcp_hold, since, struct hold_since);

/* Instead, if writes are seen by kprobes: until the connection ends. */
EVENT_CALLS(tcp_hold)
EVENT_FOUND_STORE(tcp_hold, since, struct hold_since);

/* NULL: nothing was held yet. */
static __always_inline struct hold_since *find_hold(struct sock *sk)
{
	__u64 address = event_address(sk);

	if (tcp_hold_config.by_kprobe)
		return bpf_map_lookup_elem(&tcp_hold_found_since, &address);
	return event_store_get(&tcp_hold_since, sk, 0);
}

static __always_inline struct hold_since *make_hold(struct sock *sk)
{
	if (tcp_hold_config.by_kprobe)
		return event_remember_found(&tcp_hold_found_since, event_address(sk), &tcp_hold_losses);
	return event_remember_sock(&tcp_hold_since, sk, &tcp_hold_losses);
}

static __always_inline void begin_hold(struct hold_since *since, __u32 seq, __u32 bytes, __u32 reason)
{
	/* Already held. */
	if (since->since_ns && since->seq == seq)
		return;
	since->seq = seq;
	since->bytes = bytes;
	since->reason = reason;
	since->since_ns = bpf_ktime_get_boot_ns();
}

/* A write returned. */
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
	reason = write_reason(sk, tp, seq, unsent, true);
	since = event_remember_sock(&tcp_hold_since, sk, &tcp_hold_losses);
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

static __always_inline bool is_found_tcp(const struct sock *sk)
{
	return sk && BPF_CORE_READ(sk, sk_protocol) == 6;
}

static __always_inline int write_call_done(void *ctx, struct sock *sk, int result, int flags)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 seq = READ(sk, snd_nxt), unsent = READ(sk, write_seq) - seq;
	struct hold_since *since;

	if (!unsent)
		return 0;
	since = event_remember_found(&tcp_hold_found_since, (__u64)sk, &tcp_hold_losses);
	if (since)
		begin_hold(since, seq, unsent, write_reason(sk, tp, seq, unsent, false));
	return 0;
}

EVENT_SEND_CALL(tcp_hold, tcp_hold_call, inet_sendmsg, is_found_tcp, write_call_done)
EVENT_SEND_CALL(tcp_hold, tcp_hold_call6, inet6_sendmsg, is_found_tcp, write_call_done)

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(tcp_hold_ended, struct sock *sk)
{
	__u64 address = event_address(sk);

	bpf_map_delete_elem(&tcp_hold_found_since, &address);
	return 0;
}

static __always_inline int report_hold(void *ctx, struct sock *sk, struct hold_since *since)
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

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tcp_hold_segment, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct hold_since *since;
	struct segment segment;
	__u32 end, unsent, reason;

	/* A packet forwarded from another namespace may still have its sender's socket. */
	if (!sk || skb->skb_iif || !is_whole(sk) || !is_tcp(sk) || !read_segment(&segment, skb))
		return 0;
	end = segment.seq + segment.bytes;
	since = find_hold(sk);
	if (since && since->since_ns && (__s32)(since->seq - segment.seq) >= 0 && (__s32)(since->seq - end) < 0) {
		(void)report_hold(ctx, sk, since);
		since->since_ns = 0;
	}
	unsent = READ(sk, write_seq) - end;
	/* No unsent data left, or a retransmission. */
	if (!unsent || (__s32)(end - READ(sk, snd_nxt)) <= 0)
		return 0;
	reason = next_reason(sk, &segment, unsent);
	if (!reason)
		return 0;
	since = make_hold(sk);
	if (since)
		begin_hold(since, end, unsent, reason);
	return 0;
}
