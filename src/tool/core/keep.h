/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata of recorded events: hooks and losses. */
#pragma once

#include "event/core/live.h"
#include "store/store.h"

/* For one request, at the end of a run. */
int keep_source(struct store *store, const struct live *live, unsigned request, const struct event *event) _must_check_;
