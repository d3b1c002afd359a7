/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Socket setup: sock.create, sock.bind, sock.listen. */
#pragma once

#include "event/core/head.h"

struct sock_create {
	__u32 error; /* errno; 0: none */
	__u32 fd;    /* unknown on error */
	__u8 type;
	__u8 unused[7];
};

struct sock_create_event {
	struct event_head head;
	struct sock_create data;
};

/* Socket options that affect bind(). */
#define SOCK_BIND_FREEBIND    1
#define SOCK_BIND_TRANSPARENT 2
#define SOCK_BIND_NO_PORT     4
#define SOCK_BIND_REUSEADDR   8
#define SOCK_BIND_REUSEPORT   16

struct sock_bind {
	__u32 error;
	__u32 ifindex; /* interface that the socket is bound to; 0: none */
	__u32 asked_port;
	__u8 options;
	__u8 unused[3];
	char path[EVENT_PATH_LEN]; /* of a UNIX socket */
};

struct sock_bind_event {
	struct event_head head;
	struct sock_bind data;
};

struct sock_listen {
	__u32 error;
	__s32 asked;
	__u32 backlog_max;
	__u32 unused;
};

struct sock_listen_event {
	struct event_head head;
	struct sock_listen data;
};
