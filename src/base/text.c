/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>

#include "base/text.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

unsigned text_decode_utf8(const char *text, size_t n, uint32_t *ret_code)
{
	const uint8_t *s = (const uint8_t *)text;
	uint32_t code, least;
	unsigned len;

	if (n == 0)
		return 0;
	if (s[0] < 0x80) {
		code = s[0];
		len = 1;
		least = 0;
	} else if (s[0] >= 0xc2 && s[0] < 0xe0) {
		code = s[0] & 0x1f;
		len = 2;
		least = 0x80;
	} else if (s[0] >= 0xe0 && s[0] < 0xf0) {
		code = s[0] & 0x0f;
		len = 3;
		least = 0x800;
	} else if (s[0] >= 0xf0 && s[0] < 0xf5) {
		code = s[0] & 0x07;
		len = 4;
		least = 0x10000;
	} else {
		return 0;
	}
	if (len > n)
		return 0;
	for (unsigned i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	if (ret_code)
		*ret_code = code;
	return len;
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t code, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Double-width characters. */
static const struct range wide[] = {
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
	{0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
};

/* Combining characters, of width 0. */
static const struct range combining[] = {{0x0300, 0x036f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f}};

/* C1 controls, zero-width and direction marks, line separators, byte order mark: they can fake the text shown. */
static const struct range unsafe[] = {
	{0x00, 0x1f},     {0x7f, 0x9f},     {0x00ad, 0x00ad}, {0x061c, 0x061c}, {0x200b, 0x200f},
	{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

size_t text_columns(const char *s, size_t n)
{
	size_t columns = 0;

	while (n > 0) {
		uint32_t code = 0;
		unsigned len;

		/* Fast path: ASCII. */
		if ((uint8_t)*s < 0x80) {
			columns++;
			s++;
			n--;
			continue;
		}
		len = text_decode_utf8(s, n, &code);
		if (len == 0)
			len = 1;
		if (code < 0x300)
			columns++;
		else if (in_ranges(code, wide, ARRAY_SIZE(wide)))
			columns += 2;
		else if (!in_ranges(code, combining, ARRAY_SIZE(combining)))
			columns++;
		s += len;
		n -= len;
	}
	return columns;
}

size_t text_first_sentences(const char *text, size_t max)
{
	size_t taken = strlen(text);

	if (taken <= max)
		return taken;
	taken = 0;
	for (const char *at = text; (at = strstr(at, ". ")); at++) {
		size_t length = (size_t)(at - text) + 1;

		if (taken && length > max)
			break;
		taken = length;
	}
	return taken ? taken : strlen(text);
}

/* Number of leading characters that need no escape on any terminal. */
static size_t plain_length(const char *s, size_t n)
{
	size_t len = 0;

	while (len < n && s[len] >= ' ' && s[len] <= '~' && s[len] != '\\')
		len++;
	return len;
}

/* In a message backslashes stay as they are, and so does a newline before a line that is indented. */
static bool is_of_message(const char *s, size_t n)
{
	return *s == '\\' || (n > 1 && s[0] == '\n' && s[1] == ' ');
}

static void add_visible(struct buf *out, const char *s, size_t n, bool message)
{
	while (n > 0) {
		size_t plain = plain_length(s, n);
		uint32_t code = 0;
		unsigned len;

		if (plain > 0) {
			buf_add(out, s, plain);
			s += plain;
			n -= plain;
			continue;
		}
		len = text_decode_utf8(s, n, &code);
		if (len == 0) {
			buf_add_format(out, "\\x%02x", (uint8_t)*s);
			len = 1;
		} else if (message && is_of_message(s, n)) {
			buf_add_char(out, *s);
		} else if (code == '\\') {
			buf_add_text(out, "\\\\");
		} else if (in_ranges(code, unsafe, ARRAY_SIZE(unsafe))) {
			buf_add_format(out, code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
		} else {
			buf_add(out, s, len);
		}
		s += len;
		n -= len;
	}
}

void text_add_terminal(struct buf *out, const char *s, size_t n)
{
	add_visible(out, s, n, false);
}

void text_add_message(struct buf *out, const char *s, size_t n)
{
	add_visible(out, s, n, true);
}

static void add_json_escape(struct buf *out, uint8_t c)
{
	static const char short_forms[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (const char *p = short_forms; *p; p += 2)
		if ((uint8_t)*p == c) {
			char pair[2] = {'\\', p[1]};

			buf_add(out, pair, 2);
			return;
		}
	buf_add_format(out, "\\u%04x", c);
}

/* Characters that can fake what a terminal shows are valid in JSON, but need not reach one. */
static void add_json_code(struct buf *out, const char *s, unsigned len, uint32_t code)
{
	if (!in_ranges(code, unsafe, ARRAY_SIZE(unsafe)))
		buf_add(out, s, len);
	else if (code < 0x10000)
		buf_add_format(out, "\\u%04x", code);
	else
		buf_add_format(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

void text_add_json(struct buf *out, const char *s, size_t n)
{
	while (n > 0) {
		size_t plain = 0;
		uint32_t code = 0;
		unsigned len;

		while (plain < n && (uint8_t)s[plain] >= 0x20 && (uint8_t)s[plain] < 0x7f && s[plain] != '"' &&
		       s[plain] != '\\')
			plain++;
		buf_add(out, s, plain);
		s += plain;
		n -= plain;
		if (n == 0)
			return;
		len = text_decode_utf8(s, n, &code);
		if (len == 0)
			buf_add_text(out, "\\ufffd");
		else if (len == 1)
			add_json_escape(out, (uint8_t)*s);
		else
			add_json_code(out, s, len, code);
		s += len ? len : 1;
		n -= len ? len : 1;
	}
}

void text_add_html(struct buf *out, const char *s, size_t n)
{
	while (n > 0) {
		uint32_t code = 0;
		unsigned len = text_decode_utf8(s, n, &code);

		if (len == 0 || (*s != '\n' && *s != '\t' && in_ranges(code, unsafe, ARRAY_SIZE(unsafe)))) {
			buf_add_text(out, REPLACEMENT);
			len = max_of(len, 1u);
		} else if (*s == '&') {
			buf_add_text(out, "&amp;");
		} else if (*s == '<') {
			buf_add_text(out, "&lt;");
		} else if (*s == '>') {
			buf_add_text(out, "&gt;");
		} else if (*s == '"') {
			buf_add_text(out, "&quot;");
		} else if (*s == '\'') {
			buf_add_text(out, "&#39;");
		} else {
			buf_add(out, s, len);
		}
		s += len;
		n -= len;
	}
}

/* CSV also reaches terminals. Newlines and tabs are part of the format. */
static void add_csv_code(struct buf *out, const char *s, unsigned len, uint32_t code)
{
	bool is_space = len == 1 && memchr("\t\r\n", *s, 3);

	if (len == 0 || (!is_space && in_ranges(code, unsafe, ARRAY_SIZE(unsafe))))
		buf_add_text(out, REPLACEMENT);
	else
		buf_add(out, s, len);
}

void text_add_csv(struct buf *out, const char *s, size_t n)
{
	bool formula = n > 0 && memchr("=+-@\t\r", s[0], 6);
	bool quote = false;

	for (size_t i = 0; i < n; i++)
		quote = quote || memchr("\",\r\n", s[i], 4);
	if (quote)
		buf_add_char(out, '"');
	if (formula)
		buf_add_char(out, '\'');
	while (n > 0) {
		uint32_t code = 0;
		unsigned len = text_decode_utf8(s, n, &code), step = max_of(len, 1u);

		if (*s == '"')
			buf_add_char(out, '"');
		add_csv_code(out, s, len, code);
		s += step;
		n -= step;
	}
	if (quote)
		buf_add_char(out, '"');
}

/* Unsafe characters and those of `own` are replaced, one for one. */
static void add_replaced(struct buf *out, const char *s, size_t n, const char *own, char by)
{
	while (n > 0) {
		uint32_t code = 0;
		unsigned len = text_decode_utf8(s, n, &code);

		if (len == 0 || in_ranges(code, unsafe, ARRAY_SIZE(unsafe)) || (len == 1 && strchr(own, *s)))
			buf_add_char(out, by);
		else
			buf_add(out, s, len);
		s += max_of(len, 1u);
		n -= max_of(len, 1u);
	}
}

void text_add_folded(struct buf *out, const char *s, size_t n)
{
	add_replaced(out, s, n, ";", '_');
}

void text_add_dot(struct buf *out, const char *s, size_t n)
{
	for (size_t i = 0, part; i < n; i += part) {
		part = strcspn(s + i, "\"\\");
		part = min_of(part, n - i);
		add_replaced(out, s + i, part, "", ' ');
		if (part == 0) {
			buf_add_char(out, '\\');
			buf_add_char(out, s[i]);
			part = 1;
		}
	}
}

/* Bytes of the character at s (not the end); an invalid byte counts as one character. */
static unsigned char_length(const char *s)
{
	unsigned len = (uint8_t)*s < 0x80 ? 1 : text_decode_utf8(s, strnlen(s, 4), NULL);

	return len ? len : 1;
}

/* Length of the first character if it is the same in both, else 0. Never matches part of a character. */
static unsigned common_char(const char *a, const char *b)
{
	unsigned len = *a ? char_length(a) : 0;

	return len && len == char_length(b) && memcmp(a, b, len) == 0 ? len : 0;
}

bool text_glob_match(const char *pattern, const char *text)
{
	const char *star = NULL, *resume = NULL;

	while (*text) {
		bool quoted = *pattern == '\\';
		unsigned same = common_char(pattern + quoted, text);

		if (*pattern == '*') {
			star = ++pattern;
			resume = text;
			continue;
		}
		if (*pattern == '?') {
			pattern++;
			text += char_length(text);
			continue;
		}
		if (same) {
			pattern += same + quoted;
			text += same;
			continue;
		}
		if (!star)
			return false;
		/* Backtrack: the last star matches one more character. */
		pattern = star;
		resume += char_length(resume);
		text = resume;
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

#define DISTANCE_WORD_MAX 32

unsigned text_distance(const char *a, const char *b)
{
	size_t na = strnlen(a, DISTANCE_WORD_MAX), nb = strnlen(b, DISTANCE_WORD_MAX);
	unsigned rows[DISTANCE_WORD_MAX + 1][DISTANCE_WORD_MAX + 1];

	for (size_t i = 0; i <= na; i++)
		rows[i][0] = (unsigned)i;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++)
		for (size_t j = 1; j <= nb; j++) {
			unsigned best = min_of(rows[i - 1][j], rows[i][j - 1]) + 1;
			unsigned change = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			best = min_of(best, change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = min_of(best, rows[i - 2][j - 2] + 1);
			rows[i][j] = best;
		}
	return rows[na][nb];
}

/* Ignores case. */
static void fold_word(const char *word, char *folded)
{
	size_t n = strnlen(word, DISTANCE_WORD_MAX);

	for (size_t i = 0; i < n; i++)
		folded[i] = (char)tolower((unsigned char)word[i]);
	folded[n] = '\0';
}

void near_consider(struct near *near, const char *name)
{
	char typed[DISTANCE_WORD_MAX + 1], offered[DISTANCE_WORD_MAX + 1];
	unsigned score, at;
	size_t n;

	fold_word(near->word, typed);
	fold_word(name, offered);
	n = strlen(typed);
	score = text_distance(typed, offered);
	/* A prefix of the name is near, whatever its length. */
	if (n >= 2 && strncmp(typed, offered, n) == 0)
		score = 1;
	if (score > (n <= 3 ? 1 : n <= 6 ? 2 : 3))
		return;
	/* Several types may have a field of the same name. */
	for (unsigned i = 0; i < near->count; i++)
		if (strcmp(near->names[i], name) == 0)
			return;
	for (at = 0; at < near->count && near->scores[at] <= score; at++)
		;
	if (at == NEAR_MAX)
		return;
	near->count = min_of(near->count + 1, (unsigned)NEAR_MAX);
	for (unsigned i = near->count - 1; i > at; i--) {
		near->names[i] = near->names[i - 1];
		near->scores[i] = near->scores[i - 1];
	}
	near->names[at] = name;
	near->scores[at] = score;
}

void near_add_text(const struct near *near, struct buf *out)
{
	for (unsigned i = 0; i < near->count; i++) {
		buf_add_text(out, i == 0 ? "; did you mean " : i + 1 == near->count ? " or " : ", ");
		buf_add_text(out, near->prefix ? near->prefix : "");
		buf_add_text(out, near->names[i]);
	}
	if (near->count)
		buf_add_char(out, '?');
}
