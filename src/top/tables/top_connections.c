/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections: sockets with TCP state, owner, rates, and what limits them. */
#include <netinet/in.h>
#include <string.h>

#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "top/model/top_table.h"
#include "top/tables/holding.h"
#include "top/tables/move.h"

static const struct record_type *const types[] = {&socket_type, &tcp_type, &owner_type, &process_type, NULL};

struct conn_rate {
	double rx_rate, tx_rate;
	double traffic;
	double retrans_rate;
};

static const struct field rate_fields[] = {
	FIELD(struct conn_rate, rx_rate, RATIO, "bytes received per second", .unit = "B/s"),
	FIELD(struct conn_rate, tx_rate, RATIO, "bytes sent and acknowledged per second", .unit = "B/s"),
	FIELD(struct conn_rate, traffic, RATIO, "bytes received and sent per second", .unit = "B/s", .hidden = true),
	FIELD(struct conn_rate, retrans_rate, RATIO, "segments retransmitted per second", .unit = "/s"),
};
static RECORD_TYPE(rate_type, "top_connection", struct conn_rate, rate_fields, "rates of a connection");

/* From the left what one looks for first: 80 columns have room for eight of them. */
static const struct top_column columns[] = {
	{"pid"},
	{"comm", .ink = INK_BOLD},
	{"state"},
	{"raddr"},
	{"rport"},
	{"rx_rate", "RX", .adds = true, .ink = INK_RX},
	{"tx_rate", "TX", .adds = true, .ink = INK_TX},
	{"srtt_ns", "RTT"},
	{"lport"},
	{"total_retrans", "RETRANS", .adds = true, .ink = INK_WARN},
	{"recvq_bytes", .adds = true},
	{"sendq_bytes", .adds = true},
	{"cwnd"},
	{"delivery_rate", "RATE"},
	{"laddr"},
	{"proto"},
	{"cc"},
	{"container", .instead = "unit"},
	{},
};

struct state {
	struct moves moves;
};

/* Where the diagnosis has measured it. */
static const struct limit_record *limits_of(const struct findings *findings, const struct socket_record *socket)
{
	_cleanup_buf_ struct buf id = BUF_INIT(256);

	if (!findings || findings->modules.count == 0)
		return NULL;
	buf_add_text(&id, "conn:");
	addr_format_endpoint(&(struct endpoint){socket->laddr, socket->lport}, &id);
	buf_add_char(&id, '-');
	addr_format_endpoint(&(struct endpoint){socket->raddr, socket->rport}, &id);
	return findings_limits(findings, buf_text(&id));
}

static bool is_connection(const struct socket_record *socket)
{
	return socket->state != SOCKET_LISTEN;
}

static void fill(struct grid *grid, const struct top_moment *moment, void *data)
{
	const struct snapshot *snapshot = moment->snapshot;
	struct state *state = data;
	struct holding holding;

	holding_begin(&holding, snapshot);
	moves_begin(&state->moves, sizeof(uint64_t), snapshot->begin_boot_ns);
	state->moves.from_zero = true;
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(snapshot, socket);
		struct conn_rate rate;

		if (!is_connection(socket))
			continue;
		if (tcp) {
			double rates[3];

			moves_take(&state->moves, &socket->cookie,
				   (uint64_t[]){tcp->bytes_received, tcp->bytes_acked, tcp->total_retrans}, 3, rates);
			rate = (struct conn_rate){rates[0], rates[1], rates[0] + rates[1], rates[2]};
		}
		grid_add(grid, &(struct record){.parts = {socket, tcp, holding_find(&holding, socket->owner),
							  tcp ? &rate : NULL, limits_of(moment->findings, socket)}});
	}
	moves_end(&state->moves);
}

static void release(void *data)
{
	moves_done(&((struct state *)data)->moves);
}

static void links(const struct record *record, struct top_links *links)
{
	const struct socket_record *socket = record->parts[0];
	const struct holding_record *holder = record->parts[2];
	char laddr[ADDR_TEXT_MAX], raddr[ADDR_TEXT_MAX];

	addr_format(&socket->laddr, laddr);
	addr_format(&socket->raddr, raddr);
	if (socket->proto == IPPROTO_TCP) {
		top_links_add(links, NULL, "its events as they happen",
			      "trace tcp.state,tcp.retransmit,tcp.reset,skb.drop --where 'lport == %u and rport == %u'",
			      socket->lport, socket->rport);
		top_links_add(links, NULL, "retransmissions of it", "tcpretrans --where 'lport == %u and rport == %u'",
			      socket->lport, socket->rport);
		top_links_add(links, NULL, "its window and queues", "tcpwin --where 'raddr == %s'", raddr);
		top_links_add(links, NULL, "its drops", "tcpdrop --where 'raddr == %s'", raddr);
	}
	if (holder && holder->pid) {
		top_links_add(links, "threads", "threads of its owner", "pid == %u", holder->pid);
		top_links_add(links, "connections", "connections of its owner", "pid == %u", holder->pid);
		top_links_add(links, NULL, "where its owner's time goes", "diagnose -p %u", holder->pid);
	}
	top_links_add(links, "connections", "connections to the same peer", "raddr == %s", raddr);
	top_links_add(links, NULL, "all that the kernel reports", "sockets -w --where 'lport == %u and rport == %u'",
		      socket->lport, socket->rport);
}

static const struct top_table connections_table = {
	.name = "connections",
	.tab = "conns",
	.key = '2',
	.help = "TCP and UDP sockets with owner, rates, RTT and queues",
	.command = "sockets",
	.types = types,
	.shape = {5, {&socket_type, &tcp_type, &holding_type, &rate_type, &limit_type}},
	.columns = columns,
	.sort = "-traffic",
	.hide = "state == TIME_WAIT",
	.hidden = "in TIME_WAIT",
	.trees = {"comm", "raddr", "container", "cgroup", "state", "netns"},
	.id = {"cookie", "laddr", "lport", "netns"},
	.plots = {"rx_rate", "tx_rate", "srtt_ns", "cwnd", "retrans_rate", "sendq_bytes"},
	.first_part = 4,
	.state_size = sizeof(struct state),
	.fill = fill,
	.release = release,
	.links = links,
};
TOP_TABLE(connections_table);

/* --- listeners --- */

static const struct record_type *const listener_types[] = {&socket_type, &owner_type, &process_type, NULL};

static const struct top_column listener_columns[] = {
	{"proto"},
	{"laddr"},
	{"lport"},
	{"backlog", .adds = true},
	{"backlog_max"},
	{"pid"},
	{"comm"},
	{"drops"},
	{"uid"},
	{"container", .instead = "unit"},
	{},
};

static void fill_listeners(struct grid *grid, const struct top_moment *moment, void *data _unused_)
{
	struct holding holding;

	holding_begin(&holding, moment->snapshot);
	snapshot_each(moment->snapshot, socket_type, const struct socket_record, socket)
		if (!is_connection(socket))
			grid_add(grid, &(struct record){.parts = {socket, holding_find(&holding, socket->owner)}});
}

static void listener_links(const struct record *record, struct top_links *links)
{
	const struct socket_record *socket = record->parts[0];
	const struct holding_record *holder = record->parts[1];

	top_links_add(links, "connections", "its connections", "lport == %u", socket->lport);
	if (holder && holder->pid)
		top_links_add(links, "threads", "threads of its owner", "pid == %u", holder->pid);
	top_links_add(links, NULL, "incoming connections as they are accepted", "tcpaccept -P %u", socket->lport);
	top_links_add(links, NULL, "accept queue over time", "tcpsynbl");
}

static const struct top_table listeners_table = {
	.name = "listeners",
	.tab = "listen",
	.key = '8',
	.help = "listening sockets with their accept queues",
	.command = "sockets -l",
	.types = listener_types,
	.shape = {2, {&socket_type, &holding_type}},
	.columns = listener_columns,
	.sort = "-backlog",
	.trees = {"comm", "container", "netns"},
	.id = {"laddr", "lport", "netns"},
	.plots = {"backlog"},
	.fill = fill_listeners,
	.links = listener_links,
};
TOP_TABLE(listeners_table);
