/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nstat counters by drop reason: only where the kernel increments the counter at the place that names the reason. A
 * reason that the running kernel lacks costs nothing.
 */
#pragma once

#include "event/bpf/packet.bpf.h"
#include "event/skb/skb_drop.h"

/* CO-RE replaces the numbers by those of the running kernel: only the names matter. */
enum skb_drop_reason___counted {
	SKB_DROP_REASON_NO_SOCKET___counted = 1,
	SKB_DROP_REASON_UDP_CSUM___counted,
	SKB_DROP_REASON_SOCKET_RCVBUFF___counted,
	SKB_DROP_REASON_PROTO_MEM___counted,
	SKB_DROP_REASON_ICMP_CSUM___counted,
	SKB_DROP_REASON_IP_CSUM___counted,
	SKB_DROP_REASON_IP_INHDR___counted,
	SKB_DROP_REASON_IPV6_BAD_EXTHDR___counted,
	SKB_DROP_REASON_IP_INNOROUTES___counted,
	SKB_DROP_REASON_IP_INADDRERRORS___counted,
	SKB_DROP_REASON_IP_NOPROTO___counted,
	SKB_DROP_REASON_IP_RPFILTER___counted,
	SKB_DROP_REASON_IP_OUTNOROUTES___counted,
	SKB_DROP_REASON_PKT_TOO_BIG___counted,
	SKB_DROP_REASON_FRAG_REASM_TIMEOUT___counted,
	SKB_DROP_REASON_TCP_CSUM___counted,
	SKB_DROP_REASON_SOCKET_BACKLOG___counted,
	SKB_DROP_REASON_TCP_ZEROWINDOW___counted,
	SKB_DROP_REASON_TCP_OLD_DATA___counted,
	SKB_DROP_REASON_TCP_OFOMERGE___counted,
	SKB_DROP_REASON_TCP_OFO_DROP___counted,
	SKB_DROP_REASON_TCP_OFO_QUEUE_PRUNE___counted,
	SKB_DROP_REASON_TCP_RFC7323_PAWS___counted,
	SKB_DROP_REASON_TCP_RFC7323_TW_PAWS___counted,
	SKB_DROP_REASON_TCP_ABORT_ON_DATA___counted,
	SKB_DROP_REASON_TCP_LISTEN_OVERFLOW___counted,
	SKB_DROP_REASON_TCP_INVALID_SYN___counted,
	SKB_DROP_REASON_TCP_MINTTL___counted,
	SKB_DROP_REASON_TCP_MD5NOTFOUND___counted,
	SKB_DROP_REASON_TCP_MD5UNEXPECTED___counted,
	SKB_DROP_REASON_TCP_MD5FAILURE___counted,
};

#define TCP_FLAG_RST 0x04

#define IS_REASON(name)                                                                                                \
	(bpf_core_enum_value_exists(enum skb_drop_reason___counted, SKB_DROP_REASON_##name##___counted) &&             \
	 reason == bpf_core_enum_value(enum skb_drop_reason___counted, SKB_DROP_REASON_##name##___counted))

/* COUNT(reason, counter); COUNT_BOTH where IPv4 and IPv6 have separate counters. */
#define COUNT(name, counter)                                                                                           \
	do {                                                                                                           \
		if (IS_REASON(name))                                                                                   \
			return DROP_COUNTER_##counter;                                                                 \
	} while (0)
#define COUNT_BOTH(name, counter, counter6)                                                                            \
	do {                                                                                                           \
		if (IS_REASON(name))                                                                                   \
			return v6 ? DROP_COUNTER_##counter6 : DROP_COUNTER_##counter;                                  \
	} while (0)

static __always_inline __u8 drop_counter_udp(__u32 reason, bool v6)
{
	COUNT_BOTH(NO_SOCKET, UDP_NO_PORTS, UDP6_NO_PORTS);
	COUNT_BOTH(UDP_CSUM, UDP_CSUM, UDP6_CSUM);
	COUNT_BOTH(SOCKET_RCVBUFF, UDP_RCVBUF, UDP6_RCVBUF);
	COUNT_BOTH(PROTO_MEM, UDP_MEM, UDP6_MEM);
	return DROP_COUNTER_NONE;
}

static __always_inline __u8 drop_counter_tcp(__u32 reason, __u8 flags)
{
	/* Answered with a RST, unless it is one. */
	if (!(flags & TCP_FLAG_RST))
		COUNT(NO_SOCKET, TCP_RESETS);
	COUNT(TCP_CSUM, TCP_CSUM);
	COUNT(SOCKET_BACKLOG, TCP_BACKLOG);
	COUNT(SOCKET_RCVBUFF, TCP_RCVQ);
	COUNT(PROTO_MEM, TCP_RCVQ);
	COUNT(TCP_ZEROWINDOW, TCP_ZERO_WINDOW);
	COUNT(TCP_OLD_DATA, TCP_OLD_DATA);
	COUNT(TCP_OFOMERGE, TCP_OFO_MERGE);
	COUNT(TCP_OFO_DROP, TCP_OFO_DROP);
	COUNT(TCP_OFO_QUEUE_PRUNE, TCP_OFO_PRUNED);
	COUNT(TCP_RFC7323_PAWS, TCP_PAWS);
	COUNT(TCP_RFC7323_TW_PAWS, TCP_PAWS_TIME_WAIT);
	COUNT(TCP_ABORT_ON_DATA, TCP_ABORT_ON_DATA);
	COUNT(TCP_LISTEN_OVERFLOW, TCP_LISTEN_OVERFLOW);
	COUNT(TCP_INVALID_SYN, TCP_SYN_CHALLENGE);
	COUNT(TCP_MINTTL, TCP_MIN_TTL);
	COUNT(TCP_MD5NOTFOUND, TCP_MD5_NOT_FOUND);
	COUNT(TCP_MD5UNEXPECTED, TCP_MD5_UNEXPECTED);
	COUNT(TCP_MD5FAILURE, TCP_MD5_FAILURE);
	return DROP_COUNTER_NONE;
}

/* Any transport protocol. */
static __always_inline __u8 drop_counter_ip(__u32 reason, bool v6)
{
	COUNT_BOTH(ICMP_CSUM, ICMP_CSUM, ICMP6_CSUM);
	COUNT(IP_CSUM, IP_CSUM);
	COUNT_BOTH(IP_INHDR, IP_HEADER, IP6_HEADER);
	COUNT(IPV6_BAD_EXTHDR, IP6_HEADER);
	COUNT_BOTH(IP_INNOROUTES, IP_NO_ROUTES, IP6_NO_ROUTES);
	COUNT_BOTH(IP_INADDRERRORS, IP_ADDRESS, IP6_ADDRESS);
	COUNT_BOTH(IP_NOPROTO, IP_NO_PROTO, IP6_NO_PROTO);
	COUNT(IP_RPFILTER, IP_RPFILTER);
	COUNT_BOTH(IP_OUTNOROUTES, IP_OUT_NO_ROUTES, IP6_OUT_NO_ROUTES);
	COUNT_BOTH(PKT_TOO_BIG, IP_TOO_BIG, IP6_TOO_BIG);
	COUNT_BOTH(FRAG_REASM_TIMEOUT, IP_REASM_TIMEOUT, IP6_REASM_TIMEOUT);
	return DROP_COUNTER_NONE;
}

#undef COUNT
#undef COUNT_BOTH
#undef IS_REASON

/* 0: none or uncertain. family: of the packet, whose header may be broken; proto: 0 if so. */
static __always_inline __u8 drop_counter(__u32 reason, __be16 family, __u8 proto, __u8 flags)
{
	bool v6 = family == bpf_htons(ETH_P_IPV6);
	__u8 counter = DROP_COUNTER_NONE;

	if (!v6 && family != bpf_htons(ETH_P_IP))
		return DROP_COUNTER_NONE;
	if (proto == IPPROTO_UDP)
		counter = drop_counter_udp(reason, v6);
	else if (proto == IPPROTO_TCP)
		counter = drop_counter_tcp(reason, flags);
	return counter ? counter : drop_counter_ip(reason, v6);
}
