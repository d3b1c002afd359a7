/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carrying out a plan: what `nest trace` and all tools share once they know what to do. */
#pragma once

#include "tool/core/tool.h"

/* Returns an exit code; everything that is to be said has been said. */
int trace_run(const struct trace_plan *plan, const struct trace_options *options);
