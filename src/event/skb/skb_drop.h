/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* skb.drop: the kernel dropped a packet. */
#pragma once

#include "event/core/head.h"
#include "event/core/packet.h"

/*
 * nstat counters incremented by drops (drop_counter.bpf.h). Unlike the reasons, the numbers are the same on every
 * kernel.
 */
#define DROP_COUNTERS(X)                                                                                               \
	X(UDP_NO_PORTS, "UdpNoPorts")                                                                                  \
	X(UDP6_NO_PORTS, "Udp6NoPorts")                                                                                \
	X(UDP_CSUM, "UdpInCsumErrors")                                                                                 \
	X(UDP6_CSUM, "Udp6InCsumErrors")                                                                               \
	X(UDP_RCVBUF, "UdpRcvbufErrors")                                                                               \
	X(UDP6_RCVBUF, "Udp6RcvbufErrors")                                                                             \
	X(UDP_MEM, "UdpMemErrors")                                                                                     \
	X(UDP6_MEM, "Udp6MemErrors")                                                                                   \
	X(ICMP_CSUM, "IcmpInCsumErrors")                                                                               \
	X(ICMP6_CSUM, "Icmp6InCsumErrors")                                                                             \
	X(IP_CSUM, "IpExtInCsumErrors")                                                                                \
	X(IP_HEADER, "IpInHdrErrors")                                                                                  \
	X(IP6_HEADER, "Ip6InHdrErrors")                                                                                \
	X(IP_NO_ROUTES, "IpExtInNoRoutes")                                                                             \
	X(IP6_NO_ROUTES, "Ip6InNoRoutes")                                                                              \
	X(IP_ADDRESS, "IpInAddrErrors")                                                                                \
	X(IP6_ADDRESS, "Ip6InAddrErrors")                                                                              \
	X(IP_NO_PROTO, "IpInUnknownProtos")                                                                            \
	X(IP6_NO_PROTO, "Ip6InUnknownProtos")                                                                          \
	X(IP_RPFILTER, "TcpExtIPReversePathFilter")                                                                    \
	X(IP_OUT_NO_ROUTES, "IpOutNoRoutes")                                                                           \
	X(IP6_OUT_NO_ROUTES, "Ip6OutNoRoutes")                                                                         \
	X(IP_TOO_BIG, "IpFragFails")                                                                                   \
	X(IP6_TOO_BIG, "Ip6InTooBigErrors")                                                                            \
	X(IP_REASM_TIMEOUT, "IpReasmTimeout")                                                                          \
	X(IP6_REASM_TIMEOUT, "Ip6ReasmTimeout")                                                                        \
	X(TCP_RESETS, "TcpOutRsts")                                                                                    \
	X(TCP_CSUM, "TcpInCsumErrors")                                                                                 \
	X(TCP_BACKLOG, "TcpExtTCPBacklogDrop")                                                                         \
	X(TCP_RCVQ, "TcpExtTCPRcvQDrop")                                                                               \
	X(TCP_ZERO_WINDOW, "TcpExtTCPZeroWindowDrop")                                                                  \
	X(TCP_OLD_DATA, "TcpExtDelayedACKLost")                                                                        \
	X(TCP_OFO_MERGE, "TcpExtTCPOFOMerge")                                                                          \
	X(TCP_OFO_DROP, "TcpExtTCPOFODrop")                                                                            \
	X(TCP_OFO_PRUNED, "TcpExtOfoPruned")                                                                           \
	X(TCP_PAWS, "TcpExtPAWSEstab")                                                                                 \
	X(TCP_PAWS_TIME_WAIT, "TcpExtPAWSTimewait")                                                                    \
	X(TCP_ABORT_ON_DATA, "TcpExtTCPAbortOnData")                                                                   \
	X(TCP_LISTEN_OVERFLOW, "TcpExtListenOverflows")                                                                \
	X(TCP_SYN_CHALLENGE, "TcpExtTCPSYNChallenge")                                                                  \
	X(TCP_MIN_TTL, "TcpExtTCPMinTTLDrop")                                                                          \
	X(TCP_MD5_NOT_FOUND, "TcpExtTCPMD5NotFound")                                                                   \
	X(TCP_MD5_UNEXPECTED, "TcpExtTCPMD5Unexpected")                                                                \
	X(TCP_MD5_FAILURE, "TcpExtTCPMD5Failure")

enum drop_counter {
	DROP_COUNTER_NONE,
#define DROP_COUNTER(name, text) DROP_COUNTER_##name,
	DROP_COUNTERS(DROP_COUNTER)
#undef DROP_COUNTER
};

struct skb_drop {
	__u64 location; /* kernel address */
	__u32 reason;   /* enum skb_drop_reason of the running kernel; 0: none given */
	__u32 bytes;
	char dev[PACKET_DEV_LEN];
	__u8 dir;
	__u8 state;   /* of the socket; 0: none */
	__u8 flags;   /* of the TCP header */
	__u8 counter; /* enum drop_counter */
	__u8 unused[4];
};

struct skb_drop_event {
	struct event_head head;
	struct skb_drop data;
};
