/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* sock.pass: a file descriptor was passed over a UNIX socket (SCM_RIGHTS). */
#pragma once

#include "event/core/head.h"

enum sock_pass_action { SOCK_PASS_SEND = 1, SOCK_PASS_RECV };

struct sock_pass {
	__u32 socket_fd;
	__u32 fd;
	__u8 action;
	__u8 unused[7];
	char file[48];
};

struct sock_pass_event {
	struct event_head head;
	struct sock_pass data;
};
