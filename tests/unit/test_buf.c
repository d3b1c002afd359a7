/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "unit.h"

TEST(an_empty_buffer_is_an_empty_text)
{
	struct buf b = BUF_INIT(10);

	CHECK_EQ_TEXT(buf_text(&b), "");
	buf_clear(&b);
	buf_done(&b);
	buf_done(&b);
	CHECK_EQ_TEXT(buf_text(&b), "");
}

TEST(adding_nothing_is_fine)
{
	_cleanup_buf_ struct buf b = BUF_INIT(10);

	buf_add(&b, NULL, 0);
	buf_add_text(&b, "");
	buf_add_fill(&b, 'x', 0);
	buf_add_format(&b, "%s", "");
	CHECK_EQ_UINT(b.len, 0);
	CHECK_EQ_TEXT(buf_text(&b), "");
	CHECK(!b.over);
}

TEST(pieces_join)
{
	_cleanup_buf_ struct buf b = BUF_INIT(0);

	buf_add_text(&b, "one");
	buf_add_char(&b, ' ');
	buf_add(&b, "two three", 3);
	buf_add_fill(&b, '.', 3);
	buf_add_format(&b, "%d%s", 4, "th");
	CHECK_EQ_TEXT(buf_text(&b), "one two...4th");
	CHECK_EQ_UINT(b.len, strlen("one two...4th"));
}

TEST(bytes_may_be_any)
{
	_cleanup_buf_ struct buf b = BUF_INIT(16);

	buf_add(&b, "a\0b", 3);
	buf_add_char(&b, '\0');
	CHECK_EQ_UINT(b.len, 4);
	CHECK_EQ_MEM(b.data, "a\0b\0\0", 5);
}

TEST(the_cap_counts_bytes_without_the_nul)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);

	buf_add_text(&b, "12345678");
	CHECK(!b.over);
	CHECK_EQ_TEXT(buf_text(&b), "12345678");
	buf_add_char(&b, '9');
	CHECK(b.over);
	CHECK_EQ_TEXT(buf_text(&b), "12345678");
}

/* A piece that does not fit is omitted as a whole. */
TEST(a_piece_beyond_the_cap_is_left_out)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);

	buf_add_text(&b, "12345");
	buf_add_text(&b, "abcd");
	CHECK(b.over);
	CHECK_EQ_TEXT(buf_text(&b), "12345");
}

/* The result must never be a text with a gap. */
TEST(after_the_cap_nothing_more_is_added)
{
	for (int kind = 0; kind < 4; kind++) {
		_cleanup_buf_ struct buf b = BUF_INIT(8);

		unit_note("kind %d", kind);
		buf_add_text(&b, "12345");
		buf_add_text(&b, "abcd");
		switch (kind) {
		case 0:
			buf_add_char(&b, 'x');
			break;
		case 1:
			buf_add_text(&b, "x");
			break;
		case 2:
			buf_add_fill(&b, 'x', 1);
			break;
		case 3:
			buf_add_format(&b, "x");
			break;
		}
		CHECK(b.over);
		CHECK_EQ_TEXT(buf_text(&b), "12345");
	}
}

TEST(a_format_that_just_fits)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);

	buf_add_format(&b, "%s", "12345678");
	CHECK(!b.over);
	CHECK_EQ_TEXT(buf_text(&b), "12345678");
}

TEST(a_format_that_just_does_not_fit)
{
	_cleanup_buf_ struct buf b = BUF_INIT(8);

	buf_add_text(&b, "x");
	buf_add_format(&b, "%s", "12345678");
	CHECK(b.over);
	CHECK_EQ_TEXT(buf_text(&b), "x");
}

TEST(a_long_format_grows)
{
	_cleanup_buf_ struct buf b = BUF_INIT(20000);

	buf_add_text(&b, "<");
	buf_add_format(&b, "%10000d>", 7);
	CHECK_EQ_UINT(b.len, 10002);
	CHECK_EQ_INT(b.data[10000], '7');
	CHECK_EQ_INT(b.data[10001], '>');
	CHECK(!b.over);
}

TEST(clearing_starts_over)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4);

	buf_add_text(&b, "too long");
	CHECK(b.over);
	buf_clear(&b);
	CHECK(!b.over);
	buf_add_text(&b, "ok");
	CHECK_EQ_TEXT(buf_text(&b), "ok");
}

TEST(absurd_sizes_are_refused)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100);

	buf_add_text(&b, "x");
	CHECK(!buf_grow(&b, SIZE_MAX));
	CHECK(b.over);
	buf_clear(&b);
	CHECK(!buf_grow(&b, SIZE_MAX - 1));
	buf_clear(&b);
	CHECK(!buf_grow(&b, 101));
	buf_clear(&b);
	CHECK(buf_grow(&b, 100));
}

TEST(no_cap_given_means_the_default)
{
	_cleanup_buf_ struct buf b = BUF_INIT(0);

	buf_add_fill(&b, 'x', BUF_CAP_DEFAULT);
	CHECK(!b.over);
	CHECK_EQ_UINT(b.len, BUF_CAP_DEFAULT);
	buf_add_char(&b, 'x');
	CHECK(b.over);
}

/* Random pieces, compared with plain memory. */
TEST(agrees_with_a_model)
{
	_cleanup_buf_ struct buf b = BUF_INIT(100000);
	_cleanup_free_ char *model = xzalloc(100001);
	uint64_t seed = 42;
	size_t n = 0;

	while (n < 99000) {
		size_t piece = unit_random(&seed) % 200;
		char c = (char)('a' + unit_random(&seed) % 26);

		memset(model + n, c, piece);
		n += piece;
		if (unit_random(&seed) % 2) {
			buf_add_fill(&b, c, piece);
		} else {
			for (size_t i = 0; i < piece; i++)
				buf_add_char(&b, c);
		}
		if (!CHECK_EQ_UINT(b.len, n))
			return;
	}
	CHECK_EQ_TEXT(buf_text(&b), model);
}

static int memory_file(const char *content, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, content, n) == (ssize_t)n);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

TEST(reading_a_file_up_to_the_cap)
{
	_cleanup_close_ int fd = memory_file("12345678", 8);
	_cleanup_buf_ struct buf fits = BUF_INIT(8), cut = BUF_INIT(7), roomy = BUF_INIT(0);

	CHECK_OK(buf_read_fd(&fits, fd));
	CHECK_EQ_TEXT(buf_text(&fits), "12345678");
	CHECK(!fits.over);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK_ERR(buf_read_fd(&cut, fd), -E2BIG);
	CHECK(cut.over);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK_OK(buf_read_fd(&roomy, fd));
	CHECK_EQ_TEXT(buf_text(&roomy), "12345678");
}

TEST(reading_a_large_file)
{
	_cleanup_free_ char *content = xmalloc(300000);
	_cleanup_buf_ struct buf b = BUF_INIT(300000);
	_cleanup_close_ int fd = -1;
	uint64_t seed = 7;

	for (size_t i = 0; i < 300000; i++)
		content[i] = (char)unit_random(&seed);
	fd = memory_file(content, 300000);
	CHECK_OK(buf_read_fd(&b, fd));
	CHECK_EQ_UINT(b.len, 300000);
	CHECK_EQ_MEM(b.data, content, 300000);
}

TEST(reading_a_pipe_in_small_pieces)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1000);
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	if (fork() == 0) {
		for (int i = 0; i < 100; i++)
			if (write(ends[1], "xyz", 3) != 3)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	CHECK_OK(buf_read_fd(&b, ends[0]));
	CHECK_EQ_UINT(b.len, 300);
	close(ends[0]);
}

TEST(reading_what_cannot_be_read)
{
	_cleanup_buf_ struct buf b = BUF_INIT(0);

	CHECK_ERR(buf_read_file(&b, "/nonexistent/file"), -ENOENT);
	CHECK_ERR(buf_read_file(&b, "/proc"), -EISDIR);
	CHECK_ERR(buf_read_fd(&b, -1), -EBADF);
	CHECK_OK(buf_read_file(&b, "/proc/self/status"));
	CHECK_HAS_TEXT(buf_text(&b), "Name:");
}

TEST(reading_an_endless_file_stops_at_the_cap)
{
	_cleanup_buf_ struct buf b = BUF_INIT((size_t)1 << 20);

	CHECK_ERR(buf_read_file(&b, "/dev/zero"), -E2BIG);
	CHECK_EQ_UINT(b.len, (size_t)1 << 20);
}
