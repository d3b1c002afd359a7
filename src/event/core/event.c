/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event catalogue, and the fields common to all events. */
#include <string.h>

#include "base/vec.h"
#include "event/core/config.h"
#include "event/core/event.h"
#include "record/net_names.h"

#define H struct event_head
/* clang-format off */
#define MOMENT_FIELDS                                                                                                  \
	FIELD(H, time_ns, TIME, "time of the event", .zero_is_unknown = true, .hidden = true),                         \
	FIELD(H, cpu, ID, "CPU of the event", .hidden = true)
#define NETNS_FIELD FIELD(H, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true)
/* clang-format on */
static const struct field head_fields[] = {
	MOMENT_FIELDS,
	FIELD(H, pid, ID, "process that owns the socket", .zero_is_unknown = true),
	FIELD(H, tid, ID, "thread of the process", .zero_is_unknown = true, .hidden = true),
	FIELD(H, comm, TEXT, "name of the process"),
	FIELD(H, uid, ID, "user of the process", .hidden = true),
	FIELD(H, cgroup_id, ID, "cgroup, inode number of its directory", .zero_is_unknown = true, .hidden = true),
	NETNS_FIELD,
	FIELD(H, family, ENUM, "address family; IPv4 over an IPv6 socket is ipv4", .names = &event_family_names,
	      .zero_is_unknown = true, .hidden = true),
	FIELD(H, proto, ENUM, "transport protocol", .names = &socket_proto_names, .zero_is_unknown = true,
	      .hidden = true),
	FIELD(H, laddr, ADDR, "local address"),
	FIELD(H, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(H, raddr, ADDR, "remote address"),
	FIELD(H, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(H, cookie, HEX, "socket cookie, unique per socket since boot", .zero_is_unknown = true, .hidden = true),
};
static const struct field of_host_fields[] = {MOMENT_FIELDS};
static const struct field of_netns_fields[] = {MOMENT_FIELDS, NETNS_FIELD};
#undef H
RECORD_TYPE(event_head_type, "event", struct event_head, head_fields, "fields common to all events");

#define X struct event_extra
/* clang-format off */
#define RUN_FIELDS                                                                                                     \
	FIELD(X, elapsed_ns, DURATION, "time since the start", .exact = true, .hidden = true),                         \
	FIELD(X, event, TEXT, "name of the event", .hidden = true)
#define KSTACK_FIELD                                                                                                   \
	FIELD(X, kstack, STACK, "kernel stack, innermost function first (--stack)", .hidden = true)
/* clang-format on */
static const struct field extra_fields[] = {
	RUN_FIELDS,
	FIELD(X, cgroup, TEXT, "cgroup path", .hidden = true),
	FIELD(X, container, TEXT, "container of the process", .hidden = true),
	KSTACK_FIELD,
	FIELD(X, ustack, STACK, "user stack, innermost function first (--ustack)", .hidden = true),
};
static const struct field ownerless_fields[] = {RUN_FIELDS, KSTACK_FIELD};
#undef X
RECORD_TYPE(event_extra_type, "event_extra", struct event_extra, extra_fields, "additional fields of events");

/* The same structs, without what such events do not have. */
static const struct record_type of_host_type = {.name = "event",
						.help = "fields of events of a host",
						.fields = of_host_fields,
						.field_count = ARRAY_SIZE(of_host_fields),
						.size = sizeof(struct event_head)};
static const struct record_type of_netns_type = {.name = "event",
						 .help = "fields of events of a namespace",
						 .fields = of_netns_fields,
						 .field_count = ARRAY_SIZE(of_netns_fields),
						 .size = sizeof(struct event_head)};
static const struct record_type ownerless_type = {.name = "event_extra",
						  .help = "additional fields of events without a process",
						  .fields = ownerless_fields,
						  .field_count = ARRAY_SIZE(ownerless_fields),
						  .size = sizeof(struct event_extra)};

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct event *const *)a)->name, (*(const struct event *const *)b)->name);
}

const struct event **event_list(size_t *ret_count)
{
	VEC(const struct event *) list = {};

	registry_each(event, event)
		vec_push(&list, *event);
	vec_sort(&list, by_name);
	*ret_count = list.count;
	return list.items;
}

const struct event *event_find(const char *name)
{
	registry_each(event, event)
		if (strcmp((*event)->name, name) == 0)
			return *event;
	return NULL;
}

const struct event_union *event_union_find(const char *name)
{
	registry_each(event_union, entry)
		if (strcmp((*entry)->name, name) == 0)
			return *entry;
	return NULL;
}

unsigned event_union_count(const struct event_union *several)
{
	unsigned count = 0;

	while (count < EVENT_UNION_MAX && several->events[count])
		count++;
	return count;
}

unsigned event_resolve(const char *name, const struct event *ret_events[EVENT_UNION_MAX])
{
	const struct event_union *several = event_union_find(name);
	unsigned count = 0;

	if (!several) {
		ret_events[0] = event_find(name);
		return ret_events[0] != NULL;
	}
	count = event_union_count(several);
	for (unsigned i = 0; i < count; i++)
		ret_events[i] = event_find(several->events[i]);
	return count;
}

bool event_is_known(const char *name)
{
	return event_find(name) || event_union_find(name);
}

struct shape event_shape(const struct event *event)
{
	const struct record_type *extra = event->of_host || event->of_netns ? &ownerless_type : &event_extra_type;
	const struct record_type *head = event->of_host    ? &of_host_type
					 : event->of_netns ? &of_netns_type
							   : &event_head_type;

	return (struct shape){.count = EVENT_PARTS, .types = {head, extra, event->type}};
}

bool event_has_field(const struct event *event, const char *name)
{
	struct shape shape = event_shape(event);
	struct field_ref ref;

	return shape_find(&shape, name, &ref) == 0;
}

int event_field_offset(struct field_ref ref)
{
	if (ref.field->made)
		return -1;
	switch (ref.part) {
	case EVENT_PART_HEAD:
		return (int)ref.field->offset;
	case EVENT_PART_DATA:
		return (int)(sizeof(struct event_head) + ref.field->offset);
	default:
		return -1;
	}
}

static uint32_t extra_needs(uint32_t offset)
{
	switch (offset) {
	case offsetof(struct event_extra, elapsed_ns):
		return EVENT_NEED_TIME;
	case offsetof(struct event_extra, cgroup):
	case offsetof(struct event_extra, container):
		return EVENT_NEED_CGROUP;
	case offsetof(struct event_extra, kstack):
		return EVENT_NEED_KSTACK;
	case offsetof(struct event_extra, ustack):
		/* The symbols are those of the process. */
		return EVENT_NEED_USTACK | EVENT_NEED_OWNER;
	default:
		return 0;
	}
}

uint32_t event_field_needs(struct field_ref ref)
{
	if (ref.part == EVENT_PART_EXTRA)
		return extra_needs(ref.field->offset);
	if (ref.part != EVENT_PART_HEAD)
		return 0;
	switch (ref.field->offset) {
	case offsetof(struct event_head, time_ns):
		return EVENT_NEED_TIME;
	case offsetof(struct event_head, pid):
	case offsetof(struct event_head, tid):
		return EVENT_NEED_OWNER;
	case offsetof(struct event_head, uid):
		return EVENT_NEED_OWNER | EVENT_NEED_UID;
	case offsetof(struct event_head, comm):
		return EVENT_NEED_COMM;
	case offsetof(struct event_head, cgroup_id):
		return EVENT_NEED_CGROUP;
	case offsetof(struct event_head, netns):
		return EVENT_NEED_NETNS;
	case offsetof(struct event_head, cookie):
		return EVENT_NEED_COOKIE;
	case offsetof(struct event_head, cpu):
		return 0;
	case offsetof(struct event_head, laddr):
	case offsetof(struct event_head, raddr):
		return EVENT_NEED_ENDPOINTS | EVENT_NEED_ADDRESSES;
	default:
		return EVENT_NEED_ENDPOINTS;
	}
}

void event_clear(const struct event *event, void *data)
{
	char *payload = (char *)data + sizeof(struct event_head);

	memset(data, 0, event_size(event));
	for (uint32_t i = 0; i < event_head_type.field_count; i++)
		value_set_unknown(&event_head_type.fields[i], data);
	for (uint32_t i = 0; i < event->type->field_count; i++)
		value_set_unknown(&event->type->fields[i], payload);
	((struct event_head *)data)->kstack_id = -1;
	((struct event_head *)data)->ustack_id = -1;
}
