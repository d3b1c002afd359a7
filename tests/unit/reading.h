/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures that mean nothing, for tests of the diagnosis without networks. */
#pragma once

#include "record/field.h"

struct reading {
	uint64_t level;
	uint64_t other;
};

static const struct field reading_fields[] = {
	FIELD(struct reading, level, COUNT, "a measure"),
	FIELD(struct reading, other, COUNT, "another one"),
};
static const struct record_type reading_type = {.name = "reading",
						.fields = reading_fields,
						.field_count = ARRAY_SIZE(reading_fields),
						.size = sizeof(struct reading)};
