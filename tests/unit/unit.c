/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/text.h"
#include "base/vec.h"
#include "unit.h"

#define TIMEOUT_S 120

/* What a test's process tells the one that prints. */
struct outcome {
	unsigned checks;
	unsigned failures;
	bool skipped;
	char reason[256];
};

static struct outcome *outcome;
static char note[256];
static pid_t doomed;

/* Too large an allocation is for the program to refuse, not for the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:detect_stack_use_after_return=1:abort_on_error=0";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1";
}

void unit_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(note, sizeof(note), format, args);
	va_end(args);
}

/* Counts a check; true when it failed, with the head of the report already written. */
static bool fails(const struct unit_at *at, bool holds)
{
	outcome->checks++;
	if (holds)
		return false;
	outcome->failures++;
	printf("%s:%d: %s\n", at->file, at->line, at->text);
	if (note[0])
		printf("      at: %s\n", note);
	return true;
}

bool unit_check(const struct unit_at *at, bool holds)
{
	if (fails(at, holds))
		printf("expected: to hold\n     got: does not\n");
	return holds;
}

bool unit_check_int(const struct unit_at *at, intmax_t got, intmax_t want)
{
	if (fails(at, got == want))
		printf("expected: %jd\n     got: %jd\n", want, got);
	return got == want;
}

bool unit_check_uint(const struct unit_at *at, uintmax_t got, uintmax_t want)
{
	if (fails(at, got == want))
		printf("expected: %ju\n     got: %ju\n", want, got);
	return got == want;
}

bool unit_check_double(const struct unit_at *at, double got, double want, double by)
{
	bool holds = fabs(got - want) <= by;

	if (fails(at, holds))
		printf("expected: %.17g (give or take %g)\n     got: %.17g\n", want, by, got);
	return holds;
}

static void print_text(const char *title, const char *text)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(0);

	if (text)
		text_add_terminal(&shown, text, strlen(text));
	printf(text ? "%s'%s'\n" : "%s%s\n", title, text ? buf_text(&shown) : "NULL");
}

bool unit_check_text(const struct unit_at *at, const char *got, const char *want)
{
	bool holds = got && want ? strcmp(got, want) == 0 : got == want;

	if (fails(at, holds)) {
		print_text("expected: ", want);
		print_text("     got: ", got);
	}
	return holds;
}

bool unit_check_has(const struct unit_at *at, const char *got, const char *part)
{
	bool holds = got && strstr(got, part);

	if (fails(at, holds)) {
		print_text("expected: to contain ", part);
		print_text("     got: ", got);
	}
	return holds;
}

static void print_bytes(const char *title, const uint8_t *bytes, size_t n)
{
	fputs(title, stdout);
	for (size_t i = 0; i < n && i < 64; i++)
		printf("%02x ", bytes[i]);
	puts(n > 64 ? "..." : "");
}

bool unit_check_mem(const struct unit_at *at, const void *got, const void *want, size_t n)
{
	bool holds = memcmp(got, want, n) == 0;

	if (fails(at, holds)) {
		print_bytes("expected: ", want, n);
		print_bytes("     got: ", got, n);
	}
	return holds;
}

static const char *result_name(int result)
{
	const char *name = result < 0 ? strerrorname_np(-result) : NULL;

	return name ? name : result == 0 ? "done" : "no errno";
}

bool unit_check_result(const struct unit_at *at, int got, int want)
{
	if (fails(at, got == want))
		printf("expected: %d (%s)\n     got: %d (%s)\n", want, result_name(want), got, result_name(got));
	return got == want;
}

bool unit_fork(void)
{
	fflush(stdout);
	doomed = fork();
	if (doomed < 0) {
		perror("fork");
		outcome->failures++;
		unit_stop();
	}
	return doomed == 0;
}

bool unit_check_death(const struct unit_at *at, int signal_number)
{
	bool holds;
	int status;

	if (waitpid(doomed, &status, 0) < 0)
		status = 0;
	holds = WIFSIGNALED(status) && WTERMSIG(status) == signal_number;
	if (fails(at, holds)) {
		printf("expected: to end with %s\n", strsignal(signal_number));
		if (WIFSIGNALED(status))
			printf("     got: %s\n", strsignal(WTERMSIG(status)));
		else
			printf("     got: exit status %d\n", WEXITSTATUS(status));
	}
	return holds;
}

void unit_stop(void)
{
	fflush(stdout);
	_exit(0);
}

void unit_skip(const char *format, ...)
{
	va_list args;

	outcome->skipped = true;
	va_start(args, format);
	vsnprintf(outcome->reason, sizeof(outcome->reason), format, args);
	va_end(args);
	unit_stop();
}

/* ------------------------------------------------------------------------------------------------------------------ */

typedef VEC(const struct unit_test *) test_list;

static int by_line(const void *a, const void *b)
{
	const struct unit_test *one = *(const struct unit_test *const *)a, *other = *(const struct unit_test *const *)b;

	return one->line < other->line ? -1 : one->line > other->line;
}

static bool is_wanted(const struct unit_test *test, char **patterns)
{
	for (char **p = patterns; *p; p++)
		if (text_glob_match(*p, test->name))
			return true;
	return !*patterns;
}

_noreturn_ static void run_child(const struct unit_test *test, int output)
{
	struct rlimit no_core = {0, 0};

	(void)setpgid(0, 0);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	test->run();
	fflush(stdout);
	exit(0);
}

/* The child's wait status; *ret_late when it had to be ended. */
static int await(pid_t pid, uint64_t timeout_s, bool *ret_late)
{
	_cleanup_close_ int fd = pidfd_open(pid, 0);
	struct pollfd ended = {.fd = fd, .events = POLLIN};
	int status;

	*ret_late = poll(&ended, 1, (int)timeout_s * 1000) == 0;
	if (*ret_late)
		(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		return -1;
	/* Whatever it started goes with it. */
	(void)kill(-pid, SIGKILL);
	return status;
}

static void print_output(int output)
{
	_cleanup_buf_ struct buf text = BUF_INIT((size_t)1 << 20);
	char *line, *rest;

	if (lseek(output, 0, SEEK_SET) < 0 || (buf_read_fd(&text, output) < 0 && !text.over) || text.len == 0)
		return;
	for (rest = text.data; (line = strsep(&rest, "\n"));)
		if (*line || rest)
			printf("#   %s\n", line);
}

/* Says what went wrong, in words; NULL when nothing did. */
static const char *judge(int status, bool late, uint64_t timeout_s)
{
	static char text[128];

	if (late)
		snprintf(text, sizeof(text), "did not end within %" PRIu64 " s", timeout_s);
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		snprintf(text, sizeof(text), "ended with exit status %d", WEXITSTATUS(status));
	else if (outcome->failures)
		snprintf(text, sizeof(text), "%u of %u checks failed", outcome->failures, outcome->checks);
	else if (!outcome->skipped && outcome->checks == 0)
		return "made no check";
	else
		return NULL;
	return text;
}

static bool run_test(const struct unit_test *test, size_t number, uint64_t timeout_s)
{
	_cleanup_close_ int output = memfd_create("unit-output", MFD_CLOEXEC);
	const char *fault;
	bool late;
	int status;
	pid_t pid;

	*outcome = (struct outcome){};
	fflush(stdout);
	pid = output < 0 ? -1 : fork();
	if (pid == 0)
		run_child(test, output);
	if (pid < 0) {
		printf("not ok %zu - %s\n# could not be started: %s\n", number, test->name, strerror(errno));
		return false;
	}
	status = await(pid, timeout_s, &late);
	fault = judge(status, late, timeout_s);
	if (fault) {
		printf("not ok %zu - %s\n# %s:%d: %s\n", number, test->name, test->file, test->line, fault);
		print_output(output);
	} else {
		printf("ok %zu - %s%s%s\n", number, test->name, outcome->skipped ? " # SKIP " : "", outcome->reason);
	}
	fflush(stdout);
	return !fault;
}

static uint64_t timeout_seconds(void)
{
	const char *text = getenv("UNIT_TIMEOUT");
	uint64_t seconds;

	return text && parse_u64(text, 1, 3600, &seconds) == 0 ? seconds : TIMEOUT_S;
}

int main(int argc, char **argv)
{
	bool list_only = argc > 1 && strcmp(argv[1], "-l") == 0;
	size_t number = 0, failed = 0;
	test_list tests = {};

	/* What a test wrote before it crashed must be there to read. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	registry_each(unit_test, test)
		if (is_wanted(*test, argv + 1 + list_only))
			vec_push(&tests, *test);
	vec_sort(&tests, by_line);
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcome == MAP_FAILED)
		return 1;
	if (!list_only)
		printf("1..%zu\n", max_of(tests.count, (size_t)1));
	if (tests.count == 0)
		puts("not ok 1 - there is a test\n# no test here, or none of that name");
	vec_each(&tests, test) {
		if (list_only)
			puts((*test)->name);
		else
			failed += !run_test(*test, ++number, timeout_seconds());
	}
	number = tests.count;
	vec_done(&tests);
	return number == 0 || failed > 0;
}
