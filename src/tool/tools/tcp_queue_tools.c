/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about connections and data that wait: at the listener, before they are sent, before they are read. */
#include <inttypes.h>

#include "tool/core/tool.h"

/* --- tcpsynbl --- */

static const char *const tcpsynbl_examples[] = {
	"nest tcpsynbl -d 10",
	"how full the queues of listeners were, each time a connection joined one",
	"nest trace tcp.backlog --where 'backlog >= backlog_max'",
	"each time that one was full",
	NULL,
};

static const struct tool tcpsynbl_tool = {
	.name = "tcpsynbl",
	.layer = "tcp",
	.summary = "how many connections wait to be accepted, as a histogram by listener and limit",
	.description =
		"Told for each connection whose handshake is done; the number contains it. What finds the queue full "
		"is not "
		"told: the field drops of the event tcp.backlog counts it, and so do ListenOverflows of nest counters.",
	.examples = tcpsynbl_examples,
	.events = {"tcp.backlog"},
	.aggregate = AGGREGATE_HIST,
	.value = "backlog",
	.by = "lport,backlog_max",
};
TOOL(tcpsynbl_tool);

/* --- tcpnagle --- */

struct tcpnagle_config {
	struct trace_options common;
	bool all;
};

static const struct option_spec tcpnagle_options[] = {
	OPTION(struct tcpnagle_config, all, FLAG, "all", 'a', NULL,
	       "other reasons, too: pacing, windows, queues of this host"),
	OPTION_GROUP(struct tcpnagle_config, common, trace_option_table),
	OPTION_END,
};

static void tcpnagle_plan(const void *config, struct trace_plan *plan)
{
	if (!((const struct tcpnagle_config *)config)->all)
		trace_where_add(&plan->where, "reason == nagle or reason == cork");
}

static const char *const tcpnagle_examples[] = {
	"nest tcpnagle -d 10",
	"how long small writes wait for an acknowledgement, or corked ones for more",
	"nest trace tcp.hold --where 'reason == nagle and lat > 30ms' --count --by comm,raddr,rport",
	"programs that run into Nagle's algorithm and delayed acknowledgements together",
	NULL,
};

static const struct tool tcpnagle_tool = {
	.name = "tcpnagle",
	.layer = "tcp",
	.summary = "how long data waits because of Nagle's algorithm or a cork",
	.description = "From the end of the write to the moment when the data leaves. 40 ms and more is mostly a peer "
		       "that delays its "
		       "acknowledgement; TCP_NODELAY, or one write instead of two, ends it.",
	.examples = tcpnagle_examples,
	.events = {"tcp.hold"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "reason,comm",
	.options = tcpnagle_options,
	.config_size = sizeof(struct tcpnagle_config),
	.plan = tcpnagle_plan,
};
TOOL(tcpnagle_tool);

/* --- tcppacing --- */

static const char *const tcppacing_examples[] = {
	"nest tcppacing -d 5",
	"how long segments wait because TCP spreads them over time",
	NULL,
};

static const struct tool tcppacing_tool = {
	.name = "tcppacing",
	.layer = "tcp",
	.summary = "how long data waits because TCP spreads its segments over time",
	.description = "Connections that use bbr, or for which an application has set a rate. With the fq qdisc the "
		       "waiting is done "
		       "there and not in TCP: it does not show here.",
	.examples = tcppacing_examples,
	.events = {"tcp.hold"},
	.where = "reason == pacing",
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "comm",
};
TOOL(tcppacing_tool);

/* --- tcppktlat --- */

static const struct output_column tcppktlat_columns[] = {
	{"pid"}, {"tid"}, {"comm"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"bytes"}, {"lat_ns"}, {},
};

struct tcppktlat_config {
	struct trace_options common;
	uint64_t min_ns;
};

static const struct option_spec tcppktlat_options[] = {
	OPTION(struct tcppktlat_config, min_ns, DURATION, "min", 'm', "TIME",
	       "only what waited at least so long (1ms)"),
	OPTION_GROUP(struct tcppktlat_config, common, trace_stream_table),
	OPTION_END,
};

static void tcppktlat_plan(const void *config, struct trace_plan *plan)
{
	uint64_t min_ns = ((const struct tcppktlat_config *)config)->min_ns;

	if (min_ns)
		trace_where_add(&plan->where, "lat_ns >= %" PRIu64 "ns", min_ns);
}

static const char *const tcppktlat_examples[] = {
	"nest tcppktlat -m 10ms",
	"data that waited ten milliseconds or more for its application",
	"nest trace tcp.wait --hist lat_ns --by comm",
	"how long each program lets received data wait",
	NULL,
};

static const struct tool tcppktlat_tool = {
	.name = "tcppktlat",
	.layer = "tcp",
	.summary = "how long received data waits until the application reads it",
	.description =
		"Of data that came while nothing else waited: from its arrival at TCP to the read. An application that "
		"waits in recv has to be woken, one that is busy has to come round.",
	.examples = tcppktlat_examples,
	.events = {"tcp.wait"},
	.columns = tcppktlat_columns,
	.options = tcppktlat_options,
	.config_size = sizeof(struct tcppktlat_config),
	.plan = tcppktlat_plan,
};
TOOL(tcppktlat_tool);
