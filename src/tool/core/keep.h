/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording says about its events: where they were seen, and what was lost. */
#pragma once

#include "event/core/live.h"
#include "store/store.h"

/* Of one request of the source; at the end of a run. */
int keep_source(struct store *store, const struct live *live, unsigned request, const struct event *event) _must_check_;
