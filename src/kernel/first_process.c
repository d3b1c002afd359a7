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
/* Inode of the initial pid namespace: BPF programs get pids of this one. */
#define FIRST_PID_NAMESPACE UINT64_C(0xeffffffc)

struct thread {
	char tid[16];
	struct proctext_run run;
};

typedef VEC(struct thread) thread_list;

struct first_process {
	struct program program; /* its area: one word, non-zero once it has run in pid 1 */
	int link;               /* -1: not attached */
	enum first_process_state state;
	thread_list begin;   /* its threads at first_process_begin */
	thread_list watched; /* its threads when the program was attached */
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
		if (read_run(thread.tid, &thread.run) == 0)
			vec_push(ret_list, thread);
	}
	(void)closedir(directory);
}

struct difference {
	uint64_t ran_ns;
	uint64_t times; /* times it was scheduled in */
	uint64_t left;  /* times it was certainly scheduled out */
};

static struct difference switches_since(const thread_list *before)
{
	struct difference difference = {};
	thread_list now = {};

	list_threads(&now);
	vec_each(&now, thread) {
		struct proctext_run base = {};
		uint64_t times;

		vec_each(before, old)
			if (strcmp(old->tid, thread->tid) == 0)
				base = old->run;
		/* A new thread with a reused tid. */
		if (thread->run.ran_ns < base.ran_ns || thread->run.times < base.times)
			base = (struct proctext_run){};
		times = thread->run.times - base.times;
		difference.ran_ns += thread->run.ran_ns - base.ran_ns;
		difference.times += times;
		/* It may still be on the CPU. */
		difference.left += times > 0 ? times - 1 : 0;
	}
	vec_done(&now);
	return difference;
}

/* Sets the word in the area when the current process is pid 1. */
static int load_witness(struct first_process *first, struct why *why)
{
	_cleanup_close_ int map = program_share(&first->program, "first_process", sizeof(uint64_t), why);
	struct insns code = {};

	if (map < 0)
		return map;
	PUT(&code, CALL(BPF_FUNC_get_current_pid_tgid), CALCULATE_BY(BPF_RSH, R0, 32), SKIP_IF_BY(BPF_JNE, R0, 1, 3),
	    ADDRESS(BPF_PSEUDO_MAP_VALUE, R1, map), STORE(BPF_DW, R1, 0, R0), SET(R0, 0), RETURN);
	first->program.fd =
		bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "first_process", "GPL", code.items, code.count, NULL);
	if (first->program.fd < 0)
		return why_set(why, first->program.fd, "cannot load a program: %s", strerror(-first->program.fd));
	return 0;
}

int first_process_watch(struct first_process *first)
{
	if (first->state != FIRST_PROCESS_UNKNOWN || first->link >= 0)
		return 0;
	first->link = bpf_raw_tracepoint_open("sched_switch", first->program.fd);
	if (first->link < 0)
		return first->link;
	/* After attaching: every later context switch should have run the program. */
	list_threads(&first->watched);
	return 0;
}

int first_process_open(struct first_process **ret_first, struct why *why)
{
	_cleanup_(first_process_closep) struct first_process *first = xzalloc(sizeof(*first));
	struct stat namespace;
	int r;

	first->program.fd = first->link = -1;
	if (stat("/proc/self/ns/pid", &namespace) < 0 || namespace.st_ino != FIRST_PID_NAMESPACE)
		return why_set(why, -ENOTSUP, "not in the initial pid namespace");
	r = load_witness(first, why);
	if (r < 0)
		return r;
	r = first_process_watch(first);
	if (r < 0)
		return why_set(why, r, "cannot attach a program to sched_switch: %s", strerror(-r));
	if (first->watched.count == 0)
		return why_set(why, -ENOTSUP, "cannot read /proc/1/task/1/schedstat");
	*ret_first = take_ptr(first);
	return 0;
}

static void end_watch(struct first_process *first)
{
	closep(&first->link);
	first->link = -1;
}

void first_process_close(struct first_process *first)
{
	if (!first)
		return;
	end_watch(first);
	program_done(&first->program);
	vec_done(&first->begin);
	vec_done(&first->watched);
	free(first);
}

/* The current state; *ret_times is the number of times pid 1 was scheduled while watched. */
static enum first_process_state current_state(struct first_process *first, uint64_t *ret_times)
{
	/* In this order: the program has seen every context switch that is counted here. */
	struct difference difference = switches_since(&first->watched);

	*ret_times = difference.times;
	if (__atomic_load_n((const uint64_t *)first->program.area, __ATOMIC_ACQUIRE))
		return FIRST_PROCESS_SEEN;
	return difference.left > 0 ? FIRST_PROCESS_HIDDEN : FIRST_PROCESS_UNKNOWN;
}

enum first_process_state first_process_look(struct first_process *first)
{
	uint64_t times;

	if (first->link < 0)
		return first->state;
	first->state = current_state(first, &times);
	if (first->state != FIRST_PROCESS_UNKNOWN)
		end_watch(first);
	return first->state;
}

void first_process_begin(struct first_process *first)
{
	list_threads(&first->begin);
}

uint64_t first_process_ran_ns(const struct first_process *first)
{
	return first->begin.count ? switches_since(&first->begin).ran_ns : 0;
}
