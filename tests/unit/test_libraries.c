/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped files: lines of /proc/PID/maps, names of C libraries, and the files of this process. */
#include <errno.h>
#include <string.h>

#include "event/core/library.h"
#include "unit.h"

TEST(lines_of_maps_are_split)
{
	char plain[] = "7f0a10000000-7f0a10022000 r--p 00000000 fd:01 1234567                    /usr/lib/libc.so.6";
	char deleted[] = "7f0a-7f0b r-xp 00001000 00:2a 99 /opt/a b/libc-2.31.so (deleted)";
	char anonymous[] = "7ffd0000-7ffd1000 rw-p 00000000 00:00 0 ";
	char stack[] = "7ffd0000-7ffd1000 rw-p 00000000 00:00 0                          [stack]";
	char empty[] = "", word[] = "word";
	struct library_line line;

	CHECK(library_line_parse(plain, &line));
	CHECK_EQ_TEXT(line.range, "7f0a10000000-7f0a10022000");
	CHECK_EQ_TEXT(line.number, "fd:01 1234567");
	CHECK_EQ_TEXT(line.name, "libc.so.6");
	CHECK(library_line_parse(deleted, &line));
	CHECK_EQ_TEXT(line.number, "00:2a 99");
	CHECK_EQ_TEXT(line.name, "libc-2.31.so");
	CHECK(!library_line_parse(anonymous, &line));
	CHECK(!library_line_parse(stack, &line));
	CHECK(!library_line_parse(empty, &line));
	CHECK(!library_line_parse(word, &line));
}

TEST(c_libraries_are_known_by_name)
{
	CHECK(library_is_libc("libc.so.6"));
	CHECK(library_is_libc("libc-2.28.so"));
	CHECK(library_is_libc("ld-musl-x86_64.so.1"));
	CHECK(library_is_libc("libc.musl-x86_64.so.1"));
	CHECK(!library_is_libc("libcap.so.2"));
	CHECK(!library_is_libc("libc-client.so"));
	CHECK(!library_is_libc("libcurl.so.4"));
	CHECK(!library_is_libc(""));
}

static int count_file(const char *path, void *context)
{
	CHECK(strncmp(path, "/proc/", 6) == 0);
	CHECK(strstr(path, "/map_files/") != NULL);
	++*(int *)context;
	return 0;
}

static int stop_at_once(const char *path _unused_, void *context)
{
	++*(int *)context;
	return -EINTR;
}

TEST(the_library_of_this_process_is_found_and_the_walk_can_be_ended)
{
	int count = 0;

	CHECK_EQ_INT(library_each(library_is_libc, count_file, &count), 0);
	CHECK(count >= 1);
	count = 0;
	CHECK_EQ_INT(library_each(library_is_libc, stop_at_once, &count), -EINTR);
	CHECK_EQ_INT(count, 1);
}
