/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel filters and aggregates with match.bpf.h and group.bpf.h, user space with the expression language and the
 * aggregator. Both run here on random events of every kind in the catalogue, with random conditions on every kind of
 * field and every operator, and must agree.
 */
#include "base/vec.h"
#include "event/bpf/group.bpf.h"
#include "event/core/filter.h"
#include "event/core/live_group.h"
#include "record/expr.h"
#include "tool/core/pipeline.h"
#include "unit.h"
#include "view/format.h"

#define EVENT_MAX 1024

static uint64_t seed;

static uint64_t choose(uint64_t n)
{
	return unit_random(&seed) % n;
}

/* --- random events --- */

/* Equal values, limits and unknown are more frequent than by chance. */
static void fill_number(char *at, size_t size)
{
	static const uint64_t edges[] = {0,    1,      2,          6,          443,       0x7f,
					 0xff, 0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
	uint64_t value = choose(3) ? edges[choose(ARRAY_SIZE(edges))] : unit_random(&seed);

	memcpy(at, &value, size);
}

static void fill_addr(struct addr *addr)
{
	static const char *const addresses[] = {"10.0.0.1", "10.0.0.2", "127.0.0.1", "::1", "fe80::1", "::"};

	*addr = (struct addr){};
	if (choose(5))
		REQUIRE(addr_parse(addresses[choose(ARRAY_SIZE(addresses))], addr) == 0);
}

static void fill_text(char *at, size_t size)
{
	static const char *const names[] = {"", "a", "ab", "nginx", "nginx-worker-12", "curl", "a*b", "we?rd\\"};

	memset(at, 0, size);
	snprintf(at, size, "%s", names[choose(ARRAY_SIZE(names))]);
}

static void fill_type(const struct record_type *type, char *part)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct field *field = &type->fields[i];

		if (field->store == STORE_ADDR)
			fill_addr((struct addr *)(part + field->offset));
		else if (field->store == STORE_CHARS)
			fill_text(part + field->offset, field->size);
		else if (field->store <= STORE_I64)
			fill_number(part + field->offset, field->size);
	}
}

static struct record fill_event(const struct event *event, char *bytes)
{
	struct record record = {.parts = {[EVENT_PART_HEAD] = bytes}};

	memset(bytes, 0, event_size(event));
	fill_type(event_shape(event).types[EVENT_PART_HEAD], bytes);
	fill_type(event->type, bytes + sizeof(struct event_head));
	record.parts[EVENT_PART_DATA] = bytes + sizeof(struct event_head);
	return record;
}

/* --- random conditions --- */

static void add_address(struct buf *text)
{
	static const char *const literals[] = {"10.0.0.1",  "10.0.0.0/8", "10.0.0.0/31", "127.0.0.0/8", "::1",
					       "fe80::/10", "::/0",       "0.0.0.0/0",   "::",          "fe80::1"};

	buf_add_text(text, literals[choose(ARRAY_SIZE(literals))]);
}

static void add_text_literal(struct buf *text, bool pattern)
{
	static const char *const names[] = {"a", "ab", "nginx", "nginx-worker-12", "much-longer-than-a-name"};
	static const char *const patterns[] = {"a*", "*",    "nginx*",  "n?inx",
					       "*x", "curl", "a\\\\*b", "nginx-worker-1*"};

	buf_add_format(text, "\"%s\"",
		       pattern ? patterns[choose(ARRAY_SIZE(patterns))] : names[choose(ARRAY_SIZE(names))]);
}

/* Mostly a value of some event. */
static void add_number(struct buf *text, const struct field *field)
{
	static const uint64_t edges[] = {0, 1, 2, 6, 443, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, INT64_MAX};

	if (field->kind == KIND_BOOL)
		buf_add_text(text, choose(2) ? "yes" : "no");
	else
		buf_add_format(text, "%" PRIu64, edges[choose(ARRAY_SIZE(edges))]);
}

static void add_literal(struct buf *text, const struct field *field, bool pattern)
{
	if (field->kind == KIND_ADDR)
		add_address(text);
	else if (field->kind == KIND_TEXT)
		add_text_literal(text, pattern);
	else
		add_number(text, field);
}

static const char *choose_operator(const struct field *field)
{
	static const char *const ordered[] = {"==", "!=", "<", "<=", ">", ">="};

	if (field->kind == KIND_TEXT && choose(2))
		return "~";
	if (field->kind == KIND_FLAGS)
		return choose(2) ? "~" : ordered[choose(2)];
	if (field->kind == KIND_ADDR || field->kind == KIND_TEXT || field->kind == KIND_ENUM ||
	    field->kind == KIND_BOOL)
		return ordered[choose(2)];
	return ordered[choose(ARRAY_SIZE(ordered))];
}

static const struct field *choose_field(const struct event *event)
{
	const struct record_type *type = event_shape(event).types[choose(2) ? EVENT_PART_HEAD : EVENT_PART_DATA];

	return &type->fields[choose(type->field_count)];
}

static void add_comparison(struct buf *text, const struct event *event)
{
	const struct field *field = choose_field(event);
	const char *op = choose_operator(field);

	if (choose(6) == 0)
		buf_add_text(text, "not ");
	if (choose(8) == 0) {
		buf_add_format(text, "%s is %s", field->name, choose(2) ? "known" : "unknown");
		return;
	}
	if (choose(5) == 0) {
		buf_add_format(text, "%s in (", field->name);
		add_literal(text, field, false);
		buf_add_text(text, ", ");
		add_literal(text, field, false);
		buf_add_text(text, ")");
		return;
	}
	buf_add_format(text, "%s %s ", field->name, op);
	add_literal(text, field, op[0] == '~');
}

static void make_where(struct buf *text, const struct event *event)
{
	unsigned clauses = 1 + (unsigned)choose(4);

	buf_clear(text);
	for (unsigned i = 0; i < clauses; i++) {
		unsigned terms = 1 + (unsigned)choose(3);

		buf_add_text(text, i ? " and (" : "(");
		for (unsigned j = 0; j < terms; j++) {
			buf_add_text(text, j ? " or " : "");
			add_comparison(text, event);
		}
		buf_add_text(text, ")");
	}
}

struct tally {
	unsigned conditions, complete, compared, passed, refused;
};

static void compare_filter(const struct event *event, const char *where, struct tally *tally)
{
	struct shape shape = event_shape(event);
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct event_config config = {};
	struct why why = {};
	uint64_t bytes[EVENT_MAX / 8];
	bool complete;

	unit_note("%s: %s", event->name, where);
	if (expr_parse(where, &shape, &expr, &why) < 0) {
		tally->refused++;
		return;
	}
	complete = event_filter_add(&config, expr);
	tally->conditions++;
	tally->complete += complete;
	for (unsigned i = 0; i < 50; i++) {
		struct record record = fill_event(event, (char *)bytes);
		bool here = expr_matches(expr, &record), there = event_matches(&config, (const char *)bytes);

		/* The kernel must pass what it cannot decide. */
		if (complete || here)
			CHECK_EQ_UINT(there, here);
		tally->compared += complete;
		tally->passed += complete && here;
	}
}

TEST(the_kernel_and_the_program_filter_alike)
{
	_cleanup_buf_ struct buf where = BUF_INIT(4096);
	struct tally tally = {};

	seed = 20261115;
	registry_each(event, event) {
		REQUIRE(event_size(*event) <= EVENT_MAX);
		for (unsigned i = 0; i < 300; i++) {
			make_where(&where, *event);
			compare_filter(*event, buf_text(&where), &tally);
		}
	}
	unit_note("%u conditions, %u in the kernel alone, %u not understood; %u comparisons, %u true", tally.conditions,
		  tally.complete, tally.refused, tally.compared, tally.passed);
	/* Not vacuous: many conditions run in the kernel alone, and both answers are frequent. */
	CHECK(tally.complete * 4 > tally.conditions);
	CHECK(tally.refused * 20 < tally.conditions);
	CHECK(tally.passed * 50 > tally.compared && tally.passed * 2 < tally.compared);
}

/* --- adding up --- */

struct kernel_group {
	unsigned long long key[EVENT_KEY_WORDS];
	struct event_group group;
};

/* A CPU's front table, and the hash behind it. */
struct kernel_groups {
	union {
		struct event_front front;
		unsigned long long room[1 + EVENT_KEY_WORDS + sizeof(struct event_group) / 8];
	} fronts[EVENT_FRONT_SLOTS];
	VEC(struct kernel_group) items;
};

static void add_as_kernel(const struct event_config *config, struct kernel_groups *groups, const char *event)
{
	struct kernel_group fresh = {};
	struct event_group *group;
	uint32_t place;
	int64_t value = 0;

	if (!event_matches(config, event))
		return;
	if (config->mode != EVENT_COUNT) {
		long long loaded = 0;

		if (!event_load(event + config->value_offset, config->value_form, config->value_flags, &loaded))
			return;
		value = loaded;
	}
	event_make_key(config, event, fresh.key);
	place = config->brief ? event_brief_place(fresh.key) : event_key_place(config, fresh.key);
	REQUIRE(place < EVENT_FRONT_SLOTS);
	group = config->brief ? event_brief_front(&groups->fronts[place].front, fresh.key)
			      : event_front_group(config, &groups->fronts[place].front, fresh.key);
	if (group) {
		event_group_add(config, group, value);
		event_group_add_fields(config, group, event);
		return;
	}
	vec_each(&groups->items, one)
		if (memcmp(one->key, fresh.key, sizeof(fresh.key)) == 0) {
			event_group_add(config, &one->group, value);
			event_group_add_fields(config, &one->group, event);
			return;
		}
	event_group_add(config, &fresh.group, value);
	event_group_add_fields(config, &fresh.group, event);
	vec_push(&groups->items, fresh);
}

struct rows {
	const struct aggregate *aggregate;
	VEC(char *) items;
};

static void note_row(const void *row, void *context)
{
	struct rows *rows = context;
	const struct record_type *type = aggregate_type(rows->aggregate);
	_cleanup_buf_ struct buf text = BUF_INIT(65536);

	for (uint32_t i = 0; i < type->field_count; i++) {
		struct value value = value_get(&type->fields[i], row);

		buf_add_format(&text, "%s=", type->fields[i].name);
		if (type->fields[i].kind != KIND_LIST) {
			format_add_value(&text, &type->fields[i], &value);
		} else {
			const struct list *slots = aggregate_hist(rows->aggregate, row);
			const struct hist_slot *slot = slots->items;

			for (uint32_t s = 0; s < slots->count; s++)
				buf_add_format(&text, "%" PRIu64 ":%" PRIu64 ",", slot[s].lo, slot[s].count);
		}
		buf_add_text(&text, " ");
	}
	vec_push(&rows->items, xstrdup(buf_text(&text)));
}

static void rows_done(struct rows *rows)
{
	vec_each(&rows->items, row)
		free(*row);
	vec_done(&rows->items);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void take_rows(struct pipeline *session, struct rows *rows)
{
	rows->aggregate = session->aggregate;
	(void)aggregate_take(session->aggregate, 1, note_row, rows);
	vec_sort(&rows->items, by_text);
}

static void merge_group(struct pipeline *session, const unsigned long long *key, const struct event_group *group)
{
	uint64_t bytes[EVENT_MAX / 8];
	struct record record = {.parts = {[EVENT_PART_HEAD] = bytes}};

	live_group_restore(&session->requests[0], (const uint64_t *)key, (char *)bytes);
	record.parts[EVENT_PART_DATA] = (char *)bytes + sizeof(struct event_head);
	aggregate_merge(session->aggregate, 0, &record, group);
}

static void merge_groups(struct pipeline *session, const struct kernel_groups *groups)
{
	const struct event_config *config = &session->requests[0].config;

	for (unsigned i = 0; i < EVENT_FRONT_SLOTS; i++) {
		const struct event_front *front = &groups->fronts[i].front;

		if (front->state == EVENT_FRONT_READY)
			merge_group(session, front->key, (const void *)&front->key[EVENT_KEY_STORED(config)]);
	}
	vec_each(&groups->items, one)
		merge_group(session, one->key, &one->group);
}

/* Kernel and user-space aggregation of the same events; returns whether the kernel can do it alone. */
static bool compare_groups(const struct event *event, const struct aggregate_spec *spec, const char *where)
{
	struct trace_plan plan = {.name = "test", .events = {event->name}, .aggregate = *spec, .where = BUF_INIT(4096)};
	struct trace_options options = {.output = {.where = where}};
	_cleanup_(rows_done) struct rows there = {}, here = {};
	struct pipeline session;
	_cleanup_free_ struct kernel_groups *groups = xzalloc(sizeof(*groups));
	_cleanup_(expr_freep) struct expr *expr = NULL;
	uint64_t bytes[EVENT_MAX / 8];
	struct why why = {};
	bool alone;

	if (pipeline_open(&session, &plan, &options, &why) < 0) {
		unit_note("%s", why.text);
		CHECK_EQ_INT(pipeline_close(&session), 0);
		return false;
	}
	alone = session.requests[0].config.mode != EVENT_STREAM;
	session.requests[0].config.brief = event_key_shorten(event, &session.requests[0].config);
	/* Only keys of process and ports, and no filter. */
	CHECK_EQ_UINT(session.requests[0].config.brief, event->adds_briefly && !where);
	REQUIRE(!where || expr_parse(where, &session.shapes[0], &expr, &why) == 0);
	for (unsigned i = 0; alone && i < 400; i++) {
		struct record record = fill_event(event, (char *)bytes);

		/* Atomic and plain additions: equal without concurrency. */
		session.requests[0].config.alone = i % 2;
		add_as_kernel(&session.requests[0].config, groups, (const char *)bytes);
		if (!expr || expr_matches(expr, &record))
			aggregate_add(session.aggregate, 0, &record);
	}
	take_rows(&session, &here);
	merge_groups(&session, groups);
	take_rows(&session, &there);
	CHECK_EQ_UINT(there.items.count, here.items.count);
	for (size_t i = 0; i < min_of(there.items.count, here.items.count); i++)
		CHECK_EQ_TEXT(there.items.items[i], here.items.items[i]);
	vec_done(&groups->items);
	CHECK_EQ_INT(pipeline_close(&session), 0);
	return alone;
}

/* Two additional summed fields, if the event has them. */
static void choose_added(const struct event *event, struct aggregate_spec *spec, struct aggregate_table *table)
{
	unsigned count = 0;

	if (spec->kind == AGGREGATE_COUNT)
		return;
	for (unsigned i = 0; i < 10 && count < 2; i++) {
		const struct field *field = choose_field(event);

		if (event_number_form(field) != EVENT_FORM_NONE && field->kind != KIND_TIME)
			table->adds[count++] = field->name;
	}
	spec->table = count ? table : NULL;
}

TEST(the_kernel_and_the_program_add_up_alike)
{
	static const enum aggregate_kind kinds[] = {AGGREGATE_COUNT, AGGREGATE_SUM, AGGREGATE_STATS, AGGREGATE_HIST,
						    AGGREGATE_LHIST};
	_cleanup_buf_ struct buf where = BUF_INIT(4096);
	unsigned alone = 0, tried = 0;

	seed = 7;
	registry_each(event, event)
		for (unsigned i = 0; i < 25; i++) {
			const struct field *value = choose_field(*event);
			char *by[3] = {};
			struct aggregate_table table = {};
			struct aggregate_spec spec = {.kind = kinds[choose(ARRAY_SIZE(kinds))],
						      .value = value->name,
						      .first = choose(2) ? 0 : 100,
						      .last = 1000,
						      .step = 1 + (int64_t)choose(100) * 3};

			if (event_number_form(value) == EVENT_FORM_NONE || value->kind == KIND_TIME)
				spec.kind = AGGREGATE_COUNT;
			spec.step = max_of(spec.step, 30);
			spec.by.count = choose(4);
			for (size_t k = 0; k < spec.by.count; k++)
				by[k] = (char *)choose_field(*event)->name;
			spec.by.items = by;
			if (choose(2))
				choose_added(*event, &spec, &table);
			buf_clear(&where);
			buf_add_text(&where, choose(2) ? "cpu >= 0" : "lport != 443 or comm ~ \"nginx*\"");
			unit_note("%s, kind %d of %s by %s %s %s", (*event)->name, (int)spec.kind, value->name,
				  by[0] ?: "", by[1] ?: "", by[2] ?: "");
			tried++;
			alone += compare_groups(*event, &spec, buf_text(&where));
		}
	CHECK(alone * 2 > tried);
}

TEST(short_keys_add_up_alike)
{
	static const enum aggregate_kind kinds[] = {AGGREGATE_COUNT, AGGREGATE_SUM, AGGREGATE_STATS, AGGREGATE_HIST,
						    AGGREGATE_LHIST};
	static const char *const fields[] = {"pid", "tid", "comm", "family", "proto", "lport", "rport", "event"};
	unsigned tried = 0;

	seed = 13;
	registry_each(event, event)
		for (unsigned i = 0; (*event)->adds_briefly && i < 200; i++) {
			char *by[3] = {};
			struct aggregate_spec spec = {
				.kind = kinds[choose(ARRAY_SIZE(kinds))], .value = "bytes", .last = 1000, .step = 30};

			spec.by.count = choose(4);
			for (size_t k = 0; k < spec.by.count; k++)
				by[k] = (char *)fields[choose(ARRAY_SIZE(fields))];
			spec.by.items = by;
			unit_note("%s, kind %d by %s %s %s", (*event)->name, (int)spec.kind, by[0] ?: "", by[1] ?: "",
				  by[2] ?: "");
			tried += compare_groups(*event, &spec, NULL);
		}
	CHECK(tried >= 400);
}

TEST(keys_that_are_not_of_process_and_ports_are_not_short)
{
	static const char *const fields[] = {"raddr", "uid", "netns", "cgroup", "cookie", "error", "cpu"};
	const struct event *event = event_find("sock.send");

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *by[1] = {(char *)fields[i]};
		struct trace_plan plan = {.name = "test", .events = {event->name}, .where = BUF_INIT(4096)};
		struct trace_options options = {};
		struct pipeline session;
		struct event_config before;
		struct why why = {};

		plan.aggregate = (struct aggregate_spec){.kind = AGGREGATE_COUNT, .by = {.items = by, .count = 1}};
		REQUIRE(pipeline_open(&session, &plan, &options, &why) == 0);
		REQUIRE(session.requests[0].config.mode == EVENT_COUNT);
		before = session.requests[0].config;
		unit_note("%s", fields[i]);
		CHECK(!event_key_shorten(event, &session.requests[0].config));
		CHECK(memcmp(&before, &session.requests[0].config, sizeof(before)) == 0);
		/* Nor if comm is used but not a key. */
		before.key_words = 0;
		before.needs = EVENT_NEED_COMM;
		CHECK(!event_key_shorten(event, &before));
		before.needs = EVENT_NEED_OWNER;
		CHECK(event_key_shorten(event, &before));
		CHECK_EQ_INT(pipeline_close(&session), 0);
	}
}

TEST(a_place_belongs_to_the_first_key_and_to_nobody_while_it_is_written)
{
	struct event_config config = {.mode = EVENT_COUNT, .key_words = 2};
	unsigned long long room[1 + 2 + 1] = {};
	struct event_front *front = (struct event_front *)room;
	const unsigned long long one[EVENT_KEY_WORDS] = {1, 2}, other[EVENT_KEY_WORDS] = {1, 3};

	front->state = EVENT_FRONT_TAKEN;
	CHECK(!event_front_group(&config, front, one));
	front->state = EVENT_FRONT_FREE;
	REQUIRE((unsigned long long *)event_front_group(&config, front, one) == &room[3]);
	CHECK(!event_front_group(&config, front, other));
	CHECK((unsigned long long *)event_front_group(&config, front, one) == &room[3]);
}

/* Data of the previous event must not leak into the next one. */
TEST(what_is_not_zeroed_is_not_looked_at)
{
	_cleanup_buf_ struct buf where = BUF_INIT(4096);
	unsigned compared = 0;

	seed = 11;
	registry_each(event, event)
		for (unsigned i = 0; i < 50; i++) {
			struct shape shape = event_shape(*event);
			_cleanup_(expr_freep) struct expr *expr = NULL;
			struct event_config config = {.mode = EVENT_COUNT, .key_words = 2};
			unsigned long long used[EVENT_MAX / 8], zero[EVENT_MAX / 8];
			unsigned long long key[EVENT_KEY_WORDS] = {}, no_key[EVENT_KEY_WORDS] = {};
			struct why why;

			memset(zero, 0, sizeof(zero));
			make_where(&where, *event);
			if (expr_parse(buf_text(&where), &shape, &expr, &why) < 0)
				continue;
			(void)event_filter_add(&config, expr);
			for (unsigned k = 0; k < config.key_words; k++)
				config.key[k] = (struct event_key_word){
					.mask = UINT64_MAX, .offset = (uint16_t)(choose(event_size(*event) / 8) * 8)};
			(void)fill_event(*event, (char *)used);
			event_clear_used(&config, (char *)used);
			event_make_key(&config, (const char *)used, key);
			unit_note("%s: %s", (*event)->name, buf_text(&where));
			CHECK_EQ_UINT(event_matches(&config, (const char *)used),
				      event_matches(&config, (const char *)zero));
			CHECK(memcmp(key, no_key, sizeof(key)) == 0);
			compared++;
		}
	CHECK(compared > 500);
}

TEST(groups_begin_with_nothing_and_take_every_number)
{
	static const int64_t values[] = {INT64_MIN + 1, -5, 0, 5, INT64_MAX};
	struct event_config config = {.mode = EVENT_SUM};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
			struct event_group group = {};

			config.alone = j % 2;
			event_group_add(&config, &group, values[i]);
			CHECK_EQ_INT(EVENT_GROUP_MIN_OF(group.min), values[i]);
			CHECK_EQ_INT(EVENT_GROUP_MAX_OF(group.max), values[i]);
			event_group_add(&config, &group, values[j]);
			CHECK_EQ_INT(EVENT_GROUP_MIN_OF(group.min), min_of(values[i], values[j]));
			CHECK_EQ_INT(EVENT_GROUP_MAX_OF(group.max), max_of(values[i], values[j]));
			CHECK_EQ_UINT(group.count, 2);
		}
}
