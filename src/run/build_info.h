/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this program is: version, commit, libraries, BPF objects. */
#pragma once

#include "base/buf.h"

/* The lines of nest version. */
void build_info_add(struct buf *text);
