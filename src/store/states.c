/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State tables: most rows of a snapshot equal those of the previous one, so a row is written once, with the first and
 * last sample it is valid for. A row is identified by its content. The number `pos` keeps the order of a table, with
 * gaps between neighbours for later rows.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/map.h"
#include "store/moment.h"
#include "store/sql.h"
#include "store/states.h"
#include "store/store_inside.h"

#define POS_STEP INT64_C(1024)

/* Hash of a row's content: 128 bits with a random seed, so no collisions. */
struct content {
	uint64_t a, b;
};

struct held {
	int64_t row; /* 0: not written yet */
	int64_t pos;
	uint64_t first;   /* sample that it was written with */
	uint64_t sample;  /* the last one with this row */
	int64_t values[]; /* of states.moments, then of states.drifts */
};

/* A field of which the moment is stored, or which drifts, and its number among the columns. */
struct special {
	const struct field *field;
	int number;
};

enum plan_kind {
	ROW_NEW,
	ROW_CHANGED, /* the row of before ends, a new one begins */
	ROW_DRIFTED, /* likewise, at the same place */
	ROW_STAYS,
};

struct plan {
	struct content content;
	enum plan_kind kind;
	bool replaced; /* it drifted, and the row of before has the new values */
	int64_t pos;   /* 0: not known yet */
	int64_t row;   /* the one of before */
	uint64_t last; /* sample that was valid in */
};

struct states {
	struct store_table *table;
	struct map held; /* struct content -> struct held */
	VEC(struct plan) plans;
	VEC(struct special) moments;
	VEC(struct special) drifts;
	struct buf bytes;
	struct content seed;
	int64_t reference_ns, tolerance_ns; /* of the moments of this sample */
	sqlite3_stmt *end;
	sqlite3_stmt *update; /* of the drifting fields of a row */
	uint64_t sample, since_ns;
};

struct states *states_new(struct store_table *table)
{
	struct states *states = xzalloc(sizeof(*states));

	states->table = table;
	for (size_t i = 0; i < table->columns.count; i++) {
		const struct field *field = table->columns.items[i].ref.field;

		if (field->moment)
			vec_push(&states->moments, (struct special){field, (int)i});
		else if (field->drift > 0)
			vec_push(&states->drifts, (struct special){field, (int)i});
	}
	states->held =
		MAP_INIT(sizeof(struct content),
			 sizeof(struct held) + (states->moments.count + states->drifts.count) * sizeof(int64_t), 0);
	states->bytes = BUF_INIT((size_t)1 << 20);
	if (getrandom(&states->seed, sizeof(states->seed), 0) != sizeof(states->seed))
		states->seed = (struct content){(uintptr_t)states, (uint64_t)getpid()};
	return states;
}

void states_free(struct states *states)
{
	if (!states)
		return;
	map_done(&states->held);
	vec_done(&states->plans);
	vec_done(&states->moments);
	vec_done(&states->drifts);
	buf_done(&states->bytes);
	sqlite3_finalize(states->end);
	sqlite3_finalize(states->update);
	free(states);
}

/* --- content --- */

/*
 * Serialises a field, so that equal rows give equal bytes. Of a moment, and of a number that drifts, only whether it is
 * known: see hold_moments, has_drifted.
 */
static void add_content(struct buf *bytes, const struct field *field, const void *data)
{
	struct value value = value_get(field, data);

	if (field->incidental)
		return;
	if ((field->moment && value.class == VALUE_UINT) || (field->drift > 0 && value.class != VALUE_UNKNOWN)) {
		buf_add_char(bytes, 3);
		return;
	}
	switch (value.class) {
	case VALUE_UNKNOWN:
		buf_add_char(bytes, 0);
		return;
	case VALUE_TEXT:
		buf_add_char(bytes, 1);
		buf_add(bytes, &value.len, sizeof(value.len));
		buf_add(bytes, value.text, value.len);
		return;
	default:
		buf_add_char(bytes, 2);
		buf_add(bytes, (const char *)data + field->offset, field->size);
	}
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static struct content content_of(const struct content *seed, const char *bytes, size_t n)
{
	struct content c = *seed;
	uint64_t word[2];

	for (size_t at = 0; at < n; at += sizeof(word)) {
		memset(word, 0, sizeof(word));
		memcpy(word, bytes + at, min_of(n - at, sizeof(word)));
		c.a = fold(c.a ^ word[0] ^ UINT64_C(0xa0761d6478bd642f), word[1] ^ UINT64_C(0xe7037ed1a0b428db));
		c.b = fold(c.b ^ word[1] ^ UINT64_C(0x8ebc6af09c88c6e3), word[0] ^ UINT64_C(0x589965cc75374cc3)) + c.a;
	}
	c.a = fold(c.a ^ n, UINT64_C(0x1d8e4e27c47d124f));
	c.b = fold(c.b ^ n, UINT64_C(0xeb44accab455d165));
	return c;
}

/* --- moments --- */

static int64_t estimate(const struct states *states, const struct special *moment, const void *data)
{
	int64_t ns = 0;

	(void)moment_get(moment->field, data, states->reference_ns, &ns);
	return ns;
}

/* Whether all moments of the row are those that were written; if so, the row takes its durations from them. */
static bool hold_moments(const struct states *states, const struct held *held, void *data)
{
	for (size_t i = 0; i < states->moments.count; i++)
		if (!moment_holds(states->moments.items[i].field, held->values[i],
				  estimate(states, &states->moments.items[i], data), states->reference_ns,
				  states->tolerance_ns))
			return false;
	for (size_t i = 0; i < states->moments.count; i++)
		if (value_get(states->moments.items[i].field, data).class == VALUE_UINT)
			moment_set(states->moments.items[i].field, data, states->reference_ns, held->values[i]);
	return true;
}

static void bind_moments(const struct states *states, struct held *held, const void *data)
{
	for (size_t i = 0; i < states->moments.count; i++) {
		const struct special *moment = &states->moments.items[i];
		int64_t ns;

		if (!moment_get(moment->field, data, states->reference_ns, &ns))
			continue;
		held->values[i] = ns;
		(void)sqlite3_bind_int64(states->table->insert, STATE_COLUMNS + 1 + moment->number, ns);
	}
}

/* --- fields that drift --- */

/* The bits of a number, or what tells a text from others. */
static int64_t drift_value(const struct special *drift, const void *data)
{
	struct value value = value_get(drift->field, data);
	struct content none = {1, 1};

	if (value.class == VALUE_TEXT)
		return (int64_t)content_of(&none, value.text, value.len).a;
	return value.class == VALUE_UNKNOWN ? INT64_MIN : (int64_t)value.uint;
}

/* How far it moved; of a text: no distance. */
static double distance(const struct special *drift, int64_t before, int64_t now)
{
	double from, to;

	if (drift->field->store == STORE_DOUBLE) {
		memcpy(&from, &before, sizeof(from));
		memcpy(&to, &now, sizeof(to));
		return fabs(to - from);
	}
	return drift->field->kind == KIND_TEXT ? 0 : fabs((double)now - (double)before);
}

/* Whether a drifting field changed; ret_far: further than it drifts at rest. */
static bool has_drifted(const struct states *states, const struct held *held, const void *data, bool *ret_far)
{
	double seconds = (double)states->since_ns / (double)NSEC_PER_SEC;
	bool changed = false;

	*ret_far = false;
	for (size_t i = 0; i < states->drifts.count; i++) {
		const struct special *drift = &states->drifts.items[i];
		int64_t before = held->values[states->moments.count + i], now = drift_value(drift, data);

		if (before == now)
			continue;
		changed = true;
		*ret_far = *ret_far || distance(drift, before, now) > drift->field->drift * seconds;
	}
	return changed;
}

static void note_drifts(const struct states *states, struct held *held, const void *data)
{
	for (size_t i = 0; i < states->drifts.count; i++)
		held->values[states->moments.count + i] = drift_value(&states->drifts.items[i], data);
}

static int prepare_update(struct states *states)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(65536);

	if (states->update)
		return 0;
	buf_add_text(&sql, "UPDATE ");
	sql_add_name(&sql, states->table->name);
	for (size_t i = 0; i < states->drifts.count; i++) {
		buf_add_text(&sql, i ? ", " : " SET ");
		sql_add_name(&sql, states->drifts.items[i].field->name);
		buf_add_text(&sql, " = ?");
	}
	buf_add_text(&sql, " WHERE rowid = ?");
	return store_prepare(states->table->store, buf_text(&sql), &states->update);
}

/* The row of a sample that is replaced by this one. */
static int update_row(struct states *states, struct held *held, const void *data)
{
	struct store *store = states->table->store;
	int r = prepare_update(states), number = 0;

	if (r < 0)
		return r;
	vec_each(&states->drifts, drift) {
		int code = column_bind(&states->table->columns.items[drift->number], states->update, ++number,
				       &RECORD_OF(data));

		if (code != SQLITE_OK)
			return store_fail(store, code);
	}
	(void)sqlite3_bind_int64(states->update, number + 1, held->row);
	note_drifts(states, held, data);
	return store_step(store, states->update);
}

/* --- rows --- */

static int end_row(struct states *states, int64_t row, uint64_t last)
{
	struct store *store = states->table->store;
	int r = 0;

	if (!states->end) {
		_cleanup_buf_ struct buf sql = BUF_INIT(4096);

		buf_add_text(&sql, "UPDATE ");
		sql_add_name(&sql, states->table->name);
		buf_add_text(&sql, " SET last = ?1 WHERE rowid = ?2");
		r = store_prepare(store, buf_text(&sql), &states->end);
	}
	if (r < 0)
		return r;
	sqlite3_bind_int64(states->end, 1, (sqlite3_int64)last);
	sqlite3_bind_int64(states->end, 2, row);
	return store_step(store, states->end);
}

static int write_row(struct states *states, const struct plan *plan, const void *data, int64_t pos)
{
	struct store_table *table = states->table;
	struct store *store = table->store;
	struct held *held;
	int r = store_bind(table, table->insert, &RECORD_OF(data), STATE_COLUMNS + 1);

	if (r < 0)
		return r;
	sqlite3_bind_int64(table->insert, 1, (sqlite3_int64)states->sample);
	sqlite3_bind_int64(table->insert, 2, STATE_OPEN);
	sqlite3_bind_int64(table->insert, 3, pos);
	held = map_get(&states->held, &plan->content);
	bind_moments(states, held, data);
	note_drifts(states, held, data);
	r = store_step(store, table->insert);
	if (r < 0)
		return r;
	store->batch_rows++;
	held->row = sqlite3_last_insert_rowid(store->db);
	held->pos = pos;
	held->first = held->sample = states->sample;
	return 0;
}

/* Rows of the same content differ by their order. */
static struct held *find_held(struct states *states, struct content *content)
{
	struct held *held;

	while ((held = map_get(&states->held, content)) && held->sample == states->sample)
		content->a = fold(content->a + 1, UINT64_C(0x9e3779b97f4a7c15));
	return held;
}

/* What becomes of a row, after the place of the one before it. Whether it is at rest. */
static bool plan_row(struct states *states, struct plan *plan, void *data, int64_t *before)
{
	struct held *held = find_held(states, &plan->content);
	bool far = false;

	if (!held) {
		/* Marks it as used, so that the next row of the same content finds another. */
		held = map_put(&states->held, &plan->content, NULL);
		held->row = held->pos = 0;
		held->sample = states->sample;
		return false;
	}
	plan->row = held->row;
	plan->last = held->sample;
	held->sample = states->sample;
	/* It moved up, or a moment changed. */
	if (held->pos <= *before || !hold_moments(states, held, data)) {
		plan->kind = ROW_CHANGED;
		return false;
	}
	plan->kind = has_drifted(states, held, data, &far) ? ROW_DRIFTED : ROW_STAYS;
	plan->pos = *before = held->pos;
	return !far;
}

static bool plan_rows(struct states *states, const struct snapshot_table *now)
{
	const struct record_type *type = now->type;
	bool at_rest = now->count == states->plans.count;
	int64_t before = 0;

	states->plans.count = 0;
	for (size_t i = 0; i < now->count; i++) {
		void *data = now->items + i * type->size;
		struct plan plan = {};

		buf_clear(&states->bytes);
		for (uint32_t field = 0; field < type->field_count; field++)
			add_content(&states->bytes, &type->fields[field], data);
		plan.content = content_of(&states->seed, states->bytes.data, states->bytes.len);
		if (!plan_row(states, &plan, data, &before))
			at_rest = false;
		vec_push(&states->plans, plan);
	}
	return at_rest;
}

/* Rows that end, and those that take new values. */
static int end_changed(struct states *states, const struct snapshot_table *now, uint64_t replaced_after)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < states->plans.count; i++) {
		struct plan *plan = &states->plans.items[i];
		struct held *held;

		if (plan->kind != ROW_CHANGED && plan->kind != ROW_DRIFTED)
			continue;
		held = map_get(&states->held, &plan->content);
		plan->replaced = plan->kind == ROW_DRIFTED && held->first > replaced_after;
		if (plan->replaced)
			r = update_row(states, held, now->items + i * now->type->size);
		else if (plan->row)
			r = end_row(states, plan->row, plan->last);
	}
	return r;
}

/* The position of the next row that stays; far away when there is none. */
static int64_t next_pos(const struct states *states, size_t from, size_t *ret_count)
{
	size_t i = from;

	while (i < states->plans.count && !states->plans.items[i].pos)
		i++;
	*ret_count = i - from;
	return i < states->plans.count ? states->plans.items[i].pos : INT64_MAX;
}

static int write_rows(struct states *states, const struct snapshot_table *now)
{
	int64_t before = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < states->plans.count;) {
		const struct plan *plan = &states->plans.items[i];
		size_t count;
		int64_t next = next_pos(states, i, &count), step;

		if (count == 0) {
			before = plan->pos;
			if (plan->kind == ROW_DRIFTED && !plan->replaced)
				r = write_row(states, plan, now->items + i * now->type->size, before);
			i++;
			continue;
		}
		step = min_of((next - before) / ((int64_t)count + 1), POS_STEP);
		if (step == 0)
			return -ERANGE;
		for (size_t last = i + count; r == 0 && i < last; i++) {
			before += step;
			r = write_row(states, &states->plans.items[i], now->items + i * now->type->size, before);
		}
	}
	return r;
}

static int end_rows(struct states *states, bool all)
{
	const void *key;
	size_t at = 0;
	void *value;
	int r = 0;

	while (r == 0 && map_next(&states->held, &at, &key, &value)) {
		struct held *held = value;

		if (!all && held->sample == states->sample)
			continue;
		if (held->sample == states->sample)
			held->sample = states->table->store->last_sample;
		if (held->row)
			r = end_row(states, held->row, held->sample);
		(void)map_remove(&states->held, key);
	}
	return r;
}

bool states_plan(struct states *states, struct snapshot *snapshot, const struct snapshot_table *now, uint64_t sample,
		 uint64_t since_ns)
{
	states->sample = sample;
	states->since_ns = since_ns;
	states->reference_ns = moment_reference(snapshot);
	states->tolerance_ns = moment_tolerance(snapshot);
	return plan_rows(states, now);
}

int states_write(struct states *states, const struct snapshot_table *now, uint64_t replaced_after)
{
	int r = end_changed(states, now, replaced_after);

	if (r == 0)
		r = write_rows(states, now);
	/* No gap left between two neighbours: restart all rows with new numbers. */
	if (r == -ERANGE) {
		r = end_rows(states, true);
		if (r == 0) {
			(void)plan_rows(states, now);
			r = write_rows(states, now);
		}
	}
	return r == 0 ? end_rows(states, false) : r;
}
