/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/vec.h"
#include "kernel/first_process.h"
#include "kernel/insn.h"
#include "kernel/proctext.h"
#include "kernel/program.h"

#define TASKS "/proc/1/task"
/* The kernel's number of the namespace that it starts with: programs are told pids of that one. */
#define FIRST_PID_NAMESPACE UINT64_C(0xeffffffc)

struct thread {
	char tid[16];
	struct proctext_run run;
};

struct first_process {
	struct program program; /* its area: a word that is not zero once it has run on behalf of pid 1 */
	int link;
	enum first_process_state state;
	VEC(struct thread) threads; /* at the beginning */
};

static int read_run(const char *tid, struct proctext_run *ret_run)
{
	_cleanup_buf_ struct buf text = BUF_INIT(256);
	char path[64];
	int r;

	snprintf(path, sizeof(path), TASKS "/%s/schedstat", tid);
	r = buf_read_file(&text, path);
	return r < 0 ? r : proctext_schedstat(buf_text(&text), ret_run);
}

/* Calls fn for each thread of pid 1 that can be read; how many there were. */
static unsigned each_thread(void (*fn)(void *context, const struct thread *thread), void *context)
{
	DIR *directory = opendir(TASKS);
	struct thread thread = {};
	unsigned count = 0;

	if (!directory)
		return 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(thread.tid, sizeof(thread.tid), "%.15s", entry->d_name);
		if (read_run(thread.tid, &thread.run) < 0)
			continue;
		fn(context, &thread);
		count++;
	}
	(void)closedir(directory);
	return count;
}

static void keep(void *context, const struct thread *thread)
{
	struct first_process *first = context;

	vec_push(&first->threads, *thread);
}

struct difference {
	const struct first_process *first;
	uint64_t ran_ns;
	uint64_t left; /* how often a processor was given up for certain */
};

static void compare(void *context, const struct thread *thread)
{
	struct difference *difference = context;
	struct proctext_run before = {};
	uint64_t times;

	vec_each(&difference->first->threads, old)
		if (strcmp(old->tid, thread->tid) == 0)
			before = old->run;
	/* Another thread with the number of one that has ended. */
	if (thread->run.ran_ns < before.ran_ns || thread->run.times < before.times)
		before = (struct proctext_run){};
	difference->ran_ns += thread->run.ran_ns - before.ran_ns;
	times = thread->run.times - before.times;
	/* It may still run for the last time. */
	difference->left += times > 0 ? times - 1 : 0;
}

static struct difference since_begin(const struct first_process *first)
{
	struct difference difference = {.first = first};

	(void)each_thread(compare, &difference);
	return difference;
}

/* Notes in the area that the current process is pid 1. */
static int load_witness(struct first_process *first, struct why *why)
{
	_cleanup_close_ int map = program_share(&first->program, "first_process", sizeof(uint64_t), why);
	struct code code = {};

	if (map < 0)
		return map;
	PUT(&code, CALL(BPF_FUNC_get_current_pid_tgid), CALCULATE_BY(BPF_RSH, R0, 32), SKIP_IF_BY(BPF_JNE, R0, 1, 3),
	    ADDRESS(BPF_PSEUDO_MAP_VALUE, R1, map), STORE(BPF_DW, R1, 0, R0), SET(R0, 0), RETURN);
	first->program.fd =
		bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "first_process", "GPL", code.items, code.count, NULL);
	if (first->program.fd < 0)
		return why_set(why, first->program.fd, "a program was not loaded: %s", strerror(-first->program.fd));
	first->link = bpf_raw_tracepoint_open("sched_switch", first->program.fd);
	return first->link < 0 ? why_set(why, first->link, "a program was not attached to sched_switch: %s",
					 strerror(-first->link))
			       : 0;
}

int first_process_open(struct first_process **ret_first, struct why *why)
{
	_cleanup_(first_process_closep) struct first_process *first = xzalloc(sizeof(*first));
	struct stat namespace;
	int r;

	first->program.fd = first->link = -1;
	if (stat("/proc/self/ns/pid", &namespace) < 0 || namespace.st_ino != FIRST_PID_NAMESPACE)
		return why_set(why, -ENOTSUP, "this is not the host's first namespace of processes");
	r = load_witness(first, why);
	if (r < 0)
		return r;
	/* Only now: whatever leaves a processor from here on, the program was there to be run. */
	if (each_thread(keep, first) == 0)
		return why_set(why, -ENOTSUP, "/proc/1/task/1/schedstat cannot be read");
	*ret_first = take_ptr(first);
	return 0;
}

static void end_witness(struct first_process *first)
{
	closep(&first->link);
	program_done(&first->program);
}

void first_process_close(struct first_process *first)
{
	if (!first)
		return;
	end_witness(first);
	vec_done(&first->threads);
	free(first);
}

enum first_process_state first_process_look(struct first_process *first)
{
	uint64_t left;

	if (first->state != FIRST_PROCESS_UNKNOWN)
		return first->state;
	/* In this order: a switch that is counted here has been noted there. */
	left = since_begin(first).left;
	if (__atomic_load_n((const uint64_t *)first->program.area, __ATOMIC_ACQUIRE))
		first->state = FIRST_PROCESS_SEEN;
	else if (left > 0)
		first->state = FIRST_PROCESS_HIDDEN;
	if (first->state != FIRST_PROCESS_UNKNOWN)
		end_witness(first);
	return first->state;
}

uint64_t first_process_ran_ns(const struct first_process *first)
{
	return since_begin(first).ran_ns;
}
