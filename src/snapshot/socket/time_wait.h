/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "snapshot/core/snapshot.h"

/*
 * Removes sockets in TIME_WAIT from a snapshot. They stay a minute after their connection has ended, hold back nothing,
 * and are most rows of a host with many short connections. Their number is in the table memory.
 */
void snapshot_drop_time_wait(struct snapshot *snapshot);
