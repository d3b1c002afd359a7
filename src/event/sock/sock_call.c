/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of the network: fields and hooks. */
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
	FIELD(C, fd, ID, "descriptor of the socket; of one that was made, its own"),
	FIELD(C, args, TEXT, "arguments as the application gave them; ... for data", .made = true),
	FIELD(C, result, ID, "what it returned; -1 when it failed"),
	FIELD(C, error, ENUM, "why it failed", .names = &errno_names, .zero_is_unknown = true),
	FIELD(C, bytes, BYTES, "sent or received by it", .hidden = true),
	FIELD(C, lat_ns, DURATION, "how long it took; unknown when it began before the run"),
	FIELD(C, path, TEXT, "path of a UNIX socket in the arguments", .hidden = true),
};
#undef C

static const struct event_role call_roles[] = {
	{
		/*
		 * Not the tracepoints of single calls: they cost every call of the host as much, and the kernel takes
		 * seconds to let go of forty of them.
		 */
		.name = "network calls",
		.hooks = {{.programs = {"sock_call_enter", "sock_call_exit"}}},
	},
};

static void complete(const struct event_head *head _unused_, void *data)
{
	sock_call_write_args(data);
}

EVENT_TYPE(sock_call, "sock.call", struct sock_call, call_fields, call_roles, "a system call of the network has ended",
	   .current = true, .complete = complete);
