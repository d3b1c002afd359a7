/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls that a confined process may make, as a table; everything else fails with EPERM. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/perf_event.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/confine.h"

/* From linux/seccomp.h, which the header of libseccomp hides. */
#define FILTER_MODE 2

struct call {
	const char *name;
	unsigned may; /* any of these; 0: always */
};

static const struct call calls[] = {
	/* memory */
	{"brk"},
	{"madvise"},
	{"mincore"},
	{"mlock"},
	{"mmap"},
	{"mprotect"},
	{"mremap"},
	{"msync"},
	{"munlock"},
	{"munmap"},
	{"membarrier"},
	{"memfd_create"},
	/* files */
	{"access"},
	{"chdir"},
	{"close"},
	{"close_range"},
	{"dup"},
	{"dup2"},
	{"dup3"},
	{"faccessat"},
	{"faccessat2"},
	{"fadvise64"},
	{"fchdir"},
	{"fcntl"},
	{"fdatasync"},
	{"flock"},
	{"fstat"},
	{"fstatfs"},
	{"fsync"},
	{"getcwd"},
	{"getdents64"},
	{"lseek"},
	{"lstat"},
	{"newfstatat"},
	{"pipe2"},
	{"pread64"},
	{"preadv"},
	{"pwrite64"},
	{"pwritev"},
	{"read"},
	{"readahead"},
	{"readlink"},
	{"readlinkat"},
	{"readv"},
	{"sendfile"},
	{"splice"},
	{"stat"},
	{"statfs"},
	{"statx"},
	{"sync_file_range"},
	{"umask"},
	{"write"},
	{"writev"},
	/* waiting */
	{"clock_nanosleep"},
	{"epoll_create1"},
	{"epoll_ctl"},
	{"epoll_pwait"},
	{"epoll_pwait2"},
	{"epoll_wait"},
	{"eventfd2"},
	{"futex"},
	{"nanosleep"},
	{"pause"},
	{"poll"},
	{"ppoll"},
	{"pselect6"},
	{"restart_syscall"},
	{"select"},
	{"signalfd4"},
	{"timer_create"},
	{"timer_delete"},
	{"timer_settime"},
	{"timerfd_create"},
	{"timerfd_gettime"},
	{"timerfd_settime"},
	{"setitimer"},
	/* time, identity, limits */
	{"capget"},
	{"clock_getres"},
	{"clock_gettime"},
	{"getegid"},
	{"geteuid"},
	{"getgid"},
	{"getgroups"},
	{"getpgrp"},
	{"getpgid"},
	{"getpid"},
	{"getppid"},
	{"getpriority"},
	{"getrandom"},
	{"getresgid"},
	{"getresuid"},
	{"getrlimit"},
	{"getrusage"},
	{"getsid"},
	{"gettid"},
	{"gettimeofday"},
	{"getuid"},
	{"prlimit64"},
	{"setrlimit"},
	{"sysinfo"},
	{"times"},
	{"uname"},
	/* threads, processes, signals */
	{"arch_prctl"},
	{"exit"},
	{"exit_group"},
	{"prctl"},
	{"rseq"},
	{"rt_sigaction"},
	{"rt_sigpending"},
	{"rt_sigprocmask"},
	{"rt_sigreturn"},
	{"rt_sigsuspend"},
	{"rt_sigtimedwait"},
	{"sched_getaffinity"},
	{"sched_getparam"},
	{"sched_getscheduler"},
	{"sched_setaffinity"},
	{"sched_yield"},
	{"set_robust_list"},
	{"set_tid_address"},
	{"setpgid"},
	{"sigaltstack"},
	{"tgkill"},
	{"wait4"},
	{"waitid"},
	{"pidfd_open"},
	{"getcpu"},
	/* more of the same kind: a process may always give up more */
	{"capset"},
	{"landlock_add_rule"},
	{"landlock_create_ruleset"},
	{"landlock_restrict_self"},
	{"seccomp"},
	/* not always; chmod never: Landlock does not limit it, and uid 0 without capabilities owns the files of root */
	{"copy_file_range", MAY_WRITE},
	{"fallocate", MAY_WRITE},
	{"fchmod", MAY_WRITE},
	{"fchown", MAY_WRITE},
	{"ftruncate", MAY_WRITE},
	{"link", MAY_WRITE},
	{"linkat", MAY_WRITE},
	{"mkdir", MAY_WRITE},
	{"mkdirat", MAY_WRITE},
	{"open", MAY_WRITE},
	{"openat", MAY_WRITE},
	{"rename", MAY_WRITE},
	{"renameat", MAY_WRITE},
	{"renameat2", MAY_WRITE},
	{"rmdir", MAY_WRITE},
	{"symlinkat", MAY_WRITE},
	{"unlink", MAY_WRITE},
	{"unlinkat", MAY_WRITE},
	{"utimensat", MAY_WRITE},
	{"kill", MAY_SIGNAL | MAY_EXEC},
	{"pidfd_send_signal", MAY_SIGNAL | MAY_EXEC},
	{"execve", MAY_EXEC},
	{"setsid", MAY_EXEC},
	{"vfork", MAY_EXEC},
	{"accept4", MAY_SERVE},
	{"listen", MAY_SERVE | MAY_OBSERVE},
	{"shutdown", MAY_SERVE | MAY_OBSERVE},
	{"bind", MAY_SERVE | MAY_OBSERVE},
	{"connect", MAY_SERVE | MAY_OBSERVE},
	{"getpeername", MAY_SERVE | MAY_OBSERVE},
	{"getsockname", MAY_SERVE | MAY_OBSERVE},
	{"getsockopt", MAY_SERVE | MAY_OBSERVE},
	{"recvfrom", MAY_SERVE | MAY_OBSERVE},
	{"recvmmsg", MAY_SERVE | MAY_OBSERVE},
	{"recvmsg", MAY_SERVE | MAY_OBSERVE | MAY_ASK},
	{"sendmmsg", MAY_SERVE | MAY_OBSERVE},
	{"sendmsg", MAY_SERVE | MAY_OBSERVE | MAY_ASK},
	{"sendto", MAY_SERVE | MAY_OBSERVE},
	{"setsockopt", MAY_SERVE | MAY_OBSERVE},
	{"socketpair", MAY_SERVE | MAY_OBSERVE | MAY_ASK},
	{"socket", MAY_OBSERVE},
	{"setns", MAY_OBSERVE},
	{"bpf", MAY_OBSERVE},
	{"perf_event_open", MAY_OBSERVE},
	{"pidfd_getfd", MAY_OBSERVE},
	{"kcmp", MAY_OBSERVE},
	{"syslog", MAY_OBSERVE},
	{"setpriority", MAY_OBSERVE},
	{"process_vm_readv", MAY_OBSERVE},
};

/* Calls of which only some are allowed: with this value in this argument. */
struct part {
	const char *name;
	unsigned may; /* any of these; 0: always */
	unsigned argument;
	uint64_t value;
	uint64_t mask; /* of the bits that count; 0: all */
};

/* Whatever opens a file for more than reading. */
#define OPENS_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE)

/* TCGETS2 and the three that set: the C library asks with them since 2.42. Their struct conflicts with its header. */
#define TERMIOS2_BYTES 44

#define IOCTL(request, ...)                                                                                            \
	{                                                                                                              \
		"ioctl", __VA_ARGS__ + 0, 1, request                                                                   \
	}
#define BPF(command)                                                                                                   \
	{                                                                                                              \
		"bpf", MAY_USE_MAPS, 0, command                                                                        \
	}

static const struct part parts[] = {
	/* A terminal, but for TIOCSTI, which types into it. */
	IOCTL(TCGETS),
	IOCTL(TCSETS),
	IOCTL(TCSETSW),
	IOCTL(TCSETSF),
	IOCTL(_IOC(_IOC_READ, 'T', 0x2a, TERMIOS2_BYTES)),
	IOCTL(_IOC(_IOC_WRITE, 'T', 0x2b, TERMIOS2_BYTES)),
	IOCTL(_IOC(_IOC_WRITE, 'T', 0x2c, TERMIOS2_BYTES)),
	IOCTL(_IOC(_IOC_WRITE, 'T', 0x2d, TERMIOS2_BYTES)),
	IOCTL(TIOCGWINSZ),
	IOCTL(TIOCGPGRP),
	IOCTL(FIONREAD),
	IOCTL(FIONBIO),
	IOCTL(FIOCLEX),
	IOCTL(PERF_EVENT_IOC_DISABLE),
	IOCTL(PERF_EVENT_IOC_ENABLE),
	IOCTL(PERF_EVENT_IOC_SET_BPF, MAY_OBSERVE),
	IOCTL(SIOCETHTOOL, MAY_OBSERVE),
	IOCTL(SIOCGIFNAME, MAY_OBSERVE),
	IOCTL(SIOCGIFINDEX, MAY_OBSERVE),
	IOCTL(SIOCGSKNS, MAY_OBSERVE),
	BPF(BPF_MAP_LOOKUP_ELEM),
	BPF(BPF_MAP_UPDATE_ELEM),
	BPF(BPF_MAP_DELETE_ELEM),
	BPF(BPF_MAP_GET_NEXT_KEY),
	BPF(BPF_MAP_LOOKUP_AND_DELETE_ELEM),
	BPF(BPF_MAP_LOOKUP_BATCH),
	BPF(BPF_MAP_LOOKUP_AND_DELETE_BATCH),
	BPF(BPF_MAP_UPDATE_BATCH),
	BPF(BPF_MAP_DELETE_BATCH),
	BPF(BPF_OBJ_GET_INFO_BY_FD),
	BPF(BPF_PROG_DETACH),
	BPF(BPF_LINK_DETACH),
	{"bpf", MAY_MAKE_MAPS, 0, BPF_MAP_CREATE},
	{"bpf", MAY_MAKE_MAPS | MAY_ATTACH, 0, BPF_LINK_CREATE},
	/* The same before Linux 5.19. */
	{"bpf", MAY_ATTACH, 0, BPF_RAW_TRACEPOINT_OPEN},
	{"bpf", MAY_MAKE_MAPS, 0, BPF_ITER_CREATE},
	{"socket", MAY_SERVE, 0, AF_UNIX},
	{"socket", MAY_SERVE, 0, AF_INET},
	{"socket", MAY_SERVE, 0, AF_INET6},
	/* Whether a process exists. */
	{"kill", MAY_OBSERVE, 1, 0},
	{"open", 0, 1, 0, OPENS_TO_CHANGE & ~O_DIRECTORY},
	{"openat", 0, 2, 0, OPENS_TO_CHANGE & ~O_DIRECTORY},
};

#define NEW_NAMESPACES                                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

bool confine_has_seccomp(void)
{
	/* EFAULT: the kernel would look at the filter. */
	return prctl(PR_SET_SECCOMP, FILTER_MODE, NULL, 0, 0) < 0 && errno == EFAULT;
}

static bool is_allowed(unsigned needed, unsigned may)
{
	return needed == 0 || needed & may;
}

/* With any arguments: no part of it needs a rule. */
static bool is_allowed_whole(const char *name, unsigned may)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].name, name) == 0)
			return is_allowed(calls[i].may, may);
	return false;
}

/* A name that this architecture lacks needs no rule. */
static int allow(scmp_filter_ctx filter, const char *name, const struct scmp_arg_cmp *condition)
{
	int number = seccomp_syscall_resolve_name(name), r;

	if (number == __NR_SCMP_ERROR)
		return 0;
	r = condition ? seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 1, condition)
		      : seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
	return r == -EEXIST ? 0 : r;
}

static int fill(scmp_filter_ctx filter, unsigned may)
{
	struct scmp_arg_cmp no_namespaces = SCMP_A0_64(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0);
	int r = allow(filter, "clone", &no_namespaces);

	/* Its flags are behind a pointer; the C library then uses clone. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(calls); i++)
		if (is_allowed(calls[i].may, may))
			r = allow(filter, calls[i].name, NULL);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		const struct part *part = &parts[i];
		struct scmp_arg_cmp is_value =
			SCMP_CMP(part->argument, SCMP_CMP_MASKED_EQ, part->mask ?: UINT64_MAX, part->value);

		if (is_allowed(part->may, may) && !is_allowed_whole(part->name, may))
			r = allow(filter, part->name, &is_value);
	}
	return r;
}

int confine_filter_calls(unsigned may, struct why *why)
{
	scmp_filter_ctx filter;
	int r;

	if (!confine_has_seccomp())
		return 0;
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return why_set(why, -ENOMEM, "cannot give up privilege: seccomp_init failed");
	/* A tree of comparisons instead of a chain. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	r = fill(filter, may);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? why_set(why, r, "cannot give up privilege: seccomp: %s", strerror(-r)) : 0;
}
