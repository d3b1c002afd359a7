/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "snapshot/core/snapshot.h"

/* Tells the sockets where their second parts and their owners are, in a snapshot whose tables came from elsewhere. */
void snapshot_join(struct snapshot *snapshot);
