/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of the fleet: sections, each the answer of ClickHouse to one question of a table of questions. The section
 * `accused` counts how many of the hosts that talk to an address accuse it or the path to it; conclusions follow from
 * that: what many hosts accuse is at fault, and a host that alone accuses many is at fault itself.
 */
#pragma once

#include "base/out.h"
#include "fleet/kept_answer.h"

#define FLEET_REPORT_SCHEMA "nest.fleet-report/1"

struct fleet_report;

/* Of the rows in this time, of all hosts or of one. The span's host stays the caller's. */
int fleet_report_make(struct fleet_link *link, const struct fleet_span *span, struct fleet_report **ret_report,
		      struct why *why) _must_check_;
void fleet_report_free(struct fleet_report *report);
static inline void fleet_report_freep(struct fleet_report **report)
{
	fleet_report_free(*report);
}
void fleet_report_print(const struct fleet_report *report, struct out *out);
void fleet_report_print_json(const struct fleet_report *report, struct out *out);
