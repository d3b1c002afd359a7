/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "kernel/proctext.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/cgroup.h"
#include "snapshot/proc/cgroup_path.h"
#include "snapshot/proc/pressure.h"
#include "snapshot/proc/process.h"

#define CGROUPS_MAX 4096
#define PATH_LEN    (CGROUP_PATH_MAX + 256)
/* cgroup v1 prints "no limit" as the largest page-aligned number. */
#define NO_LIMIT_V1 (INT64_MAX / 65536 * 65536)

#define C           struct cgroup_record
static const struct field cgroup_fields[] = {
	FIELD(C, cgroup, TEXT, "cgroup path"),
	FIELD(C, container, TEXT, "container"),
	FIELD(C, unit, TEXT, "systemd unit", .hidden = true),
	FIELD(C, periods, COUNT, "CPU quota periods", .drift = DRIFTS),
	FIELD(C, throttled_periods, COUNT, "periods in which it was throttled: CPU quota exhausted"),
	FIELD(C, throttled_ns, DURATION, "time throttled by the CPU quota"),
	FIELD(C, quota, RATIO, "CPU limit in CPUs; unknown: no limit"),
	FIELD(C, frozen, BOOL, "frozen by the freezer"),
	FIELD(C, memory_bytes, BYTES, "memory in use", .drift = DRIFTS),
	FIELD(C, memory_max, BYTES, "memory limit; unknown: no limit"),
	FIELD(C, socket_bytes, BYTES, "socket buffer memory", .hidden = true, .drift = DRIFTS),
	FIELD(C, cpu_pressure, RATIO, "share of the last 10 s in which a task waited for a CPU (PSI some)", .unit = "%",
	      .hidden = true, .drift = DRIFTS),
	FIELD(C, memory_pressure, RATIO, "share of the last 10 s in which a task waited for memory (PSI some)",
	      .unit = "%", .hidden = true, .drift = DRIFTS),
};
#undef C
RECORD_TYPE(cgroup_type, "cgroup", struct cgroup_record, cgroup_fields, "a cgroup with processes that hold sockets");

static const struct field member_fields[] = {
	FIELD(struct cgroup_member_record, pid, ID, "process"),
	FIELD(struct cgroup_member_record, group, ID, "row of its cgroup in table cgroup"),
};
RECORD_TYPE(cgroup_member_type, "cgroup_member", struct cgroup_member_record, member_fields,
	    "cgroup membership of a process");

void cgroup_parse_cpu_stat(struct cgroup_record *cgroup, const char *text)
{
	uint64_t value;

	(void)scan_keyed(text, "nr_periods", &cgroup->periods);
	(void)scan_keyed(text, "nr_throttled", &cgroup->throttled_periods);
	if (scan_keyed(text, "throttled_time", &value)) /* v1: nanoseconds */
		cgroup->throttled_ns = value;
	else if (scan_keyed(text, "throttled_usec", &value) && value <= UINT64_MAX / 1000)
		cgroup->throttled_ns = value * 1000;
}

void cgroup_parse_cpu_max(struct cgroup_record *cgroup, const char *text)
{
	uint64_t quota, period;

	if (scan_u64(&text, &quota) && scan_u64(&text, &period) && period > 0)
		cgroup->quota = (double)quota / (double)period;
}

/* "36 32 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct": word 5, if the last lists the controller. */
int cgroup_parse_mount(const char *mountinfo, const char *controller, char *path, size_t size)
{
	const char *line;
	size_t n;

	while (proctext_line(&mountinfo, &line, &n)) {
		const char *at = line, *where, *word = NULL, *rest = line;
		size_t where_len, word_len, last_len = 0;
		const char *last = NULL;
		bool old = false;

		if (!scan_skip(&at, 4) || !scan_word(&at, &where, &where_len))
			continue;
		for (rest = at; scan_word(&rest, &word, &word_len); last = word, last_len = word_len)
			old |= last && last_len == 1 && *last == '-' && word_len == 6 && memcmp(word, "cgroup", 6) == 0;
		for (size_t i = 0; old && i < last_len;) {
			size_t len = 0;

			while (i + len < last_len && last[i + len] != ',')
				len++;
			if (len == strlen(controller) && memcmp(last + i, controller, len) == 0 && where_len < size) {
				memcpy(path, where, where_len);
				path[where_len] = '\0';
				return 0;
			}
			i += len + 1;
		}
	}
	return -ENODATA;
}

/* Mount points, looked up once per sample; empty: not mounted. */
struct mounts {
	char unified[256];
	char cpu[256];
	char memory[256];
	char freezer[256];
};

static void find_mounts(struct snapshot *snapshot, struct mounts *mounts)
{
	const char *text;

	memset(mounts, 0, sizeof(*mounts));
	if (snapshot_read_setting(snapshot, "/proc/self/mountinfo") < 0)
		return;
	text = buf_text(&snapshot->text);
	if (proctext_cgroup2_mount(text, mounts->unified, sizeof(mounts->unified)) < 0)
		mounts->unified[0] = '\0';
	if (cgroup_parse_mount(text, "cpu", mounts->cpu, sizeof(mounts->cpu)) < 0)
		mounts->cpu[0] = '\0';
	if (cgroup_parse_mount(text, "memory", mounts->memory, sizeof(mounts->memory)) < 0)
		mounts->memory[0] = '\0';
	if (cgroup_parse_mount(text, "freezer", mounts->freezer, sizeof(mounts->freezer)) < 0)
		mounts->freezer[0] = '\0';
}

static bool read_in(struct snapshot *snapshot, const char *dir, const char *file)
{
	char path[PATH_LEN + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return snapshot_read(snapshot, path) == 0;
}

static bool read_number(struct snapshot *snapshot, const char *dir, const char *file, uint64_t *value)
{
	const char *text;

	if (!read_in(snapshot, dir, file))
		return false;
	text = buf_text(&snapshot->text);
	return scan_u64(&text, value);
}

/* The cgroup's directory below a mount; false: not in this hierarchy. */
static bool dir_of(const char *mount, const char *membership, const char *controller, char *dir)
{
	char path[CGROUP_PATH_MAX];

	if (!mount[0] || cgroup_text_find(membership, controller, path, sizeof(path)) < 0)
		return false;
	snprintf(dir, PATH_LEN, "%s%s", mount, path);
	return true;
}

static double pressure_in(struct snapshot *snapshot, const char *dir, const char *file)
{
	struct pressure_record pressure;

	if (!read_in(snapshot, dir, file) || pressure_parse_line(buf_text(&snapshot->text), &pressure) < 0)
		return __builtin_nan("");
	return pressure.avg10;
}

static void read_unified(struct snapshot *snapshot, struct cgroup_record *cgroup, const char *dir)
{
	uint64_t value;

	if (read_in(snapshot, dir, "cpu.stat"))
		cgroup_parse_cpu_stat(cgroup, buf_text(&snapshot->text));
	if (read_in(snapshot, dir, "cpu.max"))
		cgroup_parse_cpu_max(cgroup, buf_text(&snapshot->text));
	if (read_in(snapshot, dir, "cgroup.events") && scan_keyed(buf_text(&snapshot->text), "frozen", &value))
		cgroup->frozen = value != 0;
	(void)read_number(snapshot, dir, "memory.current", &cgroup->memory_bytes);
	(void)read_number(snapshot, dir, "memory.max", &cgroup->memory_max);
	if (read_in(snapshot, dir, "memory.stat"))
		(void)scan_keyed(buf_text(&snapshot->text), "sock", &cgroup->socket_bytes);
	cgroup->cpu_pressure = pressure_in(snapshot, dir, "cpu.pressure");
	cgroup->memory_pressure = pressure_in(snapshot, dir, "memory.pressure");
}

static void read_cpu_v1(struct snapshot *snapshot, struct cgroup_record *cgroup, const char *dir)
{
	uint64_t quota, period;

	if (read_in(snapshot, dir, "cpu.stat"))
		cgroup_parse_cpu_stat(cgroup, buf_text(&snapshot->text));
	/* A quota of -1 is no limit. */
	if (read_number(snapshot, dir, "cpu.cfs_quota_us", &quota) &&
	    read_number(snapshot, dir, "cpu.cfs_period_us", &period) && period > 0)
		cgroup->quota = (double)quota / (double)period;
}

static void read_memory_v1(struct snapshot *snapshot, struct cgroup_record *cgroup, const char *dir)
{
	uint64_t value;

	(void)read_number(snapshot, dir, "memory.usage_in_bytes", &cgroup->memory_bytes);
	if (read_number(snapshot, dir, "memory.limit_in_bytes", &value) && value < NO_LIMIT_V1)
		cgroup->memory_max = value;
	(void)read_number(snapshot, dir, "memory.kmem.tcp.usage_in_bytes", &cgroup->socket_bytes);
}

static void read_groups(struct snapshot *snapshot, const struct mounts *mounts, struct cgroup_record *cgroup,
			const char *membership)
{
	char dir[PATH_LEN];

	if (dir_of(mounts->unified, membership, "", dir))
		read_unified(snapshot, cgroup, dir);
	if (dir_of(mounts->cpu, membership, "cpu", dir))
		read_cpu_v1(snapshot, cgroup, dir);
	if (dir_of(mounts->memory, membership, "memory", dir))
		read_memory_v1(snapshot, cgroup, dir);
	if (dir_of(mounts->freezer, membership, "freezer", dir) && read_in(snapshot, dir, "freezer.state") &&
	    cgroup->frozen != 1)
		/* Tasks of a FREEZING cgroup are already stopped. */
		cgroup->frozen = strncmp(buf_text(&snapshot->text), "FR", 2) == 0;
}

/* The path whose CPU limits apply: that of the v1 cpu controller if it is mounted. */
static const char *limiting_path(struct snapshot *snapshot, const struct mounts *mounts, const char *membership,
				 const char *usual)
{
	char path[CGROUP_PATH_MAX];

	if (!mounts->cpu[0] || cgroup_text_find(membership, "cpu", path, sizeof(path)) < 0 || strcmp(path, "/") == 0)
		return usual;
	return snapshot_text(snapshot, path, strlen(path));
}

static struct cgroup_record *add_group(struct snapshot *snapshot, const struct mounts *mounts,
				       const struct process_record *process, const char *membership)
{
	struct cgroup_record *cgroup = snapshot_table_add(snapshot_table(snapshot, &cgroup_type));

	if (!cgroup)
		return NULL;
	cgroup->cgroup = limiting_path(snapshot, mounts, membership, process->cgroup);
	cgroup->container = process->container;
	cgroup->unit = process->unit;
	read_groups(snapshot, mounts, cgroup, membership);
	return cgroup;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_(map_done) struct map known = MAP_INIT(0, sizeof(uint32_t), CGROUPS_MAX);
	struct snapshot_table *groups = snapshot_table(snapshot, &cgroup_type);
	struct snapshot_table *members = snapshot_table(snapshot, &cgroup_member_type);
	struct mounts mounts;

	(void)request;
	(void)why;
	find_mounts(snapshot, &mounts);
	snapshot_each(snapshot, process_type, const struct process_record, process) {
		_cleanup_free_ char *membership = NULL;
		struct cgroup_member_record *member;
		uint32_t *group;
		char path[64];
		bool new;

		snprintf(path, sizeof(path), "/proc/%u/cgroup", process->pid);
		if (snapshot_read(snapshot, path) < 0)
			continue;
		group = map_put(&known, buf_text(&snapshot->text), &new);
		if (!group)
			break;
		membership = xstrdup(buf_text(&snapshot->text));
		if (new)
			*group = (uint32_t)groups->count;
		if (new && !add_group(snapshot, &mounts, process, membership))
			break;
		member = snapshot_table_add(members);
		if (!member)
			break;
		*member = (struct cgroup_member_record){.pid = process->pid, .group = *group};
	}
	return 0;
}

static const struct record_type *const needs[] = {&process_type, NULL};
static const struct record_type *const types[] = {&cgroup_type, &cgroup_member_type, NULL};

static const struct snapshot_source cgroup_source = {
	.name = "cgroup",
	.lost = "cgroup limits and throttling",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.collect = collect,
};
SNAPSHOT_SOURCE(cgroup_source);
