/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event catalogue. An event is declared once, in its family's file, and registers itself:
 *
 *	static const struct event_role reset_roles[] = {
 *		{.name = "resets that arrive", .hooks = {{.programs = {"tcp_reset_received"}}}},
 *		{.name = "resets sent", .without = "resets of this host's own are not seen",
 *		 .hooks = {{.programs = {"tcp_reset_sent"}}, {.programs = {"tcp_reset_sent_kprobe"}}}},
 *	};
 *	EVENT_TYPE(tcp_reset, "tcp.reset", reset_type, reset_roles, "a connection was reset");
 *
 * The BPF side calls it tcp_reset (event.bpf.h). Of each role the first hook that this kernel has is taken.
 */
#pragma once

#include "base/why.h"
#include "event/core/head.h"
#include "record/value.h"

struct kernel_object;

/* All programs of all events. */
#define EVENT_OBJECT       "events.bpf.o"
#define EVENT_PROGRAMS_MAX 8
#define EVENT_HOOKS_MAX    4

/* Programs that do a job together: all of them are attached, or the hook is not used. */
struct event_hook {
	const char *programs[EVENT_PROGRAMS_MAX];
	/*
	 * The programs are copies: a program is not run again while it runs, and what it would have missed then its
	 * copy sees. They tell each other apart what was told already. Nothing is lost where the tracepoint is passed
	 * in processes and softirqs only; for others this is no help.
	 */
	bool twins;
	/* A variable of the BPF side: attached only once that is set (live_late.c). NULL: from the beginning on. */
	const char *late;
	/* For programs whose section does not say all of where they go (attach.h); NULL: it does. */
	int (*attach)(struct kernel_object *object, const char *program, struct why *why);
	/* Whether there is something to attach to, without loading anything; NULL: the section says it. */
	int (*check)(struct why *why);
};

/*
 * An event that costs others much may have smaller sets of hooks, which tell less: what is in a smaller one is in the
 * larger ones, too. All of it is a set apart.
 */
enum event_set { EVENT_SET_ALL, EVENT_SET_SOME, EVENT_SET_FEW, EVENT_SET_FEWEST };

/* Something that must be seen for the event to be told. */
struct event_role {
	const char *name;
	const char *without; /* what is lost when no hook works; NULL: then there is no event at all */
	bool costly;         /* slows the whole host down: not taken where the request wants it cheap */
	bool of_datagrams;   /* not needed where the request is about TCP alone */
	uint8_t set;         /* enum event_set: the smallest set of hooks that it belongs to */
	uint32_t tag;        /* for whoever knows the event: which part of it this role is for */
	struct event_hook hooks[EVENT_HOOKS_MAX];
};

struct event {
	const char *name; /* tcp.close */
	const char *bpf;  /* tcp_close: its maps and configuration in the BPF source are called after it */
	const char *help;
	const struct record_type *type; /* of what follows the head */
	const struct event_role *roles;
	uint32_t role_count;
	/* Finishes what the kernel may hand over half finished (event_source.h); NULL: events come whole. */
	const struct event_finisher *finisher;
	/*
	 * A variable of the BPF side, set to 1 when what the kernel has no room for is finished: it then comes past the
	 * kernel's filter and cannot be added up there. NULL: there is no such thing.
	 */
	const char *spills;
	bool current; /* happens in process context: the owner need not be remembered */
	/* Its own programs learn the owners of sockets at sending, at receiving: no others are needed for that. */
	bool learns_at_send;
	bool learns_at_receive;
	/* Makes the fields that are .made, once the event has come out of the kernel; NULL: there are none. */
	void (*complete)(const struct event_head *head, void *data);
	/* So much of the data there is always; what is missing behind it has nothing in it. 0: all of it is there. */
	uint32_t shortest;
	uint32_t frames_at; /* where in the data struct event_frames is: its stack; 0: it is in the kernel's map */
	/* Its programs can add up the first field behind the head by process, protocol and ports (config.brief). */
	bool adds_briefly;
	/*
	 * Names of fields that are known before the event is: what of the filter is about them alone goes into the
	 * configuration x_early as well. NULL: the event has none.
	 */
	const char *const *early;
};

REGISTRY(event, struct event);

/* The record type's object is made here, too: its fields stand beside the struct as for any record. */
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

/* Sorted by name; the array is the caller's to free. */
const struct event **event_list(size_t *ret_count);
const struct event *event_find(const char *name);

/* --- the record of an event --------------------------------------------------------------------------------------- */

/* What the program adds to an event: names of numbers, stacks with symbols. */
struct event_extra {
	uint64_t elapsed_ns; /* since the run began */
	const char *event;
	const char *cgroup;
	const char *container;
	struct stack kstack;
	struct stack ustack;
};

extern const struct record_type event_head_type;
extern const struct record_type event_extra_type;

/* The parts of an event's record, in order. */
enum event_part { EVENT_PART_HEAD, EVENT_PART_EXTRA, EVENT_PART_DATA, EVENT_PARTS };

struct shape event_shape(const struct event *event);
/* Size of the whole as it comes out of the kernel. */
static inline size_t event_size(const struct event *event)
{
	return sizeof(struct event_head) + event->type->size;
}

/* Where a field lies in the event as the kernel has it; -1 for what the program adds. */
int event_field_offset(struct field_ref ref);
/* Which parts of the head (enum event_need) a field is made of. */
uint32_t event_field_needs(struct field_ref ref);
/* An event about which nothing is known. */
void event_clear(const struct event *event, void *data);
