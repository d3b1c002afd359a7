/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source of processes and threads that hold a socket of the snapshot, from /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "kernel/capability.h"
#include "snapshot/proc/cgroup_path.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"

#define THREADS_MAX   20000
#define PROCESSES_MAX 50000

/* Threads keep their order between samples except for new and ended ones: a known one is searched this far ahead. */
#define AHEAD_MAX 32

struct state {
	VEC(uint32_t) pids;
	VEC(struct thread_record) last; /* of the previous sample, in repeated sampling */
	size_t last_at;                 /* likely position of the next thread */
	uint64_t hidden;                /* threads whose system call is not readable */
	uint64_t left_out;
	bool hurried;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Owners are grouped by process: drop runs first, then sort and drop duplicates. */
static void list_pids(struct state *state, const struct snapshot *snapshot)
{
	size_t unique = 0;

	state->pids.count = 0;
	snapshot_each(snapshot, owner_type, const struct owner_record, owner)
		if (state->pids.count == 0 || state->pids.items[state->pids.count - 1] != owner->pid)
			vec_push(&state->pids, owner->pid);
	vec_sort(&state->pids, by_number);
	for (size_t i = 0; i < state->pids.count; i++)
		if (i == 0 || state->pids.items[i] != state->pids.items[i - 1])
			state->pids.items[unique++] = state->pids.items[i];
	state->pids.count = unique;
	if (unique > PROCESSES_MAX) {
		state->left_out += unique - PROCESSES_MAX;
		state->pids.count = PROCESSES_MAX;
	}
}

/* Into snapshot->text; the directory is /proc/PID or /proc/PID/task/TID. */
static int read_at(struct snapshot *snapshot, int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	buf_clear(&snapshot->text);
	return buf_read_fd(&snapshot->text, fd);
}

static const char *text_of(const struct snapshot *snapshot)
{
	return buf_text(&snapshot->text);
}

static uint32_t count_fds(int dir, bool walk)
{
	_cleanup_close_ int fd = openat(dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	uint32_t count = 0;
	struct stat st;
	DIR *fds;

	if (fd < 0 || fstat(fd, &st) < 0)
		return UINT32_MAX;
	/* Linux 6.2 and later report the count as the size. */
	if (st.st_size > 0)
		return (uint32_t)min_of((uint64_t)st.st_size, (uint64_t)UINT32_MAX - 1);
	if (!walk)
		return UINT32_MAX;
	fds = fdopendir(take_fd(&fd));
	if (!fds)
		return UINT32_MAX;
	while ((entry = readdir(fds)))
		count += entry->d_name[0] != '.';
	closedir(fds);
	return count;
}

static void read_cgroup(struct snapshot *snapshot, int dir, struct process_record *process)
{
	char path[CGROUP_PATH_MAX];
	struct cgroup_names names;

	if (read_at(snapshot, dir, "cgroup") < 0 || cgroup_text_best(text_of(snapshot), path, sizeof(path)) < 0)
		return;
	cgroup_path_names(path, &names);
	process->cgroup = snapshot_text(snapshot, path, sizeof(path));
	process->container = snapshot_text(snapshot, names.container, sizeof(names.container));
	process->unit = snapshot_text(snapshot, names.unit, sizeof(names.unit));
}

static bool read_process(struct snapshot *snapshot, int dir, bool walk_fds)
{
	struct process_record *process;
	struct task_stat stat;

	if (read_at(snapshot, dir, "stat") < 0 || process_parse_stat(text_of(snapshot), &stat) < 0)
		return false;
	process = snapshot_table_add(snapshot_table(snapshot, &process_type));
	if (!process)
		return false;
	process->pid = stat.pid;
	process->ppid = stat.ppid;
	memcpy(process->comm, stat.comm, sizeof(process->comm));
	process->process_state = stat.state;
	process->threads = stat.threads;
	process->start_ns = stat.start_ns;
	process->user_ns = stat.user_ns;
	process->system_ns = stat.system_ns;
	process->rss_bytes = stat.rss_bytes;
	if (read_at(snapshot, dir, "status") == 0)
		process_parse_status(text_of(snapshot), &process->uid, &process->switches_voluntary,
				     &process->switches_involuntary);
	process->fds = count_fds(dir, walk_fds);
	if (read_at(snapshot, dir, "limits") == 0)
		process->fd_max = process_parse_limits(text_of(snapshot));
	read_cgroup(snapshot, dir, process);
	return true;
}

/*
 * A thread that has not run since the previous sample is still blocked in the same call: reading that again would be
 * half the cost of sampling a thread.
 */
static bool still_blocked(struct state *state, struct thread_record *thread)
{
	for (size_t i = state->last_at; i < state->last.count && i < state->last_at + AHEAD_MAX; i++) {
		const struct thread_record *last = &state->last.items[i];

		if (last->tid != thread->tid)
			continue;
		state->last_at = i + 1;
		if (last->pid != thread->pid || last->thread_state != thread->thread_state ||
		    last->run_ns != thread->run_ns || last->timeslices != thread->timeslices ||
		    thread->timeslices == UINT64_MAX || last->syscall == UINT16_MAX)
			return false;
		thread->syscall = last->syscall;
		thread->syscall_fd = last->syscall_fd;
		memcpy(thread->wchan, last->wchan, sizeof(thread->wchan));
		return true;
	}
	return false;
}

static void remember(struct state *state, const struct snapshot *snapshot)
{
	state->last.count = 0;
	snapshot_each(snapshot, thread_type, const struct thread_record, thread)
		vec_push(&state->last, *thread);
}

/* The descriptor is in the program's memory, readable with the same privilege as the system call. */
static void read_polled(int dir, uint64_t address, struct thread_record *thread)
{
	_cleanup_close_ int fd = openat(dir, "mem", O_RDONLY | O_CLOEXEC);
	struct pollfd polled;

	if (fd >= 0 && address <= INT64_MAX &&
	    pread(fd, &polled, sizeof(polled), (off_t)address) == (ssize_t)sizeof(polled) && polled.fd >= 0)
		thread->syscall_fd = (uint32_t)polled.fd;
}

static void read_blocked(struct snapshot *snapshot, struct state *state, int dir, struct thread_record *thread)
{
	int r = read_at(snapshot, dir, "syscall");
	uint64_t polled = 0;

	if (r == 0) {
		(void)process_parse_syscall(text_of(snapshot), thread);
		polled = process_parse_poll_of_one(text_of(snapshot));
		if (polled)
			read_polled(dir, polled, thread);
	} else {
		state->hidden += r == -EACCES || r == -EPERM;
	}
	if (read_at(snapshot, dir, "wchan") == 0 && strcmp(text_of(snapshot), "0") != 0)
		snprintf(thread->wchan, sizeof(thread->wchan), "%s", text_of(snapshot));
}

static void read_thread(struct snapshot *snapshot, struct state *state, int dir, uint32_t pid)
{
	struct thread_record *thread;
	struct task_stat stat;

	if (read_at(snapshot, dir, "stat") < 0 || process_parse_stat(text_of(snapshot), &stat) < 0)
		return;
	thread = snapshot_table_add(snapshot_table(snapshot, &thread_type));
	if (!thread)
		return;
	thread->pid = pid;
	thread->tid = stat.pid;
	memcpy(thread->comm, stat.comm, sizeof(thread->comm));
	thread->thread_state = stat.state;
	thread->user_ns = stat.user_ns;
	thread->system_ns = stat.system_ns;
	if (read_at(snapshot, dir, "schedstat") == 0)
		(void)process_parse_schedstat(text_of(snapshot), thread);
	if (stat.state != 'R' && !still_blocked(state, thread))
		read_blocked(snapshot, state, dir, thread);
	/* The most expensive of these files: skipped in fast sampling, which does not use it. */
	if (!state->hurried && read_at(snapshot, dir, "status") == 0)
		process_parse_status(text_of(snapshot), NULL, &thread->switches_voluntary,
				     &thread->switches_involuntary);
}

static void read_threads(struct snapshot *snapshot, struct state *state, int process_dir, uint32_t pid)
{
	_cleanup_close_ int fd = openat(process_dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!tasks)
		return;
	fd = -1; /* closed with the directory */
	while ((entry = readdir(tasks))) {
		_cleanup_close_ int dir = -1;

		if (entry->d_name[0] == '.')
			continue;
		if (snapshot_table(snapshot, &thread_type)->count >= THREADS_MAX) {
			state->left_out++;
			continue;
		}
		dir = openat(dirfd(tasks), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0)
			read_thread(snapshot, state, dir, pid);
	}
	closedir(tasks);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	bool processes = snapshot_wants(snapshot, &process_type), threads = snapshot_wants(snapshot, &thread_type);
	char reason[160];

	(void)why;
	state->hidden = 0;
	state->left_out = 0;
	state->hurried = request->active_only;
	state->last_at = 0;
	if (!request->repeated)
		state->last.count = 0;
	list_pids(state, snapshot);
	vec_each(&state->pids, pid) {
		_cleanup_close_ int dir = -1;
		char path[32];

		snprintf(path, sizeof(path), "/proc/%u", *pid);
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (processes && !read_process(snapshot, dir, !request->repeated))
			continue;
		if (threads)
			read_threads(snapshot, state, dir, *pid);
	}
	if (request->repeated)
		remember(state, snapshot);
	if (state->hidden) {
		capability_refusal(CAP_BIT(CAP_SYS_PTRACE), reason, sizeof(reason));
		snapshot_gap(snapshot, "what these threads are blocked in",
			     "cannot read the system calls of %llu thread%s (%s)", (unsigned long long)state->hidden,
			     state->hidden == 1 ? "" : "s", reason);
	}
	if (state->left_out)
		snapshot_gap(snapshot, "thread states and CPU times",
			     "processes and threads beyond the limit of %d not read: %llu", THREADS_MAX,
			     (unsigned long long)state->left_out);
	return 0;
}

static void release(void *data)
{
	struct state *state = data;

	vec_done(&state->pids);
	vec_done(&state->last);
}

const struct process_record *process_find(const struct snapshot *snapshot, uint32_t pid)
{
	const struct process_record *items = snapshot_first(snapshot, &process_type);
	size_t low = 0, high = snapshot_table(snapshot, &process_type)->count;

	/* The table is sorted by pid. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].pid == pid)
			return &items[middle];
		if (items[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const struct record_type *const needs[] = {&owner_type, NULL};
static const struct record_type *const types[] = {&process_type, &thread_type, NULL};

static const struct snapshot_source task_source = {
	.name = "task",
	.lost = "processes that hold sockets, and their threads",
	.types = types,
	.needs = needs,
	.stage = STAGE_PROCESSES,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(task_source);
