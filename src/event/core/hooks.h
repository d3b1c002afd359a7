/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignment of hooks to roles. A hook that the kernel lacks or refuses is skipped for the next one, and the reason
 * kept. NEST_HOOKS_WITHOUT=fentry,fexit,tp_btf/sock_recv_length skips hooks whose section begins so: for tests.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"
#include "event/core/event.h"
#include "kernel/object.h"

/* All programs of all events are in one object, built twice: the one for this kernel (event/bpf/basic.bpf.h). */
const char *hook_object(void);
/* Whether that is the build for kernels without atomic operations that return a value; NEST_BPF=basic asks for it. */
bool hook_object_is_basic(void);

/* Whether NEST_BPF or NEST_HOOKS_WITHOUT asks for other hooks than this kernel's best. */
bool hook_is_restricted(void);

struct hook_choice {
	unsigned request; /* index of the event; HOOK_OF_OWNER: shared */
	const struct event_role *role;
	unsigned hook;    /* index; EVENT_HOOKS_MAX: none left */
	char reason[256]; /* why the previous one was skipped */
	char section[80]; /* of the first program, for display */
};

#define HOOK_OF_OWNER UINT32_MAX

/* A program that the kernel did not load or attach. */
struct hook_refusal {
	char program[64];
	char reason[256];
};

struct hook_refusals {
	struct hook_refusal *items;
	size_t count, room; /* a VEC */
};

struct hook_plan {
	VEC(struct hook_choice) choices;
	struct hook_refusals refusals; /* in their order */
};

void hook_plan_add(struct hook_plan *plan, unsigned request, const struct event_role *roles, uint32_t count);
void hook_plan_done(struct hook_plan *plan);

/* Skips hooks that the kernel lacks. */
void hook_plan_settle(struct hook_plan *plan, const struct kernel_object *object);
/*
 * The plan that loading would come to, without loading: what the kernel does not have is passed over, then what it
 * refused before. Where that is not known (NULL), also kinds of programs that this kernel seems not to have.
 */
void hook_plan_guess(struct hook_plan *plan, const struct kernel_object *object, const struct hook_refusals *refusals);
/* The hook with this program failed; false if no choice uses it. */
bool hook_plan_refuse(struct hook_plan *plan, const char *program, const char *reason);

/* Programs may serve several roles: whether no earlier choice has this one. */
bool hook_plan_is_first(const struct hook_plan *plan, const struct hook_choice *of, const char *program);

/* Whether a single BTF tracepoint program reports the event. */
bool hook_plan_is_alone(const struct hook_plan *plan, unsigned request);

/* Whether a kprobe is among the event's programs. */
bool hook_plan_has_kprobe(const struct hook_plan *plan, unsigned request);

/* The current hook of a choice; NULL: none left. */
static inline const struct event_hook *hook_choice_get(const struct hook_choice *choice)
{
	return choice->hook < EVENT_HOOKS_MAX && choice->role->hooks[choice->hook].programs[0]
		       ? &choice->role->hooks[choice->hook]
		       : NULL;
}

/* Calls fn once per program of the plan, until one returns a negative errno. */
typedef int (*hook_program_fn)(const struct event_hook *hook, const char *program, void *context);
int hook_plan_each(const struct hook_plan *plan, hook_program_fn fn, void *context);
