/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of the snapshot as it is. */
#pragma once

#include "top/model/top_table.h"

/* For .fill: all records of the shape's first type. */
void top_plain_fill(struct grid *grid, const struct top_moment *moment, void *state);
