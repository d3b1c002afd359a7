/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Field tables of processes and threads, and the parsers of their /proc files. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "kernel/proctext.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/process.h"

static const struct enum_name state_names[] = {
	{'R', "running", "on a CPU or in a run queue"},
	{'S', "sleeping", "interruptible sleep"},
	{'D', "disk", "uninterruptible sleep, usually disk I/O"},
	{'T', "stopped", "stopped by a signal"},
	{'t', "traced", "stopped by a debugger"},
	{'Z', "zombie", "ended, not yet reaped by its parent"},
	{'X', "dead", "ended"},
	{'I', "idle", "idle kernel thread"},
	{'P', "parked", "parked"},
	{'W', "waking", "waking up"},
	{'K', "wakekill", "sleep that only a fatal signal interrupts"},
};
static struct enum_names task_state_names = {state_names, ARRAY_SIZE(state_names), NULL};

/* System calls in which network programs block; those with a descriptor as first argument come first. */
#define CALL(call)                                                                                                     \
	{                                                                                                              \
		SYS_##call, #call, NULL                                                                                \
	}
static const struct enum_name calls_with_fd[] = {
	CALL(read),         CALL(write),          CALL(readv),     CALL(writev),   CALL(pread64),  CALL(pwrite64),
	CALL(recvfrom),     CALL(sendto),         CALL(recvmsg),   CALL(sendmsg),  CALL(recvmmsg), CALL(sendmmsg),
	CALL(accept),       CALL(accept4),        CALL(connect),   CALL(sendfile), CALL(splice),   CALL(shutdown),
	CALL(close),        CALL(fsync),          CALL(fdatasync), CALL(ioctl),    CALL(flock),    CALL(epoll_pwait),
	CALL(epoll_pwait2), CALL(io_uring_enter),
#ifdef SYS_epoll_wait
	CALL(epoll_wait),
#endif
};
static const struct enum_name calls_without_fd[] = {
	CALL(ppoll),  CALL(pselect6),        CALL(nanosleep),     CALL(clock_nanosleep), CALL(futex),  CALL(wait4),
	CALL(waitid), CALL(rt_sigtimedwait), CALL(rt_sigsuspend), CALL(restart_syscall), CALL(msgrcv), CALL(semtimedop),
#ifdef SYS_poll
	CALL(poll),
#endif
#ifdef SYS_select
	CALL(select),
#endif
#ifdef SYS_pause
	CALL(pause),
#endif
};
#undef CALL

static void load_syscalls(struct enum_names *names)
{
	static struct enum_name all[ARRAY_SIZE(calls_with_fd) + ARRAY_SIZE(calls_without_fd)];

	memcpy(all, calls_with_fd, sizeof(calls_with_fd));
	memcpy(all + ARRAY_SIZE(calls_with_fd), calls_without_fd, sizeof(calls_without_fd));
	names->items = all;
	names->count = ARRAY_SIZE(all);
}
struct enum_names syscall_names = {NULL, 0, load_syscalls};

#define P struct process_record
static const struct field process_fields[] = {
	FIELD(P, pid, ID, "process", .zero_is_unknown = true),
	FIELD(P, ppid, ID, "parent process", .hidden = true),
	FIELD(P, comm, TEXT, "command name"),
	FIELD(P, process_state, ENUM, "state of the main thread", .names = &task_state_names),
	FIELD(P, uid, ID, "user ID"),
	FIELD(P, threads, COUNT, "number of threads"),
	FIELD(P, start_ns, DURATION, "start time since boot", .hidden = true),
	FIELD(P, user_ns, DURATION, "CPU time in user mode", .drift = DRIFTS),
	FIELD(P, system_ns, DURATION, "CPU time in kernel mode", .drift = DRIFTS),
	FIELD(P, rss_bytes, BYTES, "resident memory", .drift = DRIFTS),
	FIELD(P, fds, COUNT, "open file descriptors"),
	FIELD(P, fd_max, COUNT, "limit of open file descriptors (RLIMIT_NOFILE)"),
	FIELD(P, switches_voluntary, COUNT, "voluntary context switches of the main thread", .hidden = true,
	      .drift = DRIFTS),
	FIELD(P, switches_involuntary, COUNT, "involuntary context switches of the main thread", .hidden = true,
	      .drift = DRIFTS),
	FIELD(P, cgroup, TEXT, "cgroup path", .hidden = true),
	FIELD(P, container, TEXT, "container"),
	FIELD(P, unit, TEXT, "systemd unit"),
};
#undef P
RECORD_TYPE(process_type, "process", struct process_record, process_fields, "a process that holds a socket");

#define T struct thread_record
static const struct field thread_fields[] = {
	FIELD(T, pid, ID, "process", .zero_is_unknown = true),
	FIELD(T, tid, ID, "thread", .zero_is_unknown = true),
	FIELD(T, comm, TEXT, "thread name"),
	FIELD(T, thread_state, ENUM, "thread state", .names = &task_state_names),
	FIELD(T, syscall, ENUM, "system call it is blocked in", .names = &syscall_names),
	FIELD(T, syscall_fd, ID, "file descriptor of that system call"),
	FIELD(T, wchan, TEXT, "kernel function it sleeps in (wchan)"),
	FIELD(T, run_ns, DURATION, "time on CPU", .drift = DRIFTS),
	FIELD(T, wait_ns, DURATION, "scheduling delay: time runnable, waiting for a CPU", .drift = DRIFTS),
	FIELD(T, timeslices, COUNT, "time slices run", .hidden = true, .drift = DRIFTS),
	FIELD(T, user_ns, DURATION, "CPU time in user mode", .hidden = true, .drift = DRIFTS),
	FIELD(T, system_ns, DURATION, "CPU time in kernel mode", .hidden = true, .drift = DRIFTS),
	FIELD(T, switches_voluntary, COUNT, "voluntary context switches", .drift = DRIFTS),
	FIELD(T, switches_involuntary, COUNT, "involuntary context switches", .drift = DRIFTS),
};
#undef T
RECORD_TYPE(thread_type, "thread", struct thread_record, thread_fields, "a thread of a process that holds a socket");

static uint64_t ticks_to_ns(uint64_t ticks)
{
	static long per_second;

	if (per_second <= 0)
		per_second = sysconf(_SC_CLK_TCK);
	return ticks > UINT64_MAX / NSEC_PER_SEC ? UINT64_MAX : ticks * NSEC_PER_SEC / (uint64_t)per_second;
}

int process_parse_stat(const char *text, struct task_stat *ret_stat)
{
	/* The name ends at the last parenthesis: later fields contain none. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *rest;
	struct task_stat stat = {};
	uint64_t pid, ppid, user, system, threads, start, vsize, rss;
	const char *head = text;

	if (!open || !close || close < open || !scan_u64(&head, &pid) || pid == 0 || pid > INT32_MAX)
		return -EBADMSG;
	rest = close + 1;
	rest += strspn(rest, " ");
	if (!isalpha((unsigned char)*rest))
		return -EBADMSG;
	stat.state = (uint8_t)*rest++;
	/* Fields 4 (ppid), 14, 15 (utime, stime), 20 (threads), 22 (start), 23 (vsize), 24 (rss in pages). */
	if (!scan_u64(&rest, &ppid) || !scan_skip(&rest, 9) || !scan_u64(&rest, &user) || !scan_u64(&rest, &system) ||
	    !scan_skip(&rest, 4) || !scan_u64(&rest, &threads) || !scan_skip(&rest, 1) || !scan_u64(&rest, &start) ||
	    !scan_u64(&rest, &vsize) || !scan_u64(&rest, &rss))
		return -EBADMSG;
	stat.pid = (uint32_t)pid;
	stat.ppid = (uint32_t)min_of(ppid, (uint64_t)INT32_MAX);
	memcpy(stat.comm, open + 1, min_of((size_t)(close - open - 1), sizeof(stat.comm) - 1));
	stat.threads = (uint32_t)min_of(threads, (uint64_t)INT32_MAX);
	stat.start_ns = ticks_to_ns(start);
	stat.user_ns = ticks_to_ns(user);
	stat.system_ns = ticks_to_ns(system);
	stat.rss_bytes = rss > UINT64_MAX / 65536 ? UINT64_MAX : rss * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_stat = stat;
	return 0;
}

int process_parse_schedstat(const char *text, struct thread_record *thread)
{
	uint64_t run, wait, slices;

	if (!scan_u64(&text, &run) || !scan_u64(&text, &wait) || !scan_u64(&text, &slices))
		return -EBADMSG;
	thread->run_ns = run;
	thread->wait_ns = wait;
	thread->timeslices = slices;
	return 0;
}

static bool call_has_fd(uint64_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls_with_fd); i++)
		if (calls_with_fd[i].value == number)
			return true;
	return false;
}

int process_parse_syscall(const char *text, struct thread_record *thread)
{
	uint64_t number, first;

	if (strncmp(text, "running", 7) == 0 || strncmp(text, "-1", 2) == 0)
		return 0;
	if (!scan_u64(&text, &number) || number >= UINT16_MAX)
		return -EBADMSG;
	thread->syscall = (uint16_t)number;
	if (call_has_fd(number) && scan_u64(&text, &first) && (first & UINT32_MAX) <= INT32_MAX)
		thread->syscall_fd = (uint32_t)first; /* an int: ignore the upper half of the register */
	return 0;
}

uint64_t process_parse_poll_of_one(const char *text)
{
	uint64_t number, list, count;

	if (!scan_u64(&text, &number) || !scan_u64(&text, &list) || !scan_u64(&text, &count) || count != 1)
		return 0;
#ifdef SYS_poll
	if (number == SYS_poll)
		return list;
#endif
	return number == SYS_ppoll ? list : 0;
}

void process_parse_status(const char *text, uint32_t *uid, uint64_t *voluntary, uint64_t *involuntary)
{
	uint64_t value;

	if (uid && scan_keyed(text, "Uid", &value) && value <= UINT32_MAX)
		*uid = (uint32_t)value;
	(void)scan_keyed(text, "voluntary_ctxt_switches", voluntary);
	(void)scan_keyed(text, "nonvoluntary_ctxt_switches", involuntary);
}

uint32_t process_parse_limits(const char *text)
{
	static const char name[] = "Max open files";
	const char *line;
	uint64_t value;
	size_t n;

	while (proctext_line(&text, &line, &n)) {
		if (n < sizeof(name) || memcmp(line, name, sizeof(name) - 1) != 0)
			continue;
		line += sizeof(name) - 1;
		return scan_u64(&line, &value) && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
	}
	return UINT32_MAX;
}
