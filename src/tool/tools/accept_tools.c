/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools over sock.accept: soaccept for all protocols, tcpaccept for TCP. */
#include "tool/core/tool.h"

static const struct output_column soaccept_columns[] = {
	{"pid"}, {"comm"}, {"family"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"error"}, {},
};

static const char *const soaccept_examples[] = {
	"nest soaccept",
	"all accepted connections, of any address family",
	NULL,
};

static const struct tool soaccept_tool = {
	.name = "soaccept",
	.layer = "socket",
	.summary = "accepted connections, all protocols",
	.description = "Includes UNIX sockets and accepts through io_uring. Calls that return EAGAIN are left out.",
	.examples = soaccept_examples,
	.events = {"sock.accept"},
	.columns = soaccept_columns,
};
TOOL(soaccept_tool);

static const struct output_column tcpaccept_columns[] = {
	{"pid"}, {"comm"}, {"family", "IP"}, {"raddr"}, {"rport"}, {"laddr"}, {"lport"}, {},
};

static const char *const tcpaccept_examples[] = {
	"nest tcpaccept -P 443",
	"clients of the web server",
	NULL,
};

static const struct tool tcpaccept_tool = {
	.name = "tcpaccept",
	.layer = "tcp",
	.summary = "accepted TCP connections",
	.description = "Reported when the application accepts the connection, not when the handshake ends: a "
		       "connection in the accept queue is not shown yet.",
	.examples = tcpaccept_examples,
	.events = {"sock.accept"},
	.where = "proto == tcp",
	.columns = tcpaccept_columns,
};
TOOL(tcpaccept_tool);
