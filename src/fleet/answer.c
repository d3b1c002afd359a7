/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/answer.h"

#include <errno.h>
#include <string.h>

#include "base/parse.h"

#define COLUMNS_MAX    1000
#define LINE_MAX_BYTES ((size_t)16 << 20)

struct answer {
	struct buf line; /* that is not whole yet */
	unsigned lines;  /* of the head: names, types */
	VEC(char *) names;
	VEC(struct field) fields;
	VEC(struct buf) texts; /* of the columns of the current row */
	struct record_type type;
	uint64_t *values;
	uint64_t unfit;
	bool announced;
};

struct answer *answer_new(void)
{
	struct answer *answer = xzalloc(sizeof(*answer));

	answer->line = BUF_INIT(LINE_MAX_BYTES);
	return answer;
}

void answer_free(struct answer *answer)
{
	if (!answer)
		return;
	buf_done(&answer->line);
	vec_each(&answer->names, name)
		free(*name);
	vec_done(&answer->names);
	vec_each(&answer->texts, text)
		buf_done(text);
	vec_done(&answer->texts);
	vec_done(&answer->fields);
	free(answer->values);
	free(answer);
}

/* --- cells --- */

static char unescaped(char c)
{
	static const char from[] = "bfrnt0", to[] = "\b\f\r\n\t";
	const char *at = strchr(from, c);

	if (!c || !at)
		return c;
	/* A NUL would end the text. */
	return c == '0' ? ' ' : to[at - from];
}

/* The cell without its escapes; false: NULL. */
static bool read_cell(struct buf *out, const char *cell, size_t len)
{
	buf_clear(out);
	if (len == 2 && memcmp(cell, "\\N", 2) == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (cell[i] == '\\' && i + 1 < len)
			buf_add_char(out, unescaped(cell[++i]));
		else
			buf_add_char(out, cell[i] ? cell[i] : ' ');
	}
	return !out->over;
}

/* The cell at *at, and *at behind its tab; false: there is no more. */
static bool next_cell(const char **at, const char *end, const char **ret_cell, size_t *ret_len)
{
	const char *tab;

	if (*at > end)
		return false;
	tab = memchr(*at, '\t', (size_t)(end - *at));
	*ret_cell = *at;
	*ret_len = (size_t)((tab ? tab : end) - *at);
	*at = tab ? tab + 1 : end + 1;
	return true;
}

/* --- the head --- */

static bool is_taken(const struct answer *answer, const char *name)
{
	vec_each(&answer->names, other)
		if (strcmp(*other, name) == 0)
			return true;
	return false;
}

static int read_names(struct answer *answer, const char *line, size_t len, struct why *why)
{
	const char *at = line, *cell;
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	size_t cell_len;

	while (next_cell(&at, line + len, &cell, &cell_len)) {
		char *own;

		if (answer->names.count >= COLUMNS_MAX)
			return why_set(why, -EBADMSG, "the answer has more than %d columns", COLUMNS_MAX);
		(void)read_cell(&text, cell, cell_len);
		own = xstrdup(buf_text(&text));
		for (unsigned n = 2; is_taken(answer, own); n++) {
			free(own);
			own = xasprintf("%s_%u", buf_text(&text), n);
		}
		vec_push(&answer->names, own);
	}
	return 0;
}

/* A name means the same in every table. */
static const struct field *find_field(const char *name)
{
	registry_each(record_type, type)
		for (uint32_t i = 0; i < (*type)->field_count; i++)
			if (strcmp((*type)->fields[i].name, name) == 0)
				return &(*type)->fields[i];
	return NULL;
}

/* The type inside Nullable(..) and LowCardinality(..). */
static const char *inner_type(const char *type)
{
	static const char *const around[] = {"LowCardinality(", "Nullable("};

	for (size_t i = 0; i < ARRAY_SIZE(around); i++)
		if (strncmp(type, around[i], strlen(around[i])) == 0)
			type += strlen(around[i]);
	return type;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* An integer without a field of its name: names say the unit. */
static enum field_kind kind_of_name(const char *name)
{
	return ends_with(name, "_bytes") ? KIND_BYTES : ends_with(name, "_ns") ? KIND_DURATION : KIND_ID;
}

static void set_kind(struct field *field, const char *type)
{
	const struct field *origin = find_field(field->name);

	type = inner_type(type);
	if (strncmp(type, "UInt", 4) == 0 || strncmp(type, "Int", 3) == 0) {
		field->kind = origin ? KIND_ID : kind_of_name(field->name);
		field->store = strncmp(type, "UInt", 4) == 0 ? STORE_U64 : STORE_I64;
		if (origin && (origin->kind == KIND_COUNT || origin->kind == KIND_BYTES ||
			       origin->kind == KIND_DURATION || (origin->kind == KIND_TIME && type[0] == 'U'))) {
			field->kind = origin->kind;
			field->unit = origin->unit;
			field->exact = origin->exact;
			field->as_bits = origin->as_bits;
		}
	} else if (strncmp(type, "Float", 5) == 0 || strncmp(type, "Decimal", 7) == 0) {
		field->kind = KIND_RATIO;
		field->store = STORE_DOUBLE;
		field->unit = origin && origin->kind == KIND_RATIO ? origin->unit : NULL;
	} else {
		field->kind = KIND_TEXT;
		field->store = STORE_STRING;
	}
}

static int read_types(struct answer *answer, const char *line, size_t len, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	const char *at = line, *cell;
	size_t cell_len;

	while (answer->fields.count < answer->names.count && next_cell(&at, line + len, &cell, &cell_len)) {
		struct field field = {.name = answer->names.items[answer->fields.count],
				      .help = "a column of the answer",
				      .offset = (uint32_t)(answer->fields.count * sizeof(uint64_t)),
				      .size = sizeof(uint64_t)};

		(void)read_cell(&text, cell, cell_len);
		set_kind(&field, buf_text(&text));
		vec_push(&answer->fields, field);
		vec_push(&answer->texts, BUF_INIT(LINE_MAX_BYTES));
	}
	if (answer->fields.count != answer->names.count || at <= line + len)
		return why_set(why, -EBADMSG, "the answer names other columns than it has");
	answer->values = xzalloc((answer->fields.count + 1) * sizeof(*answer->values));
	answer->type = (struct record_type){.name = "answer",
					    .help = "a row of the answer",
					    .fields = answer->fields.items,
					    .field_count = (uint32_t)answer->fields.count,
					    .size = (uint32_t)(answer->fields.count * sizeof(uint64_t))};
	return 0;
}

/* --- rows --- */

static bool set_value(const struct field *field, const char *text, uint64_t *value)
{
	double real;
	int64_t number;

	switch (field->store) {
	case STORE_U64:
		return parse_decimal(text, 0, UINT64_MAX, value) == 0;
	case STORE_I64:
		if (parse_i64(text, INT64_MIN, INT64_MAX, &number) < 0)
			return false;
		memcpy(value, &number, sizeof(number));
		return true;
	case STORE_DOUBLE:
		if (parse_double(text, -1e308, 1e308, &real) < 0)
			return false;
		memcpy(value, &real, sizeof(real));
		return true;
	default:
		memcpy(value, &text, sizeof(text));
		return true;
	}
}

static int read_row(struct answer *answer, const char *line, size_t len, struct why *why)
{
	const char *at = line, *cell;
	size_t cell_len, count = 0;

	while (count < answer->fields.count && next_cell(&at, line + len, &cell, &cell_len)) {
		const struct field *field = &answer->fields.items[count];
		struct buf *text = &answer->texts.items[count];

		value_set_unknown(field, answer->values);
		/* "nan" of an average over nothing is unknown, not a misfit. */
		if (read_cell(text, cell, cell_len) && !set_value(field, buf_text(text), &answer->values[count])) {
			answer->unfit += field->store != STORE_DOUBLE;
			value_set_unknown(field, answer->values);
		}
		count++;
	}
	if (count != answer->fields.count || at <= line + len)
		return why_set(why, -EBADMSG, "a row of the answer has other columns than the first");
	return 0;
}

static int announce(struct answer *answer, const struct answer_ops *ops)
{
	if (answer->announced)
		return 0;
	answer->announced = true;
	return ops->type ? ops->type(ops->context, &answer->type) : 0;
}

static int take_line(struct answer *answer, const struct answer_ops *ops, struct why *why)
{
	const char *line = buf_text(&answer->line);
	size_t len = answer->line.len;
	int r;

	if (answer->lines == 0)
		r = read_names(answer, line, len, why);
	else if (answer->lines == 1)
		r = read_types(answer, line, len, why);
	else
		r = read_row(answer, line, len, why);
	if (r == 0 && answer->lines >= 1)
		r = announce(answer, ops);
	if (r == 0 && answer->lines >= 2 && !ops->row(ops->context, answer->values))
		r = -ECANCELED;
	if (answer->lines < 2)
		answer->lines++;
	return r;
}

int answer_add(struct answer *answer, const char *data, size_t len, const struct answer_ops *ops, struct why *why)
{
	const char *end = data + len;
	int r = 0;

	while (r == 0 && data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));

		buf_add(&answer->line, data, (size_t)((newline ? newline : end) - data));
		if (answer->line.over)
			return why_set(why, -EBADMSG, "a line of the answer is longer than %zu bytes", LINE_MAX_BYTES);
		if (!newline)
			return 0;
		r = take_line(answer, ops, why);
		buf_clear(&answer->line);
		data = newline + 1;
	}
	return r;
}

int answer_end(struct answer *answer, const struct answer_ops *ops, struct why *why)
{
	/* A statement without a result answers with nothing. */
	if (answer->lines == 1 || answer->line.len)
		return why_set(why, -EBADMSG, "the answer is cut");
	return announce(answer, ops);
}

uint64_t answer_unfit(const struct answer *answer)
{
	return answer->unfit;
}
