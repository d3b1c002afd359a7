/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interfaces and the queues in front of them, with rates. */
#include <math.h>
#include <string.h>

#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "top/model/top_table.h"
#include "top/tables/move.h"

struct state {
	struct moves moves;
};

/* An interface or queue, the same in the next sample. */
struct place {
	uint32_t netns;
	uint32_t ifindex;
	char handle[12];
	char parent[12];
};

static void release(void *data)
{
	moves_done(&((struct state *)data)->moves);
}

/* --- interfaces --- */

struct link_rate {
	double rx_rate, tx_rate;
	double traffic;
	double rx_packet_rate, tx_packet_rate;
	double util;
	double drop_rate;
	double error_rate;
};

#define R struct link_rate
static const struct field rate_fields[] = {
	FIELD(R, rx_rate, RATIO, "bytes received per second", .unit = "B/s", .as_bits = true),
	FIELD(R, tx_rate, RATIO, "bytes sent per second", .unit = "B/s", .as_bits = true),
	FIELD(R, traffic, RATIO, "bytes received and sent per second", .unit = "B/s", .as_bits = true, .hidden = true),
	FIELD(R, rx_packet_rate, RATIO, "packets received per second", .unit = "/s"),
	FIELD(R, tx_packet_rate, RATIO, "packets sent per second", .unit = "/s"),
	FIELD(R, util, RATIO, "share of the link speed in use, of the busier direction; unknown without a speed",
	      .unit = "%"),
	FIELD(R, drop_rate, RATIO, "packets dropped per second, both directions", .unit = "/s"),
	FIELD(R, error_rate, RATIO, "errors per second, both directions", .unit = "/s"),
};
#undef R
static RECORD_TYPE(link_rate_type, "top_link", struct link_rate, rate_fields, "rates of an interface");

static const struct record_type *const link_types[] = {&link_type, NULL};

static struct link_rate rate_of(struct state *state, const struct link_record *link)
{
	struct place place = {.netns = link->netns, .ifindex = link->ifindex};
	const uint64_t values[] = {link->rx_bytes,   link->tx_bytes,   link->rx_packets, link->tx_packets,
				   link->rx_dropped, link->tx_dropped, link->rx_errors,  link->tx_errors};
	double rates[ARRAY_SIZE(values)], busy;
	struct link_rate rate;

	moves_take(&state->moves, &place, values, ARRAY_SIZE(values), rates);
	rate = (struct link_rate){.rx_rate = rates[0],
				  .tx_rate = rates[1],
				  .traffic = rates[0] + rates[1],
				  .rx_packet_rate = rates[2],
				  .tx_packet_rate = rates[3],
				  .drop_rate = rates[4] + rates[5],
				  .error_rate = rates[6] + rates[7]};
	busy = link->duplex == 0 ? rates[0] + rates[1] : max_of(rates[0], rates[1]);
	rate.util = link->speed == UINT64_MAX || link->speed == 0 ? NAN : busy * 8 / (double)link->speed;
	return rate;
}

static void fill_links(struct grid *grid, const struct top_moment *moment, void *data)
{
	struct state *state = data;

	moves_begin(&state->moves, sizeof(struct place), moment->snapshot->begin_boot_ns);
	snapshot_each(moment->snapshot, link_type, const struct link_record, link) {
		struct link_rate rate = rate_of(state, link);

		grid_add(grid, &(struct record){.parts = {link, &rate}});
	}
	moves_end(&state->moves);
}

static void link_links(const struct record *record, struct top_links *links)
{
	const struct link_record *link = record->parts[0];

	top_links_add(links, "queues", "its queues", "dev == \"%.16s\"", link->dev);
	top_links_add(links, NULL, "driver, rings and offloads", "links -e -i '%.16s'", link->dev);
	top_links_add(links, NULL, "diagnosis of its traffic", "diagnose -i '%.16s'", link->dev);
}

static const struct top_column link_columns[] = {
	{"dev", .ink = INK_BOLD},
	{"operstate", "STATE"},
	{"rx_rate", "RX", .adds = true, .ink = INK_RX},
	{"tx_rate", "TX", .adds = true, .ink = INK_TX},
	{"util"},
	{"rx_packet_rate", "RX_PPS", .adds = true},
	{"tx_packet_rate", "TX_PPS", .adds = true},
	{"drop_rate", "DROPS", .adds = true, .ink = INK_BAD},
	{"error_rate", "ERRORS", .adds = true, .ink = INK_BAD},
	{"speed"},
	{"mtu"},
	{"qdisc"},
	{"kind"},
	{},
};

static const struct top_table links_table = {
	.name = "interfaces",
	.tab = "links",
	.key = '5',
	.help = "network interfaces with rates, utilisation and drops",
	.command = "links",
	.types = link_types,
	.shape = {2, {&link_type, &link_rate_type}},
	.columns = link_columns,
	.sort = "-traffic",
	.trees = {"kind", "operstate", "netns"},
	.id = {"ifindex", "netns"},
	.plots = {"rx_rate", "tx_rate", "util", "drop_rate", "error_rate"},
	.state_size = sizeof(struct state),
	.fill = fill_links,
	.release = release,
	.links = link_links,
};
TOP_TABLE(links_table);

/* --- queues --- */

struct queue_rate {
	double tx_rate;
	double packet_rate;
	double drop_rate;
	double overlimit_rate;
};

static const struct field queue_fields[] = {
	FIELD(struct queue_rate, tx_rate, RATIO, "bytes sent per second", .unit = "B/s", .as_bits = true),
	FIELD(struct queue_rate, packet_rate, RATIO, "packets sent per second", .unit = "/s"),
	FIELD(struct queue_rate, drop_rate, RATIO, "packets dropped per second", .unit = "/s"),
	FIELD(struct queue_rate, overlimit_rate, RATIO, "times per second that a limit held packets back",
	      .unit = "/s"),
};
static RECORD_TYPE(queue_rate_type, "top_queue", struct queue_rate, queue_fields, "rates of a queue");

static const struct record_type *const queue_types[] = {&qdisc_type, &class_type, &link_type, NULL};

static void add_queue(struct grid *grid, struct state *state, const struct qdisc_record *qdisc)
{
	struct place place = {.netns = qdisc->netns, .ifindex = qdisc->ifindex};
	double rates[4];

	memcpy(place.handle, qdisc->handle, sizeof(place.handle));
	memcpy(place.parent, qdisc->parent, sizeof(place.parent));
	moves_take(&state->moves, &place, (uint64_t[]){qdisc->bytes, qdisc->packets, qdisc->drops, qdisc->overlimits},
		   4, rates);
	grid_add(grid,
		 &(struct record){.parts = {qdisc, &(struct queue_rate){rates[0], rates[1], rates[2], rates[3]}}});
}

static void fill_queues(struct grid *grid, const struct top_moment *moment, void *data)
{
	struct state *state = data;

	moves_begin(&state->moves, sizeof(struct place), moment->snapshot->begin_boot_ns);
	snapshot_each(moment->snapshot, qdisc_type, const struct qdisc_record, qdisc)
		add_queue(grid, state, qdisc);
	snapshot_each(moment->snapshot, class_type, const struct qdisc_record, class)
		add_queue(grid, state, class);
	moves_end(&state->moves);
}

static void queue_links(const struct record *record, struct top_links *links)
{
	const struct qdisc_record *qdisc = record->parts[0];

	top_links_add(links, NULL, "time that packets wait in it", "qdisclat -i '%.16s' 1", qdisc->dev);
	top_links_add(links, "interfaces", "its interface", "dev == \"%.16s\"", qdisc->dev);
}

static const struct top_column queue_columns[] = {
	{"dev", .ink = INK_BOLD},
	{"kind"},
	{"handle"},
	{"parent"},
	{"qlen", .adds = true},
	{"backlog_bytes", "BACKLOG", .adds = true, .ink = INK_WARN},
	{"tx_rate", "TX", .adds = true, .ink = INK_TX},
	{"packet_rate", "PPS", .adds = true},
	{"drop_rate", "DROPS", .adds = true, .ink = INK_BAD},
	{"drops", "DROPPED", .adds = true},
	{"overlimit_rate", "OVERLIMITS", .adds = true},
	{"rate"},
	{"limit_packets"},
	{},
};

static const struct top_table queues_table = {
	.name = "queues",
	.key = '6',
	.help = "queueing disciplines and classes with backlog, rates and drops",
	.command = "links -q",
	.types = queue_types,
	.shape = {2, {&qdisc_type, &queue_rate_type}},
	.columns = queue_columns,
	.sort = "-backlog_bytes",
	.trees = {"dev", "kind", "netns"},
	.id = {"ifindex", "handle", "parent", "netns"},
	.plots = {"tx_rate", "backlog_bytes", "qlen", "drop_rate"},
	.state_size = sizeof(struct state),
	.fill = fill_queues,
	.release = release,
	.links = queue_links,
};
TOP_TABLE(queues_table);
