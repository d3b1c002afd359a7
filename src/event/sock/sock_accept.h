/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* sock.accept: an application accepted a connection. */
#pragma once

#include "event/core/head.h"

struct sock_accept {
	__u32 error; /* errno; 0: none */
	__u32 fd;    /* unknown on error */
};

struct sock_accept_event {
	struct event_head head;
	struct sock_accept data;
};
