/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A uftrace record directory, built here record by record: names, threads, losses, and unreadable parts. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/out.h"
#include "flow/import/import.h"
#include "flow/trace/trace_check.h"
#include "flow/trace/trace_text.h"
#include "unit.h"

#define BASE 0x400000u

enum { CALL = 0, RETURN = 1, LOST = 2 };

struct room {
	char dir[32];
	struct import_result result;
	struct why why;
	struct buf text; /* the events */
};

static const char *const names[] = {"task.txt", "sid-1.map", "demo.sym", "7.dat", "8.dat", "trace", "text"};

static void room_file(const struct room *room, const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", room->dir, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	REQUIRE(fd >= 0 && write(fd, data, n) == (ssize_t)n);
}

static void room_text(const struct room *room, const char *name, const char *text)
{
	room_file(room, name, text, strlen(text));
}

static void room_init(struct room *room)
{
	*room = (struct room){.dir = "/tmp/nest-unit-uftrace-XXXXXX", .text = BUF_INIT(1 << 16)};
	REQUIRE(mkdtemp(room->dir));
	room_text(room, "task.txt",
		  "SESS timestamp=1.0 pid=5 sid=1 exename=\"/x/demo\"\n"
		  "TASK timestamp=1.1 tid=7 pid=5\nTASK timestamp=1.2 tid=8 pid=5\n");
	room_text(room, "sid-1.map", "00400000-00500000 r-xp 00000000 08:01 9    /x/demo build-id:00ff10\n");
	room_text(room, "demo.sym",
		  "# symbols: 3\n# path name: /x/demo\n0000000000002000 T later\n"
		  "0000000000001000 T first\n0000000000003000 ? __sym_end\n");
}

static void room_done(struct room *room)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", room->dir, names[i]);

		unlink(path);
	}
	CHECK_EQ_INT(rmdir(room->dir), 0);
	buf_done(&room->text);
}

/* Time, then two bits of type, one for arguments, three of magic, ten of depth, and the address. */
static void put_record(struct buf *to, uint64_t time, unsigned type, uint64_t value)
{
	uint64_t words[2] = {time, type | 5u << 3 | value << 16};

	buf_add(to, words, sizeof(words));
}

static int import(struct room *room)
{
	_cleanup_free_ char *trace_path = xasprintf("%s/trace", room->dir);
	_cleanup_free_ char *text_path = xasprintf("%s/text", room->dir);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	int r = flow_import(room->dir, NULL, trace_path, &room->result, &room->why), fd;
	struct flow_check check;
	struct out out;

	if (r < 0)
		return r;
	REQUIRE(flow_trace_open(trace_path, &trace, &room->why) == 0);
	flow_trace_check(trace, &check);
	CHECK_EQ_UINT(check.faults, 0);
	fd = open(text_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	out_init(&out, fd);
	(void)trace_text_dump(trace, &out);
	REQUIRE(out_done(&out) == 0);
	close(fd);
	REQUIRE(buf_read_file(&room->text, text_path) == 0);
	return 0;
}

TEST(calls_have_the_names_of_their_symbols)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 12);
	_cleanup_(room_done) struct room room;

	room_init(&room);
	put_record(&data, 1000, CALL, BASE + 0x1000);
	put_record(&data, 1010, CALL, BASE + 0x2004); /* not its first byte */
	put_record(&data, 1030, RETURN, BASE + 0x2004);
	put_record(&data, 1100, RETURN, BASE + 0x1000);
	room_file(&room, "7.dat", data.data, data.len);
	REQUIRE(import(&room) == 0);
	CHECK_EQ_TEXT(room.result.format, "uftrace");
	CHECK_EQ_TEXT(room.result.note, "");
	CHECK_EQ_TEXT(buf_text(&room.text), "thread 1 pid=5 tid=7 name=\n1 0 call demo!first\n1 10 call demo!later\n"
					    "1 30 return\n1 100 return\n");
}

TEST(each_file_is_a_thread)
{
	_cleanup_buf_ struct buf one = BUF_INIT(1 << 12), other = BUF_INIT(1 << 12);
	_cleanup_(room_done) struct room room;

	room_init(&room);
	put_record(&one, 1000, CALL, BASE + 0x1000);
	put_record(&one, 1300, RETURN, 0);
	put_record(&other, 1100, CALL, BASE + 0x2000);
	put_record(&other, 1200, RETURN, 0);
	room_file(&room, "7.dat", one.data, one.len);
	room_file(&room, "8.dat", other.data, other.len);
	REQUIRE(import(&room) == 0);
	CHECK_EQ_UINT(room.result.events, 4);
	CHECK_HAS_TEXT(buf_text(&room.text), "thread 2 pid=5 tid=8");
	CHECK_HAS_TEXT(buf_text(&room.text),
		       "1 0 call demo!first\n2 100 call demo!later\n2 200 return\n1 300 return\n");
}

TEST(losses_are_counted_and_strangers_told)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 12);
	_cleanup_(room_done) struct room room;

	room_init(&room);
	put_record(&data, 1000, RETURN, 0);
	put_record(&data, 1010, CALL, BASE + 0x1000);
	put_record(&data, 1020, LOST, 12);
	put_record(&data, 1030, RETURN, 0);
	room_file(&room, "7.dat", data.data, data.len);
	REQUIRE(import(&room) == 0);
	CHECK_EQ_UINT(room.result.lost, 12);
	CHECK_HAS_TEXT(buf_text(&room.text), "lost 12\n");
	CHECK_EQ_TEXT(room.result.note, "returns of calls before the trace omitted: 2");
}

TEST(arguments_end_what_is_read_of_a_thread)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 12);
	_cleanup_(room_done) struct room room;

	room_init(&room);
	put_record(&data, 1000, CALL, BASE + 0x1000);
	put_record(&data, 1010, CALL | 4, BASE + 0x2000);
	put_record(&data, 1020, RETURN, 0);
	buf_add(&data, "torn", 4);
	room_file(&room, "7.dat", data.data, data.len);
	REQUIRE(import(&room) == 0);
	CHECK_HAS_TEXT(buf_text(&room.text), "1 0 call demo!first\n");
	CHECK(!strstr(buf_text(&room.text), "later"));
	CHECK_EQ_TEXT(room.result.note, "bytes with arguments or invalid records omitted: 36");
}

TEST(a_torn_end_is_said_and_marked)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 12);
	_cleanup_(room_done) struct room room;

	room_init(&room);
	put_record(&data, 1000, CALL, BASE + 0x1000);
	put_record(&data, 1010, RETURN, 0);
	buf_add(&data, "torn", 4);
	room_file(&room, "7.dat", data.data, data.len);
	REQUIRE(import(&room) == 0);
	CHECK_HAS_TEXT(buf_text(&room.text), "lost 0\n");
	CHECK_EQ_TEXT(room.result.note, "bytes with arguments or invalid records omitted: 4");
}

TEST(an_address_outside_of_all_modules_stays_one)
{
	_cleanup_buf_ struct buf data = BUF_INIT(1 << 12);
	_cleanup_(room_done) struct room room;

	room_init(&room);
	put_record(&data, 1000, CALL, 0x7000);
	put_record(&data, 1010, RETURN, 0);
	room_file(&room, "7.dat", data.data, data.len);
	REQUIRE(import(&room) == 0);
	CHECK_HAS_TEXT(buf_text(&room.text), "7000\n1 10 return\n");
	CHECK(!strstr(buf_text(&room.text), "first"));
}

TEST(a_directory_without_its_list_of_tasks_is_refused)
{
	_cleanup_(room_done) struct room room;
	_cleanup_free_ char *path = NULL, *trace_path = NULL;

	room_init(&room);
	path = xasprintf("%s/task.txt", room.dir);
	trace_path = xasprintf("%s/trace", room.dir);
	REQUIRE(unlink(path) == 0);
	CHECK(flow_import(room.dir, "uftrace", trace_path, &room.result, &room.why) < 0);
	CHECK_HAS_TEXT(room.why.text, "no task.txt");
	CHECK_EQ_INT(access(trace_path, F_OK), -1);
}
