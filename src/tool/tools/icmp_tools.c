/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ICMP tools. */
#include "tool/core/tool.h"

/* --- icmpsnoop --- */

static const struct output_column icmpsnoop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"}, {"kind"},  {"sender"},     {"proto"}, {"laddr"},
	{"lport"},   {"raddr"}, {"rport"}, {"mtu"}, {"error"}, {"soft_error"}, {},
};

static const char *const icmpsnoop_examples[] = {
	"nest icmpsnoop",
	"ICMP errors: sender, packet and socket",
	"nest icmpsnoop --where 'kind == frag-needed'",
	"packets larger than the path MTU",
	"nest icmpsnoop --count --by kind,sender 10",
	"errors by kind and sender, every 10 seconds",
	NULL,
};

static const struct tool icmpsnoop_tool = {
	.name = "icmpsnoop",
	.layer = "icmp",
	.summary = "ICMP errors with the socket they belong to",
	.description = "The addresses are those of the packet that caused the error. ERROR is the error delivered to "
		       "the socket, SOFT_ERROR the soft error that a connection keeps for connect() or its end. An "
		       "unconnected UDP socket gets neither.",
	.examples = icmpsnoop_examples,
	.events = {"icmp.error"},
	.columns = icmpsnoop_columns,
};
TOOL(icmpsnoop_tool);

/* --- superping --- */

static const struct output_column superping_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"},   {"raddr"},    {"id"},    {"seq"},
	{"bytes"},   {"ttl"}, {"lat_ns"}, {"sched_ns"}, {"error"}, {},
};

static const char *const superping_examples[] = {
	"nest superping",
	"all pings of this host: RTT, and scheduling delay of the program",
	"nest superping -x",
	"unanswered pings",
	"nest superping --hist lat --by raddr 10",
	"RTT by destination, every 10 seconds",
	NULL,
};

static const struct tool superping_tool = {
	.name = "superping",
	.layer = "icmp",
	.summary = "ping RTT measured in the kernel",
	.description =
		"LAT is the time from transmit of the request to arrival of the reply, both in the kernel. SCHED is "
		"the time from the reply in the socket to its read by the program: a busy host, not a slow network.",
	.examples = superping_examples,
	.events = {"icmp.echo"},
	.columns = superping_columns,
};
TOOL(superping_tool);
