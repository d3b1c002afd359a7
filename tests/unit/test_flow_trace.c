/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function traces: a written trace reads back; damage is detected. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/new_file.h"
#include "base/out.h"
#include "flow/trace/checksum.h"
#include "flow/trace/demangle.h"
#include "flow/trace/trace_check.h"
#include "flow/trace/trace_text.h"
#include "unit.h"

static char path[] = "/tmp/nest-unit-flow-XXXXXX";

static struct trace_writer *new_writer(const struct trace_writer_options *options)
{
	struct trace_writer *writer = NULL;
	struct why why = {};
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	close(fd);
	new_file_forget_inputs();
	REQUIRE(trace_writer_open(path, options, &writer, &why) == 0);
	return writer;
}

static struct flow_trace *open_trace(void)
{
	struct flow_trace *trace = NULL;
	struct why why = {};

	if (!CHECK_EQ_INT(flow_trace_open(path, &trace, &why), 0))
		fprintf(stderr, "# %s\n", why.text);
	REQUIRE(trace);
	unlink(path);
	return trace;
}

static struct buf file_of(void)
{
	struct buf data = BUF_INIT((size_t)256 << 20);

	REQUIRE(buf_read_file(&data, path) == 0);
	unlink(path);
	return data;
}

TEST(checksum_is_the_published_one)
{
	struct xxh64 x;

	xxh64_begin(&x);
	CHECK_EQ_UINT(xxh64_end(&x, (const uint8_t *)"", 0), UINT64_C(0xEF46DB3751D8E999));
	xxh64_begin(&x);
	CHECK_EQ_UINT(xxh64_end(&x, (const uint8_t *)"abc", 3), UINT64_C(0x44BC2CF5AD770999));
	xxh64_begin(&x);
	CHECK_EQ_UINT(xxh64_end(&x, (const uint8_t *)"The quick brown fox jumps over the lazy dog", 43),
		      UINT64_C(0x0B242D361FDA71BC));
}

TEST(calls_and_returns_come_back_with_their_times)
{
	static const uint64_t gaps[] = {1, 262143, 262144, 1073741823, 1073741824, 5000000000, 0, 7};
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){.chunk_bytes = 2048});
	uint32_t module = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x", .build_id = "00ff1a"});
	uint32_t thread = trace_writer_thread(writer, 1, 2, "one"), fns[5000];
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct flow_cursor cursor;
	struct flow_event event;
	struct flow_check check;
	uint64_t now = 1000;

	for (unsigned i = 0; i < ARRAY_SIZE(fns); i++) {
		char name[20];

		snprintf(name, sizeof(name), "f%u", i);
		fns[i] = trace_writer_function(writer, module, 16 + i, name);
	}
	for (unsigned i = 0; i < 20000; i++) {
		trace_writer_call(writer, thread, now += gaps[i % 8], fns[i % 5000]);
		if (i % 3)
			trace_writer_return(writer, thread, now += gaps[i % 7]);
	}
	CHECK_EQ_INT(trace_writer_close(writer), 0);
	trace = open_trace();
	CHECK(trace->complete);
	CHECK_EQ_UINT(trace->calls, 20000);
	CHECK_EQ_UINT(trace->function_count, 5001);
	CHECK_EQ_UINT(trace->thread_count, 1);
	CHECK_EQ_TEXT(trace->threads[0].name, "one");
	CHECK_EQ_TEXT(trace->modules[1].build_id, "00ff1a");
	flow_cursor_begin(&cursor, trace, 0);
	CHECK(flow_cursor_next(&cursor, &event) && event.kind == FLOW_THREAD_START);
	now = 1000;
	for (unsigned i = 0; i < 20000; i++) {
		char name[20];

		snprintf(name, sizeof(name), "f%u", i % 5000);
		now += gaps[i % 8];
		REQUIRE(flow_cursor_next(&cursor, &event) && event.kind == FLOW_CALL && event.ticks == now);
		REQUIRE(strcmp(trace->functions[event.fn].name, name) == 0);
		now += i % 3 ? gaps[i % 7] : 0;
		REQUIRE(i % 3 == 0 ||
			(flow_cursor_next(&cursor, &event) && event.kind == FLOW_RETURN && event.ticks == now));
	}
	CHECK(!flow_cursor_next(&cursor, &event));
	flow_trace_check(trace, &check);
	CHECK_EQ_UINT(check.faults, 0);
	CHECK_EQ_UINT(check.open, 20000 / 3 + 1);
}

static const char *const sample =
	"thread 1 pid=10 tid=10 name=main\n"
	"thread 2 pid=10 tid=11 name=worker\n"
	"late 120 30000\n"
	"late 2000000 4500000\n"
	"1 0 call srv!main\n"
	"1 100 call srv!accept_loop\n"
	"1 150 socket socket=1 fd=5 family=2 type=1 cookie=77 local=127.0.0.1:80 remote=127.0.0.1:4567\n"
	"1 200 op-accept fd=3 result=5 took=40 socket=1\n"
	"1 250 push 4711\n"
	"2 260 call srv!worker\n"
	"2 260 args 1 2 18446744073709551615\n"
	"2 270 pop 4711\n"
	"2 280 delay 12345 3 678901\n"
	"2 300 op-read fd=5 result=-11 took=2000000000 socket=1 aux=4096\n"
	"2 2000000300 delay-op 6789 1\n"
	"2 2000000400 call libx.so!operator new[](unsigned long)\n"
	"2 2000000500 return\n"
	"2 2000000600 return\n"
	"2 2000000700 end\n"
	"1 2000000900 op-wait fd=9 result=2 took=50 aux=1000 ready=5:1 ready=6:4\n"
	"1 2000001900 unwind 1\n"
	"1 2000002900 return\n"
	"1 2000003900 lost 17 signal\n"
	"1 2000004900 stack srv!main; srv!accept_loop\n"
	"1 2000005900 return\n"
	"1 2000006000 exit\n";

static void dump(const struct flow_trace *trace, struct buf *to)
{
	char name[] = "/tmp/nest-unit-dump-XXXXXX";
	int fd = mkstemp(name);
	struct out out;

	REQUIRE(fd >= 0);
	out_init(&out, fd);
	(void)trace_text_dump(trace, &out);
	REQUIRE(out_done(&out) == 0);
	close(fd);
	REQUIRE(buf_read_file(to, name) == 0);
	unlink(name);
}

TEST(text_reads_back_as_itself)
{
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){});
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	struct flow_check check;
	struct why why = {};

	if (!CHECK_EQ_INT(trace_text_import(sample, strlen(sample), writer, &why), 0))
		fprintf(stderr, "# %s\n", why.text);
	CHECK_EQ_INT(trace_writer_close(writer), 0);
	trace = open_trace();
	dump(trace, &text);
	CHECK_EQ_TEXT(buf_text(&text), sample);
	CHECK_EQ_UINT(trace->lost, 17);
	flow_trace_check(trace, &check);
	CHECK_EQ_UINT(check.faults, 0);
	CHECK_EQ_UINT(check.operations, 3);
	CHECK_EQ_UINT(check.open, 1);
}

/* Of recordings that followed each other in one file. */
TEST(times_without_a_cpu_are_in_order_and_apart)
{
	static const char *const text =
		"thread 1 pid=10 tid=10 name=main\n1 0 call srv!main\n1 9000 return\n"
		"late 500 100\nlate 100 50\nlate 550 200\nlate 560 10\nlate 900 0\nlate 750 1\n";
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){});
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct why why = {};

	CHECK_EQ_INT(trace_text_import(text, strlen(text), writer, &why), 0);
	CHECK_EQ_INT(trace_writer_close(writer), 0);
	trace = open_trace();
	REQUIRE(trace->late_count == 2);
	CHECK_EQ_UINT(trace->late[0].due_ticks, 100);
	CHECK_EQ_UINT(trace->late[0].awake_ticks, 150);
	CHECK_EQ_UINT(trace->late[1].due_ticks, 500);
	CHECK_EQ_UINT(trace->late[1].awake_ticks, 751);
}

TEST(text_that_makes_no_sense_is_refused_with_its_line)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"thread 1\n1 5 fly 3\n", "line 2"},
		{"1 5 call x\n", "line 1: undeclared thread"},
		{"thread 1\n1 x call y\n", "line 2: number"},
		{"thread 1\n1 5 call \n", "line 2: function name"},
		{"thread 1\nthread 1\n", "line 2: duplicate thread"},
		{"thread 1\n1 5 op-fly\n", "line 2: unknown operation"},
		{"thread 1\n1 5 op-read foo=1\n", "line 2: unknown key"},
		{"thread 1\n1 5 lost 3 bored\n", "line 2: unknown reason for lost events"},
		{"hello\n", "line 1: line must start with"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trace_writer *writer;
		struct why why = {};

		memcpy(path + strlen(path) - 6, "XXXXXX", 6);
		writer = new_writer(&(struct trace_writer_options){});
		CHECK_ERR(trace_text_import(cases[i].text, strlen(cases[i].text), writer, &why), -EINVAL);
		CHECK_HAS_TEXT(why.text, cases[i].why);
		CHECK_EQ_INT(trace_writer_close(writer), 0);
		unlink(path);
	}
}

/* Many small chunks of two threads. */
static void write_many(unsigned calls)
{
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){.chunk_bytes = 2048});
	uint32_t fn = trace_writer_function(writer, 0, 0, "f"), threads[2];
	uint64_t now = 0;

	threads[0] = trace_writer_thread(writer, 1, 1, "a");
	threads[1] = trace_writer_thread(writer, 1, 2, "b");
	for (unsigned i = 0; i < calls; i++) {
		trace_writer_call(writer, threads[i % 2], now += 10, fn);
		trace_writer_return(writer, threads[i % 2], now += 10);
	}
	CHECK_EQ_INT(trace_writer_close(writer), 0);
}

static uint64_t count_calls(const struct flow_trace *trace, uint64_t *ret_gaps)
{
	struct flow_check check;

	flow_trace_check(trace, &check);
	*ret_gaps = check.gaps;
	return check.calls;
}

TEST(a_cut_end_loses_at_most_one_chunk)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1);
	uint64_t before = 0, gaps;

	write_many(20000);
	data = file_of();
	for (size_t size = 600; size <= data.len; size += 997) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		struct why why = {};
		uint64_t calls;

		REQUIRE(flow_trace_open_memory(data.data, size, &trace, &why) == 0);
		calls = count_calls(trace, &gaps);
		CHECK(calls >= before);
		before = calls;
		/* A chunk of 2048 bytes has 256 calls, and at most one is truncated. */
		CHECK(size == data.len || !trace->complete);
		CHECK((size - 600) / (2048 + 96) * 256 <= calls + 256);
	}
	CHECK(before > 19000);
}

TEST(a_flipped_bit_loses_its_chunk_and_says_so)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1);
	uint64_t gaps;

	write_many(20000);
	data = file_of();
	for (size_t at = 700; at < data.len - 200; at += 1999) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		struct why why = {};
		struct flow_check check;

		data.data[at] ^= 0x10;
		REQUIRE(flow_trace_open_memory(data.data, data.len, &trace, &why) == 0);
		flow_trace_check(trace, &check);
		CHECK(check.faults > 0);
		CHECK(check.calls >= 20000 - 257);
		data.data[at] ^= 0x10;
	}
	{
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		struct why why = {};

		REQUIRE(flow_trace_open_memory(data.data, data.len, &trace, &why) == 0);
		CHECK_EQ_UINT(count_calls(trace, &gaps), 20000);
		CHECK_EQ_UINT(gaps, 0);
	}
}

/* What follows a damaged start is read. */
TEST(a_trace_without_its_start)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_buf_ struct buf data = BUF_INIT(1);
	struct why why = {};
	uint64_t gaps;

	write_many(20000);
	data = file_of();
	data.data[0] ^= 0x10;
	REQUIRE(flow_trace_open_memory(data.data, data.len, &trace, &why) == 0);
	CHECK(count_calls(trace, &gaps) > 19000);
}

TEST(lost_events_are_counted_per_thread)
{
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){.chunk_bytes = 2048});
	uint32_t fn = trace_writer_function(writer, 0, 0, "f"), threads[2];
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;

	for (unsigned i = 0; i < 2; i++) {
		threads[i] = trace_writer_thread(writer, 1, i + 1, "t");
		trace_writer_lost(writer, threads[i], 1000 * (i + 1), 10 * (i + 1));
		/* The next loss is in another chunk. */
		for (unsigned n = 0; n < 1000; n++)
			trace_writer_call(writer, threads[i], 10000 + n, fn);
		trace_writer_lost(writer, threads[i], 20000, 7);
	}
	CHECK_EQ_INT(trace_writer_close(writer), 0);
	trace = open_trace();
	REQUIRE(trace->thread_count == 2);
	CHECK_EQ_UINT(trace->threads[0].lost, 17);
	CHECK_EQ_UINT(trace->threads[1].lost, 27);
	CHECK_EQ_UINT(trace->lost, 44);
}

TEST(what_is_no_trace_is_refused)
{
	struct flow_trace *trace = NULL;
	char zeros[500] = "";
	struct why why = {};

	CHECK_ERR(flow_trace_open_memory(zeros, sizeof(zeros), &trace, &why), -EBADMSG);
	CHECK_ERR(flow_trace_open("/nonexistent/x", &trace, &why), -ENOENT);
	CHECK_ERR(flow_trace_open("/dev/null", &trace, &why), -EBADMSG);
	CHECK(!trace);
}

TEST(merged_events_are_in_the_order_of_time)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct flow_merge *merge;
	struct flow_event event;
	uint64_t last = 0, count = 0;
	size_t thread;

	write_many(5000);
	trace = open_trace();
	merge = flow_merge_new(trace);
	while (flow_merge_next(merge, &event, &thread)) {
		CHECK(event.ticks >= last);
		last = event.ticks;
		count++;
	}
	flow_merge_free(merge);
	CHECK_EQ_UINT(count, 10002);
}

TEST(one_function_under_two_numbers_is_one)
{
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){});
	uint32_t module = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x"});
	uint32_t again = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x"});
	uint32_t a = trace_writer_function(writer, module, 4096, NULL),
		 b = trace_writer_function(writer, again, 4096, "f");
	uint32_t thread = trace_writer_thread(writer, 1, 1, "t");
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct flow_cursor cursor;
	struct flow_event event;
	uint32_t first;

	CHECK(a != b);
	trace_writer_call(writer, thread, 1, a);
	trace_writer_call(writer, thread, 2, b);
	CHECK_EQ_INT(trace_writer_close(writer), 0);
	trace = open_trace();
	CHECK_EQ_UINT(trace->function_count, 2);
	CHECK_EQ_UINT(trace->module_count, 2);
	flow_cursor_begin(&cursor, trace, 0);
	CHECK(flow_cursor_next(&cursor, &event));
	CHECK(flow_cursor_next(&cursor, &event));
	first = event.fn;
	CHECK(flow_cursor_next(&cursor, &event));
	CHECK_EQ_UINT(event.fn, first);
	CHECK_EQ_TEXT(trace->functions[first].name, "f");
}

TEST(ticks_become_time)
{
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){
		.ticks_per_second = 2800000000, .start_real_ns = UINT64_C(1700000000) * NSEC_PER_SEC});
	uint32_t thread = trace_writer_thread(writer, 1, 1, "t");
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;

	trace_writer_call(writer, thread, 2800000000, trace_writer_function(writer, 0, 0, "f"));
	trace_writer_return(writer, thread, UINT64_C(2800000000) * 86400);
	CHECK_EQ_INT(trace_writer_close(writer), 0);
	trace = open_trace();
	CHECK_NEAR((double)(flow_ns(trace, 2800000000) - UINT64_C(1700000001) * NSEC_PER_SEC), 0.0, 2.0);
	CHECK_NEAR((double)flow_span_ns(trace, UINT64_C(2800000000) * 86400), 86400e9, 1000.0);
}

static void add_chunk(struct buf *data, struct flow_chunk header, const char *payload)
{
	char words[256] = "";
	size_t bytes = (strlen(payload) + 3) / 4 * 4;

	REQUIRE(bytes <= sizeof(words));
	memcpy(words, payload, strlen(payload));
	header.magic = FLOW_MAGIC;
	header.bytes = (uint32_t)bytes;
	header.checksum = flow_chunk_checksum(&header, words);
	buf_add(data, &header, sizeof(header));
	buf_add(data, words, bytes);
}

/* The rate that the recorder knew counts, else that of two readings of both clocks, else about what it thought. */
TEST(the_rate_of_the_clock)
{
	static const struct {
		const char *properties;
		uint64_t ticks, ns; /* from the first reading to the last */
		uint64_t rate;
	} cases[] = {
		{"", UINT64_C(6000000000), 2000000000, UINT64_C(3000000000)},
		{"ticks_per_second 2000000000\n", UINT64_C(6000000000), 2000000000, 2000000000},
		{"ticks_per_second 2000000000\nticks_per_second_about 1500000000\n", 0, 0, 2000000000},
		{"ticks_per_second_about 1500000000\n", UINT64_C(6000000000), 2000000000, UINT64_C(3000000000)},
		{"ticks_per_second_about 1500000000\n", 3000000, 1000000, 1500000000},
		{"ticks_per_second_about 1500000000\n", 1000, 2000000, 1500000000},
		{"", 3000003, 1000001, UINT64_C(3000000000)},
		{"", 3000000, 1000000, NSEC_PER_SEC},
		{"", 1000, 1000001, NSEC_PER_SEC},
		{"", 1001, 1001000, 1000000},
		/* The clock was set back. */
		{"", UINT64_C(100000000000000), (uint64_t)-1000000000, NSEC_PER_SEC},
		/* No clock is as slow, or as fast. */
		{"", 1999, 2000000000, NSEC_PER_SEC},
		{"", 2000, 2000000000, 1000},
		{"", UINT64_C(10000000000000), 2000000, NSEC_PER_SEC},
		{"ticks_per_second 12x\n", UINT64_C(6000000000), 2000000000, UINT64_C(3000000000)},
		{"ticks_per_second 999\nticks_per_second_about 7\n", 0, 0, NSEC_PER_SEC},
	};
	static const uint64_t first_ns = UINT64_C(1700000000) * NSEC_PER_SEC;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_buf_ struct buf data = BUF_INIT(65536);
		struct why why = {};

		unit_note("case %u", i);
		add_chunk(&data,
			  (struct flow_chunk){.kind = FLOW_CHUNK_FILE, .clock_ticks = 5000, .clock_ns = first_ns},
			  cases[i].properties);
		/* One without a reading changes nothing. */
		add_chunk(&data, (struct flow_chunk){.kind = FLOW_CHUNK_META, .clock_ticks = UINT64_MAX}, "");
		add_chunk(&data,
			  (struct flow_chunk){.kind = FLOW_CHUNK_END,
					      .clock_ticks = 5000 + cases[i].ticks,
					      .clock_ns = first_ns + cases[i].ns},
			  "");
		REQUIRE(flow_trace_open_memory(data.data, data.len, &trace, &why) == 0);
		CHECK_EQ_UINT(trace->ticks_per_second, cases[i].rate);
		CHECK_EQ_UINT(flow_ns(trace, 5000), first_ns);
		CHECK(trace->complete);
	}
}

/* What the recorder counted at the end: lost events, and bytes of chunks that it stored elsewhere. */
TEST(the_end_of_a_trace)
{
	static const struct {
		uint64_t torn, torn_bytes, damaged_bytes;
	} cases[] = {{0, 0, 40}, {24, 24, 16}, {40, 40, 0}, {400, 40, 0}};
	static const char torn[] = "a chunk whose writer was killed meanwhile";

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_buf_ struct buf data = BUF_INIT(65536);
		struct why why = {};

		unit_note("case %u", i);
		add_chunk(&data, (struct flow_chunk){.kind = FLOW_CHUNK_FILE, .lost = 1000, .torn = 1000}, "host h\n");
		buf_add(&data, torn, 40);
		add_chunk(&data, (struct flow_chunk){.kind = FLOW_CHUNK_END, .lost = 5, .torn = cases[i].torn}, "");
		REQUIRE(flow_trace_open_memory(data.data, data.len, &trace, &why) == 0);
		CHECK_EQ_UINT(trace->lost, 5);
		CHECK_EQ_UINT(trace->torn_bytes, cases[i].torn_bytes);
		CHECK_EQ_UINT(trace->damaged_bytes, cases[i].damaged_bytes);
		CHECK(trace->complete == (cases[i].damaged_bytes == 0));
		CHECK_EQ_TEXT(flow_trace_property(trace, "host"), "h");
	}
}

TEST(names_of_cpp_functions_are_readable)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct trace_writer *writer = new_writer(&(struct trace_writer_options){});
	uint32_t module = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x"});
	uint32_t thread = trace_writer_thread(writer, 1, 1, "t"), one, other;

	one = trace_writer_function(writer, module, 0x10, "_ZN6Server6handleEi");
	other = trace_writer_function(writer, module, 0x20, "_ZN6Server6handleEPKc");
	trace_writer_call(writer, thread, 1, one);
	trace_writer_call(writer, thread, 2, other);
	trace_writer_return(writer, thread, 3);
	trace_writer_return(writer, thread, 4);
	REQUIRE(trace_writer_close(writer) == 0);
	trace = open_trace();
	REQUIRE(trace->function_count == 3);
	CHECK_EQ_TEXT(trace->functions[1].name, "Server::handle");
	CHECK_EQ_TEXT(trace->functions[2].name, "Server::handle");
}

TEST(names_that_are_traps_stay_as_they_are)
{
	_cleanup_free_ char *deep = xmalloc(100001), *bomb = NULL, *name = NULL;
	struct buf text = BUF_INIT(65536);

	CHECK(!flow_demangle("main"));
	CHECK(!flow_demangle("_Z"));
	CHECK(!flow_demangle("_Z9"));
	CHECK(!flow_demangle("_ZN"));
	memset(deep, 'P', 100000);
	deep[100000] = '\0';
	memcpy(deep, "_Z1fI", 5);
	CHECK(!flow_demangle(deep));
	deep[4000] = '\0';
	CHECK(!flow_demangle(deep));
	/* Each part is all earlier parts, twice. */
	buf_add_text(&text, "_Z1fI1AIiiE");
	for (unsigned i = 0; i < 26; i++) {
		char before = "0123456789ABCDEFGHIJKLMNOP"[i];

		buf_add_format(&text, "1%cIS%c_S%c_E", (char)('a' + i), before, before);
	}
	buf_add_text(&text, "Evv");
	bomb = text.data;
	name = flow_demangle(bomb);
	CHECK(!name || strlen(name) < 1024);
}
