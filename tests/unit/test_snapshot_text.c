/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parsers of texts of /proc and of control groups. */
#include <math.h>

#include "base/addr.h"
#include "snapshot/core/scan.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/tunnel.h"
#include "snapshot/proc/cgroup.h"
#include "snapshot/proc/cgroup_path.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/pressure.h"
#include "snapshot/proc/process.h"
#include "snapshot/proc/resolver.h"
#include "snapshot/proc/softnet.h"
#include "unit.h"

TEST(scanning_stays_within_the_line)
{
	const char *text = "a 7\n8 x";
	uint64_t value = 0;
	const char *word;
	size_t n;

	CHECK(scan_word(&text, &word, &n) && n == 1);
	CHECK(scan_u64(&text, &value) && value == 7);
	CHECK(!scan_u64(&text, &value));
	CHECK(scan_next_line(&text));
	CHECK(scan_u64(&text, &value) && value == 8);
	CHECK(!scan_u64(&text, &value)); /* x */
	CHECK(!scan_word(&text, &word, &n));
	CHECK(!scan_next_line(&text));
	text = "18446744073709551616 ffffffffffffffff 1ffffffffffffffff";
	CHECK(!scan_u64(&text, &value));
	CHECK(scan_hex(&text, &value) && value == UINT64_MAX);
	CHECK(!scan_hex(&text, &value));
	CHECK(scan_keyed("ab 1\na 2\n", "a", &value) && value == 2);
	CHECK(scan_keyed("Uid:\t5\t6\n", "Uid", &value) && value == 5);
	CHECK(!scan_keyed("a x\n", "a", &value));
	CHECK(!scan_keyed("", "a", &value));
}

#define STAT_TAIL " S 1 2 3 0 -1 4194304 10 0 0 0 %llu 300 0 0 20 0 7 0 500 1000000 250 18446744073709551615 1\n"

TEST(process_names_may_hold_anything)
{
	static const char *const names[] = {"nginx", "a b", ") S 1 (", "\x1b[31m", "((", "))", "", "\n", "tab\there"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct task_stat stat;
		char text[400];

		snprintf(text, sizeof(text), "42 (%s)" STAT_TAIL, names[i], 200ull);
		unit_note("name %zu", i);
		if (!CHECK_OK(process_parse_stat(text, &stat)))
			continue;
		CHECK_EQ_UINT(stat.pid, 42);
		CHECK_EQ_TEXT(stat.comm, names[i]);
		CHECK_EQ_INT(stat.state, 'S');
		CHECK_EQ_UINT(stat.ppid, 1);
		CHECK_EQ_UINT(stat.threads, 7);
		CHECK_EQ_UINT(stat.user_ns, 200 * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK)));
		CHECK_EQ_UINT(stat.start_ns, 500 * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK)));
		CHECK_EQ_UINT(stat.rss_bytes, 250 * (uint64_t)sysconf(_SC_PAGESIZE));
	}
}

TEST(stat_that_is_cut_or_nonsense_is_refused)
{
	static const char whole[] = "42 (x) S 1 2 3 0 -1 4194304 10 0 0 0 1 2 0 0 20 0 7 0 500 1000000 250";
	struct task_stat stat;
	char text[sizeof(whole)];

	CHECK_OK(process_parse_stat(whole, &stat));
	for (size_t n = 0; n + 4 < sizeof(whole); n++) {
		memcpy(text, whole, n);
		text[n] = '\0';
		unit_note("%zu bytes", n);
		CHECK_ERR(process_parse_stat(text, &stat), -EBADMSG);
	}
	CHECK_ERR(process_parse_stat(")(", &stat), -EBADMSG);
	CHECK_ERR(process_parse_stat("0 (x) S 1 2 3 0 -1 4194304 10 0 0 0 1 2 0 0 20 0 7 0 500 1000000 250", &stat),
		  -EBADMSG);
}

TEST(a_name_longer_than_the_kernel_gives_is_cut)
{
	struct task_stat stat;
	char text[400];

	snprintf(text, sizeof(text), "42 (%s)" STAT_TAIL, "0123456789abcdefghij", 1ull);
	CHECK_OK(process_parse_stat(text, &stat));
	CHECK_EQ_TEXT(stat.comm, "0123456789abcde");
}

static struct thread_record unknown_thread(void)
{
	struct thread_record thread = {};

	for (uint32_t i = 0; i < thread_type.field_count; i++)
		value_set_unknown(&thread_type.fields[i], &thread);
	return thread;
}

TEST(system_calls_and_their_descriptors)
{
	struct thread_record thread = unknown_thread();
	uint64_t number;
	char text[100];

	CHECK_OK(process_parse_syscall("running\n", &thread));
	CHECK_EQ_UINT(thread.syscall, UINT16_MAX);
	CHECK_OK(process_parse_syscall("-1 0x7ffd 0x7f\n", &thread));
	CHECK_EQ_UINT(thread.syscall, UINT16_MAX);
	CHECK_OK(enum_value_find(&syscall_names, "recvfrom", &number));
	snprintf(text, sizeof(text), "%u 0x5 0x7f 0x10 0x0 0x0 0x0 0x7ffd 0x7f\n", (unsigned)number);
	CHECK_OK(process_parse_syscall(text, &thread));
	CHECK_EQ_UINT(thread.syscall, number);
	CHECK_EQ_UINT(thread.syscall_fd, 5);
	/* The upper half of the register is whatever it was. */
	thread = unknown_thread();
	snprintf(text, sizeof(text), "%u 0xffffffff00000007 0x0\n", (unsigned)number);
	CHECK_OK(process_parse_syscall(text, &thread));
	CHECK_EQ_UINT(thread.syscall_fd, 7);
	/* poll and its like have no descriptor there. */
	thread = unknown_thread();
	CHECK_OK(enum_value_find(&syscall_names, "ppoll", &number));
	snprintf(text, sizeof(text), "%u 0x5 0x1\n", (unsigned)number);
	CHECK_OK(process_parse_syscall(text, &thread));
	CHECK_EQ_UINT(thread.syscall, number);
	CHECK_EQ_UINT(thread.syscall_fd, UINT32_MAX);
	CHECK_EQ_UINT(process_parse_poll_of_one(text), 5);
	snprintf(text, sizeof(text), "%u 0x5 0x2\n", (unsigned)number);
	CHECK_EQ_UINT(process_parse_poll_of_one(text), 0);
	CHECK_EQ_UINT(process_parse_poll_of_one("0 0x5 0x1\n"), 0);
	CHECK_EQ_UINT(process_parse_poll_of_one("running\n"), 0);
	CHECK_ERR(process_parse_syscall("", &thread), -EBADMSG);
	CHECK_ERR(process_parse_syscall("99999999 0x1", &thread), -EBADMSG);
	/* The largest number is how an unknown one is kept. */
	CHECK_ERR(process_parse_syscall("65535 0x1", &thread), -EBADMSG);
}

TEST(schedstat_status_limits)
{
	struct thread_record thread = unknown_thread();
	uint64_t voluntary = 0, involuntary = 0;
	uint32_t uid = 1;

	CHECK_OK(process_parse_schedstat("123 456 7\n", &thread));
	CHECK_EQ_UINT(thread.run_ns, 123);
	CHECK_EQ_UINT(thread.wait_ns, 456);
	CHECK_EQ_UINT(thread.timeslices, 7);
	CHECK_ERR(process_parse_schedstat("123 456", &thread), -EBADMSG);
	process_parse_status(
		"Name:\tUid: 7\nUid:\t1000\t0\t0\t0\nvoluntary_ctxt_switches:\t8\nnonvoluntary_ctxt_switches:\t9\n",
		&uid, &voluntary, &involuntary);
	CHECK_EQ_UINT(uid, 1000);
	CHECK_EQ_UINT(voluntary, 8);
	CHECK_EQ_UINT(involuntary, 9);
	CHECK_EQ_UINT(
		process_parse_limits("Limit  Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\n"),
		1024);
	CHECK_EQ_UINT(process_parse_limits("Max open files   unlimited   unlimited   files\n"), UINT32_MAX);
	CHECK_EQ_UINT(process_parse_limits("Max open files"), UINT32_MAX);
	CHECK_EQ_UINT(process_parse_limits(""), UINT32_MAX);
}

TEST(counters_of_many_namespaces)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	/* Together, in runs of one to seven hundred, and once more later, as in a replay. */
	for (uint32_t netns = 1; netns <= 30; netns++) {
		snapshot->netns = netns;
		for (unsigned i = 0; i < netns * netns; i++)
			counter_parse_pairs(snapshot, "Tcp: InSegs\nTcp: 1\n");
		counter_parse_pairs(snapshot, netns % 2 ? "Tcp: OutSegs\nTcp: 5\n" : "Tcp: OutSegs\nTcp: 6\n");
	}
	for (uint32_t netns = 30; netns >= 1; netns--) {
		snapshot->netns = netns;
		counter_parse_pairs(snapshot, "Udp: InDatagrams\nUdp: 7\n");
	}
	for (uint32_t netns = 1; netns <= 30; netns++) {
		CHECK_EQ_UINT(counter_find(snapshot, netns, "TcpInSegs"), 1);
		CHECK_EQ_UINT(counter_find(snapshot, netns, "TcpOutSegs"), netns % 2 ? 5 : 6);
		CHECK_EQ_UINT(counter_find(snapshot, netns, "UdpInDatagrams"), 7);
	}
	CHECK_EQ_UINT(counter_find(snapshot, 31, "TcpInSegs"), UINT64_MAX);
}

TEST(counters_by_pairs_of_lines)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	snapshot->netns = 5;
	counter_parse_pairs(snapshot, "Ip: Forwarding InReceives\nIp: 1 18446744073709\n"
				      "Tcp: MaxConn RetransSegs\nTcp: -1 77\nIcmpMsg: InType3\nIcmpMsg: 4\n");
	CHECK_EQ_UINT(snapshot_table(snapshot, &counter_type)->count, 5);
	CHECK_EQ_UINT(counter_find(snapshot, 5, "IpInReceives"), UINT64_C(18446744073709));
	CHECK_EQ_UINT(counter_find(snapshot, 5, "TcpMaxConn"), UINT64_MAX);
	CHECK_EQ_UINT(counter_find(snapshot, 5, "TcpRetransSegs"), 77);
	CHECK_EQ_UINT(counter_find(snapshot, 5, "IcmpMsgInType3"), 4);
	CHECK_EQ_UINT(counter_find(snapshot, 6, "TcpRetransSegs"), UINT64_MAX);
	snapshot_each(snapshot, counter_type, const struct counter_record, counter) {
		bool gauge =
			strcmp(counter->counter, "IpForwarding") == 0 || strcmp(counter->counter, "TcpMaxConn") == 0;

		unit_note("%s", counter->counter);
		CHECK_EQ_INT(counter->gauge, gauge);
	}
}

TEST(counters_that_do_not_pair_up_are_left_out)
{
	static const char *const texts[] = {
		"",         "\n", "Ip: A B\n", "Ip: A B\nTcp: 1 2\n", "Ip A\nIp 1\n", ": A\n: 1\n", "Ip: A\nIp: x\n",
		"Ip: A\n\n"};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		unit_note("text %zu", i);
		counter_parse_pairs(snapshot, texts[i]);
		CHECK_EQ_UINT(snapshot_table(snapshot, &counter_type)->count, 0);
	}
	/* Fewer values than names. */
	counter_parse_pairs(snapshot, "Ip: A B C\nIp: 1 2\n");
	CHECK_EQ_UINT(snapshot_table(snapshot, &counter_type)->count, 2);
}

TEST(counters_by_lines_and_by_columns)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	counter_parse_lines(snapshot, "Ip6InReceives  \t7\nIp6OutRequests 8\nbad\nUdp6X y\n");
	CHECK_EQ_UINT(counter_find(snapshot, 0, "Ip6InReceives"), 7);
	CHECK_EQ_UINT(counter_find(snapshot, 0, "Ip6OutRequests"), 8);
	CHECK_EQ_UINT(snapshot_table(snapshot, &counter_type)->count, 2);
	counter_parse_columns(snapshot, "arp_cache.",
			      "entries  allocs table_fulls\n00000014 0000000a 00000001\n00000014 00000002 00000000\n");
	CHECK_EQ_UINT(counter_find(snapshot, 0, "arp_cache.entries"), 20);
	CHECK_EQ_UINT(counter_find(snapshot, 0, "arp_cache.allocs"), 12);
	CHECK_EQ_UINT(counter_find(snapshot, 0, "arp_cache.table_fulls"), 1);
	counter_parse_columns(snapshot, "x.", "names only\n");
	CHECK_EQ_UINT(counter_find(snapshot, 0, "x.names"), UINT64_MAX);
}

TEST(ten_megabytes_of_counters)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_buf_ struct buf text = BUF_INIT((size_t)64 << 20);

	buf_add_text(&text, "Ip:");
	while (text.len < (5 << 20))
		buf_add_text(&text, " name");
	buf_add_text(&text, "\nIp:");
	while (text.len < (10 << 20))
		buf_add_text(&text, " 123");
	counter_parse_pairs(snapshot, buf_text(&text));
	CHECK(snapshot_table(snapshot, &counter_type)->count > 1000000);
	snapshot_clear(snapshot);
	buf_clear(&text);
	buf_add_fill(&text, 'x', 10 << 20);
	counter_parse_lines(snapshot, buf_text(&text));
	counter_parse_columns(snapshot, "g", buf_text(&text));
	counter_parse_pairs(snapshot, buf_text(&text));
	CHECK_EQ_UINT(snapshot_table(snapshot, &counter_type)->count, 0);
}

TEST(softnet_columns_of_old_and_new_kernels)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct softnet_record *softnet;

	softnet_parse(snapshot,
		      "0000000a 00000002 00000003 0 0 0 0 0 0 00000004 00000005 00000006 00000001 00000000 00000006\n"
		      "0000000b 00000000 00000000 0 0 0 0 0 0 00000000\nnonsense\n");
	REQUIRE(snapshot_table(snapshot, &softnet_type)->count == 2);
	softnet = snapshot_first(snapshot, &softnet_type);
	CHECK_EQ_UINT(softnet[0].cpu, 1);
	CHECK_EQ_UINT(softnet[0].processed, 10);
	CHECK_EQ_UINT(softnet[0].dropped, 2);
	CHECK_EQ_UINT(softnet[0].time_squeeze, 3);
	CHECK_EQ_UINT(softnet[0].received_rps, 4);
	CHECK_EQ_UINT(softnet[0].flow_limit, 5);
	CHECK_EQ_UINT(softnet[0].backlog, 6);
	CHECK_EQ_UINT(softnet[1].processed, 11);
	CHECK_EQ_UINT(softnet[1].flow_limit, UINT64_MAX);
	CHECK_EQ_UINT(softnet[1].backlog, UINT32_MAX);
}

TEST(processor_times)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	uint64_t tick = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	const struct cpu_record *cpu;

	cpu_parse(snapshot,
		  "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu7 1 2 3\nintr 5\ncpu8 1 1 1 1 1 1 1 1\n");
	REQUIRE(snapshot_table(snapshot, &cpu_type)->count == 2);
	cpu = snapshot_first(snapshot, &cpu_type);
	CHECK_EQ_UINT(cpu[0].cpu, 0);
	CHECK_EQ_UINT(cpu[0].softirq_ns, 7 * tick);
	CHECK_EQ_UINT(cpu[0].steal_ns, 8 * tick);
	CHECK_EQ_UINT(cpu[1].cpu, 7);
	CHECK_EQ_UINT(cpu[1].system_ns, 3 * tick);
	CHECK_EQ_UINT(cpu[1].idle_ns, UINT64_MAX);
}

TEST(pressure_lines)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct pressure_record *pressure;
	struct pressure_record one;

	pressure_parse(snapshot, "cpu",
		       "some avg10=12.50 avg60=1.00 avg300=0.10 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 "
		       "total=7\njunk\n");
	REQUIRE(snapshot_table(snapshot, &pressure_type)->count == 2);
	pressure = snapshot_first(snapshot, &pressure_type);
	CHECK_NEAR(pressure[0].avg10, 0.125, 1e-9);
	CHECK_EQ_UINT(pressure[0].total_ns, 123456000);
	CHECK(!pressure[0].full && pressure[1].full);
	CHECK_EQ_TEXT(pressure[1].resource, "cpu");
	CHECK_ERR(pressure_parse_line("some avg10=nan avg60=1.00 avg300=0.10 total=1", &one), -EBADMSG);
	CHECK_ERR(pressure_parse_line("some avg10=1.00 avg60=1.00 avg300=0.10 total=", &one), -EBADMSG);
	CHECK_ERR(pressure_parse_line("some", &one), -EBADMSG);
	CHECK_ERR(pressure_parse_line("", &one), -EBADMSG);
}

TEST(socket_memory)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), low, pressure, max;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct memory_record *memory = snapshot_table_add(snapshot_table(snapshot, &memory_type));

	memory_parse_sockstat(memory, "sockets: used 13\nTCP: inuse 1 orphan 75 tw 3 alloc 100 mem 20\nUDP: inuse 2 "
				      "mem 4\nFRAG: inuse 0 memory 9\n");
	memory_parse_sockstat(memory, "TCP6: inuse 10\nUDP6: inuse 5\n");
	CHECK_EQ_UINT(memory->tcp_inuse, 11);
	CHECK_EQ_UINT(memory->tcp_orphan, 75);
	CHECK_EQ_UINT(memory->tcp_time_wait, 3);
	CHECK_EQ_UINT(memory->tcp_bytes, 20 * page);
	CHECK_EQ_UINT(memory->udp_inuse, 7);
	CHECK_EQ_UINT(memory->frag_bytes, 9);
	CHECK_EQ_UINT(memory->orphan_max, UINT32_MAX);
	CHECK(memory_parse_limits("1\t2\t3\n", &low, &pressure, &max));
	CHECK_EQ_UINT(max, 3 * page);
	CHECK(!memory_parse_limits("1 2", &low, &pressure, &max));
}

TEST(protocols)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct protocol_record *protocol;

	memory_parse_protocols(
		snapshot,
		"protocol  size sockets  memory press maxhdr\nUNIX 1088 23 -1 NI 0\nTCP 2432 5 7 yes 192\nbad\n");
	REQUIRE(snapshot_table(snapshot, &protocol_type)->count == 2);
	protocol = snapshot_first(snapshot, &protocol_type);
	CHECK_EQ_TEXT(protocol[0].protocol, "UNIX");
	CHECK_EQ_UINT(protocol[0].sockets, 23);
	CHECK_EQ_UINT(protocol[0].memory_bytes, UINT64_MAX);
	CHECK_EQ_UINT(protocol[1].memory_bytes, 7 * (uint64_t)sysconf(_SC_PAGESIZE));
	CHECK(protocol[1].pressure && !protocol[0].pressure);
}

TEST(conntrack_columns_by_name)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct conntrack_record *conntrack = snapshot_table_add(snapshot_table(snapshot, &conntrack_type));

	conntrack_parse(conntrack, "entries  clashres found new invalid drop early_drop\n"
				   "00000009 00000001 00000002 00000003 0000000a 00000005 00000006\n"
				   "00000009 00000000 00000000 00000000 00000001 00000001 00000000\n");
	CHECK_EQ_UINT(conntrack->clash_resolve, 1);
	CHECK_EQ_UINT(conntrack->invalid, 11);
	CHECK_EQ_UINT(conntrack->dropped, 6);
	CHECK_EQ_UINT(conntrack->early_drop, 6);
	CHECK_EQ_UINT(conntrack->insert_failed, UINT64_MAX);
	CHECK_EQ_UINT(conntrack->entries, UINT64_MAX); /* comes from elsewhere */
}

TEST(control_groups_of_both_versions)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct cgroup_record *old = snapshot_table_add(snapshot_table(snapshot, &cgroup_type)), *new;
	static const char mounts[] = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
				     "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
				     "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
	char path[64];

	cgroup_parse_cpu_stat(old, "nr_periods 10\nnr_throttled 4\nthrottled_time 5000\n");
	CHECK_EQ_UINT(old->periods, 10);
	CHECK_EQ_UINT(old->throttled_periods, 4);
	CHECK_EQ_UINT(old->throttled_ns, 5000);
	new = snapshot_table_add(snapshot_table(snapshot, &cgroup_type));
	cgroup_parse_cpu_stat(new, "usage_usec 1\nnr_periods 10\nnr_throttled 4\nthrottled_usec 5000\n");
	CHECK_EQ_UINT(new->throttled_ns, 5000000);
	cgroup_parse_cpu_max(new, "max 100000\n");
	CHECK(isnan(new->quota));
	cgroup_parse_cpu_max(new, "50000 100000\n");
	CHECK_NEAR(new->quota, 0.5, 1e-9);
	CHECK_OK(cgroup_parse_mount(mounts, "cpuacct", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/sys/fs/cgroup/cpu");
	CHECK_OK(cgroup_parse_mount(mounts, "memory", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/sys/fs/cgroup/memory");
	CHECK_ERR(cgroup_parse_mount(mounts, "freezer", path, sizeof(path)), -ENODATA);
	CHECK_ERR(cgroup_parse_mount(mounts, "rw", path, 4), -ENODATA);
	CHECK_ERR(cgroup_parse_mount("", "cpu", path, sizeof(path)), -ENODATA);
}

TEST(a_group_holds_what_is_below_it)
{
	CHECK(cgroup_path_is_below("/web", "/web"));
	CHECK(cgroup_path_is_below("/web/one", "/web"));
	CHECK(cgroup_path_is_below("/web/one", "/web/"));
	CHECK(cgroup_path_is_below("/web", "/"));
	CHECK(!cgroup_path_is_below("/website", "/web"));
	CHECK(!cgroup_path_is_below("/we", "/web"));
	CHECK(!cgroup_path_is_below(NULL, "/web"));
	CHECK(!cgroup_path_is_below(NULL, "/"));
}

TEST(the_group_of_a_process)
{
	char path[16];

	CHECK_OK(cgroup_text_find("12:cpu,cpuacct:/web\n0::/unified\n", "cpu", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/web");
	CHECK_OK(cgroup_text_find("12:cpu,cpuacct:/web\n0::/unified\n", "", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/unified");
	/* No path, or none that begins at the root. */
	CHECK_ERR(cgroup_text_find("0::\n", "", path, sizeof(path)), -ENODATA);
	CHECK_ERR(cgroup_text_find("0::web\n", "", path, sizeof(path)), -ENODATA);
	CHECK_ERR(cgroup_text_find("0::/as-long-as-path\n", "", path, sizeof(path)), -E2BIG);
	CHECK_OK(cgroup_text_find("0::/one-shorter-ab\n", "", path, sizeof(path)));
}

TEST(tun_devices)
{
	char dev[16];

	CHECK(tunnel_parse_fdinfo("pos:\t0\nflags:\t0104002\nmnt_id:\t22\niff:\ttun7\n", dev, sizeof(dev)));
	CHECK_EQ_TEXT(dev, "tun7");
	CHECK(!tunnel_parse_fdinfo("pos:\t0\n", dev, sizeof(dev)));
	CHECK(!tunnel_parse_fdinfo("iff:\n", dev, sizeof(dev)));
	CHECK(!tunnel_parse_fdinfo("iff:\taaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", dev, sizeof(dev)));
}

/* "10.0.0.1 10.0.0.2 5000 2": the servers, timeout in ms, attempts. */
static const char *resolvers(const char *text)
{
	static char shown[256];
	struct resolver_config config;

	resolver_parse(text, &config);
	shown[0] = '\0';
	for (unsigned i = 0; i < config.count; i++) {
		char address[ADDR_TEXT_MAX];

		addr_format(&config.servers[i], address);
		snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%s ", address);
	}
	snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), "%llu %u",
		 (unsigned long long)(config.timeout_ns / 1000000), config.attempts);
	return shown;
}

/* As resolv.conf(5) says: three servers at most, timeout 5 s (30 at most), two attempts (5 at most). */
TEST(name_servers_of_resolv_conf)
{
	char longest[200];

	CHECK_EQ_TEXT(resolvers(""), "127.0.0.1 5000 2");
	CHECK_EQ_TEXT(resolvers("nameserver 10.0.0.1"), "10.0.0.1 5000 2");
	CHECK_EQ_TEXT(resolvers("# nameserver 10.0.0.9\nnameserver 10.0.0.1\nnameserver\nsearch example.org\n"
				"nameserver fe80::1%eth0\n"),
		      "10.0.0.1 fe80::1 5000 2");
	CHECK_EQ_TEXT(resolvers("nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\nnameserver 10.0.0.4\n"),
		      "10.0.0.1 10.0.0.2 10.0.0.3 5000 2");
	CHECK_EQ_TEXT(resolvers("nameserver nonsense\nnameserver 10.0.0.2"), "10.0.0.2 5000 2");
	CHECK_EQ_TEXT(resolvers("options timeout:3 attempts:4 rotate\nnameserver 10.0.0.1"), "10.0.0.1 3000 4");
	CHECK_EQ_TEXT(resolvers("options timeout:99 attempts:9"), "127.0.0.1 30000 5");
	/* A number of more digits than any that makes sense is no number. */
	CHECK_EQ_TEXT(resolvers("options timeout:000000000003 attempts:00000000000004"), "127.0.0.1 5000 2");
	CHECK_EQ_TEXT(resolvers("options time:3 timeouts:3 timeout: timeout:x timeout:12345678 attempts"),
		      "127.0.0.1 5000 2");
	CHECK_EQ_TEXT(resolvers("nameservers 10.0.0.1\noption timeout:3"), "127.0.0.1 5000 2");
	snprintf(longest, sizeof(longest), "nameserver %0*d\nnameserver 10.0.0.1", ADDR_TEXT_MAX, 1);
	CHECK_EQ_TEXT(resolvers(longest), "10.0.0.1 5000 2");
}
