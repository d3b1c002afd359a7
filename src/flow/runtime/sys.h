/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw system calls: the C library's wrappers are cancellation points, and a hook must not become one. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int sys_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static inline int sys_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline int sys_move(int fd, int floor)
{
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, floor);
}

static inline ssize_t sys_write(int fd, const void *from, size_t n)
{
	return syscall(SYS_write, fd, from, n);
}

static inline ssize_t sys_pread(int fd, void *to, size_t n, uint64_t at)
{
	return syscall(SYS_pread64, fd, to, n, at);
}

static inline ssize_t sys_pwrite(int fd, const void *from, size_t n, uint64_t at)
{
	return syscall(SYS_pwrite64, fd, from, n, at);
}

/* Name of the calling thread, 16 bytes. */
static inline int sys_thread_name(char *to)
{
	return (int)syscall(SYS_prctl, PR_GET_NAME, to);
}

/* All but SIGBUS, which must reach guard.c whatever the thread is doing. */
#define ALL_SIGNALS (~(UINT64_C(1) << (SIGBUS - 1)))

/* Returns the previous mask: the kernel's set has 64 signals. */
static inline uint64_t sys_block_signals(uint64_t set)
{
	uint64_t old = 0;

	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &old, sizeof(old));
	return old;
}
