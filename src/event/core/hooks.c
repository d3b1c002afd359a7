/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/core/hooks.h"
#include "kernel/btf_names.h"
#include "kernel/capability.h"
#include "kernel/program.h"
#include "kernel/tracefs.h"

bool hook_object_is_basic(void)
{
	static int atomics = 1;
	const char *wanted = secure_getenv("NEST_BPF");

	if (wanted && strcmp(wanted, "basic") == 0)
		return true;
	if (atomics > 0)
		atomics = program_try_atomics();
	/* Without the privilege to load programs nothing is known, and nothing will be loaded. */
	return atomics == -EINVAL;
}

bool hook_is_restricted(void)
{
	return secure_getenv("NEST_BPF") || secure_getenv("NEST_HOOKS_WITHOUT");
}

const char *hook_object(void)
{
	return hook_object_is_basic() ? "events-basic.bpf.o" : "events.bpf.o";
}

void hook_plan_add(struct hook_plan *plan, unsigned request, const struct event_role *roles, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		vec_push(&plan->choices, (struct hook_choice){.request = request, .role = &roles[i]});
}

void hook_plan_done(struct hook_plan *plan)
{
	vec_done(&plan->choices);
	vec_done(&plan->refusals);
}

static void pass_over(struct hook_choice *choice, const char *reason)
{
	snprintf(choice->reason, sizeof(choice->reason), "%.*s", (int)sizeof(choice->reason) - 1, reason);
	choice->hook++;
}

/*
 * What a kind of program takes, beyond what its section names. The functions are compiled in with the option in
 * question and stand in BTF then; a program is not loaded without the capability.
 */
static const struct {
	const char *section;
	const char *function, *option;
	unsigned capability;
} kinds[] = {
	{"fentry/", "register_ftrace_direct", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", CAP_PERFMON},
	{"fexit/", "register_ftrace_direct", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", CAP_PERFMON},
	{"kprobe/", "register_kprobe", "CONFIG_KPROBES", CAP_PERFMON},
	{"kretprobe/", "register_kretprobe", "CONFIG_KRETPROBES", CAP_PERFMON},
	{"kprobe.multi", "register_fprobe", "CONFIG_FPROBE", CAP_PERFMON},
	{"uprobe", "uprobe_register", "CONFIG_UPROBES", CAP_SYS_ADMIN},
	{"uretprobe", "uprobe_register", "CONFIG_UPROBES", CAP_SYS_ADMIN},
	{"cgroup/", "cgroup_bpf_prog_attach", "CONFIG_CGROUP_BPF", CAP_NET_ADMIN},
};

struct look {
	struct btf_names names;
	const struct kernel_object *object;
	bool kinds; /* also whether this kernel has the kinds of programs */
	uint64_t capabilities;
	int entry; /* what became of an empty program at a function */
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool kind_exists(const struct look *look, const char *section, struct why *why)
{
	char name[64];

	for (size_t i = 0; look->kinds && i < ARRAY_SIZE(kinds); i++) {
		if (!starts_with(section, kinds[i].section))
			continue;
		if (look->names.text && !btf_names_has(&look->names, kinds[i].function))
			return why_set(why, false, "this kernel has no %.*s programs: it was built without %s",
				       (int)strcspn(section, "/"), section, kinds[i].option);
		if (look->entry < 0 && section[0] == 'f')
			return why_set(why, false, "this kernel refuses %.*s programs: %s", (int)strcspn(section, "/"),
				       section, strerror(-look->entry));
		if (look->capabilities & (CAP_BIT(kinds[i].capability) | CAP_BIT(CAP_SYS_ADMIN)))
			continue;
		capability_names(CAP_BIT(kinds[i].capability), name, sizeof(name));
		return why_set(why, false, "%.*s programs need %s, which this process lacks",
			       (int)strcspn(section, "/"), section, name);
	}
	return true;
}

/* The name in BTF that a section of this kind needs; false: none. */
static bool target_name(const char *section, char *name, size_t size)
{
	const char *target = strchr(section, '/');

	if (!target ||
	    !(starts_with(section, "tp_btf/") || starts_with(section, "fentry/") || starts_with(section, "fexit/")))
		return false;
	snprintf(name, size, "%s%s", section[0] == 't' ? "btf_trace_" : "", target + 1);
	return true;
}

static void want_target(const char *section, void *context)
{
	char name[96];

	if (target_name(section, name, sizeof(name)))
		btf_names_want(context, name);
}

/* All names that may be asked for. */
static void find_names(struct look *look)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		btf_names_want(&look->names, kinds[i].function);
	kernel_object_each_section(look->object, want_target, &look->names);
	btf_names_find(&look->names);
}

/* Whether the kernel has what the section names; fills the reason when not. */
static bool target_exists(const struct look *look, const char *section, struct why *why)
{
	const char *target = strchr(section, '/');
	char name[96];

	if (!target)
		return true;
	target++;
	if (starts_with(section, "tracepoint/") || starts_with(section, "tp/"))
		return tracefs_has(target) > 0 ||
		       why_set(why, false, "tracefs does not show the tracepoint %s", target);
	if (!look->names.text || !target_name(section, name, sizeof(name)) || btf_names_has(&look->names, name))
		return true;
	return why_set(why, false,
		       section[0] == 't' ? "this kernel has no tracepoint %s"
					 : "this kernel has no function %s that can be traced",
		       target);
}

/* Weak functions are tested for by their programs. Variables are rare. */
static bool has_variable(const char *name, bool is_weak)
{
	return (is_weak && starts_with(name, "bpf_")) || program_try_variable(name) == 0;
}

/* Whether NEST_HOOKS_WITHOUT has a word that the section begins with: tests try the other hooks of an event so. */
static bool is_left_out(const char *section, struct why *why)
{
	const char *words = secure_getenv("NEST_HOOKS_WITHOUT");

	while (words && *words) {
		size_t n = strcspn(words, ",");

		if (n > 0 && strncmp(section, words, n) == 0)
			return why_set(why, true, "left out by NEST_HOOKS_WITHOUT: %s", section);
		words += n + (words[n] == ',');
	}
	return false;
}

static bool program_exists(const struct look *look, const char *program, const char *section, struct why *why)
{
	const char *missing;

	if (!section)
		return hook_object_is_basic()
			       ? why_set(why, false, "BPF of this kernel has no atomic operations that return a value")
			       : why_set(why, false, "no program %s was built in", program);
	if (is_left_out(section, why) || !target_exists(look, section, why) || !kind_exists(look, section, why))
		return false;
	missing = kernel_object_missing_extern(look->object, program, has_variable);
	return !missing || why_set(why, false, "BPF programs cannot read this kernel's variable %s", missing);
}

static bool hook_exists(const struct look *look, struct hook_choice *choice)
{
	const struct event_hook *hook = hook_choice_get(choice);
	struct why why = {};

	if (hook->check && hook->check(&why) < 0) {
		pass_over(choice, why.text);
		return false;
	}
	for (unsigned i = 0; i < EVENT_PROGRAMS_MAX && hook->programs[i]; i++) {
		const char *section = kernel_object_section(look->object, hook->programs[i]);

		if (!program_exists(look, hook->programs[i], section, &why)) {
			pass_over(choice, why.text);
			return false;
		}
		if (i == 0)
			snprintf(choice->section, sizeof(choice->section), "%s", section);
	}
	return true;
}

static void settle(struct hook_plan *plan, const struct look *look)
{
	vec_each(&plan->choices, choice)
		while (hook_choice_get(choice) && !hook_exists(look, choice))
			;
}

void hook_plan_settle(struct hook_plan *plan, const struct kernel_object *object)
{
	struct look look = {.object = object};

	/* Without names, loading finds out. */
	(void)btf_names_load(&look.names);
	settle(plan, &look);
	/*
	 * Gone again before the loading, which has its own two copies: together they would be the peak of the memory.
	 */
	btf_names_done(&look.names);
}

void hook_plan_guess(struct hook_plan *plan, const struct kernel_object *object, const struct hook_refusals *refusals)
{
	struct look look = {.object = object, .kinds = !refusals};

	(void)btf_names_load(&look.names);
	find_names(&look);
	if (capability_get(&look.capabilities) < 0)
		look.capabilities = UINT64_MAX;
	if (look.kinds && btf_names_has(&look.names, "register_ftrace_direct"))
		look.entry = program_try_entry("tcp_sendmsg");
	settle(plan, &look);
	for (size_t i = 0; refusals && i < refusals->count; i++)
		if (hook_plan_refuse(plan, refusals->items[i].program, refusals->items[i].reason))
			settle(plan, &look);
	btf_names_done(&look.names);
}

static bool has_program(const struct hook_choice *choice, const char *program)
{
	const struct event_hook *hook = hook_choice_get(choice);

	for (unsigned i = 0; hook && i < EVENT_PROGRAMS_MAX && hook->programs[i]; i++)
		if (strcmp(hook->programs[i], program) == 0)
			return true;
	return false;
}

bool hook_plan_refuse(struct hook_plan *plan, const char *program, const char *reason)
{
	struct hook_refusal *refusal;
	bool found = false;

	vec_each(&plan->choices, choice)
		if (has_program(choice, program)) {
			pass_over(choice, reason);
			found = true;
		}
	if (!found)
		return false;
	refusal = vec_add(&plan->refusals);
	snprintf(refusal->program, sizeof(refusal->program), "%s", program);
	snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
	return true;
}

bool hook_plan_is_first(const struct hook_plan *plan, const struct hook_choice *of, const char *program)
{
	vec_each(&plan->choices, choice) {
		if (choice == of)
			return true;
		if (has_program(choice, program))
			return false;
	}
	return true;
}

bool hook_plan_is_alone(const struct hook_plan *plan, unsigned request)
{
	unsigned programs = 0;

	vec_each(&plan->choices, choice) {
		const struct event_hook *hook = hook_choice_get(choice);

		if (choice->request != request || !hook)
			continue;
		if (hook->programs[1] || hook->attach || strncmp(choice->section, "tp_btf/", 7) != 0)
			return false;
		programs++;
	}
	return programs == 1;
}

bool hook_plan_has_kprobe(const struct hook_plan *plan, unsigned request)
{
	vec_each(&plan->choices, choice)
		if (choice->request == request && hook_choice_get(choice) && starts_with(choice->section, "kprobe/"))
			return true;
	return false;
}

int hook_plan_each(const struct hook_plan *plan, hook_program_fn fn, void *context)
{
	vec_each(&plan->choices, choice) {
		const struct event_hook *hook = hook_choice_get(choice);

		for (unsigned i = 0; hook && i < EVENT_PROGRAMS_MAX && hook->programs[i]; i++) {
			int r = hook_plan_is_first(plan, choice, hook->programs[i])
					? fn(hook, hook->programs[i], context)
					: 0;

			if (r < 0)
				return r;
		}
	}
	return 0;
}
