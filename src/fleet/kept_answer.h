/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of ClickHouse that stays: all rows in memory, cells by name. */
#pragma once

#include "base/vec.h"
#include "fleet/fleet_query.h"

/* Steps of a picture of the span. */
#define FLEET_STEPS 60

/* More rows are left out. */
#define KEPT_ROWS_MAX 100000

struct kept_answer {
	struct record_type type;
	VEC(struct field) fields;
	VEC(char) rows; /* of type.size bytes each */
	uint32_t count;
	bool asked;
};

/* The time that questions are about, and the host. */
struct fleet_span {
	uint64_t from_ns, to_ns;
	const char *host; /* NULL: all of them */
};

/* How wide a step is: whole seconds. */
uint64_t fleet_span_step(const struct fleet_span *span);

/*
 * In the question, @name stands for a table, rows that arrived twice counted once; @time for rows of the span, @step
 * for the width of a picture's steps in nanoseconds.
 */
int kept_answer_ask(struct fleet_link *link, const struct fleet_span *span, const char *question,
		    struct kept_answer *kept, struct why *why) _must_check_;
void kept_answer_done(struct kept_answer *kept);
const void *kept_answer_row(const struct kept_answer *kept, uint32_t number);
struct value kept_answer_cell(const struct kept_answer *kept, uint32_t row, const char *name);
/* 0 where it is unknown. */
uint64_t kept_answer_number(const struct kept_answer *kept, uint32_t row, const char *name);
/* "-" where it is unknown. */
const char *kept_answer_text(const struct kept_answer *kept, uint32_t row, const char *name);
/* Whether the answer has a row with this text. */
bool kept_answer_has(const struct kept_answer *kept, const char *name, const char *text);
/* The names of the tables of the database, in column `name`. */
int kept_answer_tables(struct fleet_link *link, struct kept_answer *kept, struct why *why) _must_check_;
