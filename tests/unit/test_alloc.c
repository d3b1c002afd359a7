/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/alloc.h"
#include "unit.h"

TEST(zero_bytes_are_a_valid_pointer)
{
	_cleanup_free_ void *a = xmalloc(0), *b = xzalloc(0), *c = xrealloc(NULL, 0), *d = xrealloc_array(NULL, 0, 8);

	CHECK(a);
	CHECK(b);
	CHECK(c);
	CHECK(d);
	CHECK(a != b);
}

TEST(zalloc_is_zero)
{
	_cleanup_free_ unsigned char *p = xzalloc(4096);
	static const unsigned char zero[4096];

	CHECK_EQ_MEM(p, zero, sizeof(zero));
}

TEST(realloc_keeps_the_content)
{
	_cleanup_free_ char *p = xstrdup("abcdef");

	p = xrealloc(p, 100000);
	CHECK_EQ_TEXT(p, "abcdef");
	p = xrealloc(p, 3);
	CHECK_EQ_MEM(p, "abc", 3);
}

TEST(realloc_array_grows)
{
	_cleanup_free_ uint64_t *p = NULL;

	for (size_t n = 1; n <= 1000; n++) {
		p = xrealloc_array(p, n, sizeof(*p));
		p[n - 1] = n * n;
	}
	for (size_t n = 1; n <= 1000; n++)
		CHECK_EQ_UINT(p[n - 1], n * n);
}

TEST(a_product_that_overflows_aborts)
{
	CHECK_DIES(SIGABRT, free(xrealloc_array(NULL, SIZE_MAX / 2, 3)));
	CHECK_DIES(SIGABRT, free(xrealloc_array(NULL, SIZE_MAX / 8 + 1, 8)));
}

TEST(what_no_machine_has_aborts)
{
	CHECK_DIES(SIGABRT, free(xmalloc(SIZE_MAX / 2)));
	CHECK_DIES(SIGABRT, free(xzalloc(SIZE_MAX / 2)));
	CHECK_DIES(SIGABRT, free(xrealloc(NULL, SIZE_MAX / 2)));
}

TEST(strndup_stops_at_the_limit_and_at_the_end)
{
	_cleanup_free_ char *cut = xstrndup("abcdef", 3), *whole = xstrndup("ab", 100), *none = xstrndup("ab", 0);
	/* No NUL within the limit: nothing beyond it may be read. */
	static const char open_end[4] = {'w', 'x', 'y', 'z'};
	_cleanup_free_ char *open = xstrndup(open_end, sizeof(open_end));

	CHECK_EQ_TEXT(cut, "abc");
	CHECK_EQ_TEXT(whole, "ab");
	CHECK_EQ_TEXT(none, "");
	CHECK_EQ_TEXT(open, "wxyz");
}

TEST(strdup_copies)
{
	char original[] = "text";
	_cleanup_free_ char *copy = xstrdup(original);
	_cleanup_free_ char *empty = xstrdup("");

	original[0] = 'n';
	CHECK_EQ_TEXT(copy, "text");
	CHECK_EQ_TEXT(empty, "");
}

TEST(asprintf_formats)
{
	_cleanup_free_ char *text = xasprintf("%s=%d", "x", -7);
	_cleanup_free_ char *wide = xasprintf("%5000d", 1);

	CHECK_EQ_TEXT(text, "x=-7");
	CHECK_EQ_UINT(strlen(wide), 5000);
}
