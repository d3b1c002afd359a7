/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of UDP. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- udpconnect --- */

static const struct output_column udpconnect_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"family", "IP"}, {"raddr"}, {"rport"}, {"error"}, {},
};

static const char *const udpconnect_examples[] = {
	"nest udpconnect",
	"whom applications talk to by UDP: mostly name servers",
	NULL,
};

static const struct tool udpconnect_tool = {
	.name = "udpconnect",
	.layer = "udp",
	.summary = "UDP sockets that are connected to a peer",
	.description = "An application that sends without connecting is not seen: udptop and udplife do.",
	.examples = udpconnect_examples,
	.events = {"sock.connect"},
	.where = "proto == udp",
	.columns = udpconnect_columns,
};
TOOL(udpconnect_tool);

/* --- udplife --- */

static const struct output_column udplife_columns[] = {
	{"pid"},      {"comm"},     {"laddr"}, {"lport"},    {"raddr"},   {"rport"},
	{"tx_bytes"}, {"rx_bytes"}, {"sends"}, {"receives"}, {"span_ns"}, {},
};

static const char *const udplife_examples[] = {
	"nest udplife",
	"every UDP socket as it is closed: whose it was, how much went each way, how long it lived",
	"nest udplife --where 'sends > 0 and receives == 0'",
	"questions without an answer",
	NULL,
};

static const struct tool udplife_tool = {
	.name = "udplife",
	.layer = "udp",
	.summary = "UDP sockets with their duration, datagrams and bytes, as they are closed",
	.description = "A socket that was there before the run has neither duration nor sums. One that is not "
		       "connected has no "
		       "remote address: it may have talked to many.",
	.examples = udplife_examples,
	.events = {"udp.close"},
	.columns = udplife_columns,
};
TOOL(udplife_tool);

/* --- udptop --- */

static const char *const udptop_examples[] = {
	"nest udptop", "who moves most by UDP, every second", "nest udptop 10 1", "once, over ten seconds", NULL,
};

static const struct tool udptop_tool = {
	.name = "udptop",
	.layer = "udp",
	.summary = "who sends and receives most by UDP",
	.description = "By process and socket, the busiest first. A socket that is not connected shows no remote "
		       "address. Added up in the kernel: nothing is paid for each packet.",
	.examples = udptop_examples,
	.events = {"sock.send", "sock.recv"},
	.where = "proto == udp",
	.aggregate = AGGREGATE_TOP,
	.value = "bytes",
	.by = "pid,comm,laddr,lport,raddr,rport",
	.sums = {"tx_bytes", "rx_bytes"},
	.rows = 20,
	.interval_ns = NSEC_PER_SEC,
};
TOOL(udptop_tool);

/* --- udpdrop --- */

static const struct output_column udpdrop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},   {"raddr"},       {"rport"},  {"laddr"},
	{"lport"},   {"bytes"}, {"reason"}, {"recvq_bytes"}, {"rcvbuf"}, {},
};

struct udpdrop_config {
	struct trace_options common;
	bool count;
};

static const struct option_spec udpdrop_options[] = {
	OPTION(struct udpdrop_config, count, FLAG, "count", 'c', NULL, "count by process, port and reason"),
	OPTION_GROUP(struct udpdrop_config, common, trace_stream_table),
	OPTION_END,
};

static void udpdrop_plan(const void *config, struct trace_plan *plan)
{
	static char *by[] = {(char *)"pid", (char *)"comm", (char *)"laddr", (char *)"lport", (char *)"reason"};

	if (((const struct udpdrop_config *)config)->count)
		trace_plan_count(plan, by, ARRAY_SIZE(by));
}

static const char *const udpdrop_examples[] = {
	"nest udpdrop",
	"datagrams that were thrown away because the application did not read fast enough",
	"nest udpdrop -c 1",
	"how many for whom, every second",
	NULL,
};

static const struct tool udpdrop_tool = {
	.name = "udpdrop",
	.layer = "udp",
	.summary = "datagrams that arrived and found no room, with the process that did not read them",
	.description = "The same as RcvbufErrors and MemErrors of nest counters, one by one. Datagrams for a port that "
		       "nobody has, "
		       "or with a wrong checksum, never reach a socket and are not told here.",
	.examples = udpdrop_examples,
	.events = {"udp.drop"},
	.columns = udpdrop_columns,
	.options = udpdrop_options,
	.config_size = sizeof(struct udpdrop_config),
	.plan = udpdrop_plan,
};
TOOL(udpdrop_tool);
