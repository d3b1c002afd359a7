/* SPDX-License-Identifier: GPL-2.0-only */
/* Accessors common to TCP events. */
#pragma once

#include "event/bpf/event.bpf.h"

#define NSEC_PER_USEC 1000ull

static __always_inline bool is_tcp(struct sock *sk)
{
	return sk->sk_protocol == 6;
}

extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym __weak;

/* Since Linux 6.4: its presence implies that of bpf_rdonly_cast. */
struct bpf_iter_num;

/* For a full socket known to be TCP. The helper that checks it costs more than most of the reads. */
static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	if (bpf_core_type_exists(struct bpf_iter_num))
		return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	return bpf_skc_to_tcp_sock(sk);
}

/* False for request and time-wait sockets: they have no owner, no storage, no variables. */
static __always_inline bool is_whole(struct sock *sk)
{
	__u8 state = sk->__sk_common.skc_state;

	return state != SOCKET_TIME_WAIT && state != SOCKET_NEW_SYN_RECV;
}

/* In units of 1/8 us; 0 before the first sample. */
static __always_inline __u64 srtt_ns(const struct tcp_sock *tp)
{
	return (__u64)tp->srtt_us * NSEC_PER_USEC / 8;
}

/* None before the first loss. */
static __always_inline __u32 ssthresh_of(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh == 0x7fffffff ? EVENT_UNKNOWN32 : tp->snd_ssthresh;
}

static __always_inline __u64 min_rtt_ns(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v == EVENT_UNKNOWN32 ? 0 : (__u64)tp->rtt_min.s[0].v * NSEC_PER_USEC;
}
