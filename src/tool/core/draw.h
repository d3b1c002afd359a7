/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of events where a row of a table does not do: histograms, and stacks with one function per line. */
#pragma once

#include "base/out.h"
#include "tool/core/aggregate.h"

/* Whether the rows have functions among their keys. */
bool draw_has_stack(const struct aggregate *aggregate);
void draw_hist(const struct aggregate *aggregate, const void *row, struct out *out);
void draw_stack(const struct aggregate *aggregate, const void *row, struct out *out);
