/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event catalogue. An event is declared once, in its family's file, and registers itself:
 *
 *	static const struct event_role reset_roles[] = {
 *		{.name = "received resets", .hooks = {{.programs = {"tcp_reset_received"}}}},
 *		{.name = "sent resets", .without = "sent resets are not reported",
 *		 .hooks = {{.programs = {"tcp_reset_sent"}}, {.programs = {"tcp_reset_sent_kprobe"}}}},
 *	};
 *	EVENT_TYPE(tcp_reset, "tcp.reset", struct tcp_reset, reset_fields, reset_roles, "TCP reset");
 *
 * Its BPF name is tcp_reset (event.bpf.h). Each role uses the first hook that the kernel supports.
 */
#pragma once

#include "base/why.h"
#include "event/core/head.h"
#include "record/value.h"

struct kernel_object;

#define EVENT_PROGRAMS_MAX 8
#define EVENT_HOOKS_MAX    4

/* Programs that belong together: all are attached, or the hook is not used. */
struct event_hook {
	const char *programs[EVENT_PROGRAMS_MAX];
	/*
	 * The programs are copies: the kernel does not run a program inside itself; its copy sees what it would miss.
	 * They mark reported events for each other. Complete only where the tracepoint fires in process and softirq
	 * context alone.
	 */
	bool twins;
	/* BPF variable: attach once it is set (live_late.c). NULL: attach at the start. */
	const char *late;
	/* For programs whose section does not name the full target (attach.h); NULL: it does. */
	int (*attach)(struct kernel_object *object, const char *program, struct why *why);
	/* Whether there is something to attach to, without loading anything; NULL: the section says it. */
	int (*check)(struct why *why);
};

/*
 * A costly event may have smaller sets of hooks that report less; each set contains the smaller ones, except
 * EVENT_SET_ALL, which is separate.
 */
enum event_set { EVENT_SET_ALL, EVENT_SET_SOME, EVENT_SET_FEW, EVENT_SET_FEWEST };

/* Something that the event must observe. */
struct event_role {
	const char *name;
	const char *without; /* what is missing if no hook works; NULL: the event is not available */
	bool costly;         /* slows the whole host: not used for cheap requests */
	bool of_datagrams;   /* not needed for TCP-only requests */
	uint8_t set;         /* enum event_set: the smallest set that contains it */
	uint32_t tag;        /* event-specific: the part that this role serves */
	struct event_hook hooks[EVENT_HOOKS_MAX];
};

struct event {
	const char *name; /* tcp.close */
	const char *bpf;  /* tcp_close: prefix of its maps and configuration in BPF */
	const char *help;
	const struct record_type *type; /* of the data after the head */
	const struct event_role *roles;
	uint32_t role_count;
	/* Completes events that the kernel sends incomplete (event_source.h); NULL: events are complete. */
	const struct event_finisher *finisher;
	/*
	 * BPF variable, set to 1 if incomplete events are completed in user space: they bypass the kernel's filter and
	 * aggregation. NULL: none.
	 */
	const char *spills;
	bool of_host;  /* of no process, socket or namespace: it lacks their fields */
	bool of_netns; /* the same, but of a namespace */
	bool current;  /* in process context: the owner is the current process */
	/* Its own programs track socket owners at send, at receive: no others are needed for that. */
	bool learns_at_send;
	bool learns_at_receive;
	/* Sets the .made fields in user space; NULL: none. */
	void (*complete)(const struct event_head *head, void *data);
	/* Minimum size of the data; a missing tail is zero. 0: full size always. */
	uint32_t shortest;
	uint32_t frames_at; /* offset of struct event_frames in the data; 0: stack in the kernel's map */
	/* Its programs can aggregate the first data field by process, protocol and ports (config.brief). */
	bool adds_briefly;
	/*
	 * Iterator over the sockets that have the storage .swept, run at the end of each interval and of the run: for
	 * what has begun and not ended. NULL: none.
	 */
	const char *sweep, *swept;
	/*
	 * Fields known before the event is built: filter clauses on these alone also go into the configuration x_early.
	 * NULL: none.
	 */
	const char *const *early;
};

REGISTRY(event, struct event);

/* Also defines the record type; its fields stand beside the struct as for any record. */
#define EVENT_TYPE(object, event_name, c_type, field_table, role_table, help_text, ...)                                \
	static RECORD_TYPE(object##_type, event_name, c_type, field_table, help_text);                                 \
	static const struct event object##_event = {.name = (event_name),                                              \
						    .bpf = #object,                                                    \
						    .help = (help_text),                                               \
						    .type = &object##_type,                                            \
						    .roles = (role_table),                                             \
						    .role_count = ARRAY_SIZE(role_table),                              \
						    __VA_ARGS__};                                                      \
	REGISTER(event, struct event, object##_event)

/* Sorted by name; the caller frees the array. */
const struct event **event_list(size_t *ret_count);
const struct event *event_find(const char *name);

/*
 * A name for several events with the same fields, usable wherever a user names an event:
 *
 *	EVENT_UNION(skb_life, "skb.life", "lifetime of packet data in the kernel", "path.rx", "path.tx");
 */
#define EVENT_UNION_MAX 4

struct event_union {
	const char *name;
	const char *help;
	const char *events[EVENT_UNION_MAX];
};

REGISTRY(event_union, struct event_union);

#define EVENT_UNION(object, union_name, help_text, ...)                                                                \
	static const struct event_union object##_union = {                                                             \
		.name = (union_name), .help = (help_text), .events = {__VA_ARGS__}};                                   \
	REGISTER(event_union, struct event_union, object##_union)

const struct event_union *event_union_find(const char *name);
unsigned event_union_count(const struct event_union *several);
/* The events of a name, of an event or a union; 0 if there are none. */
unsigned event_resolve(const char *name, const struct event *ret_events[EVENT_UNION_MAX]);
/* Whether event_resolve finds any. */
bool event_is_known(const char *name);

/* --- the record of an event --------------------------------------------------------------------------------------- */

/* Fields added in user space: names and resolved stacks. */
struct event_extra {
	uint64_t elapsed_ns; /* since the start of the run */
	const char *event;
	const char *cgroup;
	const char *container;
	struct stack kstack;
	struct stack ustack;
};

extern const struct record_type event_head_type;
extern const struct record_type event_extra_type;

/* Parts of an event record, in order. */
enum event_part { EVENT_PART_HEAD, EVENT_PART_EXTRA, EVENT_PART_DATA, EVENT_PARTS };

struct shape event_shape(const struct event *event);
/* By name, as a user may write it. */
bool event_has_field(const struct event *event, const char *name);
/* Size of the whole event in the ring buffer. */
static inline size_t event_size(const struct event *event)
{
	return sizeof(struct event_head) + event->type->size;
}

/* Offset of a field in the kernel's event; -1 for fields added in user space. */
int event_field_offset(struct field_ref ref);
/* Parts of the head (enum event_need) that a field needs. */
uint32_t event_field_needs(struct field_ref ref);
/* Sets all fields to unknown. */
void event_clear(const struct event *event, void *data);
