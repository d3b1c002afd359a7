/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed chunks read back as the same events. And invalid repeats. */
#include "base/buf.h"
#include "base/vec.h"
#include "flow/trace/checksum.h"
#include "flow/trace/trace.h"
#include "unit.h"

/* Part of the library inside the observed program, which nothing else links. */
#undef likely
#undef unlikely
#undef min_of
#include "flow/runtime/pack.c"

struct words {
	VEC(uint32_t) items;
};

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void add_chunk(struct buf *out, struct flow_chunk chunk, const void *payload)
{
	chunk.magic = FLOW_MAGIC;
	chunk.checksum = flow_chunk_checksum(&chunk, payload);
	buf_add(out, &chunk, sizeof(chunk));
	buf_add(out, payload, chunk.bytes);
}

/* A trace of one chunk of events, in memory. */
static void add_trace(struct buf *out, const struct flow_chunk *chunk, const void *words)
{
	static const char text[] = "format nest-flow\nversion 1\nticks_per_second 1000000000\n\n";

	add_chunk(out, (struct flow_chunk){.kind = FLOW_CHUNK_FILE, .bytes = (sizeof(text) - 1) / 4 * 4}, text);
	add_chunk(out, *chunk, words);
}

static struct flow_chunk chunk_of(const struct words *words)
{
	return (struct flow_chunk){
		.kind = FLOW_CHUNK_EVENTS,
		.flags = FLOW_UNTIMED,
		.thread = 1,
		.bytes = (uint32_t)words->items.count * 4,
	};
}

/* Kind, time and value of every event; returns the damage found. */
static uint64_t read_events(const struct buf *data, struct words *ret_events)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct flow_cursor cursor;
	struct flow_event event;
	struct why why = {};

	REQUIRE(flow_trace_open_memory(data->data, data->len, &trace, &why) == 0);
	REQUIRE(trace->thread_count == 1);
	flow_cursor_begin(&cursor, trace, 0);
	while (flow_cursor_next(&cursor, &event)) {
		vec_push(&ret_events->items, event.kind);
		vec_push(&ret_events->items, (uint32_t)event.ticks);
		if (event.kind == FLOW_VALUE)
			vec_push(&ret_events->items, (uint32_t)event.value);
	}
	return cursor.damaged;
}

static uint64_t read_words(const struct words *words, struct words *ret_events)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 24);
	struct flow_chunk chunk = chunk_of(words);

	add_trace(&data, &chunk, words->items.items);
	return read_events(&data, ret_events);
}

/* Bytes of the packed chunk; 0: not packed. It must read back as the original. */
static uint32_t pack_and_compare(const struct words *words)
{
	_cleanup_buf_ struct buf whole = BUF_INIT(1 << 24), data = BUF_INIT(1 << 24);
	struct flow_chunk chunk = chunk_of(words), *packed;
	uint32_t room = (uint32_t)(words->items.count + 1024) / 2;
	struct pack_room *pack = pack_room_new();
	struct words before = {}, after = {};
	uint32_t bytes = 0;

	REQUIRE(pack);
	buf_add(&whole, &chunk, sizeof(chunk));
	buf_add(&whole, words->items.items, chunk.bytes);
	packed = xmalloc(sizeof(*packed) + room * sizeof(uint32_t));
	if (pack_chunk(pack, (const struct flow_chunk *)(const void *)whole.data, packed, room)) {
		bytes = packed->bytes;
		add_trace(&data, packed, packed + 1);
		CHECK_EQ_UINT(read_words(words, &before), 0);
		CHECK_EQ_UINT(read_events(&data, &after), 0);
		CHECK_EQ_UINT(after.items.count, before.items.count);
		CHECK(after.items.count == before.items.count &&
		      memcmp(after.items.items, before.items.items, after.items.count * 4) == 0);
	}
	pack_room_free(pack);
	free(packed);
	vec_done(&before.items);
	vec_done(&after.items);
	return bytes;
}

static void add_value(struct words *words, uint32_t value)
{
	vec_push(&words->items, flow_word_other(FLOW_O_VALUE, 2, 0));
	vec_push(&words->items, 5);
	vec_push(&words->items, 0);
	vec_push(&words->items, value);
	vec_push(&words->items, 0);
}

TEST(what_is_done_again_is_written_once)
{
	struct words words = {};

	for (unsigned round = 0; round < 300; round++) {
		vec_push(&words.items, flow_word_call(1, round + 1)); /* timed */
		for (uint32_t fn = 2; fn < 40; fn++)
			vec_push(&words.items, flow_word_call(fn, 0) | (fn % 3 ? 2u << 14 | FLOW_MANY : 0));
		vec_push(&words.items, flow_word_return(round + 7));
	}
	CHECK(pack_and_compare(&words) < words.items.count * 4 / 8);
	vec_done(&words.items);
}

TEST(the_same_without_end_is_a_count)
{
	struct words words = {};

	for (unsigned round = 0; round < 2000; round++)
		for (uint32_t fn = 1; fn < 25; fn++)
			vec_push(&words.items, flow_word_call(fn, 0) | 1u << 14 | FLOW_MANY);
	CHECK(pack_and_compare(&words) < 2000);
	vec_done(&words.items);
}

/* Records of several words among the calls, some with payload that looks like calls. */
TEST(whatever_stands_there_reads_the_same)
{
	uint32_t state = 77, packed = 0;

	for (unsigned round = 0; round < 300; round++) {
		struct words words = {};
		uint32_t kinds = 1 + next_random(&state) % 40, length = 20 + next_random(&state) % 60;

		while (words.items.count < 3000) {
			uint32_t r = next_random(&state);

			if (r % 97 == 0) {
				add_value(&words, next_random(&state) | (r & 4096 ? FLOW_AGAIN : 0));
			} else if (r % 89 == 0) {
				vec_push(&words.items, flow_word_call_long(r >> 12));
				vec_push(&words.items, 1 + r % 5000);
			} else if (r % 13 == 0) {
				vec_push(&words.items, FLOW_TAG_RETURN | (1 + r % 3) << 2 | FLOW_MANY);
			} else {
				for (uint32_t i = 0; i < length; i++)
					vec_push(&words.items, flow_word_call(1 + i % kinds, 0));
			}
		}
		packed += pack_and_compare(&words) > 0;
		vec_done(&words.items);
	}
	CHECK(packed > 100);
}

TEST(what_is_never_the_same_stays)
{
	struct words words = {};
	uint32_t state = 5;

	for (unsigned i = 0; i < 5000; i++)
		vec_push(&words.items, flow_word_call(1 + next_random(&state) % 4000, 1 + next_random(&state) % 9999));
	CHECK_EQ_UINT(pack_and_compare(&words), 0);
	vec_done(&words.items);
}

static uint64_t damage_of(const uint32_t *items, size_t count, size_t *ret_events)
{
	struct words words = {}, events = {};
	uint64_t damaged;

	for (size_t i = 0; i < count; i++)
		vec_push(&words.items, items[i]);
	damaged = read_words(&words, &events);
	*ret_events = events.items.count / 2;
	vec_done(&words.items);
	vec_done(&events.items);
	return damaged;
}

TEST(words_that_lead_nowhere_are_damage)
{
	const uint32_t call = flow_word_call(1, 0), many = FLOW_TAG_RETURN | 60000u << 2 | FLOW_MANY;
	const struct {
		uint32_t words[6];
		size_t count;
	} cases[] = {
		{{call, flow_word_again(1, 1)}, 2},                                    /* position missing */
		{{call, flow_word_again(2, 1), 0}, 3},                                 /* itself */
		{{call, flow_word_again(1, 1), 1}, 3},                                 /* after it */
		{{call, flow_word_again(1, 1), UINT32_MAX}, 3},                        /* far away */
		{{call, flow_word_again(0, 1), 0}, 3},                                 /* nothing */
		{{call, flow_word_again(1, 0), 0}, 3},                                 /* never */
		{{call, flow_word_again(1, 1), 0, flow_word_again(3, 1), 0, call}, 6}, /* a repeat of a repeat */
		{{flow_word_call_long(0), 1, flow_word_again(2, 1), 0}, 4},            /* other forms */
		{{many, flow_word_again(1, FLOW_AGAIN_TIMES_MAX), 0}, 3},              /* unlimited */
		{{call, many}, 2},                                                     /* never called */
	};
	size_t events;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ_UINT(damage_of(cases[i].words, cases[i].count, &events), 1);
		CHECK(events < FLOW_AGAIN_MAX * 2);
	}
	CHECK_EQ_UINT(damage_of((const uint32_t[]){call, flow_word_again(1, 5), 0, call}, 4, &events), 0);
	CHECK_EQ_UINT(events, 7);
}
