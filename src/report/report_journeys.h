/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report's section on packet journeys through the host (nest path --save). */
#pragma once

#include "base/out.h"
#include "store/input.h"

/* One line for each of the slowest journeys, and the stage that causes the tail; nothing if none was recorded. */
int report_journeys_print(const struct input_options *input, struct out *out, struct why *why) _must_check_;
