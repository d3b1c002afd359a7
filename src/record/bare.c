/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/bare.h"

struct bare_number {
	uint64_t number;
};

struct bare_text {
	const char *text;
};

static const struct field number_fields[] = {FIELD(struct bare_number, number, ID, "number")};
static const struct field text_fields[] = {FIELD(struct bare_text, text, TEXT, "text")};

/* Not registered: they are parts of other types, no records of their own. */
const struct record_type bare_number_type = {.name = "number",
					     .help = "a number",
					     .fields = number_fields,
					     .field_count = 1,
					     .size = sizeof(struct bare_number),
					     .bare = true};
const struct record_type bare_text_type = {.name = "text",
					   .help = "a text",
					   .fields = text_fields,
					   .field_count = 1,
					   .size = sizeof(struct bare_text),
					   .bare = true};

uint32_t bare_pool_put(struct bare_pool *pool, const char *text)
{
	uint32_t *at;
	bool is_new;

	pool->index.value_size = sizeof(*at);
	at = map_put(&pool->index, text, &is_new);
	if (is_new) {
		*at = (uint32_t)pool->texts.count;
		vec_push(&pool->texts, text);
	}
	return *at;
}

void bare_pool_done(struct bare_pool *pool)
{
	vec_done(&pool->texts);
	map_done(&pool->index);
}
