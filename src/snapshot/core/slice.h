/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views of a snapshot, one network namespace each: tables with a field netns hold only its records, all others
 * (processes, TCP variables, owners) are shared. Indices in records stay valid, because the tables they point into are
 * not filtered. A sample is divided once, whatever the number of namespaces:
 *
 *	snapshot_slice_divide(slice, whole);
 *	for each namespace
 *		window_add(..., snapshot_slice_cut(slice, netns));
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct snapshot_slice;

struct snapshot_slice *snapshot_slice_new(void);
void snapshot_slice_free(struct snapshot_slice *slice);
void snapshot_slice_divide(struct snapshot_slice *slice, const struct snapshot *whole);
/* Valid until the next cut or sample. Do not take, clear or free it. */
const struct snapshot *snapshot_slice_cut(struct snapshot_slice *slice, uint32_t netns);
