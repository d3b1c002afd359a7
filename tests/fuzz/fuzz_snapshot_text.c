/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of /proc as no kernel writes them: the first byte chooses the parser. */
#include "fuzz.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/firewall.h"
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
#include "snapshot/socket/other.h"
#include "snapshot/socket/sock_known.h"
#include "view/json.h"

static void check_process(struct snapshot *snapshot, const char *text)
{
	struct thread_record *thread = snapshot_table_add(snapshot_table(snapshot, &thread_type));
	uint64_t voluntary, involuntary;
	struct task_stat stat;
	uint32_t uid;

	if (process_parse_stat(text, &stat) == 0)
		fuzz_require(stat.pid > 0 && strnlen(stat.comm, sizeof(stat.comm)) < sizeof(stat.comm));
	(void)process_parse_schedstat(text, thread);
	(void)process_parse_syscall(text, thread);
	fuzz_require(thread->syscall_fd == UINT32_MAX || thread->syscall_fd <= INT32_MAX);
	process_parse_status(text, &uid, &voluntary, &involuntary);
	(void)process_parse_limits(text);
}

static void check_cgroup(struct snapshot *snapshot, const char *text)
{
	struct cgroup_record *cgroup = snapshot_table_add(snapshot_table(snapshot, &cgroup_type));
	char path[CGROUP_PATH_MAX];
	struct cgroup_names names;

	cgroup_path_names(text, &names);
	fuzz_require(strlen(names.container) < sizeof(names.container) && strlen(names.unit) < sizeof(names.unit));
	if (cgroup_text_best(text, path, sizeof(path)) == 0)
		fuzz_require(path[0] == '/' && strlen(path) < sizeof(path));
	if (cgroup_text_find(text, "cpu", path, 8) == 0)
		fuzz_require(strlen(path) < 8);
	if (cgroup_parse_mount(text, "cpu", path, 8) == 0)
		fuzz_require(strlen(path) < 8);
	cgroup_parse_cpu_stat(cgroup, text);
	cgroup_parse_cpu_max(cgroup, text);
}

static void check_host(struct snapshot *snapshot, const char *text)
{
	softnet_parse(snapshot, text);
	cpu_parse(snapshot, text);
	pressure_parse(snapshot, "cpu", text);
}

static void check_memory(struct snapshot *snapshot, const char *text)
{
	uint64_t low, pressure, max;

	memory_parse_sockstat(snapshot_table_add(snapshot_table(snapshot, &memory_type)), text);
	(void)memory_parse_limits(text, &low, &pressure, &max);
	memory_parse_protocols(snapshot, text);
	conntrack_parse(snapshot_table_add(snapshot_table(snapshot, &conntrack_type)), text);
	(void)firewall_is_heard(text, 7, 2);
}

static void check_counters(struct snapshot *snapshot, const char *text)
{
	counter_parse_pairs(snapshot, text);
	(void)sock_known_parse_opens(text);
	counter_parse_lines(snapshot, text);
	counter_parse_columns(snapshot, "x.", text);
}

static void check_names(struct snapshot *snapshot, const char *text)
{
	struct resolver_config config;
	char dev[16];

	(void)snapshot;
	resolver_parse(text, &config);
	fuzz_require(config.count >= 1 && config.count <= RESOLVERS_MAX && config.attempts <= 5);
	if (tunnel_parse_fdinfo(text, dev, sizeof(dev)))
		fuzz_require(strnlen(dev, sizeof(dev)) < sizeof(dev));
}

static void check_sockets(struct snapshot *snapshot, const char *text)
{
	other_text_unix(snapshot, text);
	other_text_raw(snapshot, text);
	other_text_packet(snapshot, text);
	other_text_netlink(snapshot, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct snapshot *, const char *) = {
		check_process, check_cgroup, check_host, check_memory, check_counters, check_names, check_sockets};
	static struct snapshot *snapshot;
	_cleanup_free_ char *text = NULL;

	if (size < 1)
		return 0;
	if (!snapshot)
		snapshot = snapshot_new();
	snapshot_clear(snapshot);
	text = fuzz_text(data + 1, size - 1);
	checks[data[0] % ARRAY_SIZE(checks)](snapshot, text);
	for (size_t i = 0; i < snapshot->table_count; i++)
		for (size_t row = 0; row < snapshot->tables[i].count; row++) {
			_cleanup_buf_ struct buf shown = BUF_INIT(BUF_CAP_DEFAULT);

			json_add_object(&shown, snapshot->tables[i].type,
					snapshot->tables[i].items + row * snapshot->tables[i].type->size);
			fuzz_require(shown.len > 2 && !fuzz_has_control(shown.data, shown.len));
		}
	return 0;
}
