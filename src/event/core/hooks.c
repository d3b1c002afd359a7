/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "event/core/hooks.h"
#include "kernel/btf_names.h"
#include "kernel/tracefs.h"

void hook_plan_add(struct hook_plan *plan, unsigned request, const struct event_role *roles, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		vec_push(&plan->choices, (struct hook_choice){.request = request, .role = &roles[i]});
}

void hook_plan_done(struct hook_plan *plan)
{
	vec_done(&plan->choices);
}

static void pass_over(struct hook_choice *choice, const char *reason)
{
	snprintf(choice->reason, sizeof(choice->reason), "%s", reason);
	choice->hook++;
}

/* Whether the kernel has the target of the section; sets the reason if not. */
static bool target_exists(const struct btf_names *names, const char *section, char *reason, size_t size)
{
	const char *target = strchr(section, '/');
	char name[96];

	if (!target)
		return true;
	target++;
	if (strncmp(section, "tracepoint/", 11) == 0 || strncmp(section, "tp/", 3) == 0) {
		snprintf(reason, size, "tracefs has no tracepoint %s", target);
		return tracefs_has(target) > 0;
	}
	if (!names->text)
		return true;
	if (strncmp(section, "tp_btf/", 7) == 0) {
		snprintf(reason, size, "this kernel has no tracepoint %s", target);
		snprintf(name, sizeof(name), "btf_trace_%s", target);
		return btf_names_has(names, name);
	}
	if (strncmp(section, "fentry/", 7) == 0 || strncmp(section, "fexit/", 6) == 0) {
		snprintf(reason, size, "this kernel has no traceable function %s", target);
		return btf_names_has(names, target);
	}
	return true;
}

static bool hook_exists(const struct btf_names *names, const struct kernel_object *object, struct hook_choice *choice)
{
	const struct event_hook *hook = hook_choice_get(choice);
	char reason[200];

	for (unsigned i = 0; i < EVENT_PROGRAMS_MAX && hook->programs[i]; i++) {
		const char *section = kernel_object_section(object, hook->programs[i]);

		if (!section)
			snprintf(reason, sizeof(reason), "BPF program %s is not built in", hook->programs[i]);
		if (!section || !target_exists(names, section, reason, sizeof(reason))) {
			pass_over(choice, reason);
			return false;
		}
		if (i == 0)
			snprintf(choice->section, sizeof(choice->section), "%s", section);
	}
	return true;
}

void hook_plan_settle(struct hook_plan *plan, const struct kernel_object *object)
{
	/* Freed before loading, which has two copies of its own: all three would be the peak of memory use. */
	_cleanup_(btf_names_done) struct btf_names names = {};

	/* Without BTF names, loading decides. */
	(void)btf_names_load(&names);
	vec_each(&plan->choices, choice)
		while (hook_choice_get(choice) && !hook_exists(&names, object, choice))
			;
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
	bool found = false;

	vec_each(&plan->choices, choice)
		if (has_program(choice, program)) {
			pass_over(choice, reason);
			found = true;
		}
	return found;
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
