/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other tracers' formats, from small inputs with known meaning. */
#include "base/buf.h"
#include "base/new_file.h"
#include "base/out.h"
#include "flow/import/import_map.h"
#include "flow/trace/trace_check.h"
#include "flow/trace/trace_text.h"
#include "unit.h"

typedef int import_fn(const void *data, size_t size, struct trace_writer *writer, struct import_result *result,
		      struct why *why);

static int xray(const void *data, size_t size, struct trace_writer *writer, struct import_result *result,
		struct why *why)
{
	return import_xray(data, size, writer, result, why);
}

static int json(const void *data, size_t size, struct trace_writer *writer, struct import_result *result,
		struct why *why)
{
	return import_trace_event(data, size, writer, result, why);
}

static int graph(const void *data, size_t size, struct trace_writer *writer, struct import_result *result,
		 struct why *why)
{
	return import_function_graph(data, size, writer, result, why);
}

/* The events as text, or the error. */
static void import(import_fn *fn, const void *data, size_t size, struct buf *to)
{
	char trace_path[] = "/tmp/nest-unit-import-XXXXXX", text_path[] = "/tmp/nest-unit-text-XXXXXX";
	int fd = mkstemp(trace_path), text_fd = mkstemp(text_path), r;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct import_result result = {};
	struct trace_writer *writer;
	struct flow_check check;
	struct why why = {};
	struct out out;

	REQUIRE(fd >= 0 && text_fd >= 0);
	close(fd);
	new_file_forget_inputs();
	REQUIRE(trace_writer_open(trace_path, &(struct trace_writer_options){}, &writer, &why) == 0);
	r = fn(data, size, writer, &result, &why);
	REQUIRE(trace_writer_close(writer) == 0);
	if (r < 0) {
		buf_add_text(to, why.text);
	} else {
		REQUIRE(flow_trace_open(trace_path, &trace, &why) == 0);
		flow_trace_check(trace, &check);
		CHECK_EQ_UINT(check.faults, 0);
		out_init(&out, text_fd);
		(void)trace_text_dump(trace, &out);
		REQUIRE(out_done(&out) == 0);
		REQUIRE(buf_read_file(to, text_path) == 0);
		buf_add_text(to, result.note);
	}
	close(text_fd);
	unlink(trace_path);
	unlink(text_path);
}

TEST(complete_events_nest_by_their_durations)
{
	static const char text[] = "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":7,"
				   "\"args\":{\"name\":\"io\"}},"
				   "{\"ph\":\"X\",\"name\":\"inner\",\"ts\":2,\"dur\":3,\"pid\":1,\"tid\":7},"
				   "{\"ph\":\"X\",\"name\":\"outer\",\"ts\":1,\"dur\":9,\"pid\":1,\"tid\":7},"
				   "{\"ph\":\"X\",\"name\":\"next\",\"ts\":5,\"dur\":1.5,\"pid\":1,\"tid\":7}]}";
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 16);

	import(json, text, strlen(text), &got);
	CHECK_EQ_TEXT(buf_text(&got), "thread 1 pid=1 tid=7 name=io\n1 0 call outer\n1 1000 call inner\n1 4000 return\n"
				      "1 4000 call next\n1 5500 return\n1 9000 return\n");
}

TEST(begin_and_end_match_and_strangers_are_told)
{
	static const char text[] =
		"[{\"ph\":\"E\",\"ts\":1,\"pid\":5},{\"ph\":\"B\",\"name\":\"f\",\"ts\":2,\"pid\":5},"
		"{\"ph\":\"B\",\"name\":\"g\",\"ts\":3,\"pid\":5},{\"ph\":\"E\",\"ts\":4,\"pid\":5}]";
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 16);

	import(json, text, strlen(text), &got);
	CHECK_HAS_TEXT(buf_text(&got), "call f\n");
	CHECK_HAS_TEXT(buf_text(&got), "1 1000 call g\n1 2000 return\n");
	CHECK_HAS_TEXT(buf_text(&got), "end events without a begin event omitted: 1");
}

TEST(json_that_is_none_is_refused)
{
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 16), other = BUF_INIT(1 << 16);

	import(json, "{\"traceEvents\":", 15, &got);
	CHECK_HAS_TEXT(buf_text(&got), "line 1");
	import(json, "{\"x\":1}", 7, &other);
	CHECK_HAS_TEXT(buf_text(&other), "no event list");
}

TEST(function_graph_gives_times_from_durations)
{
	static const char text[] = "# tracer: function_graph\n 0)               |  a() {\n 0)   0.285 us    |    b();\n"
				   " 0) + 12.300 us   |  }\n 1)   0.500 us    |  c();\n 1)   9.0 us  |  }\n";
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 16);

	import(graph, text, strlen(text), &got);
	CHECK_HAS_TEXT(buf_text(&got), "1 0 call a\n1 0 call b\n");
	CHECK_HAS_TEXT(buf_text(&got), "1 285 return\n");
	CHECK_HAS_TEXT(buf_text(&got), "1 12300 return\n");
	CHECK_HAS_TEXT(buf_text(&got), "returns of calls before the trace omitted: 1");
}

TEST(function_graph_with_tasks_and_absolute_time)
{
	static const char text[] = "   100.000001 |   0)   nginx-4711   |               |  a() {\n"
				   "   100.000003 |   1)   nginx-4711   |   1.000 us    |  }\n";
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 16);

	import(graph, text, strlen(text), &got);
	CHECK_EQ_TEXT(buf_text(&got), "thread 1 pid=4711 tid=4711 name=nginx\n1 0 call a\n1 2000 return\n");
}

static void put(struct buf *out, uint64_t value, size_t bytes)
{
	buf_add(out, &value, bytes);
}

static void xray_header(struct buf *out, unsigned version, unsigned type)
{
	put(out, version, 2);
	put(out, type, 2);
	put(out, 3, 4);
	put(out, 1000000000, 8);
	put(out, 65536, 8);
	put(out, 0, 8);
}

/* A metadata record of the flight data recorder has 16 bytes. */
static void xray_meta(struct buf *out, unsigned kind, uint64_t value, size_t bytes)
{
	size_t start = out->len;

	put(out, kind << 1 | 1, 1);
	put(out, value, bytes);
	while (out->len < start + 16)
		put(out, 0, 1);
}

TEST(xray_flight_data_recorder)
{
	_cleanup_buf_ struct buf log = BUF_INIT(1 << 16), got = BUF_INIT(1 << 16);

	xray_header(&log, 5, 1);
	xray_meta(&log, 7, 96, 8);
	xray_meta(&log, 0, 42, 4);
	xray_meta(&log, 9, 40, 4);
	put(&log, 2 << 1 | 1, 1); /* a CPU, and its time */
	put(&log, 3, 2);
	put(&log, 1000, 8);
	put(&log, 0, 5);
	put(&log, 7 << 4, 4);
	put(&log, 5, 4);
	put(&log, 8 << 4, 4);
	put(&log, 10, 4);
	put(&log, 8 << 4 | 1 << 1, 4);
	put(&log, 20, 4);
	xray_meta(&log, 3, 5000, 8);
	put(&log, 7 << 4 | 2 << 1, 4);
	put(&log, 1, 4);
	import(xray, log.data, log.len, &got);
	CHECK_EQ_TEXT(buf_text(&got),
		      "thread 1 pid=40 tid=42 name=\n1 0 call xray#7\n1 10 call xray#8\n1 30 return\n1 3996 return\n");
	/* Without its last record: the log states its length. */
	got.len = 0;
	import(xray, log.data, log.len - 8, &got);
	CHECK_HAS_TEXT(buf_text(&got),
		       "1 30 return\n1 30 lost 0\ntruncated log, bytes missing or incomplete at its end: 8");
}

/* Events of other kinds are passed over by their length; returns without a call, and a buffer of a second thread. */
TEST(xray_passes_over_what_is_no_call)
{
	_cleanup_buf_ struct buf log = BUF_INIT(1 << 16), got = BUF_INIT(1 << 16), more = BUF_INIT(1 << 16);

	xray_header(&log, 5, 1);
	xray_meta(&log, 0, 42, 4);
	xray_meta(&log, 9, 40, 4);
	xray_meta(&log, 3, 1000, 8);
	put(&log, 7 << 4 | 1 << 1, 4); /* a return of a call before the log */
	put(&log, 5, 4);
	xray_meta(&log, 5, 8, 4); /* a custom event with 8 bytes */
	put(&log, UINT64_MAX, 8);
	put(&log, 7 << 4, 4);
	put(&log, 5, 4);
	xray_meta(&log, 8, 4, 4); /* a typed one with 4 */
	put(&log, UINT32_MAX, 4);
	put(&log, 7 << 4 | 1 << 1, 4);
	put(&log, 10, 4);
	xray_meta(&log, 0, 43, 4);
	xray_meta(&log, 3, 1002, 8);
	put(&log, 8 << 4, 4);
	put(&log, 1, 4);
	put(&log, 8 << 4 | 1 << 1, 4);
	put(&log, 1, 4);
	import(xray, log.data, log.len, &got);
	CHECK_EQ_TEXT(buf_text(&got), "thread 2 pid=40 tid=43 name=\nthread 1 pid=40 tid=42 name=\n"
				      "2 0 call xray#8\n2 1 return\n1 7 call xray#7\n1 17 return\n"
				      "returns of calls before the log omitted: 1");
	/* A length that reaches beyond the end, or back, ends the log. */
	buf_add(&more, log.data, log.len);
	xray_meta(&more, 5, 1000, 4);
	got.len = 0;
	import(xray, more.data, more.len, &got);
	CHECK_HAS_TEXT(buf_text(&got), "bytes missing or incomplete at its end: 16");
	buf_truncate(&more, log.len);
	xray_meta(&more, 5, UINT32_MAX, 4);
	got.len = 0;
	import(xray, more.data, more.len, &got);
	CHECK_HAS_TEXT(buf_text(&got), "bytes missing or incomplete at its end: 16");
	got.len = 0;
	import(xray, log.data, 31, &got);
	CHECK_EQ_TEXT(buf_text(&got), "too short for an XRay log");
}

TEST(xray_basic)
{
	_cleanup_buf_ struct buf log = BUF_INIT(1 << 16), got = BUF_INIT(1 << 16);

	xray_header(&log, 3, 0);
	for (unsigned i = 0; i < 2; i++) {
		put(&log, 0, 2);
		put(&log, 0, 1);
		put(&log, i, 1);
		put(&log, 9, 4);
		put(&log, 100 + i * 50, 8);
		put(&log, 12, 4);
		put(&log, 11, 4);
		put(&log, 0, 8);
	}
	import(xray, log.data, log.len, &got);
	CHECK_EQ_TEXT(buf_text(&got), "thread 1 pid=11 tid=12 name=\n1 0 call xray#9\n1 50 return\n");
}

static int xray_score(const struct buf *log)
{
	registry_each(importer, importer)
		if (strcmp((*importer)->name, "xray") == 0)
			return (*importer)->recognise("log.x", log->data, log->len);
	return -1;
}

/* Runtimes of clang 21 leave the rest of the header as it was in memory. */
TEST(xray_is_recognised_by_what_is_set)
{
	_cleanup_buf_ struct buf log = BUF_INIT(1 << 10);

	xray_header(&log, 3, 0);
	CHECK_EQ_INT(xray_score(&log), 80);
	memset(log.data + 16, 0xaa, 16);
	log.data[4] = (char)0xab;
	memset(log.data + 5, 0xaa, 3);
	CHECK_EQ_INT(xray_score(&log), 80);
	put(&log, 0, 8);
	CHECK_EQ_INT(xray_score(&log), 80);
	log.data[32] = 2;
	CHECK_EQ_INT(xray_score(&log), 0);
	log.len = 31;
	CHECK_EQ_INT(xray_score(&log), 0);
}

TEST(what_is_no_log_is_refused)
{
	_cleanup_buf_ struct buf got = BUF_INIT(1 << 16), other = BUF_INIT(1 << 16);
	char zeros[64] = "";

	import(xray, zeros, sizeof(zeros), &got);
	CHECK_HAS_TEXT(buf_text(&got), "not a supported XRay log");
	import(graph, "hello\n", 6, &other);
	CHECK_HAS_TEXT(buf_text(&other), "no function_graph lines");
}
