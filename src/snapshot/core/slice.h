/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A view of one network namespace of a snapshot: tables with a field netns hold only its records, all others
 * (processes, TCP variables, owners) are shared. Indices in records stay valid, because the tables they point into are
 * not filtered.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct snapshot_slice;

struct snapshot_slice *snapshot_slice_new(void);
void snapshot_slice_free(struct snapshot_slice *slice);
/* Valid until the next sample of WHOLE or the next cut with this slice. Do not take, clear or free it. */
const struct snapshot *snapshot_slice_cut(struct snapshot_slice *slice, const struct snapshot *whole, uint32_t netns);
