/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One network namespace out of a snapshot of several, as a snapshot of its own: tables that say which namespace a
 * record belongs to hold the records of this one, all others (processes, TCP variables, owners) are the whole's.
 * Positions that records refer to stay right, because the tables they point into are never cut.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct snapshot_slice;

struct snapshot_slice *snapshot_slice_new(void);
void snapshot_slice_free(struct snapshot_slice *slice);
/* Valid until the whole is taken again or another slice is cut with this object. Not to be taken, cleared or freed. */
const struct snapshot *snapshot_slice_cut(struct snapshot_slice *slice, const struct snapshot *whole, uint32_t netns);
