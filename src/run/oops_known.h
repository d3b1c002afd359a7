/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording of the host knows about the moment of a kernel report. */
#pragma once

#include "base/buf.h"
#include "base/why.h"
#include "oops/oops.h"

/* The time of each line of a recorded log. */
struct oops_times {
	VEC(uint64_t) items;
};
void oops_times_done(struct oops_times *times);

/* The log lines of the reports that the recording holds. -ENODATA: it did not follow the kernel log. */
int oops_known_log(const char *path, struct buf *text, struct oops_times *ret_times, struct why *why) _must_check_;
/* Gives each report the time of its line. */
void oops_known_date(struct oops_list *list, const struct oops_times *times);
/* Adds the findings recorded around the time of each report. Returns how many reports the recording covers. */
int oops_known_add(struct oops_list *list, const char *path, struct why *why) _must_check_;
