/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* Events of the socket layer. */
#pragma once

#include "event/core/head.h"

/* sock.send and sock.recv: one call. */
struct sock_io {
	__u64 bytes; /* unknown on error */
	__u32 error; /* errno; 0: none */
	__u32 unused;
};

struct sock_io_event {
	struct event_head head;
	struct sock_io data;
};
