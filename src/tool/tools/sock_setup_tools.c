/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools over how sockets come about and go: bind, listen, connect, close, descriptors handed over. */
#include "tool/core/tool.h"

/* --- bindsnoop, tcpbind --- */

static const struct output_column bind_columns[] = {
	{"pid"},           {"comm"},          {"error", "RET"},  {"proto"}, {"options", "OPTS"},
	{"ifindex", "IF"}, {"lport", "PORT"}, {"laddr", "ADDR"}, {},
};

static const char *const bindsnoop_examples[] = {
	"nest bindsnoop",
	"every address that an application asks for",
	"nest bindsnoop -x",
	"those that it did not get: in use, not permitted, not of this host",
	NULL,
};

static const struct tool bindsnoop_tool = {
	.name = "bindsnoop",
	.layer = "socket",
	.summary = "addresses and ports that applications bind sockets to",
	.description =
		"Shown when the call has ended: a port that the kernel chose is the real one. Where it failed, the "
		"address is the one that was asked for. UNIX sockets are not IP; see nest trace sock.bind.",
	.examples = bindsnoop_examples,
	.events = {"sock.bind"},
	.where = "family == ipv4 or family == ipv6",
	.columns = bind_columns,
};
TOOL(bindsnoop_tool);

static const struct tool tcpbind_tool = {
	.name = "tcpbind",
	.layer = "tcp",
	.summary = "addresses and ports that TCP sockets are bound to",
	.description = "bindsnoop's view of TCP.",
	.events = {"sock.bind"},
	.where = "proto == tcp",
	.columns = bind_columns,
};
TOOL(tcpbind_tool);

/* --- solisten --- */

static const struct output_column solisten_columns[] = {
	{"pid"},    {"comm"},  {"error", "RET"},  {"backlog_max", "BACKLOG"}, {"asked"},
	{"family"}, {"proto"}, {"lport", "PORT"}, {"laddr", "ADDR"},          {},
};

static const char *const solisten_examples[] = {
	"nest solisten",
	"who waits for connections, and how many may wait to be accepted",
	NULL,
};

static const struct tool solisten_tool = {
	.name = "solisten",
	.layer = "socket",
	.summary = "sockets that begin to wait for connections",
	.description =
		"BACKLOG is what the kernel grants, ASKED what the application asked for: net.core.somaxconn is in "
		"between. A second call that only changes it is told, too.",
	.examples = solisten_examples,
	.events = {"sock.listen"},
	.columns = solisten_columns,
};
TOOL(solisten_tool);

/* --- soconnect, soconnlat, so1stbyte --- */

static const struct output_column soconnect_columns[] = {
	{"pid"},           {"comm"},   {"family", "FAM"},   {"proto"}, {"raddr", "ADDRESS"},
	{"rport", "PORT"}, {"lat_ns"}, {"error", "RESULT"}, {"path"},  {},
};

static const char *const soconnect_examples[] = {
	"nest soconnect",
	"whom applications connect to, with the time it took or the error",
	"nest soconnect -x",
	"failures only: refused, timed out, no route, no port left",
	NULL,
};

static const struct tool soconnect_tool = {
	.name = "soconnect",
	.layer = "socket",
	.summary = "connections that applications ask for, of every protocol",
	.description = "A TCP connection is shown when the answer has come, also where the application does not wait "
		       "for it; the "
		       "time is the network's. Of other protocols the time is the system call's.",
	.examples = soconnect_examples,
	.events = {"sock.connect"},
	.columns = soconnect_columns,
};
TOOL(soconnect_tool);

static const char *const soconnlat_examples[] = {
	"nest soconnlat",
	"histograms by code path and program",
	"nest soconnlat --where 'rport == 443' -d 10",
	"of one port, for ten seconds",
	NULL,
};

static const struct tool soconnlat_tool = {
	.name = "soconnlat",
	.layer = "socket",
	.summary = "how long IP connections took, as histograms by user stack and program",
	.description = "The stack is that of the call, also where the answer came later. Connections that failed have "
		       "histograms of their own, by error.",
	.examples = soconnlat_examples,
	.events = {"sock.connect"},
	.where = "family == ipv4 or family == ipv6",
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "comm,error,ustack",
};
TOOL(soconnlat_tool);

static const char *const so1stbyte_examples[] = {
	"nest so1stbyte",
	"for each program",
	"nest trace sock.firstbyte --hist lat --by raddr",
	"for each server",
	NULL,
};

static const struct tool so1stbyte_tool = {
	.name = "so1stbyte",
	.layer = "socket",
	.summary = "time from the first packet of a TCP connection to the first bytes that were read, as histograms",
	.description = "It includes the network, the server's thinking, and the reader's own delay: compare it with "
		       "soconnlat, which has the network alone.",
	.examples = so1stbyte_examples,
	.events = {"sock.firstbyte"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "comm",
};
TOOL(so1stbyte_tool);

/* --- solife --- */

static const struct output_column solife_columns[] = {
	{"pid"},   {"comm"},     {"proto"},    {"laddr"},   {"lport"}, {"raddr"},
	{"rport"}, {"tx_bytes"}, {"rx_bytes"}, {"span_ns"}, {},
};

static const char *const solife_examples[] = {
	"nest solife",
	"every session as its application closes it",
	"nest trace sock.close",
	"sockets without a peer, too",
	NULL,
};

static const struct tool solife_tool = {
	.name = "solife",
	.layer = "socket",
	.summary = "sessions from connect or accept to close, with the bytes that the application moved",
	.description = "What the application did with its socket; tcplife tells what the connection did. A session "
		       "begins when "
		       "connect was called, or when the connection was there to be accepted. IPv4 and IPv6.",
	.examples = solife_examples,
	.events = {"sock.close"},
	.where = "rport > 0",
	.columns = solife_columns,
};
TOOL(solife_tool);

/* --- sofdsnoop --- */

static const struct output_column sofdsnoop_columns[] = {
	{"action"}, {"tid"}, {"comm"}, {"socket_fd", "SOCKET"}, {"fd"}, {"file", "NAME"}, {},
};

static const char *const sofdsnoop_examples[] = {
	"nest sofdsnoop",
	"which descriptors processes hand to each other",
	NULL,
};

static const struct tool sofdsnoop_tool = {
	.name = "sofdsnoop",
	.layer = "socket",
	.summary = "file descriptors handed over through UNIX sockets",
	.description = "One row for each descriptor, at the sender and at the receiver, with the number that it has "
		       "there. The "
		       "first 32 of a message are shown; sendmmsg, recvmmsg and io_uring are not seen.",
	.examples = sofdsnoop_examples,
	.events = {"sock.pass"},
	.columns = sofdsnoop_columns,
};
TOOL(sofdsnoop_tool);
