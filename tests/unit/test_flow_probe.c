/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that the kernel's probes print. */
#include "flow/probe_text.h"
#include "unit.h"

TEST(a_call_with_arguments)
{
	struct probe_line line;

	REQUIRE(probe_line_parse(
		"           nginx-4711    [001] DZff2 15173.000042: e12: (0x5556) a1=0x7f a2=0xffffffffffffffff",
		&line));
	CHECK_EQ_UINT(line.tid, 4711);
	CHECK_EQ_TEXT(line.comm, "nginx");
	CHECK_EQ_UINT(line.ticks, UINT64_C(15173000042000));
	CHECK(line.enter);
	CHECK_EQ_UINT(line.probe, 12);
	CHECK_EQ_UINT(line.arg_count, 2);
	CHECK_EQ_UINT(line.args[0], 0x7f);
	CHECK_EQ_UINT(line.args[1], UINT64_MAX);
}

TEST(a_return_with_a_clock_of_cycles)
{
	struct probe_line line;

	REQUIRE(probe_line_parse(" my-own-name [x-7   [000] d.... 42424242424242: r3: (0x401180 <- 0x401126)", &line) ||
		probe_line_parse(" my-own-name-7   [000] d.... 42424242424242: r3: (0x401180 <- 0x401126)", &line));
	CHECK_EQ_UINT(line.tid, 7);
	CHECK(!line.enter);
	CHECK_EQ_UINT(line.probe, 3);
	CHECK_EQ_UINT(line.arg_count, 0);
	CHECK_EQ_UINT(line.ticks, UINT64_C(42424242424242));
}

TEST(losses_are_told)
{
	struct probe_line line;

	REQUIRE(probe_line_parse("CPU:1 [LOST 1234 EVENTS]", &line));
	CHECK_EQ_UINT(line.lost, 1234);
}

TEST(other_lines_are_not_ours)
{
	static const char *const lines[] = {
		"",
		"# tracer: nop",
		"nginx-1 [000] d 1.000001: sched_switch: x",
		"nginx-1 [000] d 1.01: e1: x",
		"a-b [c",
		"x-1 [000] d 12: e99999999999: (0x1)",
	};
	struct probe_line line;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		CHECK(!probe_line_parse(lines[i], &line));
}
