/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* dummy.state: a socket changes its state. */
#pragma once

#include "event/core/head.h"

struct dummy_state {
	__u32 dummies;
	__u32 unused;
};

struct dummy_state_event {
	struct event_head head;
	struct dummy_state data;
};
