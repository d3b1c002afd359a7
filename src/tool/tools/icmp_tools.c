/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of ICMP. */
#include "tool/core/tool.h"

/* --- icmpsnoop --- */

static const struct output_column icmpsnoop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"}, {"kind"},  {"sender"},     {"proto"}, {"laddr"},
	{"lport"},   {"raddr"}, {"rport"}, {"mtu"}, {"error"}, {"soft_error"}, {},
};

static const char *const icmpsnoop_examples[] = {
	"nest icmpsnoop",
	"messages that a packet could not be delivered: from whom, about which packet of whose socket",
	"nest icmpsnoop --where 'kind == frag-needed'",
	"packets that are too large for a link on their way",
	"nest icmpsnoop --count --by kind,sender 10",
	"who says what, counted every ten seconds",
	NULL,
};

static const struct tool icmpsnoop_tool = {
	.name = "icmpsnoop",
	.layer = "icmp",
	.summary = "messages by ICMP that packets could not be delivered, and the sockets they hit",
	.description =
		"The addresses are those of the packet that the message is about. ERROR is what the socket was told, "
		"SOFT_ERROR what a connection keeps for connect() or for its end. A socket of UDP that is not "
		"connected "
		"hears nothing.",
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
	"every ping of this host: how long network and peer took, and how long the program waited to run",
	"nest superping -x",
	"pings that were not answered",
	"nest superping --hist lat --by raddr 10",
	"round trips by destination, every ten seconds",
	NULL,
};

static const struct tool superping_tool = {
	.name = "superping",
	.layer = "icmp",
	.summary = "round trips of pings as the kernel sees them, and the scheduling apart",
	.description = "LAT is from the request's leaving to the answer's arrival, both in the kernel. SCHED is from "
		       "the answer's "
		       "being in the socket to the program's having read it: a busy host, not a slow network.",
	.examples = superping_examples,
	.events = {"icmp.echo"},
	.columns = superping_columns,
};
TOOL(superping_tool);
