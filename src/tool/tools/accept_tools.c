/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools over sock.accept: soaccept for all protocols, tcpaccept its TCP view. */
#include "tool/core/tool.h"

static const struct output_column soaccept_columns[] = {
	{"pid"}, {"comm"}, {"family"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"error"}, {},
};

static const char *const soaccept_examples[] = {
	"nest soaccept",
	"every connection that an application accepts, whatever its family",
	NULL,
};

static const struct tool soaccept_tool = {
	.name = "soaccept",
	.layer = "socket",
	.summary = "connections that applications accept",
	.description = "UNIX sockets included, and accepts through io_uring. Calls that found nobody waiting (EAGAIN) "
		       "are not told.",
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
	"who connects to the web server",
	NULL,
};

static const struct tool tcpaccept_tool = {
	.name = "tcpaccept",
	.layer = "tcp",
	.summary = "TCP connections that applications accept",
	.description = "A connection is told when the application takes it, not when the handshake ends: one that "
		       "waits in the queue of its listener does not show yet.",
	.examples = tcpaccept_examples,
	.events = {"sock.accept"},
	.where = "proto == tcp",
	.columns = tcpaccept_columns,
};
TOOL(tcpaccept_tool);
