/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* sock.connect: a connect succeeded or failed. sock.firstbyte: first read on an outgoing connection. */
#pragma once

#include "event/core/head.h"

struct sock_connect {
	__u64 lat_ns;
	__u32 error;
	__u32 unused;
	char path[EVENT_PATH_LEN]; /* of a UNIX socket */
};

struct sock_connect_event {
	struct event_head head;
	struct sock_connect data;
};

struct sock_firstbyte {
	__u64 lat_ns;
	__u64 bytes;
};

struct sock_firstbyte_event {
	struct event_head head;
	struct sock_firstbyte data;
};
