/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <locale.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/out.h"
#include "unit.h"

/* A pseudo terminal of that width; returns the slave side. */
static int terminal(unsigned short columns, int *ret_master)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	int slave;

	REQUIRE(openpty(ret_master, &slave, NULL, NULL, &size) == 0);
	return slave;
}

static void write_line(struct out *out, const char *text)
{
	buf_add_text(&out->pending, text);
	out_end_line(out);
}

TEST(a_file_is_no_terminal)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	struct out out;

	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	out_init(&out, fd);
	CHECK(!out.is_terminal);
	CHECK(!out.color);
	CHECK_EQ_UINT(out.width, 0);
	CHECK_EQ_TEXT(out_style_on(&out, OUT_RED), "");
	CHECK_EQ_TEXT(out_style_off(&out, OUT_RED), "");
	CHECK_OK(out_done(&out));
	/* Not owned: still open. */
	CHECK(fcntl(fd, F_GETFD) >= 0);
	close(fd);
}

TEST(a_terminal_has_colour_and_width)
{
	int master, fd = terminal(132, &master);
	struct out out;

	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	setenv("COLUMNS", "50", 1);
	out_init(&out, fd);
	CHECK(out.is_terminal);
	CHECK(out.color);
	CHECK_EQ_UINT(out.width, 132);
	CHECK_EQ_TEXT(out_style_on(&out, OUT_RED), "\033[31m");
	CHECK_EQ_TEXT(out_style_off(&out, OUT_RED), "\033[0m");
	CHECK_EQ_TEXT(out_style_on(&out, OUT_PLAIN), "");
	CHECK_EQ_TEXT(out_style_off(&out, OUT_PLAIN), "");
	CHECK_OK(out_done(&out));
	close(fd);
	close(master);
}

TEST(colour_is_not_forced_on_anyone)
{
	static const struct {
		const char *no_color, *term;
		bool color;
	} cases[] = {
		{NULL, "xterm", true},   {"1", "xterm", false},
		{"yes", "xterm", false}, {"", "xterm", true}, /* set but empty does not count: no-color.org */
		{NULL, "dumb", false},   {NULL, NULL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int master, fd = terminal(80, &master);
		struct out out;

		unit_note("case %zu", i);
		unsetenv("NO_COLOR");
		unsetenv("TERM");
		if (cases[i].no_color)
			setenv("NO_COLOR", cases[i].no_color, 1);
		if (cases[i].term)
			setenv("TERM", cases[i].term, 1);
		out_init(&out, fd);
		CHECK_EQ_INT(out.color, cases[i].color);
		CHECK_OK(out_done(&out));
		close(fd);
		close(master);
	}
}

TEST(a_terminal_that_does_not_know_its_width)
{
	static const struct {
		const char *columns;
		unsigned width;
	} cases[] = {{NULL, 80}, {"100", 100}, {"0", 80}, {"-5", 80}, {"100x", 80}, {"99999999999999999999", 80},
		     {"", 80}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int master, fd = terminal(0, &master);
		struct out out;

		unit_note("COLUMNS=%s", cases[i].columns);
		unsetenv("COLUMNS");
		if (cases[i].columns)
			setenv("COLUMNS", cases[i].columns, 1);
		out_init(&out, fd);
		CHECK_EQ_UINT(out.width, cases[i].width);
		CHECK_OK(out_done(&out));
		close(fd);
		close(master);
	}
}

TEST(the_locale_decides_on_characters)
{
	struct out out;

	REQUIRE(setlocale(LC_CTYPE, "C"));
	out_init(&out, 1);
	CHECK(!out.utf8);
	REQUIRE(setlocale(LC_CTYPE, "C.UTF-8"));
	out_init(&out, 1);
	CHECK(out.utf8);
}

TEST(lines_wait_until_the_batch_is_over)
{
	struct out out;
	char got[100] = "";
	int ends[2];

	REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	out_init(&out, ends[1]);
	write_line(&out, "one");
	write_line(&out, "two");
	CHECK_EQ_INT(read(ends[0], got, sizeof(got)), -1);
	CHECK_OK(out_flush(&out));
	CHECK_EQ_INT(read(ends[0], got, sizeof(got)), 8);
	CHECK_EQ_TEXT(got, "one\ntwo\n");
	CHECK_OK(out_flush(&out));
	CHECK_EQ_INT(read(ends[0], got, sizeof(got)), -1);
	CHECK_OK(out_done(&out));
	close(ends[0]);
	close(ends[1]);
}

TEST(a_large_batch_goes_out_by_itself_in_whole_lines)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	struct out out;
	off_t size;
	char last;

	out_init(&out, fd);
	for (int i = 0; i < 20000; i++)
		write_line(&out, "0123456789");
	size = lseek(fd, 0, SEEK_END);
	CHECK(size > 100000);
	CHECK_EQ_INT(size % 11, 0);
	CHECK_EQ_INT(pread(fd, &last, 1, size - 1), 1);
	CHECK_EQ_INT(last, '\n');
	CHECK_OK(out_done(&out));
	CHECK_EQ_INT(lseek(fd, 0, SEEK_END), 220000);
	close(fd);
}

/* A slow reader of a non-blocking pipe. */
TEST(a_full_pipe_is_waited_for)
{
	struct out out;
	int ends[2], status;
	pid_t pid;

	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
	pid = fork();
	if (pid == 0) {
		size_t total = 0;
		char chunk[1000];
		ssize_t n;

		close(ends[1]);
		while ((n = read(ends[0], chunk, sizeof(chunk))) > 0)
			total += (size_t)n;
		_exit(total == 610000 ? 0 : 1);
	}
	close(ends[0]);
	out_init(&out, ends[1]);
	for (int i = 0; i < 10000; i++)
		write_line(&out, "a line of sixty characters, so that a pipe holds a thousand.");
	CHECK_OK(out_done(&out));
	close(ends[1]);
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK_EQ_INT(WEXITSTATUS(status), 0);
}

TEST(a_reader_that_left_is_a_sticky_error)
{
	struct out out;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
	close(ends[0]);
	out_init(&out, ends[1]);
	write_line(&out, "x");
	CHECK_ERR(out_flush(&out), -EPIPE);
	CHECK_ERR(out_flush(&out), -EPIPE);
	write_line(&out, "y");
	CHECK_ERR(out_done(&out), -EPIPE);
	close(ends[1]);
}

TEST(a_full_disk_is_reported)
{
	struct out out;

	if (access("/dev/full", W_OK) < 0)
		SKIP("there is no /dev/full here");
	CHECK_OK(out_open(&out, "/dev/full"));
	write_line(&out, "x");
	CHECK_ERR(out_done(&out), -ENOSPC);
}

static void read_path(const char *path, char *got, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, got, size - 1);

	CHECK(n >= 0);
	got[max_of(n, 0)] = '\0';
}

TEST(dropped_files_stay_as_they_were)
{
	char path[] = "/tmp/nest-test-XXXXXX", got[20] = "";
	int fd = mkstemp(path);
	struct out out;

	REQUIRE(fd >= 0 && write(fd, "old", 3) == 3);
	CHECK_OK(out_open(&out, path));
	buf_add_text(&out.pending, "new");
	out_drop(&out);
	CHECK_EQ_INT(pread(fd, got, sizeof(got) - 1, 0), 3);
	CHECK_EQ_TEXT(got, "old");
	/* Nor does what was written replace it. */
	CHECK_OK(out_open(&out, path));
	write_line(&out, "new");
	CHECK_OK(out_flush(&out));
	out_drop(&out);
	read_path(path, got, sizeof(got));
	CHECK_EQ_TEXT(got, "old");
	/* Nothing to write is a result. */
	CHECK_OK(out_open(&out, path));
	CHECK_OK(out_done(&out));
	read_path(path, got, sizeof(got));
	CHECK_EQ_TEXT(got, "");
	close(fd);
	unlink(path);
	CHECK_OK(out_open(&out, path));
	out_drop(&out);
	CHECK(access(path, F_OK) < 0);
	/* What was published stays. */
	CHECK_OK(out_open(&out, path));
	write_line(&out, "new");
	CHECK_OK(out_flush(&out));
	CHECK_OK(out_publish(&out));
	out_drop(&out);
	read_path(path, got, sizeof(got));
	CHECK_EQ_TEXT(got, "new\n");
	CHECK(unlink(path) == 0);
}

TEST(an_input_is_never_replaced)
{
	char path[] = "/tmp/nest-test-XXXXXX", got[20] = "";
	int fd = mkstemp(path);
	struct out early, late;

	REQUIRE(fd >= 0 && write(fd, "old", 3) == 3);
	CHECK_OK(out_open(&early, path));
	write_line(&early, "new");
	new_file_note_input(fd);
	CHECK_ERR(out_open(&late, path), -ETXTBSY);
	CHECK_ERR(out_done(&early), -ETXTBSY);
	read_path(path, got, sizeof(got));
	CHECK_EQ_TEXT(got, "old");
	close(fd);
	unlink(path);
}

TEST(files_are_made_and_cut)
{
	char path[] = "/tmp/nest-test-XXXXXX", got[20] = "";
	int fd = mkstemp(path);
	struct out out;

	REQUIRE(fd >= 0 && write(fd, "old old old", 11) == 11);
	CHECK_OK(out_open(&out, path));
	CHECK(out.owns_fd);
	write_line(&out, "new");
	CHECK_OK(out_done(&out));
	read_path(path, got, sizeof(got));
	CHECK_EQ_TEXT(got, "new\n");
	close(fd);
	unlink(path);
	CHECK_ERR(out_open(&out, "/nonexistent/file"), -ENOENT);
	CHECK_ERR(out_open(&out, "/proc"), -EISDIR);
	CHECK_OK(out_open(&out, "-"));
	CHECK_EQ_INT(out.fd, STDOUT_FILENO);
	CHECK_OK(out_open(&out, NULL));
	CHECK_EQ_INT(out.fd, STDOUT_FILENO);
}

TEST(a_screen_shows_as_much_as_the_terminal_has_lines)
{
	_cleanup_close_ int fd = memfd_create("screen", 0);
	_cleanup_buf_ struct buf content = BUF_INIT(0);
	struct out out;

	out_init(&out, fd);
	out_begin_screen(&out);
	out.height = 5;
	for (int i = 0; i < 9; i++) {
		buf_add_format(&out.pending, "line %d", i);
		out_end_line(&out);
	}
	out_end_screen(&out);
	CHECK_OK(out_flush(&out));
	out_begin_screen(&out);
	out.height = 5;
	buf_add_text(&out.pending, "all");
	out_end_line(&out);
	out_end_screen(&out);
	CHECK_OK(out_done(&out));
	CHECK_EQ_INT(lseek(fd, 0, SEEK_SET), 0);
	REQUIRE(buf_read_fd(&content, fd) == 0);
	CHECK_EQ_TEXT(buf_text(&content), "\033[Hline 0\033[K\nline 1\033[K\nline 2\033[K\n(6 more lines: a taller "
					  "terminal, or a pipe)\033[K\n\033[J"
					  "\033[Hall\033[K\n\033[J");
}
