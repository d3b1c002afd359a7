/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel logs: formats of lines, kinds of reports, and what is read from them. */
#include <string.h>

#include "base/buf.h"
#include "oops/oops.h"
#include "oops/oops_disasm.h"
#include "oops/oops_layer.h"
#include "oops/piece.h"
#include "unit.h"

static struct log_line clean(const char *raw)
{
	struct log_line line = {};

	log_line_clean(raw, strlen(raw), &line);
	return line;
}

TEST(prefixes_are_removed)
{
	static const struct {
		const char *raw, *text;
		uint64_t uptime_ns;
	} cases[] = {
		{"[   12.345678] BUG: x", "BUG: x", 12345678000},
		{"<4>[   12.345678] BUG: x", "BUG: x", 12345678000},
		{"[   12.345678][  T600] BUG: x", "BUG: x", 12345678000},
		{"kern  :warn  : [   12.345678] BUG: x", "BUG: x", 12345678000},
		{"Nov 16 02:13:07 web-3 kernel: [   12.345678] BUG: x", "BUG: x", 12345678000},
		{"Nov 16 02:13:07 web-3 kernel: BUG: x", "BUG: x", UINT64_MAX},
		{"6,339,5140900,-;BUG: x", "BUG: x", 5140900000},
		{"6,339,5140900,-,caller=T7;BUG: x", "BUG: x", 5140900000},
		{"\x1b[1;31m\xfe@@ login: [   12.345678] BUG: x\r", "BUG: x", 12345678000},
		{"<0> 000000d0 c7222060", " 000000d0 c7222060", UINT64_MAX},
		{"[<c10a7abd>] ? f+0x1/0x2", "[<c10a7abd>] ? f+0x1/0x2", UINT64_MAX},
		{"", "", UINT64_MAX},
		{"[12.3456789] x", "[12.3456789] x", UINT64_MAX},
		{"[  +0.000003] x", "[  +0.000003] x", UINT64_MAX},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct log_line line = clean(cases[i].raw);

		CHECK_EQ_TEXT(line.text, cases[i].text);
		CHECK_EQ_UINT(line.uptime_ns, cases[i].uptime_ns);
	}
}

TEST(wall_clock_times_are_read_only_where_they_are_certain)
{
	CHECK_EQ_UINT(clean("2026-11-16T02:13:07.5+00:00 web kernel: x").time_ns, 1794795187500000000);
	CHECK_EQ_UINT(clean("2026-11-16T03:13:07+0100 web kernel: x").time_ns, 1794795187000000000);
	CHECK_EQ_UINT(clean("2026-11-16T02:13:07,500000+00:00 x").time_ns, 1794795187500000000);
	CHECK_EQ_TEXT(clean("2026-11-16T02:13:07,500000+00:00 BUG: x").text, "BUG: x");
	/* No year, no zone: only the host that wrote it knows. */
	CHECK_EQ_UINT(clean("Nov 16 02:13:07 web kernel: x").time_ns, UINT64_MAX);
	CHECK_EQ_UINT(clean("2026-11-16T02:13:07 web kernel: x").time_ns, UINT64_MAX);
	CHECK_EQ_TEXT(clean("[Mon Nov 16 02:13:07 2026] BUG: x").text, "BUG: x");
	CHECK(clean("[Mon Nov 16 02:13:07 2026] BUG: x").time_ns != UINT64_MAX);
}

TEST(symbols_are_found)
{
	struct piece_symbol symbol;

	CHECK(piece_symbol("e1000_clean+0x2b0/0x5c0 [e1000]", &symbol) != NULL);
	CHECK_EQ_UINT(symbol.offset, 0x2b0);
	CHECK_EQ_UINT(symbol.size, 0x5c0);
	CHECK(symbol.module_len == 5 && memcmp(symbol.module, "e1000", 5) == 0);
	CHECK(piece_find_symbol("0010:[<ffffffff>]  [<ffffffff>] a.part.0+0x1/0x2", &symbol) != NULL);
	CHECK(symbol.name_len == 8 && memcmp(symbol.name, "a.part.0", 8) == 0);
	CHECK(!piece_find_symbol("+0x+0x1/0x +0x1/0x2 9a+0x1/0x2", &symbol));
	CHECK(!piece_symbol("a+0x123456789/0x2", &symbol));
	CHECK(!piece_symbol("a+1/2", &symbol));
}

static void read_text(const char *text, struct oops_list *list)
{
	oops_read(text, strlen(text), list);
}

static void check_kind(const char *line, const char *kind, const char *what)
{
	_cleanup_oops_ struct oops_list list = {};

	read_text(line, &list);
	if (!CHECK_EQ_UINT(list.items.count, 1))
		return;
	CHECK_EQ_TEXT(enum_name_find(&oops_kind_names, list.items.items[0]->report.kind), kind);
	CHECK_EQ_TEXT(list.items.items[0]->report.what, what);
	CHECK_EQ_UINT(strlen(list.items.items[0]->report.signature), 16);
}

TEST(headlines_of_all_ages_are_known)
{
	check_kind("BUG: unable to handle kernel NULL pointer dereference at 00000050", "oops",
		   "NULL pointer dereference: access at offset 0x50");
	check_kind("BUG: unable to handle kernel NULL pointer dereference at           (null)\nIP: [<c1>] f+0x1/0x2",
		   "oops", "NULL pointer dereference: access at offset 0x0");
	check_kind("BUG: unable to handle page fault for address: ffffc90000a1b000\nOops: 0002 [#1] SMP", "oops",
		   "write at invalid address 0xffffc90000a1b000");
	check_kind("BUG: unable to handle kernel paging request at 6b6b6b6b6b6b6b7b", "oops",
		   "memory used after it was freed (slab poison 6b): access at 0x6b6b6b6b6b6b6b7b");
	check_kind("general protection fault: 0000 [#1] SMP", "oops", "general protection fault");
	check_kind("Unable to handle kernel paging request at virtual address dead000000000122", "oops",
		   "list entry used after its removal (LIST_POISON): access at 0xdead000000000122");
	check_kind("divide error: 0000 [#1] SMP", "oops", "divide error: 0000 [#1] SMP");
	check_kind("Internal error: Oops - BUG: 00000000f2000800 [#1] SMP", "oops",
		   "Oops - BUG: 00000000f2000800 [#1] SMP");
	check_kind("kernel BUG at net/core/skbuff.c:112!\ninvalid opcode: 0000 [#1] SMP", "bug",
		   "BUG at net/core/skbuff.c:112");
	check_kind("WARNING: at net/core/dev.c:1566 skb_gso_segment+0x16c/0x237()", "warn",
		   "warning at net/core/dev.c:1566");
	check_kind("WARNING: CPU: 0 PID: 7 at net/core/dev.c:12 f+0x1/0x2 [m]\nlist_del corruption. prev->next\nCPU: 0 "
		   "PID: 7",
		   "warn", "list_del corruption. prev->next");
	check_kind("BUG: soft lockup - CPU#0 stuck for 61s! [swapper:0]", "lockup",
		   "soft lockup: CPU 0 did not schedule for 61 s");
	check_kind("INFO: rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 0, t=15002 jiffies)", "rcu-stall",
		   "rcu_sched detected stalls on CPUs/tasks: { 1} (detected by 0, t=15002 jiffies)");
	check_kind("INFO: rcu_sched_state detected stall on CPU 0 (t=15000 jiffies)", "rcu-stall",
		   "rcu_sched_state detected stall on CPU 0 (t=15000 jiffies)");
	check_kind("INFO: RCU detected CPU 0 stall (t=4294893976/2500 jiffies)", "rcu-stall",
		   "RCU detected CPU 0 stall (t=4294893976/2500 jiffies)");
	check_kind("------------[ cut here ]------------\nWARNING: at net/sched/sch_generic.c:261 "
		   "dev_watchdog+0x1a6/0x1b0()\n"
		   "Hardware name: X31\nNETDEV WATCHDOG: eth0 (8139too): transmit queue 0 timed out\n"
		   "Modules linked in: 8139too\nPid: 0, comm: swapper Not tainted 2.6.34 #1\n",
		   "netdev-watchdog", "eth0: transmit queue 0 timed out");
	check_kind("BUG: kernel NULL pointer dereference, address: 0000000000000008\nOops: Oops: 0002 [#1] SMP", "oops",
		   "NULL pointer dereference: write at offset 0x8");
	check_kind(
		"Oops: general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1] SMP",
		"oops", "list entry used after its removal (LIST_POISON): access at 0xdead000000000122");
	check_kind("INFO: task rmmod:4711 blocked for more than 120 seconds.", "hung-task",
		   "blocked for more than 120 s");
	check_kind("NETDEV WATCHDOG: eth1 (tg3): transmit queue 3 timed out", "netdev-watchdog",
		   "eth1: transmit queue 3 timed out");
	check_kind("swapper: page allocation failure. order:1, mode:0x20", "page-alloc",
		   "page allocation failure: order 1");
	check_kind("refcount_t: addition on 0; use-after-free.", "refcount",
		   "refcount_t: addition on 0; use-after-free.");
	check_kind("Kernel panic - not syncing: VFS: Unable to mount root fs", "panic", "VFS: Unable to mount root fs");
}

TEST(other_lines_are_no_reports)
{
	_cleanup_oops_ struct oops_list list = {};

	read_text("[1.000000] eth0: link is up\nWARNING! Remote peer disconnected\nCall Trace:\n f+0x1/0x2\n"
		  "RAX: 0000000000000000\n------------[ cut here ]------------\nnothing follows\n",
		  &list);
	CHECK_EQ_UINT(list.items.count, 0);
	CHECK_EQ_UINT(list.lines, 7);
}

TEST(lines_of_several_cpus_are_kept_apart)
{
	_cleanup_oops_ struct oops_list list = {};

	read_text("[1.000000][  T600] BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
		  "[1.000001][  T601] BUG: kernel NULL pointer dereference, address: 0000000000000010\n"
		  "[1.000002][  T600] RIP: 0010:tcp_sendmsg+0x1/0x2\n"
		  "[1.000003][  T601] RIP: 0010:udp_sendmsg+0x1/0x2\n"
		  "[1.000004][  T601] ---[ end trace 0 ]---\n"
		  "[1.000005][  T600] ---[ end trace 0 ]---\n",
		  &list);
	REQUIRE(list.items.count == 2);
	CHECK_EQ_TEXT(list.items.items[0]->report.function, "tcp_sendmsg");
	CHECK_EQ_UINT(list.items.items[0]->report.address, 8);
	CHECK_EQ_TEXT(list.items.items[1]->report.layer, "udp");
}

TEST(the_journal_is_read)
{
	static const char text[] =
		"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1794795187500000\n_TRANSPORT=kernel\n"
		"MESSAGE=BUG: kernel NULL pointer dereference, address: 0000000000000008\n\n"
		"__CURSOR=s=2\n_TRANSPORT=syslog\nMESSAGE=BUG: soft lockup - CPU#0 stuck for 61s! [a:1]\n\n"
		"__CURSOR=s=3\n_TRANSPORT=kernel\nMESSAGE\n"
		"\x1b\0\0\0\0\0\0\0"
		"RIP: 0010:tcp_ack+0x1/0x2\n\x01\n\n";
	_cleanup_oops_ struct oops_list list = {};

	oops_read(text, sizeof(text) - 1, &list);
	REQUIRE(list.items.count == 1);
	CHECK_EQ_TEXT(list.items.items[0]->report.function, "tcp_ack");
	CHECK_EQ_UINT(list.items.items[0]->report.time_ns, 1794795187500000000);
}

TEST(signatures_follow_the_failure_not_the_build)
{
	static const char first[] = "BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
				    "CPU: 0 PID: 1 Comm: a Not tainted 6.1.0 #1\nRIP: 0010:tcp_ack.isra.0+0x10/0x20\n"
				    "Call Trace:\n ? old+0x1/0x2\n tcp_rcv_established+0x1/0x2\n ip_rcv+0x1/0x2\n";
	static const char second[] = "[ 7.000000] BUG: kernel NULL pointer dereference, address: 0000000000000010\n"
				     "[ 7.000000] CPU: 3 PID: 9 Comm: b Tainted: G OE 6.6.0 #1\n"
				     "[ 7.000000] RIP: 0010:tcp_ack+0x18/0x28\n"
				     "[ 7.000000] Call Trace:\n[ 7.000000]  tcp_rcv_established+0x3/0x4\n"
				     "[ 7.000000]  ip_rcv+0x2/0x3\n";
	_cleanup_oops_ struct oops_list one = {}, two = {}, other = {};

	read_text(first, &one);
	read_text(second, &two);
	read_text("BUG: kernel NULL pointer dereference, address: 0000000000000008\nRIP: 0010:tcp_v4_rcv+0x18/0x28\n",
		  &other);
	REQUIRE(one.items.count == 1 && two.items.count == 1 && other.items.count == 1);
	CHECK_EQ_TEXT(one.items.items[0]->report.signature, two.items.items[0]->report.signature);
	CHECK(strcmp(one.items.items[0]->report.signature, other.items.items[0]->report.signature) != 0);
}

TEST(long_traces_are_cut_and_counted)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	_cleanup_oops_ struct oops_list list = {};

	buf_add_text(&text, "BUG: scheduling while atomic: a/1/2\nCall Trace:\n");
	for (int i = 0; i < OOPS_FRAMES_MAX + 7; i++)
		buf_add_text(&text, " f+0x1/0x2\n");
	oops_read(text.data, text.len, &list);
	REQUIRE(list.items.count == 1);
	CHECK_EQ_UINT(list.items.items[0]->frames.count, OOPS_FRAMES_MAX);
	CHECK_EQ_UINT(list.items.items[0]->frames_cut, 7);
}

TEST(the_faulting_instruction_names_its_base)
{
	_cleanup_oops_ struct oops_list list = {};
	struct oops_step *steps = xmalloc(OOPS_STEPS_MAX * sizeof(*steps));
	struct why why;
	size_t count;

	read_text("BUG: kernel NULL pointer dereference, address: 0000000000000018\nRIP: 0010:f+0x10/0x20\n"
		  "Code: 48 8b 43 10 <49> 89 59 18 c3\n---[ end trace 0 ]---\n"
		  "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000050\n"
		  "pc : f+0x10/0x20\nCode: f9400020 (f9402860)\n",
		  &list);
	REQUIRE(list.items.count == 2);
	REQUIRE(oops_disasm_all(&list, &why) == 0);
	count = oops_disasm_steps(list.items.items[0], steps);
	REQUIRE(count == 2);
	CHECK(steps[0].loads && steps[0].offset == 12);
	CHECK_EQ_TEXT(steps[0].to, "RAX");
	CHECK_EQ_TEXT(steps[0].from, "RBX");
	CHECK(steps[1].uses && !steps[1].loads);
	CHECK_EQ_TEXT(steps[1].from, "R09");
	CHECK_EQ_INT(steps[1].disp, 0x18);
	CHECK_EQ_TEXT(list.items.items[0]->instructions.items[1].text, "mov qword ptr [r9 + 0x18], rbx");
	CHECK(list.items.items[0]->instructions.items[1].fault);
	count = oops_disasm_steps(list.items.items[1], steps);
	REQUIRE(count == 2);
	CHECK_EQ_TEXT(steps[1].from, "x3");
	CHECK_EQ_INT(steps[1].disp, 0x50);
	free(steps);
}

TEST(modules_without_a_prefix_have_layers)
{
	CHECK_EQ_TEXT(oops_layer_of("skb_recv_done", "virtio_net"), "driver");
	CHECK_EQ_TEXT(oops_layer_of("receive_buf", "igb"), "driver");
	CHECK_EQ_TEXT(oops_layer_of("anything", "sch_htb"), "qdisc");
	CHECK_EQ_TEXT(oops_layer_of("bpf_prog_6deef7357e7b4530_x", NULL), "bpf");
	CHECK_EQ_TEXT(oops_layer_of("br_handle_frame_finish", "bridge"), "bridge");
	CHECK_EQ_TEXT(oops_layer_of("should_deliver", "bridge"), "bridge");
	CHECK_EQ_TEXT(oops_layer_of("napi_gro_receive", NULL), "gro");
	CHECK_EQ_TEXT(oops_layer_of("dev_gro_receive", NULL), "gro");
	CHECK_EQ_TEXT(oops_layer_of("tcp4_gro_receive", NULL), "gro");
	CHECK_EQ_TEXT(oops_layer_of("nf_hook_slow", NULL), "filter");
	CHECK(!oops_layer_of("vfs_read", NULL));
	CHECK(!oops_layer_of("ext4_read", "ext4"));
	CHECK(oops_layer_is_machinery("__warn.cold"));
	CHECK(!oops_layer_is_machinery("tcp_ack"));
}
