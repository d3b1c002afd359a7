/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unit tests. A file is
 *
 *	#include "unit.h"
 *
 *	TEST(parser_refuses_blanks)
 *	{
 *		uint64_t value;
 *
 *		CHECK_ERR(parse_u64(" 1", 0, 9, &value), -EINVAL);
 *	}
 *
 * and becomes one program that prints TAP. Each test runs in a process of its own: a crash, an abort, a sanitizer's
 * report, a leak or a hang is one failed test, and the rest go on. A failed check is reported and the test continues;
 * REQUIRE ends it. A test that makes no check has failed, and so has a file without tests.
 *
 *	build/tests/unit/test_x [-l] [PATTERN ...]
 */
#pragma once

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/macros.h"

struct unit_test {
	const char *name;
	const char *file;
	int line;
	void (*run)(void);
};

REGISTRY(unit_test, struct unit_test);

#define TEST(id)                                                                                                       \
	static void test_##id(void);                                                                                   \
	static const struct unit_test unit_##id = {#id, __FILE__, __LINE__, test_##id};                                \
	REGISTER(unit_test, struct unit_test, unit_##id);                                                              \
	static void test_##id(void)

/* Where a check stands and what it reads like in the source. */
struct unit_at {
	const char *file;
	int line;
	const char *text;
};

#define UNIT_AT(source) (&(const struct unit_at){__FILE__, __LINE__, (source)})

/* All of these yield whether the check held, so that `if (!CHECK(x)) return;` works. */
#define CHECK(condition)           unit_check(UNIT_AT(#condition), !!(condition))
#define CHECK_EQ_INT(got, want)    unit_check_int(UNIT_AT(#got), (got), (want))
#define CHECK_EQ_UINT(got, want)   unit_check_uint(UNIT_AT(#got), (got), (want))
#define CHECK_NEAR(got, want, by)  unit_check_double(UNIT_AT(#got), (got), (want), (by))
#define CHECK_EQ_TEXT(got, want)   unit_check_text(UNIT_AT(#got), (got), (want))
#define CHECK_HAS_TEXT(got, part)  unit_check_has(UNIT_AT(#got), (got), (part))
#define CHECK_EQ_MEM(got, want, n) unit_check_mem(UNIT_AT(#got), (got), (want), (n))
/* Results that are 0 or a negative errno. */
#define CHECK_OK(call)        unit_check_result(UNIT_AT(#call), (call), 0)
#define CHECK_ERR(call, want) unit_check_result(UNIT_AT(#call), (call), (want))

/* Without this the test makes no sense any further. */
#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!CHECK(condition))                                                                                 \
			unit_stop();                                                                                   \
	} while (0)

/* The statement ends its process with that signal. */
#define CHECK_DIES(signal_number, ...)                                                                                 \
	({                                                                                                             \
		if (unit_fork()) {                                                                                     \
			__VA_ARGS__;                                                                                   \
			unit_stop();                                                                                   \
		}                                                                                                      \
		unit_check_death(UNIT_AT(#__VA_ARGS__), (signal_number));                                              \
	})

/* Ends the test; the reason is shown at the end of the whole run. */
#define SKIP(...) unit_skip(__VA_ARGS__)

/* What a loop over cases is at; printed with the failed checks from here to the end of the test. */
void unit_note(const char *format, ...) _printf_(1, 2);

bool unit_check(const struct unit_at *at, bool holds);
bool unit_check_int(const struct unit_at *at, intmax_t got, intmax_t want);
bool unit_check_uint(const struct unit_at *at, uintmax_t got, uintmax_t want);
bool unit_check_double(const struct unit_at *at, double got, double want, double by);
bool unit_check_text(const struct unit_at *at, const char *got, const char *want);
bool unit_check_has(const struct unit_at *at, const char *got, const char *part);
bool unit_check_mem(const struct unit_at *at, const void *got, const void *want, size_t n);
bool unit_check_result(const struct unit_at *at, int got, int want);
/* True in the process that is expected to die. */
bool unit_fork(void);
bool unit_check_death(const struct unit_at *at, int signal_number);
_noreturn_ void unit_stop(void);
_noreturn_ void unit_skip(const char *format, ...) _printf_(1, 2);

/* Numbers that look random and are the same in every run; state starts at anything but 0. */
static inline uint64_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* How often a word is in a text. */
static inline size_t unit_occurrences(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word))) {
		count++;
		text += strlen(word);
	}
	return count;
}
