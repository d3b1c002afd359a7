/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread did with its time: CPU time and scheduling delay, the kernel's own figures, read at socket operations
 * and at most once a millisecond; the rest of the time it was blocked. Without them, a busy machine looks like a slow
 * program, and who waits for a lock like who holds it. The delay takes ten times as long to read, so it is read only if
 * the thread did not have a CPU all the time. A sandboxed thread is left alone, since opening a file might kill it.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "flow/runtime/runtime.h"
#include "flow/runtime/sys.h"

/* Least time without a CPU that is worth a look at the delay. */
#define AWAY_NS 20000

/* What the kernel knows about a thread. */
struct schedstat {
	uint64_t cpu_ns;   /* on a CPU */
	uint64_t delay_ns; /* on a run queue */
	uint64_t runs;     /* times it was given a CPU */
};

static uint64_t number_at(const char *text, int *at)
{
	uint64_t number = 0;

	for (; text[*at] == ' '; ++*at)
		;
	for (; text[*at] >= '0' && text[*at] <= '9'; ++*at)
		number = number * 10 + (uint64_t)(text[*at] - '0');
	return number;
}

static bool read_cpu(struct schedstat *ret_stat)
{
	struct timespec at;

	if (sealed || syscall(SYS_prctl, PR_GET_SECCOMP) != SECCOMP_MODE_DISABLED ||
	    syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &at) < 0)
		return false;
	ret_stat->cpu_ns = (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
	return true;
}

/* The second and third number of the line (the first one is only as recent as the last tick); false: unknown. */
static bool read_delay(struct schedstat *ret_stat)
{
	char text[96];
	ssize_t n;
	int fd, at = 0;

	fd = sys_open("/proc/thread-self/schedstat", O_RDONLY);
	if (fd < 0)
		return false;
	n = sys_pread(fd, text, sizeof(text) - 1, 0);
	sys_close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	(void)number_at(text, &at);
	if (text[at] != ' ')
		return false;
	ret_stat->delay_ns = number_at(text, &at);
	ret_stat->runs = number_at(text, &at);
	return true;
}

static void add_record(struct flow_slot *t, uint64_t now, enum flow_delay kind, const struct schedstat *more)
{
	uint32_t words[5];

	flow_put_u64(words, more->delay_ns);
	words[2] = (uint32_t)more->runs;
	flow_put_u64(words + 3, more->cpu_ns);
	if (!slot_enter(t))
		return;
	(void)slot_add_other(t, now, flow_word_other(FLOW_O_DELAY, FLOW_WORDS(words), kind), words);
	slot_leave(t);
}

/* The least time between two looks is a millisecond. */
static uint64_t ns_of(uint64_t ticks)
{
	return ticks * 1000000 / live->delay_ticks;
}

/*
 * What the recorder itself takes is not the program's time either: writing a chunk waits for a disk, and a look for
 * other threads that have the same directory of /proc open.
 */
static void look(struct flow_slot *t, uint64_t now, enum flow_delay kind, const struct schedstat *stat)
{
	/* A new thread or process has waited since it was made. */
	bool is_older = stat->delay_ns >= t->delay_ns && stat->runs >= t->runs && stat->cpu_ns >= t->cpu_ns;
	struct schedstat more = {};
	uint64_t own_ns = ns_of(t->own_ticks), end;

	if (is_older)
		more = (struct schedstat){stat->cpu_ns - t->cpu_ns, stat->delay_ns - t->delay_ns, stat->runs - t->runs};
	t->cpu_ns = stat->cpu_ns;
	t->delay_ns = stat->delay_ns;
	t->runs = stat->runs;
	if (kind == FLOW_DELAY_RUNNING) {
		/* The two overlap if it was preempted meanwhile. */
		more.delay_ns = more.delay_ns > own_ns ? more.delay_ns : own_ns;
		t->own_ticks = 0;
	}
	add_record(t, now, kind, &more);
	end = now_ticks();
	if (end - now >= live->delay_ticks / 8)
		add_record(t, end, FLOW_DELAY_RUNNING, &(struct schedstat){.delay_ns = ns_of(end - now), .runs = 1});
}

void delay_look(struct flow_slot *t, uint64_t now, enum flow_delay kind)
{
	struct schedstat stat = {.delay_ns = t->delay_ns, .runs = t->runs};
	int saved = errno;

	if (live->delay_ticks && read_cpu(&stat)) {
		bool is_first = !t->delay_at;
		uint64_t took_ns = is_first ? 0 : ns_of(now - t->delay_at), cpu_ns = stat.cpu_ns - t->cpu_ns;

		if ((!is_first && stat.cpu_ns >= t->cpu_ns && took_ns < cpu_ns + AWAY_NS) || read_delay(&stat))
			look(t, now, kind, &stat);
	}
	t->delay_at = now;
	errno = saved;
}

void delay_skip(struct flow_slot *t, uint64_t since, const struct delay_mark *before)
{
	uint64_t now = now_ticks();
	struct schedstat more = {};

	if (!live->delay_ticks || !t->delay_at || now - since < live->delay_ticks)
		return;
	/* The thread's figures move along from slot to slot. */
	if (before && before->tid == t->tid && t->delay_ns >= before->delay_ns && t->runs >= before->runs) {
		more.delay_ns = t->delay_ns - before->delay_ns;
		more.runs = t->runs - before->runs;
	}
	add_record(t, now, FLOW_DELAY_RUNNING, &more);
}
