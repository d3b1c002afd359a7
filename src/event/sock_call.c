/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls of the network: fields and hooks. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "event/attach.h"
#include "event/event.h"
#include "event/sock_call.h"
#include "event/sock_call_text.h"

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

/* To the end or the beginning of each of the calls. */
static int attach_calls(struct kernel_object *object, const char *program, struct why *why)
{
	bool enter = strcmp(program, "sock_call_enter") == 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(call_items); i++) {
		char name[64];

		snprintf(name, sizeof(name), "sys_%s_%s", enter ? "enter" : "exit", call_items[i].name);
		r = kernel_object_keep_link(
			object, program,
			bpf_program__attach_tracepoint(kernel_object_program(object, program), "syscalls", name), why);
	}
	return r;
}

static const struct event_role call_roles[] = {
	{
		.name = "network calls",
		.hooks = {{.programs = {"sock_call_enter", "sock_call_exit"}, .attach = attach_calls},
			  {.programs = {"sock_call_any_enter", "sock_call_any_exit"}}},
	},
};

static void complete(const struct event_head *head _unused_, void *data)
{
	sock_call_write_args(data);
}

EVENT_TYPE(sock_call, "sock.call", struct sock_call, call_fields, call_roles, "a system call of the network has ended",
	   .current = true, .complete = complete);
