/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* sock.call: a network system call. */
#pragma once

#include "event/core/head.h"

/* The calls of `strace -e trace=network`. Recordings contain the numbers: add new ones at the end. */
#define SOCK_CALLS(X)                                                                                                  \
	X(1, socket)                                                                                                   \
	X(2, connect)                                                                                                  \
	X(3, accept)                                                                                                   \
	X(4, sendto)                                                                                                   \
	X(5, recvfrom)                                                                                                 \
	X(6, sendmsg)                                                                                                  \
	X(7, recvmsg)                                                                                                  \
	X(8, shutdown)                                                                                                 \
	X(9, bind)                                                                                                     \
	X(10, listen)                                                                                                  \
	X(11, getsockname)                                                                                             \
	X(12, getpeername)                                                                                             \
	X(13, socketpair)                                                                                              \
	X(14, setsockopt)                                                                                              \
	X(15, getsockopt)                                                                                              \
	X(16, accept4)                                                                                                 \
	X(17, recvmmsg)                                                                                                \
	X(18, sendmmsg)                                                                                                \
	X(19, sendfile)

#define SOCK_CALL_NUMBER(number, name) SOCK_CALL_##name = (number),
enum sock_call_kind { SOCK_CALL_NONE, SOCK_CALLS(SOCK_CALL_NUMBER) };
#undef SOCK_CALL_NUMBER

#define SOCK_CALL_ARGS     6
#define SOCK_CALL_TEXT_LEN 160
#define SOCK_CALL_NO_VALUE (-0x7fffffff - 1)

struct sock_call {
	__u64 lat_ns; /* unknown if it began before the run */
	__s64 result; /* as the application sees it: -1 on error */
	__u64 bytes;  /* sent or received; unknown for other calls */
	__u64 raw[SOCK_CALL_ARGS];
	__u32 fd;    /* of the socket, or of the new one */
	__u32 error; /* errno */
	__s32 value; /* of an option; of socketpair the first descriptor */
	__s32 pair;  /* of socketpair the second descriptor */
	__u16 port;
	__u8 call;
	__u8 unused[4];
	struct addr addr;          /* passed in or returned */
	char path[EVENT_PATH_LEN]; /* the same for a UNIX socket */
	/* Made in user space: the arguments as text. */
	char args[SOCK_CALL_TEXT_LEN];
};

struct sock_call_event {
	struct event_head head;
	struct sock_call data;
};
