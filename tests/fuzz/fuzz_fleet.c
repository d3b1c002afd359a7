/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What servers and agents send: frames of batches with their rows, answers of ClickHouse in pieces, versions, lists of
 * columns. The first byte chooses.
 */
#include "fleet/answer.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_url.h"
#include "fuzz.h"

static void read_frames(const uint8_t *data, size_t size)
{
	struct batch batch;
	size_t at = 0, len;

	while (at < size && batch_read(data + at, size - at, &batch, &len) == 0) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
		struct why why = {};

		fuzz_require(len > 0 && len <= size - at && batch.rows > 0);
		if (batch_inflate(&batch, &text) == 0)
			(void)!fleet_row_check(buf_text(&text), text.len, &batch.origin, batch.first_row, batch.rows,
					       &why);
		batch_add(&again, &batch);
		fuzz_require(again.over || (again.len == len && memcmp(again.data, data + at, len) == 0));
		at += len;
	}
}

static void read_rows(const char *text, size_t len)
{
	struct fleet_origin origin = {.host = "h", .boot = "b", .stream = 1};
	struct why why = {};

	fuzz_require(fleet_row_check(text, len, &origin, 1, 1, &why) == 0 || why.text[0]);
}

struct seen {
	const struct record_type *type;
	uint64_t rows;
};

static int see_type(void *context, const struct record_type *type)
{
	struct seen *seen = context;

	fuzz_require(!seen->type);
	seen->type = type;
	return 0;
}

static bool see_row(void *context, const void *row)
{
	struct seen *seen = context;

	fuzz_require(seen->type);
	for (uint32_t i = 0; i < seen->type->field_count; i++) {
		struct value value = value_get(&seen->type->fields[i], row);

		fuzz_require(value.class != VALUE_TEXT || memchr(value.text, '\0', value.len + 1));
	}
	return ++seen->rows < 1000;
}

static void read_answer(const char *text, size_t len, size_t step)
{
	struct answer *answer = answer_new();
	struct seen seen = {};
	struct answer_ops ops = {.type = see_type, .row = see_row, .context = &seen};
	struct why why = {};
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += step)
		r = answer_add(answer, text + at, min_of(step, len - at), &ops, &why);
	if (r == 0)
		r = answer_end(answer, &ops, &why);
	fuzz_require(r == 0 || r == -ECANCELED || why.text[0]);
	answer_free(answer);
}

static void read_words(const char *text, size_t len)
{
	struct batch batch = {.origin = {.host = "h", .boot = "b"}, .table = "mark"};
	_cleanup_buf_ struct buf sql = BUF_INIT(1 << 16);
	struct clickhouse_version version;
	struct fleet_table table;

	(void)!clickhouse_parse_version(text, &version);
	(void)clickhouse_found(text, len, &batch);
	(void)clickhouse_refuses_rows(400, text, strlen(text));
	(void)!fleet_table_find(text, &table);
	fuzz_require(fleet_table_find("mark", &table) == 0);
	(void)clickhouse_add_alter(&sql, "d", &table, text, (struct clickhouse_version){25, 1});
	clickhouse_add_text(&sql, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = size > 2 ? fuzz_text(data + 2, size - 2) : NULL;
	size_t len = text ? strlen(text) : 0;

	if (!text)
		return 0;
	switch (data[0] & 3) {
	case 0:
		read_frames(data + 2, size - 2);
		break;
	case 1:
		read_rows(text, len);
		break;
	case 2:
		read_answer(text, len, data[1] + 1u);
		break;
	default:
		read_words(text, len);
	}
	return 0;
}
