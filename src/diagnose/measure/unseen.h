/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the snapshots could not show: their gaps. A verdict says what it did not look at. */
#pragma once

#include "record/field.h"

struct unseen_record {
	const char *what; /* the source that failed */
	const char *why;
	const char *lost; /* what is not known for it */
};

extern const struct record_type unseen_type;
