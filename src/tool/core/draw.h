/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregates that do not fit in a table row: histograms, and stacks with one function per line. */
#pragma once

#include "base/out.h"
#include "tool/core/aggregate.h"

/* Whether a key of the rows is a stack. */
bool draw_has_stack(const struct aggregate *aggregate);
void draw_hist(const struct aggregate *aggregate, const void *row, struct out *out);
void draw_stack(const struct aggregate *aggregate, const void *row, struct out *out);
