/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of names. */
#include "tool/core/tool.h"

static const struct output_column gethostlatency_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"lat_ns"}, {"host"}, {"error"}, {},
};

static const char *const gethostlatency_examples[] = {
	"nest gethostlatency",
	"every name that a program looks up, with the time it took",
	"nest gethostlatency -x",
	"those without an address",
	NULL,
};

static const struct tool gethostlatency_tool = {
	.name = "gethostlatency",
	.layer = "resolver",
	.summary = "names that programs look up through the C library, with the time it took",
	.description = "Every C library that a process has mapped at the start is probed, those of containers too. "
		       "Programs that "
		       "bring a resolver of their own (Go, statically linked ones) are not seen; dnslat sees them.",
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
	"every query to a name server, with its answer and the time it took",
	"nest dnslat -x",
	"those without an answer",
	"nest trace dns.query --hist lat --by raddr",
	"how fast the name servers are",
	NULL,
};

static const struct tool dnslat_tool = {
	.name = "dnslat",
	.layer = "resolver",
	.summary = "queries to name servers on the wire: name, type, server, answer, time, retries",
	.description = "By UDP to port 53, of this host's sockets, whatever library makes them. Queries by TCP, TLS "
		       "and HTTPS are "
		       "not seen.",
	.examples = dnslat_examples,
	.events = {"dns.query"},
	.columns = dnslat_columns,
};
TOOL(dnslat_tool);
