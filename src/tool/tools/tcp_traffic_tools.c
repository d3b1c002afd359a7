/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about how much TCP moves, and between whom. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
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
	OPTION(struct tcptop_config, rows, UINT, "rows", 'r', "N", "at most so many rows (20)", .min = 1,
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
	"the busiest connections, every second",
	"nest tcptop -d 10 -p 4711",
	"those of one process over ten seconds",
	NULL,
};

static const struct tool tcptop_tool = {
	.name = "tcptop",
	.layer = "tcp",
	.summary = "the connections that move most, and whose they are",
	.description = "What applications write to and read from their sockets, by process and connection, the busiest "
		       "first. It "
		       "is added up in the kernel: nothing is paid for each packet.",
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
	       "these subnets; the first that has the address counts (" SUBNETS_DEFAULT ")"),
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
		why_set(why, -EINVAL, "at most %d subnets", SUBNETS_MAX);
		return;
	}
	snprintf(name, sizeof(all->names[0]), "%.*s", (int)min_of(length, sizeof(all->names[0]) - 1), text);
	if (prefix_parse(name, &all->prefixes[all->count]) < 0)
		why_set(why, -EINVAL, "'%s' is no subnet, such as 10.0.0.0/8", name);
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
	"bytes sent to the usual subnets, every second",
	"nest tcpsubnet -s 10.77.0.0/16,10.0.0.0/8,0.0.0.0/0 5",
	"to subnets of one's own, every five seconds",
	NULL,
};

static const struct tool tcpsubnet_tool = {
	.name = "tcpsubnet",
	.layer = "tcp",
	.summary = "how much goes to which subnet",
	.description = "What applications send over TCP, added up by the subnet of the other end. A subnet of - means "
		       "that the "
		       "address is in none of those that were named.",
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
	"every packet of port 443, with its process",
	NULL,
};

static const struct tool tcpsnoop_tool = {
	.name = "tcpsnoop",
	.layer = "tcp",
	.summary = "every TCP packet, with the process that it belongs to",
	.description = "A row for each packet: on a busy host name a port, a process or an address. To learn who moves "
		       "how much, tcptop "
		       "costs far less. Packets that the host cuts up or puts together (GSO, GRO) count once.",
	.examples = tcpsnoop_examples,
	.events = {"tcp.packet"},
	.columns = tcpsnoop_columns,
};
TOOL(tcpsnoop_tool);
