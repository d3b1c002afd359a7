/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines printed by the kernel's probes. */
#include "probe/probe_text.h"
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

TEST(system_calls)
{
	struct probe_line line;

	REQUIRE(probe_line_parse("  nginx-7 [001] ..... 67201: sys_read(fd: 0xa, buf: 0x55e5, count: 0x400)", &line));
	CHECK_EQ_INT(line.what, PROBE_SYSCALL);
	CHECK_EQ_TEXT(line.syscall, "read");
	CHECK_EQ_UINT(line.arg_count, 3);
	CHECK_EQ_UINT(line.args[0], 10);
	CHECK_EQ_UINT(line.args[2], 1024);
	/* As kernels before 6.13 write it. */
	REQUIRE(probe_line_parse("  nginx-7 [001] ..... 67201: sys_write(fd: a, buf: 55e5, count: 400)", &line));
	CHECK_EQ_UINT(line.args[0], 10);
	CHECK_EQ_UINT(line.args[2], 1024);
	REQUIRE(probe_line_parse("  nginx-7 [001] ..... 67202: sys_read -> 0xfffffffffffffff5", &line));
	CHECK_EQ_INT(line.what, PROBE_SYSCALL_END);
	CHECK_EQ_TEXT(line.syscall, "read");
	CHECK_EQ_INT(line.result, -11);
	CHECK(!probe_line_parse("  nginx-7 [001] ..... 67202: sys_read -> ", &line));
	CHECK(!probe_line_parse("  nginx-7 [001] ..... 67202: sys_", &line));
	CHECK(!probe_line_parse("  nginx-7 [001] ..... 67202: sys_a_name_that_no_system_call_has(fd: 1)", &line));
}

TEST(changes_of_state)
{
	static const char text[] = "  nginx-7 [001] %s 67201: inet_sock_set_state: family=AF_INET protocol=IPPROTO_TCP "
				   "sport=80 dport=35284 saddr=127.0.0.1 daddr=127.0.0.2 saddrv6=::ffff:127.0.0.1 "
				   "daddrv6=::ffff:127.0.0.2 oldstate=TCP_ESTABLISHED newstate=TCP_FIN_WAIT1";
	struct probe_line line;
	char full[512];

	snprintf(full, sizeof(full), text, ".....");
	REQUIRE(probe_line_parse(full, &line));
	CHECK_EQ_INT(line.what, PROBE_STATE);
	CHECK(!line.in_interrupt);
	CHECK_EQ_UINT(line.local.port, 80);
	CHECK_EQ_UINT(line.remote.port, 35284);
	CHECK_EQ_INT(line.remote.addr.family, ADDR_V4);
	CHECK_EQ_UINT(line.remote.addr.bytes[15], 2);
	snprintf(full, sizeof(full), text, "..s2.");
	REQUIRE(probe_line_parse(full, &line));
	CHECK(line.in_interrupt);
	*strstr(full, "daddrv6") = 'x';
	CHECK(!probe_line_parse(full, &line));
}
