/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about connections coming about, changing their state, and ending. */
#include <inttypes.h>

#include "tool/core/tool.h"
#include "view/view.h"

/* --- tcpstates --- */

static const struct output_column tcpstates_columns[] = {
	{"cookie"}, {"pid"},      {"comm"},     {"laddr"},   {"lport"}, {"raddr"},
	{"rport"},  {"oldstate"}, {"newstate"}, {"span_ns"}, {},
};

static const char *const tcpstates_examples[] = {
	"nest tcpstates",
	"every change of state, with the time spent in the old one",
	"nest tcpstates --where 'oldstate == CLOSE_WAIT and span > 10s'",
	"applications that did not notice for long that the peer had closed",
	NULL,
};

static const struct tool tcpstates_tool = {
	.name = "tcpstates",
	.layer = "tcp",
	.summary = "TCP sockets that change their state, and how long they were in the old one",
	.description =
		"COOKIE is the same in all rows of one socket. SPAN is unknown (-) for a state that began before the "
		"run.",
	.examples = tcpstates_examples,
	.events = {"tcp.state"},
	.columns = tcpstates_columns,
};
TOOL(tcpstates_tool);

/* --- tcpconnlat --- */

static const struct output_column tcpconnlat_columns[] = {
	{"pid"}, {"comm"}, {"family", "IP"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"lat_ns"}, {"error"}, {},
};

struct tcpconnlat_config {
	struct trace_options common;
	uint64_t min_ns;
};

static const struct option_spec tcpconnlat_options[] = {
	OPTION(struct tcpconnlat_config, min_ns, DURATION, "min", 'm', "TIME",
	       "only those that took at least so long (10ms)"),
	OPTION_GROUP(struct tcpconnlat_config, common, trace_stream_table),
	OPTION_END,
};

static void tcpconnlat_plan(const void *config, struct trace_plan *plan)
{
	uint64_t min_ns = ((const struct tcpconnlat_config *)config)->min_ns;

	if (min_ns)
		trace_where_add(&plan->where, "lat_ns >= %" PRIu64 "ns", min_ns);
}

static const char *const tcpconnlat_examples[] = {
	"nest tcpconnlat -m 10ms",
	"connections that took ten milliseconds or more to come about",
	"nest trace sock.connect --where 'proto == tcp' --hist lat_ns --by raddr",
	"how long it takes, for each destination",
	NULL,
};

static const struct tool tcpconnlat_tool = {
	.name = "tcpconnlat",
	.layer = "tcp",
	.summary = "how long TCP connections took to come about",
	.description = "From the SYN to the answer: one round trip to the peer, and what its kernel needs. The "
		       "application on the "
		       "other side has no part in it. A connection that failed has an error: the time is that until it "
		       "was given up.",
	.examples = tcpconnlat_examples,
	.events = {"sock.connect"},
	.where = "proto == tcp",
	.columns = tcpconnlat_columns,
	.options = tcpconnlat_options,
	.config_size = sizeof(struct tcpconnlat_config),
	.plan = tcpconnlat_plan,
};
TOOL(tcpconnlat_tool);

/* --- tcptracer --- */

static const struct view_word tcptracer_letters[] = {
	{"sock.connect", "C"}, {"sock.accept", "A"}, {"tcp.close", "X"}, {}};

static const struct output_column tcptracer_columns[] = {
	{"event", "T", .words = tcptracer_letters},
	{"pid"},
	{"comm"},
	{"family", "IP"},
	{"laddr"},
	{"lport"},
	{"raddr"},
	{"rport"},
	{"netns"},
	{"error"},
	{},
};

static const char *const tcptracer_examples[] = {
	"nest tcptracer",
	"connections as they are made, accepted and closed",
	NULL,
};

static const struct tool tcptracer_tool = {
	.name = "tcptracer",
	.layer = "tcp",
	.summary = "connections that are made, accepted and closed",
	.description = "T tells which: C was made (sock.connect), A accepted (sock.accept), X closed (tcp.close). A "
		       "connection that failed has an error and no X.",
	.examples = tcptracer_examples,
	.events = {"sock.connect", "sock.accept", "tcp.close"},
	.where = "proto == tcp",
	.where_of = {NULL, NULL, "state != SYN_SENT"},
	.columns = tcptracer_columns,
};
TOOL(tcptracer_tool);
