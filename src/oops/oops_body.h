/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a report after its headline. */
#pragma once

#include "oops/oops.h"

/* Which trace of a report is being read. */
enum oops_part { OOPS_PART_MAIN, OOPS_PART_ALLOCATED, OOPS_PART_FREED, OOPS_PART_OTHER };

struct oops_body {
	struct oops *oops;
	bool started;   /* process, registers or trace were seen */
	bool in_trace;  /* the previous line was of a trace */
	bool traced;    /* the main trace is complete */
	bool user_mode; /* registers and code from here on are the program's */
	bool ended;
	uint8_t part;    /* enum oops_part */
	uint8_t section; /* enum oops_section */
};

/* False: the line is none of a report. */
bool oops_body_read(struct oops_body *body, const char *line);
