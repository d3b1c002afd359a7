/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "snapshot/core/snapshot.h"

/* Links sockets to their TCP records and owners in a snapshot whose tables were loaded from a recording. */
void snapshot_join(struct snapshot *snapshot);
