/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about TCP packets that are thrown away and connections that are reset. */
#include "tool/core/tool.h"

/* --- tcpdrop --- */

static const struct output_column tcpdrop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"},   {"laddr"},  {"lport"},
	{"raddr"},   {"rport"}, {"state"}, {"flags"}, {"reason"}, {},
};

static const char *const tcpdrop_examples[] = {
	"nest tcpdrop",
	"TCP packets that the kernel throws away, with its reason",
	"nest tcpdrop --stack",
	"and the functions that did it",
	"nest trace skb.drop --where 'proto == tcp' --count --by reason,lport 10",
	"how many for which reason, every ten seconds",
	NULL,
};

static const struct tool tcpdrop_tool = {
	.name = "tcpdrop",
	.layer = "tcp",
	.summary = "TCP packets that the kernel throws away, and why",
	.description = "Not every packet that is thrown away is missed: TCP_OLD_DATA, for example, is what had arrived "
		       "before. LADDR is this host's side: where a packet arrived for (DIR rx) or came from (tx).",
	.examples = tcpdrop_examples,
	.events = {"skb.drop"},
	/* What is left of a FIN once its data was read has no bytes: nothing is lost with it. */
	.where = "proto == tcp and bytes > 0",
	.columns = tcpdrop_columns,
};
TOOL(tcpdrop_tool);

/* --- tcpreset --- */

static const struct output_column tcpreset_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"dir"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"state"}, {"reason"}, {},
};

static const char *const tcpreset_examples[] = {
	"nest tcpreset",
	"connections that are reset, by which end and why",
	"nest tcpreset --where 'dir == rx'",
	"only those that the peer reset",
	NULL,
};

static const struct tool tcpreset_tool = {
	.name = "tcpreset",
	.layer = "tcp",
	.summary = "connections that are reset, by which end and why",
	.description = "DIR rx: the peer reset a connection of this host. DIR tx: this host did, with the kernel's "
		       "reason (Linux 6.10 "
		       "and later); where no connection is known, state and owner are unknown (-).",
	.examples = tcpreset_examples,
	.events = {"tcp.reset"},
	.columns = tcpreset_columns,
};
TOOL(tcpreset_tool);
