/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for name resolution. */
#include "tool/core/tool.h"

static const struct output_column gethostlatency_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"lat_ns"}, {"host"}, {"error"}, {},
};

static const char *const gethostlatency_examples[] = {
	"nest gethostlatency", "all name lookups, with latency", "nest gethostlatency -x", "failed lookups", NULL,
};

static const struct tool gethostlatency_tool = {
	.name = "gethostlatency",
	.layer = "resolver",
	.summary = "latency of name lookups in the C library",
	.description = "Probes every C library that a process has mapped at the start, including those in containers. "
		       "Programs with their own resolver (Go, statically linked) are not seen; dnslat sees them.",
	.examples = gethostlatency_examples,
	.events = {"dns.lookup"},
	.columns = gethostlatency_columns,
};
TOOL(gethostlatency_tool);

static const struct output_column dnslat_columns[] = {
	{"time_ns"}, {"pid"},     {"comm"},   {"raddr"}, {"type"}, {"host"},
	{"rcode"},   {"retries"}, {"lat_ns"}, {"error"}, {},
};

static const char *const dnslat_examples[] = {
	"nest dnslat",
	"all queries to name servers, with response and latency",
	"nest dnslat -x",
	"unanswered queries",
	"nest trace dns.query --hist lat --by raddr",
	"latency by name server",
	NULL,
};

static const struct tool dnslat_tool = {
	.name = "dnslat",
	.layer = "resolver",
	.summary = "DNS query latency on the wire",
	.description = "Queries over UDP port 53 by sockets of this host, from any resolver. DNS over TCP, TLS and "
		       "HTTPS is not seen.",
	.examples = dnslat_examples,
	.events = {"dns.query"},
	.columns = dnslat_columns,
};
TOOL(dnslat_tool);
