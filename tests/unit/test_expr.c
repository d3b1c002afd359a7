/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "base/alloc.h"
#include "record/expr.h"
#include "sample.h"

static enum truth eval(const char *text, const struct sample *s)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct record record = RECORD_OF(s);
	struct why why = {};

	if (!CHECK_OK(expr_parse(text, &shape, &expr, &why))) {
		printf("# %s\n# %s\n", text, why.text);
		return TRUTH_UNKNOWN;
	}
	return expr_eval(expr, &record);
}

static const char *refuse(const char *text)
{
	static struct why why;
	struct shape shape = SHAPE_OF(&sample_type);
	struct expr *expr = NULL;

	memset(&why, 0, sizeof(why));
	if (!CHECK_ERR(expr_parse(text, &shape, &expr, &why), -EINVAL))
		expr_free(expr);
	return why.text;
}

TEST(true_of_the_sample)
{
	static const char *const expressions[] = {
		"pid == 4711",
		"pid=4711",
		"pid eq 4711",
		"pid != 1",
		"pid >= 4711",
		"pid <= 0x1267",
		"pid > 4710 and pid < 4712",
		"comm == nginx",
		"comm == \"nginx\"",
		"comm ~ \"ng*\"",
		"comm ~ n?inx",
		"comm != apache",
		"comm nginx",
		"comm in (apache, nginx)",
		"not comm == apache",
		"!comm ~ 'a*'",
		"lat > 1ms",
		"lat_ns < 1.3ms",
		"lat > 1000000",
		"bytes == 3MiB",
		"bytes > 3MB",
		"bytes < rcvbuf",
		"not bytes > rcvbuf",
		"laddr == 10.77.1.2",
		"laddr in 10.0.0.0/8",
		"laddr in (192.168.0.0/16, 10.0.0.0/8)",
		"laddr 10.77.0.0/16",
		"laddr != 10.78.0.0/16",
		"laddr == ::ffff:10.77.1.2",
		"raddr == fd77::1",
		"raddr in fd00::/8",
		"raddr != fd78::/16",
		"laddr != raddr",
		"state == ESTABLISHED",
		"state established",
		"state == 1",
		"state in (syn-sent, established)",
		"flags ~ SYN",
		"flags == SYN|ACK",
		"flags ~ 'SYN|ACK'",
		"not flags ~ FIN",
		"flags != SYN",
		"share > 10%",
		"share == 0.125",
		"delta < 0",
		"delta == -5",
		"handle == 0xbeef",
		"is_new",
		"is_new == yes",
		"error",
		"error == ECONNREFUSED",
		"error econnrefused",
		"peer == [fd77::1]:51234",
		"peer == :51234",
		"peer == fd77::1",
		"host == example",
		"time > 2025-11-15T02:13:00Z",
		"time_ns < 2025-11-15T02:13:08Z",
		"sport = :443",
		"dport = :51234",
		"src 10.0.0.0/8 and dst fd77::/16",
		"(pid == 1 or (pid == 4711))",
		"pid == 1 or pid == 2 or pid == 4711",
		"pid == 4711 and not (comm == x || lport == 1)",
		"pid==4711&&comm==nginx",
		"kstack",
		"hist",
		"not not pid == 4711",
		"lport in (80, 443)",
		"lport < rport",
	};
	struct sample s = sample_make();

	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		unit_note("%s", expressions[i]);
		CHECK_EQ_INT(eval(expressions[i], &s), TRUTH_YES);
	}
}

TEST(false_of_the_sample)
{
	static const char *const expressions[] = {
		"pid == 4712",
		"comm == ngin",
		"comm == nginxx",
		"comm ~ nginx?",
		"comm ~ ''",
		"lat > 2ms",
		"bytes == 3MB",
		"laddr in 192.168.0.0/16",
		"laddr == ::1",
		"raddr in 10.0.0.0/8",
		"state == CLOSED",
		"flags == SYN",
		"flags ~ FIN",
		"share > 13%",
		"delta > 0",
		"not is_new",
		"not error",
		"peer == :443",
		"lport in (80, 8080)",
		"bytes > rcvbuf",
		"pid == 4711 and comm == x",
		"laddr == raddr",
		"pid > 99999999999",
	};
	struct sample s = sample_make();

	for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
		unit_note("%s", expressions[i]);
		CHECK_EQ_INT(eval(expressions[i], &s), TRUTH_NO);
	}
}

TEST(unknown_is_neither_true_nor_false)
{
	struct sample s = sample_make();

	s.pid = 0;
	s.lat_ns = UINT64_MAX;
	CHECK_EQ_INT(eval("pid == 1", &s), TRUTH_UNKNOWN);
	CHECK_EQ_INT(eval("pid != 1", &s), TRUTH_UNKNOWN);
	CHECK_EQ_INT(eval("not pid == 1", &s), TRUTH_UNKNOWN);
	CHECK_EQ_INT(eval("pid", &s), TRUTH_UNKNOWN);
	for (s.share = 0; s.share < 1; s.share += 0.5)
		CHECK_EQ_INT(eval("share", &s), s.share > 0 ? TRUTH_YES : TRUTH_NO);
	CHECK_EQ_INT(eval("lat > 0ns", &s), TRUTH_UNKNOWN);
	CHECK_EQ_INT(eval("pid in (1, 2)", &s), TRUTH_UNKNOWN);
	/* A deciding side makes the other one irrelevant. */
	CHECK_EQ_INT(eval("pid == 1 and comm == x", &s), TRUTH_NO);
	CHECK_EQ_INT(eval("comm == x and pid == 1", &s), TRUTH_NO);
	CHECK_EQ_INT(eval("pid == 1 or comm == nginx", &s), TRUTH_YES);
	CHECK_EQ_INT(eval("pid == 1 and comm == nginx", &s), TRUTH_UNKNOWN);
	CHECK_EQ_INT(eval("pid == 1 or comm == x", &s), TRUTH_UNKNOWN);
	CHECK_EQ_INT(eval("pid == lport", &s), TRUTH_UNKNOWN);
}

TEST(whether_something_is_known_is_always_known)
{
	struct sample s = sample_make();

	CHECK_EQ_INT(eval("pid is known", &s), TRUTH_YES);
	CHECK_EQ_INT(eval("pid is unknown", &s), TRUTH_NO);
	CHECK_EQ_INT(eval("not pid is unknown and comm is known", &s), TRUTH_YES);
	s.pid = 0;
	CHECK_EQ_INT(eval("pid is known", &s), TRUTH_NO);
	CHECK_EQ_INT(eval("pid is unknown", &s), TRUTH_YES);
	CHECK_EQ_INT(eval("not pid is unknown", &s), TRUTH_NO);
	CHECK_EQ_INT(eval("pid == 1 or pid is unknown", &s), TRUTH_YES);
	/* A value equal to the keyword. */
	CHECK_EQ_INT(eval("comm == is", &s), TRUTH_NO);
}

/* All combinations of the three values of a, b and c, compared with truth tables. */
TEST(three_valued_tables)
{
	static const char *const words[] = {"delta == 1", "delta == 0", "pid == 1"}; /* no, yes, unknown */
	static const enum truth and_table[3][3] = {{0, 0, 0}, {0, 1, 2}, {0, 2, 2}};
	static const enum truth or_table[3][3] = {{0, 1, 2}, {1, 1, 1}, {2, 1, 2}};
	static const enum truth not_table[3] = {1, 0, 2};
	struct sample s = {};

	for (int a = 0; a < 3; a++) {
		char negated[64];

		snprintf(negated, sizeof(negated), "not %s", words[a]);
		CHECK_EQ_INT(eval(negated, &s), not_table[a]);
		for (int b = 0; b < 3; b++) {
			char text[128];

			snprintf(text, sizeof(text), "%s and %s", words[a], words[b]);
			CHECK_EQ_INT(eval(text, &s), and_table[a][b]);
			snprintf(text, sizeof(text), "%s or %s", words[a], words[b]);
			CHECK_EQ_INT(eval(text, &s), or_table[a][b]);
		}
	}
}

TEST(and_binds_closer_than_or)
{
	struct sample s = sample_make();

	CHECK_EQ_INT(eval("pid == 4711 or pid == 1 and comm == x", &s), TRUTH_YES);
	CHECK_EQ_INT(eval("(pid == 4711 or pid == 1) and comm == x", &s), TRUTH_NO);
	CHECK_EQ_INT(eval("not pid == 1 and comm == x", &s), TRUTH_NO);
}

TEST(mistakes_are_pointed_at)
{
	CHECK_EQ_TEXT(refuse("rprt == 443"),
		      "unknown field 'rprt'; did you mean rport or lport?\n  rprt == 443\n  ^~~~");
	CHECK_EQ_TEXT(refuse("pid == 1 and comn ~ x"),
		      "unknown field 'comn'; did you mean comm?\n  pid == 1 and comn ~ x\n               ^~~~");
	CHECK_HAS_TEXT(refuse("pid == 12abc"), "'12abc' is not a number");
	CHECK_HAS_TEXT(refuse("lat > 10parsec"), "a duration such as 10ms");
	CHECK_HAS_TEXT(refuse("laddr == 10.0.0.0/33"), "an address or prefix");
	CHECK_HAS_TEXT(refuse("laddr == 10.0.0.1/8"), "an address or prefix");
	CHECK_HAS_TEXT(refuse("state == ESTABLISHD"), "did you mean ESTABLISHED?");
	CHECK_HAS_TEXT(refuse("state == establishd"), "did you mean ESTABLISHED?");
	CHECK_HAS_TEXT(refuse("share == lots"), "0.05 or 5%");
	CHECK_HAS_TEXT(refuse("pid ~ 4*"), "is not text");
	CHECK_HAS_TEXT(refuse("laddr < 10.0.0.1"), "has no order");
	CHECK_HAS_TEXT(refuse("state > 1"), "has named values, which have no order");
	CHECK_HAS_TEXT(refuse("lat > bytes"), "different kinds");
	CHECK_HAS_TEXT(refuse("hist == 1"), "is a list: it cannot be compared");
	CHECK_HAS_TEXT(refuse("peer == 1.2.3.4:70000"), "an endpoint");
}

TEST(syntax_errors)
{
	CHECK_HAS_TEXT(refuse(""), "unexpected end of the expression: expected a field");
	CHECK_HAS_TEXT(refuse("   "), "unexpected end of the expression: expected a field");
	CHECK_HAS_TEXT(refuse("pid =="), "unexpected end of the expression: expected a value");
	CHECK_HAS_TEXT(refuse("(pid == 1"), "unclosed parenthesis");
	CHECK_HAS_TEXT(refuse("pid == 1)"), "'and' or 'or'");
	CHECK_HAS_TEXT(refuse("pid == 1 pid == 2"), "'and' or 'or'");
	CHECK_HAS_TEXT(refuse("pid in (1, )"), "expected a value");
	CHECK_HAS_TEXT(refuse("pid in (1 2)"), "a comma or a closing");
	CHECK_HAS_TEXT(refuse("pid in ()"), "expected a value");
	CHECK_HAS_TEXT(refuse("comm == \"x"), "unclosed quote");
	CHECK_HAS_TEXT(refuse("pid == 1 & comm == x"), "unexpected character");
	CHECK_HAS_TEXT(refuse("and"), "expected a field");
	CHECK_HAS_TEXT(refuse("== 1"), "expected a field");
	CHECK_HAS_TEXT(refuse("pid == == 1"), "expected a value");
}

TEST(hostile_sizes_are_refused)
{
	size_t n = 10 << 20;
	_cleanup_free_ char *text = xmalloc(n + 1);

	memset(text, '(', n);
	text[n] = '\0';
	CHECK_HAS_TEXT(refuse(text), "longer than");
	text[EXPR_TEXT_MAX] = '\0';
	CHECK_HAS_TEXT(refuse(text), "levels of parentheses");
	memset(text, '!', EXPR_TEXT_MAX);
	CHECK_HAS_TEXT(refuse(text), "levels of parentheses");
	for (size_t i = 0; i + 7 < EXPR_TEXT_MAX; i += 7)
		memcpy(text + i, "pid or ", 7);
	text[EXPR_TEXT_MAX - 7] = '\0';
	CHECK_HAS_TEXT(refuse(text), "more than");
}

TEST(control_characters_do_not_reach_the_message)
{
	const char *message = refuse("pid == '\033[31m'");

	CHECK(strchr(message, '\033') == NULL);
	CHECK_HAS_TEXT(message, "\\x1b");
}

static size_t terms_of(const char *text, struct expr_term *terms, size_t max, bool *ret_complete,
		       struct expr **ret_expr)
{
	struct shape shape = SHAPE_OF(&sample_type);

	REQUIRE(expr_parse(text, &shape, ret_expr, NULL) == 0);
	return expr_terms(*ret_expr, terms, max, ret_complete);
}

TEST(simple_conjunctions_are_found)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct expr_term terms[4];
	bool complete;

	CHECK_EQ_UINT(terms_of("rport == 443 and lat > 10ms and (pid == 1)", terms, 4, &complete, &expr), 3);
	CHECK(complete);
	CHECK_EQ_TEXT(terms[0].ref.field->name, "rport");
	CHECK_EQ_INT(terms[0].op, EXPR_EQ);
	CHECK_EQ_INT((int64_t)terms[0].literals[0].integer, 443);
	CHECK_EQ_INT(terms[1].op, EXPR_GT);
	CHECK_EQ_INT((int64_t)terms[1].literals[0].integer, 10000000);
}

TEST(alternatives_share_a_clause)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct expr_term terms[4];
	bool complete;

	CHECK_EQ_UINT(terms_of("(pid == 1 or rport == 2) and error", terms, 4, &complete, &expr), 3);
	CHECK(complete);
	CHECK_EQ_UINT(terms[0].clause, terms[1].clause);
	CHECK(terms[1].clause != terms[2].clause);
	/* A field alone means "not zero". */
	CHECK_EQ_INT(terms[2].op, EXPR_NE);
	CHECK_EQ_INT((int64_t)terms[2].literals[0].integer, 0);
}

TEST(what_is_not_simple_is_left)
{
	static const struct {
		const char *text;
		size_t count;
		bool complete;
	} cases[] = {
		{"pid == 1 and (comm == a or comm == b)", 3, true},
		{"pid == 1 or pid == 2", 2, true},
		{"pid == 1 and (comm == a or not comm == b)", 1, false},
		{"pid == 1 and (pid == 2 or pid == 3 or pid == 4 or pid == 5)", 1, false},
		{"not pid == 1", 0, false},
		{"pid == 1 and bytes > rcvbuf", 1, false},
		{"error", 1, true},
		{"error is unknown and comm is known", 2, true},
		{"comm", 0, false},
		{"pid in (1, 2) and comm ~ x*", 2, true},
		{"pid == 1 and pid == 2 and pid == 3 and pid == 4 and pid == 5", 4, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(expr_freep) struct expr *expr = NULL;
		struct expr_term terms[4];
		bool complete;

		unit_note("%s", cases[i].text);
		CHECK_EQ_UINT(terms_of(cases[i].text, terms, 4, &complete, &expr), cases[i].count);
		CHECK_EQ_INT(complete, cases[i].complete);
	}
}

/* What is shown can be typed: rates, queues, names of numbers, what stands for unknown. */
TEST(values_are_taken_as_they_are_shown)
{
	struct shown {
		double rate;
		uint64_t speed;
		uint32_t handle, table;
		struct addr dst;
	};
	static const struct enum_name items[] = {{254, "main", NULL}};
	static struct enum_names names = {items, ARRAY_SIZE(items), NULL};
	static const struct field fields[] = {
		FIELD(struct shown, rate, RATIO, "rate", .unit = "B/s"),
		FIELD(struct shown, speed, COUNT, "speed", .unit = "bit/s"),
		FIELD(struct shown, handle, HEX, "queue", .exact = true),
		FIELD(struct shown, table, ID, "table", .names = &names),
		FIELD(struct shown, dst, ADDR, "network", .unknown = "default"),
	};
	static const struct record_type type = {
		.name = "shown", .fields = fields, .field_count = ARRAY_SIZE(fields), .size = sizeof(struct shown)};
	static const struct {
		const char *text;
		bool matches;
	} cases[] = {
		{"rate == 0000000000000000000000001000000/s", true},
		{"rate >= 1MB/s", true},
		{"rate > 1.1MB/s", false},
		{"rate == 8Mbit/s", true},
		{"RATE > 0.5", true},
		{"speed == 1Gbit/s", true},
		{"SPEED > 1Gbit", false},
		{"handle == 8001:", false},
		{"handle == 8001:10", true},
		{"handle == 0x80010010", true},
		{"table == main", true},
		{"table == 254", true},
		{"TABLE != main", false},
		{"dst == default", true},
		{"DST != default", false},
		{"dst == 10.0.0.0/8", false},
	};
	static const char *const wrong[] = {
		"handle == 80011:", "handle == 1:10000", "handle == x:", "rate > 1Mb/s",
		/* Known by the parser, even where nobody asks why; a number of 32 digits. */
		"nosuch == 1", "rate == 00000000000000000000000001000000/s"};
	struct shown s = {.rate = 1e6, .speed = 1000000000, .handle = 0x80010010, .table = 254};
	struct shape shape = SHAPE_OF(&type);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(expr_freep) struct expr *expr = NULL;
		struct why why = {};

		unit_note("%s", cases[i].text);
		REQUIRE(expr_parse(cases[i].text, &shape, &expr, &why) == 0);
		CHECK_EQ_INT(expr_matches(expr, &RECORD_OF(&s)), cases[i].matches);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_(expr_freep) struct expr *expr = NULL;

		unit_note("%s", wrong[i]);
		CHECK(expr_parse(wrong[i], &shape, &expr, NULL) < 0);
	}
}

TEST(the_deepest_expression)
{
	struct sample s = sample_make();
	char text[2 * EXPR_DEPTH_MAX + 32];

	for (unsigned over = 0; over < 2; over++) {
		unsigned depth = EXPR_DEPTH_MAX + over;

		memset(text, '(', depth);
		snprintf(text + depth, sizeof(text) - depth, "pid == %u%.*s", s.pid, (int)depth,
			 "))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))");
		if (over)
			CHECK_HAS_TEXT(refuse(text), "more than 64 levels");
		else
			CHECK_EQ_INT(eval(text, &s), TRUTH_YES);
	}
}

/* A backslash before the quote is none of the text; any other is, and makes a wildcard plain in a pattern. */
TEST(backslashes_between_quotes)
{
	static const struct {
		const char *comm, *text;
		enum truth truth;
	} cases[] = {
		{"it's", "comm == 'it\\'s'", TRUTH_YES},
		{"it's", "comm == \"it's\"", TRUTH_YES},
		{"a\"b", "comm == \"a\\\"b\"", TRUTH_YES},
		{"a\\b", "comm == 'a\\b'", TRUTH_YES},
		{"ab", "comm == 'a\\b'", TRUTH_NO},
		{"a*b", "comm ~ 'a\\*b'", TRUTH_YES},
		{"axb", "comm ~ 'a\\*b'", TRUTH_NO},
		{"axb", "comm ~ 'a*b'", TRUTH_YES},
		{"it's", "comm == 'it\\'s' and pid == 1", TRUTH_NO},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sample s = sample_make();

		memset(s.comm, 0, sizeof(s.comm));
		memcpy(s.comm, cases[i].comm, strlen(cases[i].comm));
		unit_note("%s", cases[i].text);
		CHECK_EQ_INT(eval(cases[i].text, &s), cases[i].truth);
	}
}

TEST(the_longest_expression)
{
	struct sample s = sample_make();
	char text[2050 * 8];

	for (unsigned i = 0; i < 2050; i++)
		memcpy(text + i * 8, "pid and ", 8);
	text[2049 * 8 - 5] = '\0';
	CHECK_HAS_TEXT(refuse(text), "more than 2048 conditions");
	text[2048 * 8 - 5] = '\0';
	CHECK_EQ_INT(eval(text, &s), TRUTH_YES);
	/* The last place is for a negation. */
	memcpy(text, "!pid && ", 8);
	CHECK_EQ_INT(eval(text, &s), TRUTH_NO);
	memcpy(text + 8, "!pid && ", 8);
	CHECK_HAS_TEXT(refuse(text), "more than 2048 conditions");
}

TEST(fields_that_an_expression_uses)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct field_ref pid, lport, rport, bytes;
	struct expr *expr = NULL;
	struct why why = {};

	REQUIRE(shape_find(&shape, "pid", &pid) == 0 && shape_find(&shape, "lport", &lport) == 0 &&
		shape_find(&shape, "rport", &rport) == 0 && shape_find(&shape, "bytes", &bytes) == 0);
	REQUIRE(expr_parse("pid == 1 or lport == rport", &shape, &expr, &why) == 0);
	CHECK(expr_uses(expr, pid) && expr_uses(expr, lport) && expr_uses(expr, rport));
	CHECK(!expr_uses(expr, bytes));
	expr_free(expr);
}
