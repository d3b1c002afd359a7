/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of sd_notify(3): the service manager learns when the agent is ready, that it still samples, and that it
 * ends. Without NOTIFY_SOCKET in the environment it does nothing.
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"

struct watchdog;

/* alive: asked half as often as the service manager expects to hear; false: nothing is said, and it restarts us. */
int watchdog_new(struct loop *loop, bool (*alive)(void *context), void *context, struct watchdog **ret_watchdog,
		 struct why *why) _must_check_;
void watchdog_ready(struct watchdog *watchdog);
/* The service ends. */
void watchdog_free(struct watchdog *watchdog);
