/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns against a slower matcher that is plainly right; word distance against what a distance must be. */
#include "base/text.h"
#include "fuzz.h"

#define LENGTH_MAX 60

static unsigned char_bytes(const char *s)
{
	unsigned len = text_decode_utf8(s, strlen(s), NULL);

	return len ? len : 1;
}

static bool same_char(const char *a, const char *b)
{
	return *b && char_bytes(a) == char_bytes(b) && memcmp(a, b, char_bytes(a)) == 0;
}

/* matches[i][j]: whether the pattern from i on takes the text from j on. Filled from the ends. */
static bool slow_match(const char *pattern, const char *text)
{
	static bool matches[LENGTH_MAX + 1][LENGTH_MAX + 1];
	size_t np = strlen(pattern), nt = strlen(text);

	for (size_t i = np + 1; i-- > 0;)
		for (size_t j = nt + 1; j-- > 0;) {
			const char *p = pattern + i, *t = text + j;
			bool m;

			if (!*p)
				m = !*t;
			else if (*p == '*')
				m = matches[i + 1][j] || (*t && matches[i][j + char_bytes(t)]);
			else if (*p == '?')
				m = *t && matches[i + 1][j + char_bytes(t)];
			else if (*p == '\\')
				m = p[1] && same_char(p + 1, t) &&
				    matches[i + 1 + char_bytes(p + 1)][j + char_bytes(t)];
			else
				m = same_char(p, t) && matches[i + char_bytes(p)][j + char_bytes(t)];
			matches[i][j] = m;
		}
	return matches[0][0];
}

static void check_distance(const char *a, const char *b)
{
	unsigned ab = text_distance(a, b), ba = text_distance(b, a);
	size_t na = strlen(a), nb = strlen(b);
	struct near near = {.word = a};

	if (na > 32 || nb > 32)
		return;
	fuzz_require(ab == ba);
	fuzz_require((ab == 0) == (strcmp(a, b) == 0));
	fuzz_require(ab <= max_of(na, nb));
	fuzz_require(ab >= max_of(na, nb) - min_of(na, nb));
	for (int i = 0; i < 5; i++)
		near_consider(&near, i % 2 ? a : b);
	fuzz_require(near.count <= NEAR_MAX);
	for (unsigned i = 1; i < near.count; i++)
		fuzz_require(near.scores[i - 1] <= near.scores[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = memchr(data, '\n', size);
	_cleanup_free_ char *pattern = NULL, *text = NULL;
	size_t n = cut ? (size_t)(cut - data) : size;

	if (n > LENGTH_MAX || size - n > LENGTH_MAX)
		return -1;
	pattern = fuzz_text(data, n);
	text = cut ? fuzz_text(cut + 1, size - n - 1) : xstrdup("");
	fuzz_require(text_glob_match(pattern, text) == slow_match(pattern, text));
	fuzz_require(text_glob_match("*", text));
	check_distance(pattern, text);
	return 0;
}
