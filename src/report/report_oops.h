/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report's section on reports in the kernel log (table "oops" of a recording). */
#pragma once

#include "report/report.h"

/* Adds one row per signature; where the kernel log was not followed, the reason. */
int report_oops_read(struct report *report, struct recording *recording, const struct time_range *range,
		     struct why *why) _must_check_;
