/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A journey with its stages as one record, for JSON and the other formats of view/output.h. */
#pragma once

#include "path/journey/journey.h"
#include "record/value.h"

struct journey_lists {
	struct list stages; /* of struct journey_stage */
	struct list hidden; /* of uint8_t, enum path_stage */
};

struct journey_record {
	struct record record;
	struct journey_lists lists;
	uint8_t hidden[PATH_STAGES];
};

/* The fields of journey_type, with the hidden stages as a list of names, then the stages. */
const struct shape *journey_record_shape(void);
/* The record points into the journey and into itself. */
void journey_record_fill(struct journey_record *record, const struct journey *journey);
