/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for socket setup and close: bind, listen, connect, close, passed file descriptors. */
#include "tool/core/tool.h"

/* --- bindsnoop, tcpbind --- */

static const struct output_column bind_columns[] = {
	{"pid"},           {"comm"},          {"error", "RET"},  {"proto"}, {"options", "OPTS"},
	{"ifindex", "IF"}, {"lport", "PORT"}, {"laddr", "ADDR"}, {},
};

static const char *const bindsnoop_examples[] = {
	"nest bindsnoop",
	"all bind() calls",
	"nest bindsnoop -x",
	"failed calls: address in use, permission denied, address not local",
	NULL,
};

static const struct tool bindsnoop_tool = {
	.name = "bindsnoop",
	.layer = "socket",
	.summary = "bind() calls with address, port and result",
	.description = "Reported when the call returns, with the port that the kernel chose; a failed call has the "
		       "requested address. IPv4 and IPv6 only; for UNIX sockets use nest trace sock.bind.",
	.examples = bindsnoop_examples,
	.events = {"sock.bind"},
	.where = "family == ipv4 or family == ipv6",
	.columns = bind_columns,
};
TOOL(bindsnoop_tool);

static const struct tool tcpbind_tool = {
	.name = "tcpbind",
	.layer = "tcp",
	.summary = "bind() calls of TCP sockets",
	.description = "bindsnoop for TCP only.",
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
	"new listeners with owner and backlog",
	NULL,
};

static const struct tool solisten_tool = {
	.name = "solisten",
	.layer = "socket",
	.summary = "listen() calls with backlog",
	.description = "BACKLOG is the limit of the accept queue, ASKED the argument of listen(): net.core.somaxconn "
		       "caps it. A second listen() that only changes the backlog is also shown.",
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
	"outgoing connections, with latency or error",
	"nest soconnect -x",
	"failed connects: refused, timed out, no route, no free port",
	NULL,
};

static const struct tool soconnect_tool = {
	.name = "soconnect",
	.layer = "socket",
	.summary = "outgoing connections, all protocols",
	.description = "A TCP connection is reported when the peer answers, also for non-blocking sockets: its latency "
		       "is that of the network. For other protocols it is the latency of the system call.",
	.examples = soconnect_examples,
	.events = {"sock.connect"},
	.columns = soconnect_columns,
};
TOOL(soconnect_tool);

static const char *const soconnlat_examples[] = {
	"nest soconnlat",
	"histograms by call path and program",
	"nest soconnlat --where 'rport == 443' -d 10",
	"one port, for 10 seconds",
	NULL,
};

static const struct tool soconnlat_tool = {
	.name = "soconnlat",
	.layer = "socket",
	.summary = "connect latency by user stack",
	.description = "The stack is that of the connect call, also for non-blocking sockets. Failed connects have "
		       "their own histograms, by error.",
	.examples = soconnlat_examples,
	.events = {"sock.connect"},
	.where = "family == ipv4 or family == ipv6",
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "comm,error,ustack",
};
TOOL(soconnlat_tool);

static const char *const so1stbyte_examples[] = {
	"nest so1stbyte", "by program", "nest trace sock.firstbyte --hist lat --by raddr", "by server", NULL,
};

static const struct tool so1stbyte_tool = {
	.name = "so1stbyte",
	.layer = "socket",
	.summary = "time to first byte",
	.description = "From the SYN of a TCP connection to the first bytes read. Includes network, server and the "
		       "reader's own delay; soconnlat shows the network part alone.",
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
	"sessions, reported as the application closes them",
	"nest trace sock.close",
	"include sockets without a peer",
	NULL,
};

static const struct tool solife_tool = {
	.name = "solife",
	.layer = "socket",
	.summary = "sessions from connect or accept to close, with bytes",
	.description = "Measured at the socket; tcplife measures the TCP connection. A session starts with connect(), "
		       "or when the connection enters the accept queue. IPv4 and IPv6.",
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
	"file descriptors passed between processes",
	NULL,
};

static const struct tool sofdsnoop_tool = {
	.name = "sofdsnoop",
	.layer = "socket",
	.summary = "file descriptors passed over UNIX sockets",
	.description = "One row per descriptor, at the sender and at the receiver, each with its own descriptor "
		       "number. Shows the first 32 of a message; does not see sendmmsg, recvmmsg and io_uring.",
	.examples = sofdsnoop_examples,
	.events = {"sock.pass"},
	.columns = sofdsnoop_columns,
};
TOOL(sofdsnoop_tool);
