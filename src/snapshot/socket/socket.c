/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Field tables of sockets, and the parser of sock_diag replies. */
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/socket/socket_answer.h"

static const struct enum_name timer_names[] = {
	{SOCKET_TIMER_OFF, "off", "no timer pending"},
	{SOCKET_TIMER_RETRANSMIT, "on", "retransmission timer or tail loss probe: data unacknowledged"},
	{SOCKET_TIMER_KEEPALIVE, "keepalive", "keepalive timer, or SYN-ACK timer"},
	{SOCKET_TIMER_TIME_WAIT, "timewait", "TIME-WAIT timer"},
	{SOCKET_TIMER_PERSIST, "persist", "zero window probe timer"},
};
struct enum_names socket_timer_names = {timer_names, ARRAY_SIZE(timer_names), NULL};

static const struct enum_name shutdown_names[] = {
	{1, "rcv", "receive direction shut down"},
	{2, "snd", "send direction shut down"},
};
struct enum_names socket_shutdown_names = {shutdown_names, ARRAY_SIZE(shutdown_names), NULL};

static const struct enum_name ca_names[] = {
	{0, "Open", "no loss or reordering"},
	{1, "Disorder", "duplicate ACKs or SACKs received"},
	{2, "CWR", "congestion window being reduced (ECN, local congestion)"},
	{3, "Recovery", "fast recovery: lost segments are retransmitted"},
	{4, "Loss", "recovery after a retransmission timeout (RTO)"},
};
static struct enum_names ca_enum = {ca_names, ARRAY_SIZE(ca_names), NULL};

static const struct enum_name option_names[] = {
	{TCPI_OPT_TIMESTAMPS, "ts", NULL}, {TCPI_OPT_SACK, "sack", NULL},        {TCPI_OPT_WSCALE, "wscale", NULL},
	{TCPI_OPT_ECN, "ecn", NULL},       {TCPI_OPT_ECN_SEEN, "ecnseen", NULL}, {TCPI_OPT_SYN_DATA, "fastopen", NULL},
};
static struct enum_names option_enum = {option_names, ARRAY_SIZE(option_names), NULL};

#define S struct socket_record
static const struct field socket_fields[] = {
	FIELD(S, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(S, family, ENUM, "address family", .names = &addr_family_names, .hidden = true),
	FIELD(S, proto, ENUM, "transport protocol", .names = &socket_proto_names),
	FIELD(S, state, ENUM, "state; of UDP: ESTABLISHED when connected, else CLOSE", .names = &socket_state_names),
	FIELD(S, recvq_bytes, BYTES, "receive queue: received, not yet read by the application"),
	FIELD(S, sendq_bytes, BYTES, "send queue: written by the application, not yet acknowledged"),
	FIELD(S, backlog, COUNT, "listener: connections in the accept queue", .hidden = true),
	FIELD(S, backlog_max, COUNT, "listener: limit of the accept queue (backlog)", .hidden = true),
	FIELD(S, laddr, ADDR, "local address"),
	FIELD(S, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(S, raddr, ADDR, "remote address"),
	FIELD(S, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(S, cookie, HEX, "socket cookie, unique until reboot", .hidden = true),
	FIELD(S, inode, ID, "inode number, as in /proc/PID/fd", .zero_is_unknown = true, .hidden = true),
	FIELD(S, uid, ID, "user ID of the socket's owner", .hidden = true),
	FIELD(S, timer, ENUM, "pending timer", .names = &socket_timer_names, .hidden = true),
	FIELD(S, timer_ns, DURATION, "time until the timer expires", .heading = "timer_left", .moment = MOMENT_UNTIL,
	      .hidden = true),
	FIELD(S, timer_retransmits, COUNT, "consecutive expirations of that timer", .hidden = true),
	FIELD(S, rmem_bytes, BYTES, "receive buffer memory in use, including overhead", .hidden = true),
	FIELD(S, rcvbuf, BYTES, "receive buffer limit", .hidden = true),
	FIELD(S, wmem_bytes, BYTES, "memory of packets in qdisc and driver", .hidden = true),
	FIELD(S, sndbuf, BYTES, "send buffer limit", .hidden = true),
	FIELD(S, forward_bytes, BYTES, "memory allocated in advance (forward alloc)", .hidden = true),
	FIELD(S, wmem_queued_bytes, BYTES, "send queue memory, including overhead", .hidden = true),
	/* BPF programs of other observers come and go, with their storage. */
	FIELD(S, option_bytes, BYTES, "memory of socket options and of BPF storage", .hidden = true,
	      .incidental = true),
	FIELD(S, rx_backlog_bytes, BYTES, "socket backlog: received while the socket was locked", .hidden = true),
	FIELD(S, drops, COUNT, "packets dropped by the socket: receive buffer full; of a listener, all drops",
	      .hidden = true),
	FIELD(S, mark, HEX, "packet mark", .hidden = true),
	FIELD(S, ifindex, ID, "index of the interface it is bound to", .zero_is_unknown = true, .hidden = true),
	FIELD(S, cgroup_id, ID, "cgroup ID", .zero_is_unknown = true, .hidden = true),
	FIELD(S, tos, HEX, "IPv4 type of service; not read for TCP with more than 20,000 sockets", .hidden = true),
	FIELD(S, tclass, HEX, "IPv6 traffic class; not read for TCP with more than 20,000 sockets", .hidden = true),
	FIELD(S, shutdown, FLAGS, "directions shut down", .names = &socket_shutdown_names, .hidden = true),
};
#undef S
RECORD_TYPE(socket_type, "socket", struct socket_record, socket_fields, "a TCP or UDP socket");

#define T struct tcp_record
static const struct field tcp_fields[] = {
	FIELD(T, tcp_cookie, HEX, "cookie of the socket", .hidden = true),
	FIELD(T, cc, TEXT, "congestion control algorithm", .hidden = true),
	FIELD(T, ca_state, ENUM, "congestion state (Open, Disorder, CWR, Recovery, Loss)", .names = &ca_enum,
	      .hidden = true),
	FIELD(T, retransmits, COUNT, "consecutive retransmission timeouts", .hidden = true),
	FIELD(T, probes, COUNT, "unanswered zero window or keepalive probes", .hidden = true),
	FIELD(T, backoff, COUNT, "exponential backoff of the timer", .hidden = true),
	FIELD(T, options, FLAGS, "negotiated TCP options", .names = &option_enum, .hidden = true),
	FIELD(T, snd_wscale, COUNT, "window scale of the peer", .hidden = true),
	FIELD(T, rcv_wscale, COUNT, "own window scale", .hidden = true),
	FIELD(T, app_limited, BOOL, "delivery rate limited by the application", .hidden = true),
	FIELD(T, rto_ns, DURATION, "retransmission timeout", .hidden = true),
	FIELD(T, ato_ns, DURATION, "delayed ACK timeout", .hidden = true),
	FIELD(T, snd_mss, BYTES, "send MSS", .exact = true, .hidden = true),
	FIELD(T, rcv_mss, BYTES, "receive MSS, estimated", .exact = true, .hidden = true),
	FIELD(T, unacked, COUNT, "unacknowledged segments (in flight)", .hidden = true),
	FIELD(T, sacked, COUNT, "segments acknowledged by SACK", .hidden = true),
	FIELD(T, lost, COUNT, "segments considered lost", .hidden = true),
	FIELD(T, retrans, COUNT, "retransmitted segments in flight", .hidden = true),
	FIELD(T, last_sent_ns, DURATION, "time since data was sent", .moment = MOMENT_SINCE, .hidden = true),
	FIELD(T, last_received_ns, DURATION, "time since data was received", .moment = MOMENT_SINCE, .hidden = true),
	FIELD(T, last_ack_ns, DURATION, "time since an ACK was received", .moment = MOMENT_SINCE, .hidden = true),
	FIELD(T, pmtu, BYTES, "path MTU", .exact = true, .hidden = true),
	FIELD(T, rcv_ssthresh, BYTES, "receive window growth limit (rcv_ssthresh)", .hidden = true),
	FIELD(T, srtt_ns, DURATION, "smoothed RTT", .zero_is_unknown = true, .hidden = true),
	FIELD(T, rttvar_ns, DURATION, "RTT variation", .hidden = true),
	FIELD(T, ssthresh, COUNT, "slow start threshold in segments; unknown until the first loss", .hidden = true),
	FIELD(T, cwnd, COUNT, "congestion window in segments", .hidden = true),
	FIELD(T, advmss, BYTES, "advertised MSS", .exact = true, .hidden = true),
	FIELD(T, reordering, COUNT, "reordering degree in segments", .hidden = true),
	FIELD(T, rcv_rtt_ns, DURATION, "receiver's RTT estimate", .zero_is_unknown = true, .hidden = true),
	FIELD(T, rcv_space, BYTES, "bytes the application reads per RTT (rcv_space)", .hidden = true),
	FIELD(T, total_retrans, COUNT, "total segments retransmitted", .hidden = true),
	FIELD(T, pacing_rate, BYTES, "pacing rate; unknown: no pacing", .unit = "B/s", .hidden = true),
	FIELD(T, max_pacing_rate, BYTES, "pacing rate limit; unknown: none", .unit = "B/s", .hidden = true),
	FIELD(T, bytes_acked, BYTES, "bytes acknowledged by the peer; SYN and FIN count one each", .hidden = true),
	FIELD(T, bytes_received, BYTES, "bytes received; FIN counts one", .hidden = true),
	FIELD(T, segs_out, COUNT, "segments sent", .hidden = true),
	FIELD(T, segs_in, COUNT, "segments received", .hidden = true),
	FIELD(T, notsent_bytes, BYTES, "bytes in the send queue not yet sent", .hidden = true),
	FIELD(T, min_rtt_ns, DURATION, "minimum RTT of the last minutes", .hidden = true),
	FIELD(T, data_segs_in, COUNT, "data segments received", .hidden = true),
	FIELD(T, data_segs_out, COUNT, "data segments sent", .hidden = true),
	FIELD(T, delivery_rate, BYTES, "recent delivery rate", .unit = "B/s", .hidden = true),
	FIELD(T, busy_ns, DURATION, "time with data in the send queue", .hidden = true),
	FIELD(T, rwnd_limited_ns, DURATION, "time limited by the peer's receive window", .hidden = true),
	FIELD(T, sndbuf_limited_ns, DURATION, "time limited by the send buffer", .hidden = true),
	FIELD(T, delivered, COUNT, "segments delivered to the peer", .hidden = true),
	FIELD(T, delivered_ce, COUNT, "segments delivered with ECN CE mark", .hidden = true),
	FIELD(T, bytes_sent, BYTES, "bytes sent, including retransmissions", .hidden = true),
	FIELD(T, bytes_retrans, BYTES, "bytes retransmitted", .hidden = true),
	FIELD(T, dsack_dups, COUNT, "spurious retransmissions reported by the peer (DSACK)", .hidden = true),
	FIELD(T, reord_seen, COUNT, "reordering events", .hidden = true),
	FIELD(T, rcv_ooopack, COUNT, "segments received out of order", .hidden = true),
	FIELD(T, snd_wnd, BYTES, "send window: receive window advertised by the peer", .hidden = true),
	FIELD(T, rcv_wnd, BYTES, "advertised receive window (Linux 6.2 and later)", .hidden = true),
	FIELD(T, rehash, COUNT, "flow hash changes after timeouts (Linux 6.2 and later)", .hidden = true),
	FIELD(T, total_rto, COUNT, "total retransmission timeouts (Linux 6.7 and later)", .hidden = true),
	FIELD(T, total_rto_recoveries, COUNT, "recoveries from retransmission timeouts (Linux 6.7 and later)",
	      .hidden = true),
	FIELD(T, total_rto_ns, DURATION, "time in retransmission timeout recovery (Linux 6.7 and later)",
	      .heading = "total_rto_time", .hidden = true),
	FIELD(T, bbr_bw, BYTES, "BBR: bandwidth estimate", .unit = "B/s", .hidden = true),
	FIELD(T, bbr_min_rtt_ns, DURATION, "BBR: minimum RTT", .hidden = true),
	FIELD(T, bbr_pacing_gain, RATIO, "BBR: pacing gain", .hidden = true),
	FIELD(T, bbr_cwnd_gain, RATIO, "BBR: congestion window gain", .hidden = true),
	FIELD(T, dctcp_alpha, RATIO, "DCTCP: share of marked segments", .unit = "%", .hidden = true),
	FIELD(T, vegas_rtt_ns, DURATION, "Vegas and similar: RTT", .hidden = true),
};
#undef T
RECORD_TYPE(tcp_type, "tcp", struct tcp_record, tcp_fields, "TCP state of a connection (tcp_info)");

/* TCP_INFINITE_SSTHRESH: no loss yet. */
#define SSTHRESH_NONE 0x7fffffffu

static void fill_start(struct tcp_record *tcp, const struct tcp_info *info)
{
	tcp->ca_state = info->tcpi_ca_state;
	tcp->retransmits = info->tcpi_retransmits;
	tcp->probes = info->tcpi_probes;
	tcp->backoff = info->tcpi_backoff;
	tcp->options = info->tcpi_options;
	tcp->snd_wscale = info->tcpi_snd_wscale;
	tcp->rcv_wscale = info->tcpi_rcv_wscale;
	tcp->app_limited = info->tcpi_delivery_rate_app_limited;
	tcp->rto_ns = info->tcpi_rto * NSEC_PER_USEC;
	tcp->ato_ns = info->tcpi_ato * NSEC_PER_USEC;
	tcp->snd_mss = info->tcpi_snd_mss;
	tcp->rcv_mss = info->tcpi_rcv_mss;
	tcp->unacked = info->tcpi_unacked;
	tcp->sacked = info->tcpi_sacked;
	tcp->lost = info->tcpi_lost;
	tcp->retrans = info->tcpi_retrans;
	/* Before the handshake completes these count from boot. */
	if (info->tcpi_state != SOCKET_SYN_SENT) {
		tcp->last_sent_ns = info->tcpi_last_data_sent * NSEC_PER_MSEC;
		tcp->last_received_ns = info->tcpi_last_data_recv * NSEC_PER_MSEC;
		tcp->last_ack_ns = info->tcpi_last_ack_recv * NSEC_PER_MSEC;
	}
	tcp->pmtu = info->tcpi_pmtu;
	tcp->rcv_ssthresh = info->tcpi_rcv_ssthresh;
	tcp->srtt_ns = info->tcpi_rtt * NSEC_PER_USEC;
	tcp->rttvar_ns = info->tcpi_rtt ? info->tcpi_rttvar * NSEC_PER_USEC : UINT64_MAX;
	tcp->ssthresh = info->tcpi_snd_ssthresh == SSTHRESH_NONE ? UINT32_MAX : info->tcpi_snd_ssthresh;
	tcp->cwnd = info->tcpi_snd_cwnd;
	tcp->advmss = info->tcpi_advmss;
	tcp->reordering = info->tcpi_reordering;
	tcp->rcv_rtt_ns = info->tcpi_rcv_rtt * NSEC_PER_USEC;
	tcp->rcv_space = info->tcpi_rcv_space;
	tcp->total_retrans = info->tcpi_total_retrans;
}

static void fill_counters(struct tcp_record *tcp, const struct tcp_info *info)
{
	tcp->pacing_rate = info->tcpi_pacing_rate;
	tcp->max_pacing_rate = info->tcpi_max_pacing_rate;
	tcp->bytes_acked = info->tcpi_bytes_acked;
	tcp->bytes_received = info->tcpi_bytes_received;
	tcp->segs_out = info->tcpi_segs_out;
	tcp->segs_in = info->tcpi_segs_in;
	tcp->notsent_bytes = info->tcpi_notsent_bytes;
	if (info->tcpi_min_rtt != UINT32_MAX)
		tcp->min_rtt_ns = info->tcpi_min_rtt * NSEC_PER_USEC;
	tcp->data_segs_in = info->tcpi_data_segs_in;
	tcp->data_segs_out = info->tcpi_data_segs_out;
	tcp->delivery_rate = info->tcpi_delivery_rate;
	tcp->busy_ns = info->tcpi_busy_time * NSEC_PER_USEC;
	tcp->rwnd_limited_ns = info->tcpi_rwnd_limited * NSEC_PER_USEC;
	tcp->sndbuf_limited_ns = info->tcpi_sndbuf_limited * NSEC_PER_USEC;
	tcp->delivered = info->tcpi_delivered;
	tcp->delivered_ce = info->tcpi_delivered_ce;
	tcp->bytes_sent = info->tcpi_bytes_sent;
	tcp->bytes_retrans = info->tcpi_bytes_retrans;
	tcp->dsack_dups = info->tcpi_dsack_dups;
	tcp->reord_seen = info->tcpi_reord_seen;
	tcp->rcv_ooopack = info->tcpi_rcv_ooopack;
	tcp->snd_wnd = info->tcpi_snd_wnd;
}

static void fill_later(struct tcp_record *tcp, const uint8_t *bytes, size_t n)
{
	struct {
		uint32_t rcv_wnd, rehash;
		uint16_t total_rto, total_rto_recoveries;
		uint32_t total_rto_time;
	} later;

	if (n < TCP_INFO_BASE + sizeof(uint32_t[2]))
		return;
	memset(&later, 0, sizeof(later));
	memcpy(&later, bytes + TCP_INFO_BASE, min_of(n - TCP_INFO_BASE, sizeof(later)));
	tcp->rcv_wnd = later.rcv_wnd;
	tcp->rehash = later.rehash;
	if (n < TCP_INFO_BASE + sizeof(later))
		return;
	tcp->total_rto = later.total_rto;
	tcp->total_rto_recoveries = later.total_rto_recoveries;
	tcp->total_rto_ns = later.total_rto_time * NSEC_PER_MSEC;
}

static void fill_bbr(struct tcp_record *tcp, const struct tcp_bbr_info *bbr)
{
	tcp->bbr_bw = (uint64_t)bbr->bbr_bw_hi << 32 | bbr->bbr_bw_lo;
	if (bbr->bbr_min_rtt != UINT32_MAX)
		tcp->bbr_min_rtt_ns = bbr->bbr_min_rtt * NSEC_PER_USEC;
	tcp->bbr_pacing_gain = bbr->bbr_pacing_gain / 256.0;
	tcp->bbr_cwnd_gain = bbr->bbr_cwnd_gain / 256.0;
}

static void fill_congestion(struct tcp_record *tcp, const struct nlattr **attrs)
{
	struct tcp_bbr_info bbr;
	struct tcp_dctcp_info dctcp;
	struct tcpvegas_info vegas;

	nl_get_chars(attrs[INET_DIAG_CONG], tcp->cc, sizeof(tcp->cc));
	if (nl_get_bytes(attrs[INET_DIAG_BBRINFO], &bbr, sizeof(bbr)) == sizeof(bbr))
		fill_bbr(tcp, &bbr);
	if (nl_get_bytes(attrs[INET_DIAG_DCTCPINFO], &dctcp, sizeof(dctcp)) == sizeof(dctcp) && dctcp.dctcp_enabled)
		tcp->dctcp_alpha = dctcp.dctcp_alpha / 1024.0;
	if (nl_get_bytes(attrs[INET_DIAG_VEGASINFO], &vegas, sizeof(vegas)) == sizeof(vegas) && vegas.tcpv_enabled)
		tcp->vegas_rtt_ns = vegas.tcpv_rtt * NSEC_PER_USEC;
}

/* n bytes of struct tcp_info_wire. NULL: the socket has no TCP record. */
static struct tcp_record *add_tcp(const struct socket_parse *context, struct socket_record *socket,
				  const struct tcp_info_wire *info, size_t n)
{
	struct tcp_record *tcp;

	/* A listener's tcp_info repeats the accept queue, which the socket already has. */
	if (n < TCP_INFO_BASE || socket->state == SOCKET_LISTEN)
		return NULL;
	tcp = snapshot_table_add(context->tcps);
	if (!tcp)
		return NULL;
	socket->tcp = (uint32_t)(context->tcps->count - 1);
	tcp->tcp_cookie = socket->cookie;
	fill_start(tcp, &info->base);
	fill_counters(tcp, &info->base);
	fill_later(tcp, (const uint8_t *)info, n);
	return tcp;
}

static void parse_tcp(const struct socket_parse *context, struct socket_record *socket, const struct nlattr **attrs)
{
	struct tcp_info_wire info;
	size_t n = nl_get_bytes(attrs[INET_DIAG_INFO], &info, sizeof(info));
	struct tcp_record *tcp = add_tcp(context, socket, &info, n);

	if (tcp)
		fill_congestion(tcp, attrs);
}

/* SK_MEMINFO_* in order; later kernels may have more. */
static void fill_memory(struct socket_record *socket, const uint32_t mem[SOCKET_MEMORY_WORDS])
{
	socket->rmem_bytes = mem[0];
	socket->rcvbuf = mem[1];
	socket->wmem_bytes = mem[2];
	socket->sndbuf = mem[3];
	socket->forward_bytes = mem[4];
	socket->wmem_queued_bytes = mem[5];
	socket->option_bytes = mem[6];
	socket->rx_backlog_bytes = mem[7];
	socket->drops = mem[8];
}

static void parse_memory(struct socket_record *socket, const struct nlattr *attr)
{
	uint32_t mem[SOCKET_MEMORY_WORDS];

	if (nl_get_bytes(attr, mem, sizeof(mem)) == sizeof(mem))
		fill_memory(socket, mem);
}

static void parse_address(uint8_t family, const uint32_t words[4], struct addr *addr)
{
	if (family == AF_INET)
		*addr = addr_from_v4(words);
	else if (family == AF_INET6)
		*addr = addr_from_v6(words);
}

static void parse_head(struct socket_record *socket, const struct inet_diag_msg *msg)
{
	socket->family = msg->idiag_family == AF_INET6 ? ADDR_V6 : ADDR_V4;
	socket->state = msg->idiag_state;
	socket->timer = msg->idiag_timer;
	parse_address(msg->idiag_family, msg->id.idiag_src, &socket->laddr);
	parse_address(msg->idiag_family, msg->id.idiag_dst, &socket->raddr);
	socket->lport = ntohs(msg->id.idiag_sport);
	socket->rport = ntohs(msg->id.idiag_dport);
	socket->cookie = (uint64_t)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0];
	socket->inode = msg->idiag_inode;
	socket->uid = msg->idiag_uid;
	socket->ifindex = msg->id.idiag_if;
	if (msg->idiag_timer != SOCKET_TIMER_OFF) {
		socket->timer_ns = msg->idiag_expires * NSEC_PER_MSEC;
		socket->timer_retransmits = msg->idiag_retrans;
	}
	if (msg->idiag_state == SOCKET_LISTEN) {
		socket->backlog = msg->idiag_rqueue;
		socket->backlog_max = msg->idiag_wqueue;
		return;
	}
	/* Not a full socket: no queues. */
	if (msg->idiag_state == SOCKET_TIME_WAIT || msg->idiag_state == SOCKET_SYN_RECV ||
	    msg->idiag_state == SOCKET_NEW_SYN_RECV)
		return;
	socket->recvq_bytes = msg->idiag_rqueue;
	socket->sendq_bytes = msg->idiag_wqueue;
}

static struct socket_record *add_socket(const struct snapshot *snapshot, const struct socket_parse *context)
{
	struct socket_record *socket = snapshot_table_add(context->sockets);

	if (!socket)
		return NULL;
	socket->netns = snapshot->netns;
	socket->proto = context->proto;
	socket->tcp = SOCKET_NONE;
	socket->owner = SOCKET_NONE;
	return socket;
}

void socket_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context_data)
{
	const struct socket_parse *context = context_data;
	const struct nlattr *attrs[INET_DIAG_MAX + 1];
	const struct inet_diag_msg *msg = nl_payload(message);
	struct socket_record *socket;

	if (nl_payload_len(message) < sizeof(*msg) || (msg->idiag_family != AF_INET && msg->idiag_family != AF_INET6))
		return;
	socket = add_socket(snapshot, context);
	if (!socket)
		return;
	nl_attrs(message, sizeof(*msg), attrs, INET_DIAG_MAX);
	nl_get_u8(attrs[INET_DIAG_PROTOCOL], &socket->proto);
	parse_head(socket, msg);
	parse_memory(socket, attrs[INET_DIAG_SKMEMINFO]);
	nl_get_u32(attrs[INET_DIAG_MARK], &socket->mark);
	nl_get_u64(attrs[INET_DIAG_CGROUP_ID], &socket->cgroup_id);
	nl_get_u8(attrs[INET_DIAG_TOS], &socket->tos);
	nl_get_u8(attrs[INET_DIAG_TCLASS], &socket->tclass);
	nl_get_u8(attrs[INET_DIAG_SHUTDOWN], &socket->shutdown);
	if (context->proto == IPPROTO_TCP)
		parse_tcp(context, socket, attrs);
}

void socket_add_answer(const struct snapshot *snapshot, const struct socket_parse *context,
		       const struct socket_answer *answer)
{
	struct socket_record *socket = add_socket(snapshot, context);
	struct tcp_record *tcp;

	if (!socket)
		return;
	parse_head(socket, &answer->msg);
	fill_memory(socket, answer->memory);
	socket->mark = answer->mark;
	socket->cgroup_id = answer->cgroup_id;
	socket->shutdown = answer->shutdown;
	tcp = add_tcp(context, socket, &answer->info, answer->info_len);
	if (!tcp)
		return;
	memcpy(tcp->cc, answer->cc, sizeof(tcp->cc));
	tcp->order = answer->order;
	if (answer->has_bbr)
		fill_bbr(tcp, &answer->bbr);
}

const struct tcp_record *socket_tcp(const struct snapshot *snapshot, const struct socket_record *socket)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &tcp_type);

	if (socket->tcp == SOCKET_NONE || socket->tcp >= table->count)
		return NULL;
	return (const struct tcp_record *)table->items + socket->tcp;
}
