/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A source of the snapshot, and the table that it fills. */
#include "snapshot/core/snapshot.h"

struct dummy_record {
	uint64_t dummies;
};

static const struct field dummy_fields[] = {
	FIELD(struct dummy_record, dummies, COUNT, "always seven"),
};
static RECORD_TYPE(dummy_record_type, "dummies", struct dummy_record, dummy_fields, "a record of a new source");

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct dummy_record *dummy = snapshot_table_add(snapshot_table(snapshot, &dummy_record_type));

	(void)request;
	(void)why;
	if (dummy)
		dummy->dummies = 7;
	return 0;
}

static const struct record_type *const types[] = {&dummy_record_type, NULL};

static const struct snapshot_source dummy_source = {
	.name = "dummy",
	.lost = "nothing much",
	.types = types,
	.stage = STAGE_REST,
	.collect = collect,
};
SNAPSHOT_SOURCE(dummy_source);
