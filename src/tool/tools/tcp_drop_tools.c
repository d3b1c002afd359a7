/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for TCP drops and resets. */
#include "tool/core/tool.h"

/* --- tcpdrop --- */

static const struct output_column tcpdrop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"},   {"laddr"},  {"lport"},
	{"raddr"},   {"rport"}, {"state"}, {"flags"}, {"reason"}, {},
};

static const char *const tcpdrop_examples[] = {
	"nest tcpdrop",
	"dropped TCP packets with reason",
	"nest tcpdrop --stack",
	"include the kernel stack of each drop",
	"nest trace skb.drop --where 'proto == tcp' --count --by reason,lport 10",
	"drops by reason, every 10 seconds",
	NULL,
};

static const struct tool tcpdrop_tool = {
	.name = "tcpdrop",
	.layer = "tcp",
	.summary = "dropped TCP packets with reason",
	.description = "Not every drop loses data: TCP_OLD_DATA, for example, is a duplicate. LADDR is the address of "
		       "this host: destination of received (DIR rx), source of transmitted packets (tx).",
	.examples = tcpdrop_examples,
	.events = {"skb.drop"},
	/* A FIN whose data was read is freed with 0 bytes: that is no drop. */
	.where = "proto == tcp and bytes > 0",
	.columns = tcpdrop_columns,
};
TOOL(tcpdrop_tool);

/* --- tcpreset --- */

static const struct output_column tcpreset_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"},   {"laddr"},  {"lport"},
	{"raddr"},   {"rport"}, {"state"}, {"after"}, {"reason"}, {},
};

static const char *const tcpreset_examples[] = {
	"nest tcpreset",
	"resets sent and received, with reason",
	"nest tcpreset --where 'dir == rx'",
	"resets sent by the peer",
	"nest tcpreset --where 'after in (nothing, sending, receiving)'",
	"resets that broke a connection, not only ended it",
	NULL,
};

static const struct tool tcpreset_tool = {
	.name = "tcpreset",
	.layer = "tcp",
	.summary = "TCP resets sent and received, with reason",
	.description = "DIR rx: received from the peer; AFTER says what it followed: data sent (a request without an "
		       "answer), data received, or the whole answer. DIR tx: sent by this host, with the kernel's "
		       "reason (Linux 6.10 and later). Without a connection, state and owner are unknown (-).",
	.examples = tcpreset_examples,
	.events = {"tcp.reset"},
	.columns = tcpreset_columns,
};
TOOL(tcpreset_tool);
