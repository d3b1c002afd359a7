/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events reported by a single program, and cgroup paths. */
#include <errno.h>
#include <string.h>

#include "event/core/hooks.h"
#include "tool/core/cgroups.h"
#include "unit.h"

static int attach(struct kernel_object *object _unused_, const char *program _unused_, struct why *why _unused_)
{
	return 0;
}

static const struct event_role one = {.name = "one", .hooks = {{.programs = {"a"}}, {.programs = {"b", "c"}}}},
			       other = {.name = "other", .without = "less", .hooks = {{.programs = {"d"}}}},
			       elsewhere = {.name = "elsewhere", .hooks = {{.programs = {"e"}, .attach = attach}}};

static void put(struct hook_plan *plan, unsigned request, const struct event_role *role, const char *section)
{
	hook_plan_add(plan, request, role, 1);
	snprintf(plan->choices.items[plan->choices.count - 1].section,
		 sizeof(plan->choices.items[plan->choices.count - 1].section), "%s", section);
}

TEST(one_program_at_a_btf_tracepoint_is_alone)
{
	_cleanup_(hook_plan_done) struct hook_plan plan = {};

	CHECK(!hook_plan_is_alone(&plan, 0));
	put(&plan, 0, &one, "tp_btf/sock_send_length");
	CHECK(hook_plan_is_alone(&plan, 0));
	/* Programs of other events and owner tracking do not count. */
	put(&plan, 1, &one, "tp_btf/sock_recv_length");
	put(&plan, HOOK_OF_OWNER, &other, "tp_btf/inet_sock_set_state");
	CHECK(hook_plan_is_alone(&plan, 0));
	CHECK(hook_plan_is_alone(&plan, 1));
	CHECK(!hook_plan_is_alone(&plan, 2));
	put(&plan, 0, &other, "tp_btf/other");
	CHECK(!hook_plan_is_alone(&plan, 0));
	CHECK(hook_plan_is_alone(&plan, 1));
	/* A role without a hook has no program. */
	CHECK(hook_plan_refuse(&plan, "d", "not here"));
	CHECK(hook_plan_is_alone(&plan, 0));
}

/* Its programs then keep what they know of a socket elsewhere (config.by_kprobe). */
TEST(a_kprobe_among_the_programs_of_an_event)
{
	_cleanup_(hook_plan_done) struct hook_plan plan = {};

	put(&plan, 0, &other, "kprobe/sock_def_readable");
	put(&plan, 1, &one, "fexit/inet_sendmsg");
	put(&plan, HOOK_OF_OWNER, &elsewhere, "kprobe/inet_sendmsg");
	CHECK(hook_plan_has_kprobe(&plan, 0));
	CHECK(!hook_plan_has_kprobe(&plan, 1));
	CHECK(!hook_plan_has_kprobe(&plan, 2));
	/* Not if it could not be attached, and no hook is left. */
	CHECK(hook_plan_refuse(&plan, "d", "not here"));
	CHECK(!hook_plan_has_kprobe(&plan, 0));
}

TEST(others_are_not_alone)
{
	static const char *const sections[] = {"tracepoint/sock/sock_send_length", "fexit/inet_sendmsg",
					       "fentry/inet_sendmsg", "kprobe/inet_sendmsg", ""};

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		_cleanup_(hook_plan_done) struct hook_plan plan = {};

		unit_note("%s", sections[i]);
		put(&plan, 0, &one, sections[i]);
		CHECK(!hook_plan_is_alone(&plan, 0));
	}
}

TEST(two_programs_or_one_that_is_attached_elsewhere_are_not_alone)
{
	_cleanup_(hook_plan_done) struct hook_plan plan = {};

	put(&plan, 0, &one, "tp_btf/sock_send_length");
	put(&plan, 1, &elsewhere, "tp_btf/sock_send_length");
	CHECK(!hook_plan_is_alone(&plan, 1));
	/* The next hook has two programs. */
	CHECK(hook_plan_refuse(&plan, "a", "not here"));
	CHECK(!hook_plan_is_alone(&plan, 0));
}

TEST(control_groups_that_are_not_there_are_reported)
{
	static const char *const wrong[] = {"no-such-group", "/no/such/group", "/no-such-group/../other"};
	_cleanup_free_ char *directory = NULL;
	struct why why = {};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		why = (struct why){};
		unit_note("%s", wrong[i]);
		CHECK_EQ_INT(cgroups_check(wrong[i], &why), -ENOENT);
		CHECK(strstr(why.text, "-C: ") == why.text);
	}
	/* The root cgroup exists if cgroups are mounted. */
	if (cgroups_find_directory("/", &directory, &why) == 0)
		CHECK_EQ_INT(cgroups_check("/", &why), 0);
	else
		CHECK(strstr(why.text, "not mounted") != NULL);
}
