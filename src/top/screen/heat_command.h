/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line that draws a tool or an event as a heat map over time, and the one before it. */
#pragma once

#include "base/buf.h"
#include "base/why.h"

/* Switches between both. -EINVAL with a sentence when there is nothing to draw. */
int heat_command_switch(const char *command, struct buf *ret_command, struct why *why) _must_check_;
