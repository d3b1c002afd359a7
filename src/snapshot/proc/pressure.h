/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pressure stall information (PSI) of the host: type "pressure". */
#pragma once

#include "snapshot/core/snapshot.h"

struct pressure_record {
	char resource[12];
	bool full; /* all tasks stalled; otherwise some */
	double avg10, avg60, avg300;
	uint64_t total_ns;
};

extern const struct record_type pressure_type;

/* One line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"; -EBADMSG. */
int pressure_parse_line(const char *line, struct pressure_record *pressure) _must_check_;
void pressure_parse(struct snapshot *snapshot, const char *resource, const char *text);
