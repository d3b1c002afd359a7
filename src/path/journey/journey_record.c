/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "path/journey/journey_record.h"

/* A bare name, as a list item. */
struct stage_name {
	uint8_t stage;
};

static const struct field name_fields[] = {
	FIELD(struct stage_name, stage, ENUM, "a stage", .names = &path_stage_names),
};
static RECORD_TYPE(name_type, "stage_name", struct stage_name, name_fields, "a stage", .bare = true);

#define L struct journey_lists
static const struct field list_fields[] = {
	FIELD(L, stages, LIST, "stages in order of time", .element = &journey_stage_type),
	FIELD(L, hidden, LIST, "stages not traced in this run; the packet may have passed them", .element = &name_type),
};
#undef L
static RECORD_TYPE(lists_type, "journey_lists", struct journey_lists, list_fields, "stages of a journey");

#define FIELDS_MAX 64

const struct shape *journey_record_shape(void)
{
	static struct field fields[FIELDS_MAX];
	static struct record_type head;
	static struct shape shape;

	if (shape.count)
		return &shape;
	head = journey_type;
	head.fields = fields;
	head.field_count = 0;
	/* Same name, but a list is more readable than bits. */
	for (uint32_t i = 0; i < journey_type.field_count && head.field_count < FIELDS_MAX; i++)
		if (strcmp(journey_type.fields[i].name, "hidden") != 0)
			fields[head.field_count++] = journey_type.fields[i];
	shape = (struct shape){.count = 2, .types = {&head, &lists_type}};
	return &shape;
}

void journey_record_fill(struct journey_record *record, const struct journey *journey)
{
	const uint8_t *order = path_order(journey->dir);
	uint32_t count = 0;

	for (unsigned i = 0; i < PATH_ORDER_COUNT; i++)
		if (journey->hidden >> order[i] & 1)
			record->hidden[count++] = order[i];
	record->lists.stages = (struct list){journey->stages, journey->stage_count};
	record->lists.hidden = (struct list){record->hidden, count};
	record->record = (struct record){.parts = {journey, &record->lists}};
}
