/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines that start a report, or that make an open one more specific. */
#pragma once

#include "oops/oops.h"

struct oops_start {
	const char *pattern; /* of the whole line */
	enum oops_kind kind;
	uint8_t rank;     /* of the lines of one report, the highest determines its kind */
	bool joins;       /* may be a further line of a report that has no trace yet */
	bool alone;       /* the report is this line */
	const char *from; /* what happened is the rest of the line behind this; NULL: the reader or oops_what.c knows */
	void (*read)(struct oops *oops, const char *line);
};

/* NULL: the line starts nothing. ret_bit: one of its own for each kind of line. */
const struct oops_start *oops_start_find(const char *line, uint64_t *ret_bit);
/* Fills the report from the line: what, place and device, as far as the line has them. */
void oops_start_read(const struct oops_start *start, struct oops *oops, const char *line);

/* Sets function, offset, size and module of the report, unless they are known. */
void oops_start_place(struct oops *oops, const char *text);
