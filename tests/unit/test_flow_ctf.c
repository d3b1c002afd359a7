/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CTF trace as LTTng lays it out, built here byte by byte: two CPUs, threads that migrate between them, a process
 * that reports its memory map. Then the same with every kind of damage.
 */
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/new_file.h"
#include "base/out.h"
#include "flow/import/ctf_read.h"
#include "flow/import/import_map.h"
#include "flow/trace/trace_check.h"
#include "flow/trace/trace_text.h"
#include "unit.h"

#define PID   500u
#define START UINT64_C(1700000000000000000) /* origin of the clock, in ns since 1970 */

enum { ENTRY, EXIT, FAST_ENTRY, FAST_EXIT, DUMP_START, BIN_INFO, BUILD_ID, UNLOAD };

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"  packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n"
	"env { domain = \"ust\"; tracer_name = \"lttng-ust\"; };\n"
	"clock { name = monotonic; freq = 1000000000; offset = 1700000000000000000; };\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp_t;\n"
	"stream { id = 0; event.header := struct { uint32_t id; stamp_t timestamp; };\n"
	"  packet.context := struct { stamp_t timestamp_begin; stamp_t timestamp_end; uint64_t content_size;\n"
	"    uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; };\n"
	"  event.context := struct { int32_t _vtid; int32_t _vpid;\n"
	"    integer { size = 8; align = 8; signed = true; encoding = UTF8; } _procname[17]; }; };\n"
	"event { name = \"lttng_ust_cyg_profile:func_entry\"; id = 0; stream_id = 0;\n"
	"  fields := struct { uint64_t _addr; uint64_t _call_site; }; };\n"
	"event { name = \"lttng_ust_cyg_profile:func_exit\"; id = 1; stream_id = 0;\n"
	"  fields := struct { uint64_t _addr; uint64_t _call_site; }; };\n"
	"event { name = \"lttng_ust_cyg_profile_fast:func_entry\"; id = 2; stream_id = 0;\n"
	"  fields := struct { uint64_t _addr; }; };\n"
	"event { name = \"lttng_ust_cyg_profile_fast:func_exit\"; id = 3; stream_id = 0; fields := struct { }; };\n"
	"event { name = \"lttng_ust_statedump:start\"; id = 4; stream_id = 0; fields := struct { }; };\n"
	"event { name = \"lttng_ust_statedump:bin_info\"; id = 5; stream_id = 0; fields := struct {\n"
	"  uint64_t _baddr; uint64_t _memsz; string _path; uint8_t _is_pic; uint8_t _has_build_id; }; };\n"
	"event { name = \"lttng_ust_statedump:build_id\"; id = 6; stream_id = 0; fields := struct {\n"
	"  uint64_t _baddr; uint64_t __build_id_length; uint8_t _build_id[ __build_id_length ]; }; };\n"
	"event { name = \"lttng_ust_lib:unload\"; id = 7; stream_id = 0; fields := struct { uint64_t _baddr; }; };\n";

/* Output is next to the directory: every file inside is taken for a stream. */
struct room {
	char dir[40];
	struct buf streams[2];
	uint64_t discarded[2];
	const char *metadata;
	struct import_result result;
	struct why why;
	struct buf text; /* the events */
};

static void room_init(struct room *room)
{
	*room = (struct room){.dir = "/tmp/nest-unit-ctf-XXXXXX", .metadata = metadata, .text = BUF_INIT(1 << 20)};
	for (size_t i = 0; i < ARRAY_SIZE(room->streams); i++)
		room->streams[i] = BUF_INIT(1 << 20);
	REQUIRE(mkdtemp(room->dir));
}

static void room_done(struct room *room)
{
	static const char *const names[] = {"/metadata", "/cpu_0", "/cpu_1", ".trace", ".text"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = xasprintf("%s%s", room->dir, names[i]);

		unlink(path);
	}
	CHECK_EQ_INT(rmdir(room->dir), 0);
	buf_done(&room->text);
	for (size_t i = 0; i < ARRAY_SIZE(room->streams); i++)
		buf_done(&room->streams[i]);
}

static void room_file(const struct room *room, const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", room->dir, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0 && write(fd, data, n) == (ssize_t)n);
}

static void put(struct buf *out, uint64_t value, size_t bytes)
{
	buf_add(out, &value, bytes);
}

/* Event header up to its fields; ns since the clock's origin. */
static struct buf *event(struct room *room, unsigned cpu, unsigned id, uint64_t ns, uint32_t tid)
{
	static const char name[17] = "demo";
	struct buf *out = &room->streams[cpu];

	put(out, id, 4);
	put(out, ns, 8);
	put(out, tid, 4);
	put(out, PID, 4);
	buf_add(out, name, sizeof(name));
	return out;
}

static void call(struct room *room, unsigned cpu, uint64_t ns, uint32_t tid, uint64_t address)
{
	struct buf *out = event(room, cpu, ENTRY, ns, tid);

	put(out, address, 8);
	put(out, 0, 8);
}

static void leave(struct room *room, unsigned cpu, uint64_t ns, uint32_t tid, uint64_t address)
{
	struct buf *out = event(room, cpu, EXIT, ns, tid);

	put(out, address, 8);
	put(out, 0, 8);
}

static void module(struct room *room, uint64_t ns, uint64_t begin, uint64_t bytes, const char *path)
{
	struct buf *out = event(room, 0, BIN_INFO, ns, 499);

	put(out, begin, 8);
	put(out, bytes, 8);
	buf_add(out, path, strlen(path) + 1);
	put(out, 1, 1);
	put(out, 0, 1);
}

/* Magic, stream, context, events. */
static void add_packet(struct buf *out, unsigned cpu, uint64_t discarded, const struct buf *events)
{
	size_t bytes = 4 + 4 + 5 * 8 + 4 + events->len;

	put(out, 0xc1fc1fc1, 4);
	put(out, 0, 4);
	put(out, 0, 8);
	put(out, events->len ? 1000000 : 0, 8);
	put(out, bytes * 8, 8);
	put(out, bytes * 8, 8);
	put(out, discarded, 8);
	put(out, cpu, 4);
	if (events->len)
		buf_add(out, events->data, events->len);
}

/* An empty packet first: losses are counted from packet to packet. */
static void write_stream(struct room *room, unsigned cpu)
{
	_cleanup_buf_ struct buf stream = BUF_INIT(1 << 20);
	char name[16];

	add_packet(&stream, cpu, 0, &(struct buf){});
	add_packet(&stream, cpu, room->discarded[cpu], &room->streams[cpu]);
	snprintf(name, sizeof(name), "cpu_%u", cpu);
	room_file(room, name, stream.data, stream.len);
}

static void write_all(struct room *room)
{
	room_file(room, "metadata", room->metadata, strlen(room->metadata));
	write_stream(room, 0);
	write_stream(room, 1);
}

static void read_text(struct room *room, struct flow_trace *trace)
{
	_cleanup_free_ char *path = xasprintf("%s.text", room->dir);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct out out;

	REQUIRE(fd >= 0);
	out_init(&out, fd);
	(void)trace_text_dump(trace, &out);
	REQUIRE(out_done(&out) == 0);
	buf_clear(&room->text);
	REQUIRE(buf_read_file(&room->text, path) == 0);
}

/* Imports the files as they are: a well-formed trace, or a reason. */
static int room_import(struct room *room)
{
	_cleanup_free_ char *output = xasprintf("%s.trace", room->dir);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct flow_check check;
	int r;

	new_file_forget_inputs();
	room->why.text[0] = '\0';
	room->result = (struct import_result){};
	r = flow_import(room->dir, "ctf", output, &room->result, &room->why);
	if (r < 0) {
		CHECK(room->why.text[0]);
		return r;
	}
	REQUIRE(flow_trace_open(output, &trace, &room->why) == 0);
	flow_trace_check(trace, &check);
	CHECK_EQ_UINT(check.faults, 0);
	read_text(room, trace);
	return r;
}

/* The called functions are those of this program. */
__attribute__((noinline)) int ctf_sample_outer(int x);
__attribute__((noinline)) int ctf_sample_inner(int x);

int ctf_sample_outer(int x)
{
	return ctf_sample_inner(x) + 1;
}

int ctf_sample_inner(int x)
{
	return x * 3;
}

extern const char __executable_start[];
extern const char _end[];

static void this_program(struct room *room, uint64_t ns)
{
	char path[4096] = "";

	REQUIRE(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	module(room, ns, (uintptr_t)__executable_start, (uint64_t)(_end - __executable_start), path);
}

static void sample(struct room *room)
{
	uint64_t outer = (uintptr_t)ctf_sample_outer, inner = (uintptr_t)ctf_sample_inner;

	/* Called before it is identified; the thread migrates to the other CPU and back. */
	call(room, 0, 100, 501, outer);
	(void)event(room, 0, DUMP_START, 110, 499);
	this_program(room, 120);
	call(room, 1, 200, 501, inner);
	leave(room, 1, 250, 501, inner);
	put(event(room, 1, FAST_ENTRY, 300, 502), inner, 8);
	leave(room, 0, 400, 501, outer);
	(void)event(room, 0, FAST_EXIT, 500, 502);
}

TEST(calls_of_threads_that_move_between_processors)
{
	struct room room;

	room_init(&room);
	sample(&room);
	write_all(&room);
	CHECK_OK(room_import(&room));
	CHECK_EQ_TEXT(room.why.text, "");
	CHECK_EQ_TEXT(room.result.note, "");
	CHECK_EQ_UINT(room.result.lost, 0);
	CHECK_HAS_TEXT(buf_text(&room.text), "thread 1 pid=500 tid=501 name=demo\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "thread 2 pid=500 tid=502 name=demo\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "1 0 call test_flow_ctf!ctf_sample_outer\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "1 100 call test_flow_ctf!ctf_sample_inner\n1 150 return\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "2 200 call test_flow_ctf!ctf_sample_inner\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "1 300 return\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "2 400 return\n");
	room_done(&room);
}

TEST(the_clock_says_when_it_was)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_free_ char *path = NULL;
	struct room room;

	room_init(&room);
	sample(&room);
	write_all(&room);
	CHECK_OK(room_import(&room));
	path = xasprintf("%s.trace", room.dir);
	REQUIRE(flow_trace_open(path, &trace, &room.why) == 0);
	CHECK_EQ_UINT(flow_ns(trace, trace->first_ticks), START + 100);
	room_done(&room);
}

TEST(a_file_that_is_another_one_by_now_gives_no_names)
{
	struct room room;
	struct buf *out;

	room_init(&room);
	(void)event(&room, 0, DUMP_START, 10, 499);
	this_program(&room, 20);
	out = event(&room, 0, BUILD_ID, 30, 499);
	put(out, (uintptr_t)__executable_start, 8);
	put(out, 3, 8);
	buf_add(out, "\x12\x34\x56", 3);
	call(&room, 0, 100, 501, (uintptr_t)ctf_sample_outer);
	write_all(&room);
	CHECK_OK(room_import(&room));
	CHECK_HAS_TEXT(room.result.note, "files changed since the trace, functions without names: 1");
	CHECK_HAS_TEXT(buf_text(&room.text), "call test_flow_ctf+0x");
	room_done(&room);
}

TEST(libraries_at_one_address_are_told_apart)
{
	struct room room;

	room_init(&room);
	module(&room, 10, 0x1000, 0x1000, "/x/one.so");
	call(&room, 0, 20, 501, 0x1500);
	leave(&room, 0, 30, 501, 0x1500);
	put(event(&room, 0, UNLOAD, 40, 501), 0x1000, 8);
	module(&room, 50, 0x1000, 0x1000, "/x/two.so");
	call(&room, 0, 60, 501, 0x1500);
	leave(&room, 0, 70, 501, 0x1500);
	write_all(&room);
	CHECK_OK(room_import(&room));
	CHECK_HAS_TEXT(buf_text(&room.text), "1 0 call one.so+0x500\n");
	CHECK_HAS_TEXT(buf_text(&room.text), "1 40 call two.so+0x500\n");
	room_done(&room);
}

TEST(jumps_and_strange_returns)
{
	struct room room;

	room_init(&room);
	leave(&room, 0, 10, 501, 0x9999);
	call(&room, 0, 20, 501, 0x1000);
	call(&room, 0, 30, 501, 0x2000);
	call(&room, 0, 40, 501, 0x3000);
	leave(&room, 0, 50, 501, 0x1000);
	write_all(&room);
	CHECK_OK(room_import(&room));
	CHECK_HAS_TEXT(buf_text(&room.text), "1 30 unwind 2\n1 30 return\n");
	CHECK_HAS_TEXT(room.result.note, "returns without calls omitted: 1");
	room_done(&room);
}

TEST(what_the_tracer_dropped_is_lost)
{
	struct room room;

	room_init(&room);
	sample(&room);
	room.discarded[1] = 7;
	write_all(&room);
	CHECK_OK(room_import(&room));
	CHECK_EQ_UINT(room.result.lost, 7);
	room_done(&room);
}

TEST(without_threads_it_is_said)
{
	_cleanup_free_ char *text = xstrdup(metadata);
	struct room room;

	room_init(&room);
	room.metadata = text;
	memcpy(strstr(text, "_vtid"), "_cpid", 5);
	call(&room, 0, 20, 501, 0x1000);
	leave(&room, 0, 30, 501, 0x1000);
	write_all(&room);
	CHECK_OK(room_import(&room));
	CHECK_HAS_TEXT(room.result.note, "-t vtid");
	CHECK_HAS_TEXT(buf_text(&room.text), "pid=500 tid=500");
	room_done(&room);
}

TEST(nothing_of_use_is_refused_with_a_sentence)
{
	static const uint8_t torn[64] = {0x57, 0x1d, 0xd1, 0x75, [25] = 2, [29] = 2};
	struct room room;

	room_init(&room);
	CHECK(room_import(&room) < 0);
	CHECK_HAS_TEXT(room.why.text, "no file 'metadata'");
	write_all(&room);
	CHECK(room_import(&room) < 0);
	CHECK_HAS_TEXT(room.why.text, "no function calls");
	room_file(&room, "metadata", "/* CTF 1.8 */ trace {", 21);
	CHECK(room_import(&room) < 0);
	CHECK_HAS_TEXT(room.why.text, "libbabeltrace2");
	/* Packetized metadata that is truncated: the library would wait for the rest forever. */
	room_file(&room, "metadata", torn, sizeof(torn));
	CHECK_OK(ctf_check_metadata(room.dir, &room.why));
	room_file(&room, "metadata", torn, sizeof(torn) - 1);
	CHECK(room_import(&room) < 0);
	CHECK_HAS_TEXT(room.why.text, "metadata truncated");
	room_done(&room);
}

static void cut(const struct room *room, const char *name, off_t bytes)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", room->dir, name);
	struct stat st;

	REQUIRE(stat(path, &st) == 0 && truncate(path, st.st_size - bytes) == 0);
}

/* The library then rejects all of it. */
TEST(a_torn_stream_is_read_up_to_there)
{
	struct room room;

	room_init(&room);
	sample(&room);
	write_all(&room);
	cut(&room, "cpu_1", 5);
	CHECK_OK(room_import(&room));
	CHECK_HAS_TEXT(room.result.note, "cpu_1 is truncated (last ");
	CHECK_HAS_TEXT(room.result.note, "marked as lost");
	CHECK_HAS_TEXT(buf_text(&room.text), "1 0 call test_flow_ctf!ctf_sample_outer\n");
	CHECK_HAS_TEXT(buf_text(&room.text), " lost 0\n");
	CHECK(!strstr(buf_text(&room.text), "ctf_sample_inner"));
	/* The other stream is missing altogether. */
	room.streams[1].len = 0;
	write_all(&room);
	room_file(&room, "cpu_1", "\xc1\x1f\xfc", 3);
	CHECK_OK(room_import(&room));
	CHECK_HAS_TEXT(room.result.note, "cpu_1 is truncated (last 3 of 3 bytes");
	CHECK_HAS_TEXT(buf_text(&room.text), " lost 0\n");
	room_done(&room);
}

/* Temporary copies are removed, also when they do not help. */
TEST(torn_to_nothing_is_refused)
{
	_cleanup_free_ char *beside = NULL;
	struct room room;
	glob_t found;

	room_init(&room);
	sample(&room);
	write_all(&room);
	room_file(&room, "cpu_0", "\xc1\x1f\xfc", 3);
	room_file(&room, "cpu_1", "\xc1\x1f\xfc", 3);
	CHECK(room_import(&room) < 0);
	CHECK_HAS_TEXT(room.why.text, "libbabeltrace2");
	beside = xasprintf("%s.trace.*", room.dir);
	CHECK_EQ_INT(glob(beside, 0, NULL, &found), GLOB_NOMATCH);
	room_done(&room);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void damage(struct buf *bytes, uint32_t *state)
{
	size_t at = next_random(state) % bytes->len;

	switch (next_random(state) % 4) {
	case 0:
		bytes->data[at] = (char)(bytes->data[at] ^ (1 << next_random(state) % 8));
		break;
	case 1:
		bytes->data[at] = (char)next_random(state);
		break;
	case 2:
		bytes->len = at + 1;
		break;
	default:
		memmove(bytes->data + at, bytes->data + at + 1, bytes->len - at - 1);
	}
}

TEST(damage_of_any_kind_is_refused_or_survived)
{
	static const char *const names[] = {"metadata", "cpu_0", "cpu_1"};
	uint32_t state = 20240917, refused = 0, taken = 0;
	struct room room;

	room_init(&room);
	sample(&room);
	for (unsigned round = 0; round < 90; round++) {
		const char *name = names[round % ARRAY_SIZE(names)];
		_cleanup_free_ char *path = xasprintf("%s/%s", room.dir, name);
		_cleanup_buf_ struct buf bytes = BUF_INIT(1 << 20);

		write_all(&room);
		REQUIRE(buf_read_file(&bytes, path) == 0);
		for (unsigned i = 0; i <= round % 4; i++)
			damage(&bytes, &state);
		room_file(&room, name, bytes.data, bytes.len);
		if (room_import(&room) < 0)
			refused++;
		else
			taken++;
	}
	CHECK(refused > 5);
	CHECK(taken > 5);
	room_done(&room);
}

/* Data from the pipe is not trusted either. */
TEST(records_that_no_reader_sends_are_not_believed)
{
	static const struct ctf_record bad[] = {
		{.kind = 99},
		{.kind = CTF_NAME, .text_bytes = CTF_TEXT_MAX + 1},
		{.kind = CTF_MODULE, .address = UINT64_MAX, .bytes = 5},
		{.kind = CTF_LOST, .bytes = 3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct import_result result = {};
		struct trace_writer *writer;
		struct why why = {};

		REQUIRE(trace_writer_open("/dev/null", &(struct trace_writer_options){}, &writer, &why) == 0);
		CHECK(import_ctf_records((const uint8_t *)&bad[i], sizeof(bad[i]), writer, &result, &why) < 0);
		CHECK_HAS_TEXT(why.text, "libbabeltrace2 crashed");
		CHECK_OK(trace_writer_close(writer));
	}
}
