/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP and UDP sockets from sock_diag: type "socket"; for TCP also type "tcp". */
#pragma once

#include "record/net_names.h"
#include "record/value.h"
#include "snapshot/core/nl.h"

#define SOCKET_NONE UINT32_MAX

enum socket_timer {
	SOCKET_TIMER_OFF,
	SOCKET_TIMER_RETRANSMIT, /* also tail loss probe and reordering timer */
	SOCKET_TIMER_KEEPALIVE,  /* also SYN-ACK timer */
	SOCKET_TIMER_TIME_WAIT,
	SOCKET_TIMER_PERSIST, /* zero window probe, or retry of a segment that could not be sent */
};

struct socket_record {
	uint32_t netns;
	uint8_t family; /* 4 or 6; a socket of family 6 may have IPv4 addresses */
	uint8_t proto;
	uint8_t state;
	uint8_t timer;
	struct addr laddr;
	struct addr raddr;
	uint16_t lport;
	uint16_t rport;
	uint64_t cookie;
	uint32_t inode;
	uint32_t uid;
	uint32_t recvq_bytes;
	uint32_t sendq_bytes;
	uint32_t backlog; /* listener: length of the accept queue */
	uint32_t backlog_max;
	uint64_t timer_ns;
	uint32_t rmem_bytes;
	uint32_t rcvbuf;
	uint32_t wmem_bytes;
	uint32_t sndbuf;
	uint32_t forward_bytes;
	uint32_t wmem_queued_bytes;
	uint32_t option_bytes;
	uint32_t rx_backlog_bytes;
	uint32_t drops;
	uint32_t mark;
	uint32_t ifindex;
	uint64_t cgroup_id;
	uint8_t tos;
	uint8_t tclass;
	uint8_t shutdown;
	uint8_t timer_retransmits; /* consecutive expirations */
	/* Not fields: references to other tables. */
	uint32_t tcp;    /* index of the TCP record, or SOCKET_NONE */
	uint32_t owner;  /* index of the first owner (lowest pid, then descriptor), or SOCKET_NONE */
	uint32_t owners; /* number of owners */
};

/* tcp_info of a connection; times converted to nanoseconds. */
struct tcp_record {
	uint64_t tcp_cookie; /* of the socket */
	char cc[16];
	uint8_t ca_state;
	uint8_t retransmits;
	uint8_t probes;
	uint8_t backoff;
	uint8_t options;
	uint8_t snd_wscale;
	uint8_t rcv_wscale;
	uint8_t app_limited;
	uint64_t rto_ns;
	uint64_t ato_ns;
	uint32_t snd_mss;
	uint32_t rcv_mss;
	uint32_t unacked;
	uint32_t sacked;
	uint32_t lost;
	uint32_t retrans;
	uint64_t last_sent_ns;
	uint64_t last_received_ns;
	uint64_t last_ack_ns;
	uint32_t pmtu;
	uint32_t rcv_ssthresh;
	uint64_t srtt_ns;
	uint64_t rttvar_ns;
	uint32_t ssthresh;
	uint32_t cwnd;
	uint32_t advmss;
	uint32_t reordering;
	uint64_t rcv_rtt_ns;
	uint32_t rcv_space;
	uint32_t total_retrans;
	uint64_t pacing_rate;
	uint64_t max_pacing_rate;
	uint64_t bytes_acked;
	uint64_t bytes_received;
	uint32_t segs_out;
	uint32_t segs_in;
	uint32_t notsent_bytes;
	uint64_t min_rtt_ns;
	uint32_t data_segs_in;
	uint32_t data_segs_out;
	uint64_t delivery_rate;
	uint64_t busy_ns;
	uint64_t rwnd_limited_ns;
	uint64_t sndbuf_limited_ns;
	uint32_t delivered;
	uint32_t delivered_ce;
	uint64_t bytes_sent;
	uint64_t bytes_retrans;
	uint32_t dsack_dups;
	uint32_t reord_seen;
	uint32_t rcv_ooopack;
	uint32_t snd_wnd;
	uint32_t rcv_wnd;
	uint32_t rehash;
	uint16_t total_rto;
	uint16_t total_rto_recoveries;
	uint64_t total_rto_ns;
	uint64_t bbr_bw;
	uint64_t bbr_min_rtt_ns;
	double bbr_pacing_gain;
	double bbr_cwnd_gain;
	double dctcp_alpha;
	uint64_t vegas_rtt_ns;
	uint8_t order; /* not a field: enum tcp_order */
};

/*
 * Which data was the last, where the kernel's ticks do not tell; only a walk (sock_walk.h) knows. Of data sent and
 * received in one tick, what was sent was the last if its ACK came this much later than what was received: a delayed
 * ACK. Ticks are of 10 ms or less.
 */
#define TCP_ORDER_SLACK_NS 20000000
enum tcp_order { TCP_ORDER_UNKNOWN, TCP_RECEIVED_LAST, TCP_SENT_LAST };

/* Consecutive timeouts of the pending timer; 0 if none is pending. */
static inline uint8_t socket_timeouts(const struct socket_record *socket)
{
	return socket->timer_retransmits == UINT8_MAX ? 0 : socket->timer_retransmits;
}

extern const struct record_type socket_type;
extern const struct record_type tcp_type;

extern struct enum_names socket_timer_names;
extern struct enum_names socket_shutdown_names;

/* Parser context: the request, and the tables to fill. */
struct socket_parse {
	uint8_t proto;
	struct snapshot_table *sockets;
	struct snapshot_table *tcps;
};

nl_parse_fn socket_parse_message;

/* TCP sockets of the current namespace, both families, with those in TIME_WAIT; 0: none or unknown. */
uint64_t socket_count_tcp(struct snapshot *snapshot);
/* The same of all namespaces, without those in TIME_WAIT. */
uint64_t socket_count_tcp_of_host(struct snapshot *snapshot);
/* The TCP record of a socket, or NULL. */
const struct tcp_record *socket_tcp(const struct snapshot *snapshot, const struct socket_record *socket);
