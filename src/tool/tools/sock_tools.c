/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of the socket layer that add up: calls, families, protocols, sizes, queues. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- sockstat, sofamily, soprotocol --- */

static const char *const sockstat_examples[] = {
	"nest sockstat",
	"what applications do with sockets, every second",
	"nest sockstat 10 1",
	"once, over ten seconds",
	NULL,
};

static const struct tool sockstat_tool = {
	.name = "sockstat",
	.layer = "socket",
	.summary = "how often sockets are made, bound, connected, accepted, read and written",
	.description = "A first look at a host whose load is not known. Calls that failed count.",
	.examples = sockstat_examples,
	.events = {"sock.create", "sock.bind", "sock.listen", "sock.connect", "sock.accept", "sock.send", "sock.recv"},
	.aggregate = AGGREGATE_COUNT,
	.by = "event",
	.interval_ns = NSEC_PER_SEC,
};
TOOL(sockstat_tool);

static const char *const sofamily_examples[] = {
	"nest sofamily -d 10",
	"which families of addresses programs use, for ten seconds",
	NULL,
};

static const struct tool sofamily_tool = {
	.name = "sofamily",
	.layer = "socket",
	.summary = "connections by program and family of addresses",
	.examples = sofamily_examples,
	.events = {"sock.accept", "sock.connect"},
	.aggregate = AGGREGATE_COUNT,
	.by = "event,comm,family",
};
TOOL(sofamily_tool);

static const char *const soprotocol_examples[] = {
	"nest soprotocol -d 10",
	"which protocols programs use, for ten seconds",
	NULL,
};

static const struct tool soprotocol_tool = {
	.name = "soprotocol",
	.layer = "socket",
	.summary = "connections by program and transport protocol",
	.description = "UNIX sockets have no protocol: the family tells them apart.",
	.examples = soprotocol_examples,
	.events = {"sock.accept", "sock.connect"},
	.aggregate = AGGREGATE_COUNT,
	.by = "event,comm,proto,family",
};
TOOL(soprotocol_tool);

/* --- socketio, socksize --- */

struct io_config {
	struct trace_options common;
	bool splice;
};

static const struct option_spec io_options[] = {
	OPTION(struct io_config, splice, FLAG, "splice", 's', NULL,
	       "what is spliced out of sockets, too; slows every system call down a little"),
	OPTION_GROUP(struct io_config, common, trace_option_table),
	OPTION_END,
};

static void io_plan(const void *config, struct trace_plan *plan)
{
	if (((const struct io_config *)config)->splice)
		plan->events[2] = "sock.splice";
}

static const char *const socketio_examples[] = {
	"nest socketio 1",
	"who reads and writes how much, every second",
	"nest socketio --where 'family == unix' -d 10",
	"the same on UNIX sockets, for ten seconds",
	NULL,
};

static const struct tool socketio_tool = {
	.name = "socketio",
	.layer = "socket",
	.summary = "who sends and receives how much, in how many calls",
	.description =
		"One row for each process, direction, protocol and remote port: how many calls, how many bytes. It is "
		"added up in the kernel, so it costs little on a busy host. Calls that failed are left out. A proxy "
		"that splices needs --splice.",
	.examples = socketio_examples,
	.events = {"sock.send", "sock.recv"},
	.aggregate = AGGREGATE_SUM,
	.value = "bytes",
	.by = "event,pid,comm,proto,rport",
	.options = io_options,
	.config_size = sizeof(struct io_config),
	.plan = io_plan,
};
TOOL(socketio_tool);

static const char *const socksize_examples[] = {
	"nest socksize",
	"how large reads and writes are, for each program",
	"nest socksize --where 'proto == tcp' -p 4711",
	"of one process, TCP only",
	NULL,
};

static const struct tool socksize_tool = {
	.name = "socksize",
	.layer = "socket",
	.summary = "sizes of reads and writes on sockets, as histograms by program and direction",
	.description = "Many small writes cost a system call each, and often a packet. Calls that failed are left out.",
	.examples = socksize_examples,
	.events = {"sock.send", "sock.recv"},
	.aggregate = AGGREGATE_HIST,
	.value = "bytes",
	.by = "event,comm",
	.options = io_options,
	.config_size = sizeof(struct io_config),
	.plan = io_plan,
};
TOOL(socksize_tool);

/* --- sormem --- */

struct sormem_config {
	struct trace_options common;
	bool share;
	bool limit;
};

static const struct option_spec sormem_options[] = {
	OPTION(struct sormem_config, share, FLAG, "share", 's', NULL, "as a part of the limit, in tens of percent"),
	OPTION(struct sormem_config, limit, FLAG, "limit", 'l', NULL, "the limits themselves"),
	OPTION_GROUP(struct sormem_config, common, trace_option_table),
	OPTION_END,
};

static void sormem_plan(const void *data, struct trace_plan *plan)
{
	const struct sormem_config *config = data;

	if (config->limit)
		plan->aggregate.value = "rcvbuf";
	if (!config->share)
		return;
	plan->aggregate.kind = AGGREGATE_LHIST;
	plan->aggregate.value = "full";
	plan->aggregate.first = 0;
	plan->aggregate.last = 100;
	plan->aggregate.step = 10;
}

static const char *const sormem_examples[] = {
	"nest sormem",
	"how much waits in the sockets of each program when something arrives",
	"nest sormem --share",
	"how full the queues are",
	"nest trace sock.overflow",
	"what found no room",
	NULL,
};

static const struct tool sormem_tool = {
	.name = "sormem",
	.layer = "socket",
	.summary = "how full receive queues of sockets are, as histograms by program",
	.description = "Looked at whenever something arrives, after it was queued. The kernel counts the memory, not "
		       "the payload: "
		       "small packets take more room than they carry. At the limit TCP closes its window, others drop.",
	.examples = sormem_examples,
	.events = {"sock.queued"},
	.aggregate = AGGREGATE_HIST,
	.value = "recvq_bytes",
	.by = "comm",
	.options = sormem_options,
	.config_size = sizeof(struct sormem_config),
	.plan = sormem_plan,
};
TOOL(sormem_tool);
