/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <jansson.h>

#include "base/alloc.h"
#include "base/text.h"
#include "unit.h"

typedef void escape_fn(struct buf *out, const char *s, size_t n);

static void check_escape(escape_fn *escape, const char *s, size_t n, const char *want)
{
	_cleanup_buf_ struct buf out = BUF_INIT(0);

	unit_note("'%s'", s);
	escape(&out, s, n);
	CHECK_EQ_TEXT(buf_text(&out), want);
}

/* A literal with its own length, so that NUL bytes count. */
#define CHECK_MESSAGE(literal, want)  check_escape(text_add_message, literal, sizeof(literal) - 1, want)
#define CHECK_TERMINAL(literal, want) check_escape(text_add_terminal, literal, sizeof(literal) - 1, want)
#define CHECK_JSON(literal, want)     check_escape(text_add_json, literal, sizeof(literal) - 1, want)
#define CHECK_CSV(literal, want)      check_escape(text_add_csv, literal, sizeof(literal) - 1, want)

TEST(utf8_edges)
{
	static const struct {
		const char *bytes;
		unsigned len;
		uint32_t code;
	} cases[] = {
		{"a", 1, 'a'},
		{"\x7f", 1, 0x7f},
		{"\xc2\x80", 2, 0x80},
		{"\xdf\xbf", 2, 0x7ff},
		{"\xe0\xa0\x80", 3, 0x800},
		{"\xed\x9f\xbf", 3, 0xd7ff},
		{"\xee\x80\x80", 3, 0xe000},
		{"\xef\xbf\xbf", 3, 0xffff},
		{"\xf0\x90\x80\x80", 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		{"\x80", 0, 0},             /* continuation alone */
		{"\xc0\x80", 0, 0},         /* overlong */
		{"\xc1\xbf", 0, 0},         /* overlong */
		{"\xe0\x9f\xbf", 0, 0},     /* overlong */
		{"\xf0\x8f\xbf\xbf", 0, 0}, /* overlong */
		{"\xed\xa0\x80", 0, 0},     /* surrogate */
		{"\xf4\x90\x80\x80", 0, 0}, /* beyond U+10FFFF */
		{"\xf5\x80\x80\x80", 0, 0},
		{"\xff", 0, 0},
		{"\xc2", 0, 0}, /* truncated */
		{"\xe2\x82", 0, 0},
		{"\xf0\x9f\x98", 0, 0},
		{"\xc2"
		 "a",
		 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t code = 4711;
		size_t n = strlen(cases[i].bytes);

		unit_note("case %zu", i);
		CHECK_EQ_UINT(text_decode_utf8(cases[i].bytes, n, &code), cases[i].len);
		CHECK_EQ_UINT(code, cases[i].len ? cases[i].code : 4711);
		CHECK_EQ_UINT(text_decode_utf8(cases[i].bytes, n, NULL), cases[i].len);
	}
	CHECK_EQ_UINT(text_decode_utf8("", 0, NULL), 0);
	CHECK_EQ_UINT(text_decode_utf8("\0", 1, NULL), 1);
}

/* Every code point, encoded here and decoded. */
TEST(utf8_all_code_points)
{
	unsigned wrong = 0;

	for (uint32_t code = 0x10000; code <= 0x10ffff; code++) {
		char s[4] = {(char)(0xf0 | code >> 18), (char)(0x80 | (code >> 12 & 0x3f)),
			     (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f))};
		uint32_t back = 0;

		wrong += text_decode_utf8(s, 4, &back) != 4 || back != code;
	}
	for (uint32_t code = 0x800; code <= 0xffff; code++) {
		char s[3] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
			     (char)(0x80 | (code & 0x3f))};
		uint32_t back = 0;
		bool surrogate = code >= 0xd800 && code < 0xe000;

		wrong += text_decode_utf8(s, 3, &back) != (surrogate ? 0 : 3) || (!surrogate && back != code);
	}
	CHECK_EQ_UINT(wrong, 0);
}

TEST(columns)
{
	CHECK_EQ_UINT(text_columns("", 0), 0);
	CHECK_EQ_UINT(text_columns("abc", 3), 3);
	CHECK_EQ_UINT(text_columns("\xc3\xa9t\xc3\xa9", 5), 3);
	CHECK_EQ_UINT(text_columns("e\xcc\x81", 3), 1); /* e and a combining accent */
	CHECK_EQ_UINT(text_columns("\xe6\x97\xa5\xe6\x9c\xac", 6), 4);
	CHECK_EQ_UINT(text_columns("\xf0\x9f\x98\x80", 4), 2);
	CHECK_EQ_UINT(text_columns("\xe2\x96\x88", 3), 1); /* full block */
}

TEST(terminal)
{
	CHECK_TERMINAL("", "");
	CHECK_TERMINAL("plain text ~", "plain text ~");
	CHECK_TERMINAL("\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", "\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80");
	CHECK_TERMINAL("a\\b", "a\\\\b");
	CHECK_MESSAGE("a\\b\\x1b\n  \033[31m \xff\r\0", "a\\b\\x1b\n  \\x1b[31m \\xff\\x0d\\x00");
	/* A name must not begin a message of its own. */
	CHECK_MESSAGE("no file x\nnest: 5 events, 0 lost\n", "no file x\\x0anest: 5 events, 0 lost\\x0a");
	CHECK_TERMINAL("\033[31mred", "\\x1b[31mred");
	CHECK_TERMINAL("\t\n\r\0\x7f", "\\x09\\x0a\\x0d\\x00\\x7f");
	CHECK_TERMINAL("\xff\xfe", "\\xff\\xfe");
	CHECK_TERMINAL("\xc2\x9b"
		       "31m",
		       "\\u{9b}31m"); /* C1: starts an escape sequence */
	CHECK_TERMINAL("a\xe2\x80\xae"
		       "b",
		       "a\\u{202e}b"); /* writes backwards */
	CHECK_TERMINAL("a\xe2\x80\x8b"
		       "b",
		       "a\\u{200b}b"); /* has no width */
	CHECK_TERMINAL("\xef\xbb\xbf", "\\u{feff}");
	CHECK_TERMINAL("\xe2\x80\xa8", "\\u{2028}");
	CHECK_TERMINAL("\xf3\xa0\x81\x81", "\\u{e0041}");
	CHECK_TERMINAL("\xe2\x82", "\\xe2\\x82");
}

TEST(json)
{
	CHECK_JSON("", "");
	CHECK_JSON("plain", "plain");
	CHECK_JSON("a\"b\\c/", "a\\\"b\\\\c/");
	CHECK_JSON("\b\f\n\r\t", "\\b\\f\\n\\r\\t");
	CHECK_JSON("\0\x01\x1f\x7f", "\\u0000\\u0001\\u001f\\u007f");
	CHECK_JSON("\xc3\xa9", "\xc3\xa9");
	CHECK_JSON("\xff"
		   "a\xc3",
		   "\\ufffda\\ufffd");
	CHECK_JSON("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");
}

/* For any bytes, the string is valid JSON, and valid text reads back unchanged. */
TEST(json_of_random_bytes_is_json)
{
	uint64_t seed = 5;

	for (int i = 0; i < 5000; i++) {
		_cleanup_buf_ struct buf out = BUF_INIT(0);
		char bytes[40];
		size_t n = unit_random(&seed) % sizeof(bytes);
		bool ascii = i % 2;
		json_t *value;

		for (size_t j = 0; j < n; j++)
			bytes[j] = (char)(ascii ? unit_random(&seed) % 128 : unit_random(&seed));
		buf_add_char(&out, '"');
		text_add_json(&out, bytes, n);
		buf_add_char(&out, '"');
		value = json_loadb(out.data, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		unit_note("%s", buf_text(&out));
		if (!CHECK(value))
			return;
		if (ascii) {
			CHECK_EQ_UINT(json_string_length(value), n);
			CHECK_EQ_MEM(json_string_value(value), bytes, n);
		}
		json_decref(value);
	}
}

TEST(csv)
{
	CHECK_CSV("", "");
	CHECK_CSV("plain text", "plain text");
	CHECK_CSV("a,b", "\"a,b\"");
	CHECK_CSV("say \"x\"", "\"say \"\"x\"\"\"");
	CHECK_CSV("two\nlines", "\"two\nlines\"");
	CHECK_CSV("a\rb", "\"a\rb\"");
	CHECK_CSV("a\x1b[2Jb\x7f", "a\xef\xbf\xbd[2Jb\xef\xbf\xbd");
	CHECK_CSV("=1+1", "'=1+1");
	CHECK_CSV("+x", "'+x");
	CHECK_CSV("-x", "'-x");
	CHECK_CSV("@x", "'@x");
	CHECK_CSV("=a,b", "\"'=a,b\"");
	CHECK_CSV("\ta", "'\ta");
	CHECK_CSV("a=b", "a=b");
}

TEST(glob)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} cases[] = {
		{"", "", true},
		{"", "a", false},
		{"a", "", false},
		{"a", "a", true},
		{"a", "A", false},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "anything", true},
		{"**", "x", true},
		{"?", "", false},
		{"?", "a", true},
		{"?", "ab", false},
		{"a*", "a", true},
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"*c", "abcd", false},
		{"a*c", "abbbc", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*ab", "aab", true},
		{"*aab", "aaab", true},
		{"nginx*", "nginx: worker", true},
		{"??*", "a", false},
		{"\\*", "*", true},
		{"\\*", "a", false},
		{"a\\?", "a?", true},
		{"a\\?", "ab", false},
		{"\\\\", "\\", true},
		{"\\a", "a", true},
		{"*\\*", "ab*", true},
		{"*\\*", "ab", false},
		{"[a]", "a", false},
		{"[a]", "[a]", true},
		{"*.*.*", "1.2.3", true},
		{"*a", "b", false},
		/* ? is a character, however many bytes it has. */
		{"?", "\xc3\xa9", true},
		{"??", "\xc3\xa9", false},
		{"a?c",
		 "a\xe2\x82\xac"
		 "c",
		 true},
		{"*??bX",
		 "\xe2\x82\xac"
		 "bX",
		 false},
		{"?", "\xff", true},
		{"??", "\xe2\x82", true},
		{"*\xa9", "\xc3\xa9", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unit_note("'%s' and '%s'", cases[i].pattern, cases[i].text);
		CHECK_EQ_INT(text_glob_match(cases[i].pattern, cases[i].text), cases[i].match);
	}
}

/* A pattern that makes a naive matcher take exponential time. */
TEST(glob_takes_no_bait)
{
	_cleanup_free_ char *text = xmalloc(20001);
	_cleanup_free_ char *pattern = xmalloc(201);

	memset(text, 'a', 20000);
	text[20000] = '\0';
	for (int i = 0; i < 200; i += 2)
		memcpy(pattern + i, "a*", 2);
	pattern[199] = 'b';
	pattern[200] = '\0';
	CHECK(!text_glob_match(pattern, text));
	text[19999] = 'b';
	CHECK(text_glob_match(pattern, text));
}

TEST(distance)
{
	CHECK_EQ_UINT(text_distance("", ""), 0);
	CHECK_EQ_UINT(text_distance("", "abc"), 3);
	CHECK_EQ_UINT(text_distance("abc", ""), 3);
	CHECK_EQ_UINT(text_distance("same", "same"), 0);
	CHECK_EQ_UINT(text_distance("kitten", "sitting"), 3);
	CHECK_EQ_UINT(text_distance("doctor", "dcotor"), 1);
	CHECK_EQ_UINT(text_distance("doctor", "docto"), 1);
	CHECK_EQ_UINT(text_distance("doctor", "doctors"), 1);
	CHECK_EQ_UINT(text_distance("ab", "ba"), 1);
	CHECK_EQ_UINT(text_distance("a", "b"), 1);
	CHECK_EQ_UINT(text_distance("flow", "wolf"), text_distance("wolf", "flow"));
}

TEST(distance_of_long_words_is_bounded)
{
	char a[1000], b[1000];

	memset(a, 'a', sizeof(a) - 1);
	memset(b, 'b', sizeof(b) - 1);
	a[sizeof(a) - 1] = b[sizeof(b) - 1] = '\0';
	CHECK(text_distance(a, b) >= 32);
	CHECK(text_distance(a, b) < 1000);
}

static void check_near(const char *word, const char *want)
{
	static const char *const names[] = {"diagnose", "doctor",  "demo",     "record", "report", "rules",
					    "tcplife",  "tcpdrop", "tcpstate", "tcptop", "record"};
	_cleanup_buf_ struct buf out = BUF_INIT(0);
	struct near near = {.word = word};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		near_consider(&near, names[i]);
	near_add_text(&near, &out);
	unit_note("'%s'", word);
	CHECK_EQ_TEXT(buf_text(&out), want);
}

TEST(near_misses)
{
	check_near("docter", "; did you mean doctor?");
	check_near("dcotor", "; did you mean doctor?");
	check_near("zzzzzz", "");
	check_near("", "");
	check_near("dia", "; did you mean diagnose?");
	check_near("re", "; did you mean record or report?");
	check_near("rule", "; did you mean rules?");
	/* No more than three, the first ones of the same distance. */
	check_near("tcp", "; did you mean tcplife, tcpdrop or tcpstate?");
	check_near("a very long word that is no command at all", "");
}

TEST(the_nearest_comes_first)
{
	struct near near = {.word = "abcd"};

	near_consider(&near, "abyz"); /* two away */
	near_consider(&near, "abcz"); /* one */
	near_consider(&near, "wxyz"); /* too far */
	near_consider(&near, "abdc"); /* one */
	near_consider(&near, "abcy"); /* one */
	REQUIRE(near.count == 3);
	CHECK_EQ_TEXT(near.names[0], "abcz");
	CHECK_EQ_TEXT(near.names[1], "abdc");
	CHECK_EQ_TEXT(near.names[2], "abcy");
}
