/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the kernel's BTF: the search for many at once finds what the search for one finds. */
#include <unistd.h>

#include "kernel/btf_names.h"
#include "unit.h"

static const char *const candidates[] = {"btf_trace_sched_switch",
					 "btf_trace_no_such_tracepoint",
					 "tcp_sendmsg",
					 "tcp_sendms",
					 "cp_sendmsg",
					 "task_struct",
					 "pid",
					 "x",
					 "",
					 "task_struct_of_another_kernel"};

TEST(many_names_at_once)
{
	struct btf_names one = {}, many = {};

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		SKIP("the kernel shows no BTF");
	CHECK_OK(btf_names_load(&one));
	CHECK_OK(btf_names_load(&many));
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++)
		btf_names_want(&many, candidates[i]);
	btf_names_find(&many);
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		unit_note("%s", candidates[i]);
		if (*candidates[i])
			CHECK_EQ_UINT(btf_names_has(&many, candidates[i]), btf_names_has(&one, candidates[i]));
	}
	CHECK(btf_names_has(&many, "task_struct"));
	CHECK(!btf_names_has(&many, "btf_trace_no_such_tracepoint"));
	/* One that was not wanted. */
	CHECK(btf_names_has(&many, "net_device"));
	btf_names_done(&one);
	btf_names_done(&many);
}

TEST(names_of_a_kernel_without_btf)
{
	struct btf_names none = {};

	btf_names_want(&none, "task_struct");
	btf_names_find(&none);
	CHECK(!btf_names_has(&none, "task_struct"));
	btf_names_done(&none);
}
