/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a report that is about packets' ways through the host (nest path --save). */
#pragma once

#include "base/out.h"
#include "store/input.h"

/* The slowest journeys in a sentence each, and which stage owns the tail; nothing where the recording has none. */
int report_journeys_print(const struct input_options *input, struct out *out, struct why *why) _must_check_;
