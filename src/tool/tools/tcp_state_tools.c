/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for TCP connection setup, state changes and close. */
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
	"all state changes, with the time in the old state",
	"nest tcpstates --where 'oldstate == CLOSE_WAIT and span > 10s'",
	"sockets that stayed in CLOSE_WAIT for longer than 10 seconds",
	NULL,
};

static const struct tool tcpstates_tool = {
	.name = "tcpstates",
	.layer = "tcp",
	.summary = "TCP state changes with time per state",
	.description = "COOKIE is the kernel's socket cookie, equal in all rows of a socket. SPAN of a state that "
		       "began before the run is unknown (-).",
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
	       "limit to connects of at least TIME (10ms)"),
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
	"connects that took 10 ms or longer",
	"nest trace sock.connect --where 'proto == tcp' --hist lat_ns --by raddr",
	"connect latency by destination",
	NULL,
};

static const struct tool tcpconnlat_tool = {
	.name = "tcpconnlat",
	.layer = "tcp",
	.summary = "TCP connect latency",
	.description = "From the SYN to the peer's answer: one RTT plus the work of the peer's kernel; the peer's "
		       "application has no part in it. A failed connect has an error, and the time until it failed.",
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
	"connects, accepts and closes",
	NULL,
};

static const struct tool tcptracer_tool = {
	.name = "tcptracer",
	.layer = "tcp",
	.summary = "TCP connects, accepts and closes",
	.description = "T is the event: C connect (sock.connect), A accept (sock.accept), X close (tcp.close). A "
		       "failed connect has an error and no X.",
	.examples = tcptracer_examples,
	.events = {"sock.connect", "sock.accept", "tcp.close"},
	.where = "proto == tcp",
	.where_of = {NULL, NULL, "state != SYN_SENT"},
	.columns = tcptracer_columns,
};
TOOL(tcptracer_tool);
