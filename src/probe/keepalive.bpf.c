// SPDX-License-Identifier: GPL-2.0-only
/* Reads the sequence numbers of one connection of the namespace it runs in (BPF_PROG_TEST_RUN); changes nothing. */
#include "probe/keepalive.bpf.h"
#include "kernel/types.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct keepalive_question question;
struct keepalive_answer answer;

static __always_inline __u32 timestamp(const struct tcp_sock *tp)
{
	const struct tcp_sock___usec *usec = (const void *)tp;
	__u64 now_us = bpf_ktime_get_ns() / 1000;

	if (bpf_core_field_exists(usec->tcp_usec_ts) && BPF_CORE_READ_BITFIELD_PROBED(usec, tcp_usec_ts))
		return (__u32)now_us + tp->tsoffset;
	return (__u32)(now_us / 1000) + tp->tsoffset;
}

/* TCP-MD5 or TCP-AO: the peer drops unsigned segments. */
static __always_inline bool is_signed(const struct tcp_sock *tp)
{
	const struct tcp_sock___md5 *md5 = (const void *)tp;
	const struct tcp_sock___ao *ao = (const void *)tp;

	return (bpf_core_field_exists(md5->md5sig_info) && BPF_CORE_READ(md5, md5sig_info)) ||
	       (bpf_core_field_exists(ao->ao_info) && BPF_CORE_READ(ao, ao_info));
}

SEC("tc")
int keepalive_find(struct __sk_buff *skb)
{
	struct bpf_sock *sk;
	struct tcp_sock *tp;

	answer.found = 0;
	sk = bpf_skc_lookup_tcp(skb, &question.tuple,
				question.size == sizeof(question.tuple.ipv4) ? sizeof(question.tuple.ipv4)
									     : sizeof(question.tuple.ipv6),
				BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return 0;
	tp = (struct tcp_sock *)bpf_skc_to_tcp_sock(sk);
	if (tp && !is_signed(tp)) {
		answer.snd_una = tp->snd_una;
		answer.rcv_nxt = tp->rcv_nxt;
		answer.rcv_wnd = tp->rcv_wnd;
		answer.heard = tp->snd_wl1;
		answer.rcv_wscale = BPF_CORE_READ_BITFIELD_PROBED(tp, rx_opt.rcv_wscale);
		answer.has_times = BPF_CORE_READ_BITFIELD_PROBED(tp, rx_opt.tstamp_ok);
		answer.tsecr = tp->rx_opt.ts_recent;
		answer.tsval = timestamp(tp);
		answer.found = 1;
	}
	bpf_sk_release(sk);
	return 0;
}
