/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that hold sockets, and the state of their threads: types "process" and "thread". */
#pragma once

#include "snapshot/core/snapshot.h"

struct process_record {
	uint32_t pid;
	uint32_t ppid;
	char comm[16];
	uint8_t process_state; /* state letter of /proc/PID/stat */
	uint32_t uid;
	uint32_t threads;
	uint64_t start_ns; /* since boot */
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t rss_bytes;
	uint32_t fds;
	uint32_t fd_max;
	uint64_t switches_voluntary;
	uint64_t switches_involuntary;
	const char *cgroup;
	const char *container;
	const char *unit;
};

struct thread_record {
	uint32_t pid;
	uint32_t tid;
	char comm[16];
	uint8_t thread_state;
	uint16_t syscall;    /* number; unknown while running or not readable */
	uint32_t syscall_fd; /* first argument, if that is a descriptor; of a poll of one descriptor, that one */
	char wchan[40];
	uint64_t run_ns;
	uint64_t wait_ns; /* runnable, waiting for a CPU */
	uint64_t timeslices;
	uint64_t user_ns;
	uint64_t system_ns;
	uint64_t switches_voluntary;
	uint64_t switches_involuntary;
};

extern const struct record_type process_type;
extern const struct record_type thread_type;
extern struct enum_names syscall_names;

/* The record of a process in this snapshot, or NULL. */
const struct process_record *process_find(const struct snapshot *snapshot, uint32_t pid);

/* --- parsers of NUL-terminated /proc text; what cannot be parsed stays unknown --- */

struct task_stat {
	uint32_t pid;
	uint32_t ppid;
	char comm[16];
	uint8_t state;
	uint32_t threads;
	uint64_t start_ns, user_ns, system_ns, rss_bytes;
};

/* /proc/PID/stat; -EBADMSG: malformed. The name may contain any byte, including blanks and parentheses. */
int process_parse_stat(const char *text, struct task_stat *ret_stat) _must_check_;
/* /proc/TID/schedstat */
int process_parse_schedstat(const char *text, struct thread_record *thread);
/* /proc/TID/syscall: "running", "-1 ..." or the number and arguments */
int process_parse_syscall(const char *text, struct thread_record *thread);
/* Of a poll of one descriptor, the address of its struct pollfd in the program; otherwise 0. */
uint64_t process_parse_poll_of_one(const char *text);
/* /proc/PID/status: user and context switches */
void process_parse_status(const char *text, uint32_t *uid, uint64_t *voluntary, uint64_t *involuntary);
/* /proc/PID/limits: soft limit of open files; UINT32_MAX: unlimited or absent */
uint32_t process_parse_limits(const char *text);
