/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dummy.look: a socket changes its state. */
#pragma once

#include "event/core/head.h"

struct dummy_look {
	__u32 dummies;
	__u32 unused;
};

struct dummy_look_event {
	struct event_head head;
	struct dummy_look data;
};
