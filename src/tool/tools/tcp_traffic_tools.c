/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for TCP throughput and packets. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tool/core/tool.h"

/* --- tcptop --- */

static const struct output_column tcptop_columns[] = {
	{"pid"}, {"comm"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"tx_bytes"}, {"rx_bytes"}, {},
};

struct tcptop_config {
	struct trace_options common;
	uint64_t rows;
};

static const struct option_spec tcptop_options[] = {
	OPTION(struct tcptop_config, rows, UINT, "rows", 'r', "N", "limit output to N rows (20)", .min = 1,
	       .max = 1000000),
	OPTION_GROUP(struct tcptop_config, common, trace_option_table),
	OPTION_END,
};

static void tcptop_plan(const void *config, struct trace_plan *plan)
{
	uint64_t rows = ((const struct tcptop_config *)config)->rows;

	if (rows)
		plan->aggregate.rows = rows;
}

static const char *const tcptop_examples[] = {
	"nest tcptop",
	"connections with the most traffic, every second",
	"nest tcptop -d 10 -p 4711",
	"one process, over 10 seconds",
	NULL,
};

static const struct tool tcptop_tool = {
	.name = "tcptop",
	.layer = "tcp",
	.summary = "TCP throughput by process and connection",
	.description = "Bytes that applications write to and read from their sockets, by process and connection, "
		       "busiest first. Aggregates in the kernel: no overhead per packet.",
	.examples = tcptop_examples,
	.events = {"sock.send", "sock.recv"},
	.where = "proto == tcp",
	.columns = tcptop_columns,
	.aggregate = AGGREGATE_TOP,
	.value = "bytes",
	.by = "pid,comm,laddr,lport,raddr,rport",
	.sums = {"tx_bytes", "rx_bytes"},
	.rows = 20,
	.interval_ns = NSEC_PER_SEC,
	.options = tcptop_options,
	.config_size = sizeof(struct tcptop_config),
	.plan = tcptop_plan,
};
TOOL(tcptop_tool);

/* --- tcpsubnet --- */

#define SUBNETS_DEFAULT "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,0.0.0.0/0,::1/128,fc00::/7,::/0"
#define SUBNETS_MAX     64

struct tcpsubnet_config {
	struct trace_options common;
	struct text_list subnets;
};

static const struct option_spec tcpsubnet_options[] = {
	OPTION(struct tcpsubnet_config, subnets, NAMES, "subnets", 's', "NET,..",
	       "group by these subnets, first match wins (" SUBNETS_DEFAULT ")"),
	OPTION_GROUP(struct tcpsubnet_config, common, trace_option_table),
	OPTION_END,
};

struct subnets {
	struct aggregate_label label;
	size_t count;
	struct prefix prefixes[SUBNETS_MAX];
	char names[SUBNETS_MAX][64];
};

static const char *subnet_of(const void *context, const struct value *value)
{
	const struct subnets *all = context;

	for (size_t i = 0; value->class == VALUE_ADDR && i < all->count; i++)
		if (prefix_contains(&all->prefixes[i], value->addr))
			return all->names[i];
	return NULL;
}

static void add_subnet(struct subnets *all, const char *text, size_t length, struct why *why)
{
	char *name = all->names[min_of(all->count, (size_t)SUBNETS_MAX - 1)];

	if (all->count == SUBNETS_MAX) {
		why_set(why, -EINVAL, "too many subnets: the limit is %d", SUBNETS_MAX);
		return;
	}
	snprintf(name, sizeof(all->names[0]), "%.*s", (int)min_of(length, sizeof(all->names[0]) - 1), text);
	if (prefix_parse(name, &all->prefixes[all->count]) < 0) {
		_cleanup_buf_ struct buf shown = BUF_INIT(256);

		text_add_terminal(&shown, name, strlen(name));
		why_set(why, -EINVAL, "invalid subnet '%s': expected ADDRESS/LENGTH, such as 10.0.0.0/8",
			buf_text(&shown));
	}
	all->count++;
}

static void tcpsubnet_plan(const void *data, struct trace_plan *plan)
{
	const struct tcpsubnet_config *config = data;
	struct subnets *all = xzalloc(sizeof(*all));
	const char *at = SUBNETS_DEFAULT;

	plan->own = all;
	for (size_t i = 0; i < config->subnets.count; i++)
		add_subnet(all, config->subnets.items[i], strlen(config->subnets.items[i]), &plan->why);
	while (config->subnets.count == 0 && *at) {
		size_t n = strcspn(at, ",");

		add_subnet(all, at, n, &plan->why);
		at += n + (at[n] == ',');
	}
	all->label = (struct aggregate_label){"subnet", "raddr", subnet_of, all};
	plan->aggregate.label = &all->label;
}

static const char *const tcpsubnet_examples[] = {
	"nest tcpsubnet",
	"bytes sent to private networks, loopback and the rest, every second",
	"nest tcpsubnet -s 10.77.0.0/16,10.0.0.0/8,0.0.0.0/0 5",
	"your own subnets, every 5 seconds",
	NULL,
};

static const struct tool tcpsubnet_tool = {
	.name = "tcpsubnet",
	.layer = "tcp",
	.summary = "TCP bytes sent, by subnet",
	.description = "Bytes that applications send over TCP, by subnet of the peer. Subnet - means that no listed "
		       "subnet contains the address.",
	.examples = tcpsubnet_examples,
	.events = {"sock.send"},
	.where = "proto == tcp",
	.aggregate = AGGREGATE_SUM,
	.value = "bytes",
	.by = "subnet",
	.interval_ns = NSEC_PER_SEC,
	.options = tcpsubnet_options,
	.config_size = sizeof(struct tcpsubnet_config),
	.plan = tcpsubnet_plan,
};
TOOL(tcpsubnet_tool);

/* --- tcpsnoop --- */

static const struct output_column tcpsnoop_columns[] = {
	{"pid"},   {"comm"},  {"dir"}, {"laddr"}, {"lport"}, {"raddr"},
	{"rport"}, {"flags"}, {"seq"}, {"ack"},   {"bytes"}, {},
};

static const char *const tcpsnoop_examples[] = {
	"nest tcpsnoop -P 443",
	"packets of port 443, with process",
	NULL,
};

static const struct tool tcpsnoop_tool = {
	.name = "tcpsnoop",
	.layer = "tcp",
	.summary = "TCP packets with process",
	.description = "One row per packet: on a busy host limit it to a port, a process or an address. For throughput "
		       "per process tcptop costs far less. GSO and GRO packets count once.",
	.examples = tcpsnoop_examples,
	.events = {"tcp.packet"},
	.columns = tcpsnoop_columns,
};
TOOL(tcpsnoop_tool);
