/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregating tools of the socket layer: calls, families, protocols, sizes, queues. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- sockstat, sofamily, soprotocol --- */

static const char *const sockstat_examples[] = {
	"nest sockstat", "socket operations, every second", "nest sockstat 10 1", "once, over 10 seconds", NULL,
};

static const struct tool sockstat_tool = {
	.name = "sockstat",
	.layer = "socket",
	.summary = "socket operations per second",
	.description = "A first overview of an unknown workload. Failed calls count.",
	.examples = sockstat_examples,
	.events = {"sock.create", "sock.bind", "sock.listen", "sock.connect", "sock.accept", "sock.send", "sock.recv"},
	.aggregate = AGGREGATE_COUNT,
	.by = "event",
	.interval_ns = NSEC_PER_SEC,
};
TOOL(sockstat_tool);

static const char *const sofamily_examples[] = {
	"nest sofamily -d 10",
	"address families by program, over 10 seconds",
	NULL,
};

static const struct tool sofamily_tool = {
	.name = "sofamily",
	.layer = "socket",
	.summary = "connections by program and address family",
	.examples = sofamily_examples,
	.events = {"sock.accept", "sock.connect"},
	.aggregate = AGGREGATE_COUNT,
	.by = "event,comm,family",
};
TOOL(sofamily_tool);

static const char *const soprotocol_examples[] = {
	"nest soprotocol -d 10",
	"transport protocols by program, over 10 seconds",
	NULL,
};

static const struct tool soprotocol_tool = {
	.name = "soprotocol",
	.layer = "socket",
	.summary = "connections by program and transport protocol",
	.description = "UNIX sockets have no protocol; see their family.",
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
	       "include splice() from sockets; adds overhead to every system call"),
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
	"bytes and calls by process, every second",
	"nest socketio --where 'family == unix' -d 10",
	"UNIX sockets only, for 10 seconds",
	NULL,
};

static const struct tool socketio_tool = {
	.name = "socketio",
	.layer = "socket",
	.summary = "bytes and calls per process, direction and port",
	.description = "One row per process, direction, protocol and remote port: calls and bytes. Aggregates in the "
		       "kernel: cheap on a busy host. Failed calls are left out. A proxy that splices needs --splice.",
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
	"read and write sizes, by program",
	"nest socksize --where 'proto == tcp' -p 4711",
	"one process, TCP only",
	NULL,
};

static const struct tool socksize_tool = {
	.name = "socksize",
	.layer = "socket",
	.summary = "read and write sizes",
	.description = "Each small write costs a system call, and often a packet. Failed calls are left out.",
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
	OPTION(struct sormem_config, share, FLAG, "share", 's', NULL, "show the fill level in percent of the limit"),
	OPTION(struct sormem_config, limit, FLAG, "limit", 'l', NULL, "show the limits (rcvbuf)"),
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
	"receive queue length at each arrival, by program",
	"nest sormem --share",
	"fill level in percent",
	"nest trace sock.overflow",
	"packets dropped at a full receive queue",
	NULL,
};

static const struct tool sormem_tool = {
	.name = "sormem",
	.layer = "socket",
	.summary = "receive queue fill level",
	.description =
		"Sampled at each arrival, after the data is queued. The kernel counts memory, not payload: small "
		"packets take more memory than they carry. At the limit TCP closes its window, other protocols drop.",
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
