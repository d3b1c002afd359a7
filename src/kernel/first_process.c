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
	uint64_t ran_ns;
	uint64_t switches; /* how often it gave up a processor */
};

typedef VEC(struct thread) thread_list;

struct first_process {
	struct program program; /* its area: a word that is not zero once it has run on behalf of pid 1 */
	int link;               /* -1: not watching */
	enum first_process_state state;
	thread_list begin;   /* its threads when it was opened */
	thread_list watched; /* when watching began the last time */
};

static int read_thread(struct thread *thread)
{
	_cleanup_buf_ struct buf stat = BUF_INIT(256), status = BUF_INIT(8192);
	struct proctext_run run;
	char path[64];
	int r;

	snprintf(path, sizeof(path), TASKS "/%s/schedstat", thread->tid);
	r = buf_read_file(&stat, path);
	if (r == 0)
		r = proctext_schedstat(buf_text(&stat), &run);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), TASKS "/%s/status", thread->tid);
	r = buf_read_file(&status, path);
	thread->ran_ns = run.ran_ns;
	return r < 0 ? r : proctext_switches(buf_text(&status), &thread->switches);
}

/* All threads of pid 1 that can be read. */
static void list_threads(thread_list *ret_list)
{
	DIR *directory = opendir(TASKS);

	ret_list->count = 0;
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));) {
		struct thread thread = {};

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(thread.tid, sizeof(thread.tid), "%.15s", entry->d_name);
		if (read_thread(&thread) == 0)
			vec_push(ret_list, thread);
	}
	(void)closedir(directory);
}

/* What happened since a list was made; of threads that have begun since, all. */
static struct thread since(const thread_list *before)
{
	thread_list now = {};
	struct thread sum = {};

	list_threads(&now);
	vec_each(&now, thread) {
		struct thread base = {};

		vec_each(before, old)
			if (strcmp(old->tid, thread->tid) == 0)
				base = *old;
		/* Another thread with the number of one that has ended. */
		if (thread->ran_ns < base.ran_ns || thread->switches < base.switches)
			base = (struct thread){};
		sum.ran_ns += thread->ran_ns - base.ran_ns;
		sum.switches += thread->switches - base.switches;
	}
	vec_done(&now);
	return sum;
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
	return 0;
}

static void watch(struct first_process *first)
{
	first->link = bpf_raw_tracepoint_open("sched_switch", first->program.fd);
	/* Only now: whatever leaves a processor from here on, the program was there to be run. */
	list_threads(&first->watched);
}

void first_process_watch(struct first_process *first)
{
	if (first->state == FIRST_PROCESS_UNKNOWN && first->link < 0)
		watch(first);
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
	watch(first);
	if (first->link < 0)
		return why_set(why, first->link, "a program was not attached to sched_switch: %s",
			       strerror(-first->link));
	list_threads(&first->begin);
	if (first->begin.count == 0)
		return why_set(why, -ENOTSUP, "the threads of pid 1 cannot be looked at");
	*ret_first = take_ptr(first);
	return 0;
}

void first_process_close(struct first_process *first)
{
	if (!first)
		return;
	closep(&first->link);
	program_done(&first->program);
	vec_done(&first->begin);
	vec_done(&first->watched);
	free(first);
}

enum first_process_state first_process_look(struct first_process *first)
{
	uint64_t left;

	if (first->state != FIRST_PROCESS_UNKNOWN || first->link < 0)
		return first->state;
	/* In this order: a switch that is counted here has been noted there. */
	left = since(&first->watched).switches;
	if (__atomic_load_n((const uint64_t *)first->program.area, __ATOMIC_ACQUIRE))
		first->state = FIRST_PROCESS_SEEN;
	else if (left > 0)
		first->state = FIRST_PROCESS_HIDDEN;
	closep(&first->link);
	return first->state;
}

uint64_t first_process_ran_ns(const struct first_process *first)
{
	return since(&first->begin).ran_ns;
}
