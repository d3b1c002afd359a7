/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network system calls: fields and hooks. */
#include "event/sock/sock_call.h"
#include "event/core/event.h"
#include "event/sock/sock_call_text.h"

#define CALL_NAME(number, name) {(number), #name, NULL},
static const struct enum_name call_items[] = {SOCK_CALLS(CALL_NAME)};
#undef CALL_NAME
static struct enum_names call_names = {.items = call_items, .count = ARRAY_SIZE(call_items)};

#define C struct sock_call
static const struct field call_fields[] = {
	FIELD(C, call, ENUM, "system call", .names = &call_names, .zero_is_unknown = true),
	FIELD(C, fd, ID, "file descriptor of the socket, or of the new one"),
	FIELD(C, args, TEXT, "arguments; ... replaces data", .made = true),
	FIELD(C, result, ID, "return value; -1 on error"),
	FIELD(C, error, ENUM, "error, if the call failed", .names = &errno_names, .zero_is_unknown = true),
	FIELD(C, bytes, BYTES, "bytes sent or received", .hidden = true),
	FIELD(C, lat_ns, DURATION, "duration; unknown if the call began before the run"),
	FIELD(C, path, TEXT, "path of a UNIX socket in the arguments", .hidden = true),
};
#undef C

static const struct event_role call_roles[] = {
	{
		/*
		 * Not the per-call tracepoints: they cost every system call as much, and detaching forty of them takes
		 * the kernel seconds.
		 */
		.name = "network system calls",
		.hooks = {{.programs = {"sock_call_enter", "sock_call_exit"}}},
	},
};

static void complete(const struct event_head *head _unused_, void *data)
{
	sock_call_write_args(data);
}

EVENT_TYPE(sock_call, "sock.call", struct sock_call, call_fields, call_roles, "network system call", .current = true,
	   .complete = complete);
