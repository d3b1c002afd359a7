/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summaries built while recording: same calls and sessions as in the trace; hostile input is rejected. */
#include <sys/socket.h>

#include "base/vec.h"
#include "flow/analyse/session.h"
#include "flow/trace/checksum.h"
#include "flow/trace/digest.h"
#include "flow_sample.h"

/* A server with two connections: main is the dispatcher, serve works for one. */
static const char server[] = "thread 1 pid=10 tid=11 name=server\n"
			     "1 0 call main\n"
			     "1 10 call setup\n"
			     "1 20 return\n"
			     "1 30 socket socket=1 fd=3 local=127.0.0.1:80\n"
			     "1 40 op-listen fd=3 socket=1 result=0\n"
			     "1 100 socket socket=2 fd=5 local=127.0.0.1:80 remote=127.0.0.1:4001\n"
			     "1 110 op-accept fd=5 socket=2 result=5 aux=1\n"
			     "1 200 call serve\n"
			     "1 210 op-read fd=5 socket=2 result=100\n"
			     "1 220 call answer\n"
			     "1 230 op-write fd=5 socket=2 result=50\n"
			     "1 240 return\n"
			     "1 250 op-close fd=5 socket=2 result=0\n"
			     "1 300 return\n"
			     "1 400 socket socket=3 fd=5 local=127.0.0.1:80 remote=127.0.0.1:4002\n"
			     "1 410 op-accept fd=5 socket=3 result=5 aux=1\n"
			     "1 500 call serve\n"
			     "1 510 op-read fd=5 socket=3 result=200\n"
			     "1 520 call answer\n"
			     "1 530 op-write fd=5 socket=3 result=70\n"
			     "1 540 return\n"
			     "1 550 op-close fd=5 socket=3 result=0\n"
			     "1 600 return\n"
			     "1 700 return\n"
			     "1 710 end\n";

static struct digest *new_digest(void)
{
	struct digest *digest = xzalloc(sizeof(*digest));

	digest_begin(digest, 1000);
	return digest;
}

static void fold_thread(struct digest *digest, const struct flow_thread *from)
{
	struct digest_thread *thread = xzalloc(sizeof(*thread));

	digest_thread_begin(thread, &from->chunks[0].header);
	for (size_t i = 0; i < from->chunk_count; i++)
		digest_fold(digest, thread, &from->chunks[i].header, from->chunks[i].words);
	digest_thread_end(digest, thread, from->end_ticks);
	free(thread);
}

static void add_chunk(struct buf *file, uint16_t kind, const void *payload, size_t bytes)
{
	struct flow_chunk chunk = {.magic = FLOW_MAGIC, .kind = kind, .bytes = (uint32_t)bytes};

	chunk.checksum = flow_chunk_checksum(&chunk, payload);
	buf_add(file, &chunk, sizeof(chunk));
	buf_add(file, payload, bytes);
}

/* The digest as a file: head, nodes and rows in sequence. */
static struct buf file_of(const struct digest *digest)
{
	static const char text[] = "format nest-flow\nversion 1\nticks_per_second 1000000000\n\n";
	struct buf file = BUF_INIT(64 << 20);
	struct buf payload = BUF_INIT(64 << 20);

	buf_add(&payload, &digest->head, sizeof(digest->head));
	buf_add(&payload, digest->nodes, digest->head.node_count * sizeof(digest->nodes[0]));
	buf_add(&payload, digest->rows, digest->head.row_count * sizeof(digest->rows[0]));
	add_chunk(&file, FLOW_CHUNK_FILE, text, sizeof(text) / 4 * 4);
	add_chunk(&file, FLOW_CHUNK_SUMMARY, payload.data, payload.len);
	buf_done(&payload);
	return file;
}

static struct flow_trace *read_back(const struct buf *file)
{
	struct flow_trace *trace = NULL;
	struct why why = {};

	REQUIRE(flow_trace_open_memory(file->data, file->len, &trace, &why) == 0);
	return trace;
}

TEST(sessions_are_counted_by_kind)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server), *summary = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *sessions = NULL;
	_cleanup_free_ struct digest *digest = new_digest();
	_cleanup_buf_ struct buf file = BUF_INIT(64 << 20);
	struct flow_session s;
	struct why why = {};

	fold_thread(digest, &trace->threads[0]);
	digest_end(digest, 1000);
	CHECK(digest_check(digest));
	CHECK_EQ_UINT(digest->head.calls, 6);
	CHECK_EQ_UINT(digest->head.dispatched, 1);
	CHECK_EQ_UINT(digest->head.cut, 0);
	file = file_of(digest);
	summary = read_back(&file);
	CHECK(summary->summarised);
	CHECK_EQ_UINT(summary->events, trace->events);
	CHECK_EQ_UINT(summary->calls, trace->calls);
	REQUIRE(flow_sessions_new(summary, &(struct demux_options){}, &sessions, &why) == 0);
	/* Both have the same tree and similar durations. */
	REQUIRE(sessions->list.count == 1);
	s = flow_session_at(sessions, 0);
	CHECK_EQ_UINT(s.count, 2);
	CHECK_EQ_UINT(s.calls, 2);
	CHECK_EQ_UINT(s.requests, 1);
	CHECK_EQ_UINT(s.rx_bytes, 150);
	CHECK_EQ_UINT(s.tx_bytes, 60);
	CHECK_EQ_UINT(s.lport, 80);
	CHECK_EQ_UINT(s.rport, 4001);
	CHECK_EQ_UINT(s.busy_ns, 100);
	CHECK(!s.is_open);
	CHECK_EQ_UINT(sessions->rest_calls, 1);
	CHECK_EQ_UINT(sessions->calls, 6);
}

TEST(an_open_session_is_told)
{
	_cleanup_free_ char *text = xstrndup(server, (size_t)(strstr(server, "1 550") - server));
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(text);
	_cleanup_free_ struct digest *digest = new_digest();
	uint64_t open = 0, closed = 0;

	fold_thread(digest, &trace->threads[0]);
	digest_end(digest, 100000);
	for (uint32_t i = 0; i < digest->head.row_count; i++) {
		if (digest->rows[i].bucket == DIGEST_REST)
			continue;
		open += digest->rows[i].open;
		closed += digest->rows[i].count - digest->rows[i].open;
	}
	CHECK_EQ_UINT(open, 1);
	CHECK_EQ_UINT(closed, 1);
}

/* Two connections: one thread accepts and passes them on, another serves them. */
static const char staged[] = "thread 1 pid=1 tid=1 name=front\nthread 2 pid=1 tid=2 name=back\n"
			     "1 1000 call s!main\n1 1001 op-listen socket=9 fd=3\n"
			     "1 2000 call s!take\n1 3000 op-accept socket=1 fd=4 result=4 aux=9\n"
			     "1 4100 push 77\n1 6000 return\n"
			     "1 7000 call s!take\n1 8000 op-accept socket=2 fd=5 result=5 aux=9\n"
			     "1 9100 push 78\n1 11000 return\n"
			     "2 1500 call s!loop\n"
			     "2 20000 pop 78\n2 20100 call s!serve\n2 20200 op-read socket=2 fd=5 result=9\n"
			     "2 20300 call s!look\n2 20310 return\n"
			     "2 20400 op-close socket=2 fd=5\n2 21000 return\n"
			     /* Before it touches a descriptor, what was popped says whose work it is. */
			     "2 30000 pop 77\n2 30100 call s!serve\n2 30200 call s!look\n2 30210 return\n"
			     "2 30250 op-read socket=1 fd=4 result=7\n2 30400 op-close socket=1 fd=4\n2 31000 return\n";

TEST(values_carry_sessions_between_threads)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(staged);
	_cleanup_free_ struct digest *digest = new_digest();
	uint64_t sessions = 0, segments = 0, rx = 0, span = 0, busy = 0;

	fold_thread(digest, &trace->threads[0]);
	fold_thread(digest, &trace->threads[1]);
	digest_end(digest, 100000);
	CHECK(digest_check(digest));
	for (uint32_t i = 0; i < digest->head.row_count; i++) {
		const struct digest_row *row = &digest->rows[i];

		if (row->bucket == DIGEST_REST || !row->count)
			continue;
		sessions += row->count;
		segments += row->segments;
		rx += row->rx;
		span += row->span;
		busy += row->busy;
		CHECK_EQ_UINT(row->requests, row->count);
	}
	CHECK_EQ_UINT(sessions, 2);
	CHECK_EQ_UINT(rx, 16);
	/* Taken by the one thread, served by the other. */
	CHECK_EQ_UINT(segments, 4);
	/* From 2000 to 31000 and from 7000 to 21000; 4000 in take and 900 in serve, each. */
	CHECK_EQ_UINT(span, 43000);
	CHECK_EQ_UINT(busy, 9800);
	/* An entry that was popped is free. */
	for (uint32_t i = 0; i < DIGEST_VALUES; i++)
		CHECK(!digest->values[i].socket);
}

/* Sockets whose numbers fall on the same places, all open: the first ones are counted as they are. */
TEST(more_open_sessions_than_places_are_counted)
{
	enum { COUNT = 100 };
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_free_ struct digest *digest = new_digest();
	uint64_t open = 0, closed = 0, bytes = 0;

	buf_add_text(&text, "thread 1 pid=1 tid=1 name=x\n1 0 call s!main\n");
	for (unsigned i = 0; i < COUNT; i++) {
		uint32_t socket = 1 + i * DIGEST_SESSIONS;
		unsigned at = 1000 * (i + 1);

		buf_add_format(&text, "1 %u op-accept socket=%u fd=4 result=4 aux=9\n", at, socket);
		buf_add_format(&text, "1 %u call s!serve\n1 %u op-read socket=%u fd=4 result=10\n1 %u return\n",
			       at + 10, at + 20, socket, at + 500);
	}
	trace = sample_of_text(buf_text(&text));
	fold_thread(digest, &trace->threads[0]);
	digest_end(digest, 1000 * (COUNT + 2));
	CHECK(digest_check(digest));
	for (uint32_t i = 0; i < digest->head.row_count; i++) {
		const struct digest_row *row = &digest->rows[i];

		if (row->bucket == DIGEST_REST)
			continue;
		open += row->open;
		closed += row->count - row->open;
		bytes += row->rx;
	}
	CHECK_EQ_UINT(open + closed, COUNT);
	CHECK_EQ_UINT(bytes, 10 * COUNT);
}

/* --- the same calls with and without memoisation --- */

struct writing {
	VEC(uint32_t) timed;
	VEC(uint32_t) untimed;
	uint32_t returns; /* pending, counted in the next word */
	uint64_t calls;
	uint64_t state;
};

/* A function's calls mostly depend on the function alone: these repeat. */
static void write_call(struct writing *w, uint32_t fn, unsigned depth)
{
	uint64_t state = fn * 977 + 1;
	unsigned count = depth < 5 ? (unsigned)(unit_random(&state) % 5) : 0;

	w->calls++;
	vec_push(&w->timed, flow_word_call(fn, 0));
	vec_push(&w->untimed, flow_word_call(fn, 0) | (w->returns ? w->returns << 14 | FLOW_MANY : 0));
	w->returns = 0;
	for (unsigned i = 0; i < count; i++) {
		uint32_t next = (uint32_t)(fn * 5 + 1 + unit_random(&state) % 7) % 60 + 1;

		write_call(w, unit_random(&w->state) % 50 ? next : next % 9 + 1, depth + 1);
	}
	vec_push(&w->timed, flow_word_return(0));
	w->returns++;
}

static void fold_words(struct digest *digest, const uint32_t *words, size_t count, uint16_t flags)
{
	struct digest_thread *thread = xzalloc(sizeof(*thread));
	struct flow_chunk chunk = {.thread = 1, .pid = 1, .tid = 1, .flags = flags};

	digest_thread_begin(thread, &chunk);
	/* In pieces, like a thread's buffers. */
	for (size_t at = 0; at < count; at += 1000) {
		chunk.bytes = (uint32_t)min_of(count - at, (size_t)1000) * 4;
		digest_fold(digest, thread, &chunk, words + at);
	}
	digest_thread_end(digest, thread, 0);
	digest_end(digest, 0);
	free(thread);
}

static void count_by_function(const struct digest *digest, uint64_t *ret_calls)
{
	_cleanup_buf_ struct buf file = file_of(digest);
	_cleanup_flow_trace_ struct flow_trace *trace = read_back(&file);

	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t k = 0; k < trace->threads[i].chunks[0].word_count; k++) {
			uint32_t word = trace->threads[i].chunks[0].words[k];

			if ((word & 3) == FLOW_TAG_CALL)
				ret_calls[word >> 2 & 63] += trace->threads[i].summary->count;
		}
}

TEST(what_is_known_already_is_the_same)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		_cleanup_free_ struct digest *one = new_digest(), *other = new_digest();
		uint64_t calls[2][64] = {}, all = 0;
		struct writing w = {.state = seed};

		for (unsigned i = 0; i < 300; i++)
			write_call(&w, i % 7 + 1, 0);
		vec_push(&w.untimed, FLOW_TAG_RETURN | w.returns << 2 | FLOW_MANY);
		fold_words(one, w.timed.items, w.timed.count, 0);
		fold_words(other, w.untimed.items, w.untimed.count, FLOW_UNTIMED);
		CHECK_EQ_UINT(one->head.calls, w.calls);
		CHECK_EQ_UINT(other->head.calls, w.calls);
		CHECK_EQ_UINT(one->head.events, w.calls * 2);
		CHECK_EQ_UINT(other->head.events, w.calls * 2);
		CHECK_EQ_UINT(other->head.row_count, one->head.row_count);
		count_by_function(one, calls[0]);
		count_by_function(other, calls[1]);
		CHECK_EQ_INT(memcmp(calls[0], calls[1], sizeof(calls[0])), 0);
		for (unsigned i = 0; i < 64; i++)
			all += calls[0][i];
		CHECK_EQ_UINT(all, w.calls);
		vec_done(&w.timed);
		vec_done(&w.untimed);
	}
}

TEST(a_long_row_is_one_call)
{
	_cleanup_free_ struct digest *digest = new_digest();
	uint64_t calls[64] = {};
	VEC(uint32_t) words = {};

	vec_push(&words, flow_word_call(9, 0));
	for (unsigned i = 0; i < 5000; i++) {
		vec_push(&words, flow_word_call(1 + i * i % 5, 0));
		vec_push(&words, flow_word_return(0));
	}
	vec_push(&words, flow_word_return(0));
	fold_words(digest, words.items, words.count, 0);
	count_by_function(digest, calls);
	CHECK_EQ_UINT(calls[9], 1);
	CHECK_EQ_UINT(calls[1] + calls[2] + calls[3] + calls[4] + calls[5], 5000);
	CHECK_EQ_UINT(digest->head.cut, 0);
	vec_done(&words);
}

TEST(more_than_fits_is_counted)
{
	_cleanup_free_ struct digest *digest = new_digest();
	VEC(uint32_t) words = {};
	uint64_t state = 5, calls = 0, kept = 0;

	/* Random rows of calls: nothing repeats. */
	for (unsigned i = 0; i < 40000; i++) {
		vec_push(&words, flow_word_call(1, 0));
		for (unsigned k = 0; k < 6; k++, calls++) {
			vec_push(&words, flow_word_call(2 + (uint32_t)(unit_random(&state) % 4000), 0));
			vec_push(&words, flow_word_return(0));
		}
		vec_push(&words, flow_word_return(0));
		calls++;
	}
	fold_words(digest, words.items, words.count, 0);
	CHECK_EQ_UINT(digest->head.calls, calls);
	CHECK_EQ_UINT(digest->head.node_count, DIGEST_NODES);
	CHECK(digest->head.cut > 0);
	CHECK(digest_check(digest));
	for (uint32_t i = 0; i < digest->head.row_count; i++)
		kept += digest->rows[i].count;
	CHECK_EQ_UINT(kept, 40000);
	vec_done(&words);
}

/* --- hostile --- */

TEST(a_damaged_summary_is_refused_or_read)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server);
	_cleanup_free_ struct digest *digest = new_digest();
	_cleanup_buf_ struct buf file = BUF_INIT(64 << 20);
	uint64_t state = 99, refused = 0;

	fold_thread(digest, &trace->threads[0]);
	digest_end(digest, 1000);
	file = file_of(digest);
	for (unsigned i = 0; i < 800; i++) {
		_cleanup_free_ uint8_t *copy = xmalloc(file.len);
		_cleanup_flow_trace_ struct flow_trace *read = NULL;
		struct flow_chunk *chunk;
		struct why why = {};
		size_t at;

		memcpy(copy, file.data, file.len);
		chunk = (struct flow_chunk *)(void *)copy;
		chunk = (struct flow_chunk *)(void *)(copy + sizeof(*chunk) + chunk->bytes);
		for (unsigned k = 0; k < 3; k++) {
			at = unit_random(&state) % (chunk->bytes / 4);
			((uint32_t *)(void *)(chunk + 1))[at] = unit_random(&state) % 3
									? (uint32_t)(unit_random(&state) % 20)
									: (uint32_t)unit_random(&state);
		}
		chunk->checksum = flow_chunk_checksum(chunk, chunk + 1);
		REQUIRE(flow_trace_open_memory(copy, file.len, &read, &why) == 0);
		refused += read->damaged_bytes > 0;
	}
	CHECK(refused > 20);
	CHECK(refused < 780);
}

TEST(a_damaged_area_is_refused_or_worked_with)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server);
	_cleanup_free_ struct digest *digest = new_digest(), *copy = xmalloc(sizeof(*copy));
	size_t used = offsetof(struct digest, nodes) + 64 * sizeof(struct digest_node);
	uint64_t state = 7, accepted = 0;

	fold_thread(digest, &trace->threads[0]);
	for (unsigned i = 0; i < 60; i++) {
		memcpy(copy, digest, sizeof(*copy));
		for (unsigned k = 0; k < 4; k++)
			((uint32_t *)(void *)copy)[unit_random(&state) % (used / 4)] =
				unit_random(&state) % 2 ? (uint32_t)(unit_random(&state) % 9)
							: (uint32_t)unit_random(&state);
		if (!digest_check(copy))
			continue;
		accepted++;
		fold_thread(copy, &trace->threads[0]);
		digest_end(copy, 5000);
		CHECK(copy->head.node_count <= DIGEST_NODES);
	}
	CHECK(accepted > 0);
}
