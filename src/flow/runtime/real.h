/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Original C library functions behind the runtime's wrappers. */
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* Of programs built with _FORTIFY_SOURCE; no header declares it. */
int __vfprintf_chk(FILE *file, int flag, const char *format, va_list args);

#define REAL_FUNCTIONS(x)                                                                                              \
	x(prctl) x(pthread_setname_np) x(accept) x(accept4) x(connect) x(bind) x(listen) x(socket) x(socketpair)       \
		x(read) x(readv) x(recv) x(recvfrom) x(recvmsg) x(recvmmsg) x(write) x(writev) x(send) x(sendto)       \
			x(sendmsg) x(sendmmsg) x(sendfile) x(splice) x(close) x(shutdown) x(dup) x(dup2) x(dup3)       \
				x(fcntl) x(close_range) x(closefrom) x(epoll_ctl) x(epoll_wait) x(epoll_pwait) x(poll) \
					x(ppoll) x(select) x(pselect) x(fclose) x(fflush) x(fwrite) x(fputs) x(fputc)  \
						x(putc) x(vfprintf) x(__vfprintf_chk) x(dlopen) x(dlclose) x(execve)   \
							x(execv) x(execvp) x(execvpe) x(fexecve) x(swapcontext)        \
								x(setcontext)

struct real_functions {
#define REAL_MEMBER(name) __typeof__(name) *name;
	REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct real_functions real __attribute__((visibility("hidden")));

/* Looked up once in the constructor, or earlier when another library's constructor calls a wrapper. */
void real_find(void);

/* Whether there is an original, also before the constructor ran. */
#define READY(name) (likely(real.name) || (real_find(), real.name))
