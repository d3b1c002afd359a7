/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of the socket layer. */
#include "tool/tool.h"

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
		"added up in the kernel, so it costs little on a busy host. Calls that failed are left out.",
	.examples = socketio_examples,
	.events = {"sock.send", "sock.recv"},
	.aggregate = AGGREGATE_SUM,
	.value = "bytes",
	.by = "event,pid,comm,proto,rport",
};
TOOL(socketio_tool);
