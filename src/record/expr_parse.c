/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser and the typed checker. Grammar:
 *
 *	or         := and { ("or" | "||") and }
 *	and        := not { ("and" | "&&") not }
 *	not        := ("not" | "!") not | "(" or ")" | comparison
 *	comparison := FIELD [ operator operand | "in" list | operand ]
 *	operand    := literal | FIELD
 *	list       := "(" literal { "," literal } ")" | literal
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>

#include "base/parse.h"
#include "base/text.h"
#include "record/expr_node.h"

enum token {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_QUOTED,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_OP,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
	TOKEN_IN
};

struct parser {
	const char *text;
	const struct shape *shape;
	struct expr *expr;
	struct why *why;
	unsigned depth;
	/* The current token. */
	enum token token;
	enum expr_op op; /* of TOKEN_OP */
	size_t at, end;  /* its position in the text */
	struct buf word; /* of TOKEN_WORD, TOKEN_QUOTED: the text without quotes */
	size_t error_at;
};

/* --- errors --- */

#define SHOWN_BEFORE 40
#define SHOWN_AFTER  30

/* The message, the expression around the error, and a caret below it. */
static int fail_at(struct parser *p, size_t at, size_t end, const char *format, ...) _printf_(4, 5);
static int fail_at(struct parser *p, size_t at, size_t end, const char *format, ...)
{
	size_t from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
	size_t to = min_of(strlen(p->text), max_of(end, at) + SHOWN_AFTER);
	_cleanup_buf_ struct buf line = BUF_INIT(1024), caret = BUF_INIT(1024), message = BUF_INIT(1024);
	char sentence[256];
	va_list args;

	p->error_at = at;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	end = min_of(max_of(end, at + 1), at + SHOWN_AFTER);
	to = min_of(to, at + 2 * SHOWN_AFTER);
	text_add_terminal(&line, p->text + from, at - from);
	buf_add_fill(&caret, ' ', text_columns(buf_text(&line), line.len));
	buf_add_char(&caret, '^');
	buf_add_fill(&caret, '~', end - at - 1);
	text_add_terminal(&line, p->text + at, to - at);
	buf_add_format(&message, "%s\n  %s%s%s\n  %s%s", sentence, from ? "..." : "", buf_text(&line),
		       p->text[to] ? "..." : "", from ? "   " : "", buf_text(&caret));
	return why_set(p->why, -EINVAL, "%s", buf_text(&message));
}

/* The current word, escaped and shortened, for a message. */
static const char *shown_word(struct parser *p, struct buf *out)
{
	text_add_terminal(out, buf_text(&p->word), min_of(p->word.len, (size_t)40));
	return buf_text(out);
}

/* --- tokens --- */

static bool word_char(char c)
{
	return c && (isalnum((unsigned char)c) || strchr("_.:/%@*?[]+-|#$\\", c) || (unsigned char)c >= 0x80);
}

static int lex_quoted(struct parser *p)
{
	char quote = p->text[p->at];
	size_t at = p->at + 1;

	for (; p->text[at] && p->text[at] != quote; at++) {
		/* A backslash escapes the quote; other pairs stay, for patterns. */
		if (p->text[at] == '\\' && p->text[at + 1] == quote)
			at++;
		buf_add_char(&p->word, p->text[at]);
	}
	p->end = at + 1;
	if (!p->text[at])
		return fail_at(p, p->at, p->at + 1, "unclosed quote");
	p->token = TOKEN_QUOTED;
	return 0;
}

struct word_op {
	const char *text;
	enum token token;
	enum expr_op op;
};

static const struct word_op keywords[] = {
	{"and", TOKEN_AND, 0},      {"or", TOKEN_OR, 0},        {"not", TOKEN_NOT, 0},      {"in", TOKEN_IN, EXPR_IN},
	{"eq", TOKEN_OP, EXPR_EQ},  {"ne", TOKEN_OP, EXPR_NE},  {"neq", TOKEN_OP, EXPR_NE}, {"lt", TOKEN_OP, EXPR_LT},
	{"le", TOKEN_OP, EXPR_LE},  {"leq", TOKEN_OP, EXPR_LE}, {"gt", TOKEN_OP, EXPR_GT},  {"ge", TOKEN_OP, EXPR_GE},
	{"geq", TOKEN_OP, EXPR_GE},
};

/* Longer operators first. */
static const struct word_op symbols[] = {
	{"&&", TOKEN_AND, 0},      {"||", TOKEN_OR, 0},         {"==", TOKEN_OP, EXPR_EQ}, {"!=", TOKEN_OP, EXPR_NE},
	{"<=", TOKEN_OP, EXPR_LE}, {">=", TOKEN_OP, EXPR_GE},   {"=", TOKEN_OP, EXPR_EQ},  {"<", TOKEN_OP, EXPR_LT},
	{">", TOKEN_OP, EXPR_GT},  {"~", TOKEN_OP, EXPR_MATCH}, {"!", TOKEN_NOT, 0},       {"(", TOKEN_OPEN, 0},
	{")", TOKEN_CLOSE, 0},     {",", TOKEN_COMMA, 0},
};

static int lex_symbol(struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		size_t n = strlen(symbols[i].text);

		if (strncmp(p->text + p->at, symbols[i].text, n) != 0)
			continue;
		p->token = symbols[i].token;
		p->op = symbols[i].op;
		p->end = p->at + n;
		return 0;
	}
	return fail_at(p, p->at, p->at + 1, "unexpected character; quote text that contains it");
}

static int next(struct parser *p)
{
	const char *text = p->text;

	buf_clear(&p->word);
	p->at = p->end;
	while (isspace((unsigned char)text[p->at]))
		p->at++;
	p->end = p->at;
	if (!text[p->at]) {
		p->token = TOKEN_END;
		return 0;
	}
	if (text[p->at] == '"' || text[p->at] == '\'')
		return lex_quoted(p);
	if (!word_char(text[p->at]) || strncmp(text + p->at, "||", 2) == 0)
		return lex_symbol(p);
	while (word_char(text[p->end]) && strncmp(text + p->end, "||", 2) != 0)
		p->end++;
	buf_add(&p->word, text + p->at, p->end - p->at);
	p->token = TOKEN_WORD;
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strcmp(buf_text(&p->word), keywords[i].text) == 0) {
			p->token = keywords[i].token;
			p->op = keywords[i].op;
		}
	return 0;
}

/* --- fields and literals --- */

/* Field names of ss. */
static const char *field_alias(const char *name)
{
	static const char *const aliases[][2] = {
		{"sport", "lport"},
		{"dport", "rport"},
		{"src", "laddr"},
		{"dst", "raddr"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (strcmp(aliases[i][0], name) == 0)
			return aliases[i][1];
	return NULL;
}

static bool find_field(struct parser *p, struct field_ref *ret_ref)
{
	const char *name = buf_text(&p->word);
	const char *alias = field_alias(name);

	if (p->token != TOKEN_WORD)
		return false;
	return shape_find(p->shape, name, ret_ref) == 0 || (alias && shape_find(p->shape, alias, ret_ref) == 0);
}

static int unknown_field(struct parser *p)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256), hint = BUF_INIT(256);
	struct near near = {.word = buf_text(&p->word)};
	struct field_ref at = {};

	if (!p->why)
		return -EINVAL;
	if (p->token == TOKEN_END)
		return fail_at(p, p->at, p->end, "unexpected end of the expression: expected a field");
	if (p->token != TOKEN_WORD && p->token != TOKEN_QUOTED)
		return fail_at(p, p->at, p->end, "expected a field");
	while (shape_next(p->shape, &at))
		near_consider(&near, at.field->name);
	near_add_text(&near, &hint);
	return fail_at(p, p->at, p->end, "unknown field '%s'%s", shown_word(p, &shown), buf_text(&hint));
}

static const char *keep_text(struct parser *p, const char *text)
{
	char *copy = xstrdup(text);

	vec_push(&p->expr->texts, copy);
	return copy;
}

static int parse_enum(const struct field *field, const char *text, __int128 *ret_integer)
{
	uint64_t value;
	int r = enum_value_find(field->names, text, &value);

	if (r < 0)
		r = parse_u64(text, 0, UINT64_MAX, &value);
	if (r == 0)
		*ret_integer = value;
	return r;
}

/* SYN|ACK */
static int parse_flags(const struct field *field, const char *text, __int128 *ret_integer)
{
	__int128 all = 0;

	for (;;) {
		size_t n = strcspn(text, "|");
		_cleanup_free_ char *name = xstrndup(text, n);
		__int128 bits = 0;
		int r = parse_enum(field, name, &bits);

		if (r < 0)
			return r;
		all |= bits;
		if (!text[n])
			break;
		text += n + 1;
	}
	*ret_integer = all;
	return 0;
}

/* A rate as shown, 6.3MB/s or 95.2Mbit/s, in bytes unless the field counts bits. */
static int parse_rate(const struct field *field, const char *text, uint64_t *ret_value)
{
	size_t n = strlen(text);
	char number[32] = "";
	uint64_t value;
	bool bits;
	int r;

	if (n > 2 && strcmp(text + n - 2, "/s") == 0)
		n -= 2;
	bits = n > 3 && strncmp(text + n - 3, "bit", 3) == 0;
	if (bits)
		n -= 3;
	if (n >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, n);
	r = parse_size_bytes(number, &value);
	if (r == 0)
		*ret_value = bits && field->kind != KIND_COUNT ? value / 8 : value;
	return r;
}

/* A handle in the syntax of tc: 8001: or 8001:10. */
static int parse_handle(const char *text, uint64_t *ret_value)
{
	_cleanup_free_ char *major = xasprintf("0x%.8s", text), *minor = NULL;
	char *colon = strchr(major, ':');
	uint64_t high, low = 0;
	int r;

	if (!colon)
		return parse_u64(text, 0, UINT64_MAX, ret_value);
	minor = xasprintf("0x%s", strchr(text, ':') + 1);
	*colon = '\0';
	r = parse_u64(major, 0, UINT16_MAX, &high);
	if (r == 0 && minor[2])
		r = parse_u64(minor, 0, UINT16_MAX, &low);
	if (r == 0)
		*ret_value = high << 16 | low;
	return r;
}

static int parse_unsigned_kind(const struct field *field, const char *text, __int128 *ret_integer)
{
	uint64_t value;
	bool flag;
	int r;

	switch (field->kind) {
	case KIND_DURATION:
		/* A bare number has the unit at the end of the field's name. */
		r = parse_duration_ns(text, &value);
		if (r < 0)
			r = parse_u64(text, 0, UINT64_MAX, &value);
		break;
	case KIND_TIME:
		r = parse_time_ns(text, &value);
		break;
	case KIND_BYTES:
	case KIND_COUNT:
		r = parse_rate(field, text, &value);
		break;
	case KIND_BOOL:
		r = parse_bool(text, &flag);
		value = r == 0 && flag;
		break;
	case KIND_HEX:
		r = field->exact ? parse_handle(text, &value) : parse_u64(text, 0, UINT64_MAX, &value);
		break;
	default:
		r = parse_u64(text[0] == ':' ? text + 1 : text, 0, UINT64_MAX, &value);
	}
	if (r == 0)
		*ret_integer = value;
	return r;
}

static int parse_integer_literal(const struct field *field, const char *text, __int128 *ret_integer)
{
	bool negative = text[0] == '-' && field->store >= STORE_I8 && field->store <= STORE_I64;
	int r;

	if (field->kind == KIND_ENUM || (field->kind == KIND_ID && field->names))
		return parse_enum(field, text, ret_integer);
	if (field->kind == KIND_FLAGS)
		return parse_flags(field, text, ret_integer);
	r = parse_unsigned_kind(field, text + negative, ret_integer);
	if (r == 0 && negative)
		*ret_integer = -*ret_integer;
	return r;
}

static int parse_real(const struct field *field, const char *text, double *ret_real)
{
	uint64_t rate;
	int r = parse_ratio(text, ret_real);

	if (r < 0 && field->unit && parse_rate(field, text, &rate) == 0) {
		*ret_real = (double)rate;
		r = 0;
	}
	return r;
}

static const char *expected_literal(const struct field *field)
{
	switch (field->kind) {
	case KIND_DURATION:
		return "a duration such as 10ms";
	case KIND_TIME:
		return "a time such as 2026-01-31T02:13:00Z";
	case KIND_BYTES:
		return "a size such as 64KiB";
	case KIND_RATIO:
		return "a number such as 0.05 or 5%";
	case KIND_BOOL:
		return "yes or no";
	case KIND_ADDR:
		return "an address or prefix such as 10.0.0.0/8";
	case KIND_ENDPOINT:
		return "an endpoint such as 10.0.0.1:443";
	case KIND_ENUM:
	case KIND_FLAGS:
		return "one of its values";
	default:
		return "a number";
	}
}

static int bad_literal(struct parser *p, const struct field *field)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256), hint = BUF_INIT(256);
	struct near near = {.word = buf_text(&p->word)};

	if (field->names)
		for (size_t i = 0; i < enum_names_get(field->names)->count; i++)
			near_consider(&near, field->names->items[i].name);
	near_add_text(&near, &hint);
	return fail_at(p, p->at, p->end, "'%s' is not %s (field %s)%s", shown_word(p, &shown), expected_literal(field),
		       field->name, buf_text(&hint));
}

/* The current token as a constant of the field's kind. */
static int take_literal(struct parser *p, const struct field *field)
{
	const char *text = buf_text(&p->word);
	struct expr_literal literal = {};
	int r;

	if (p->token == TOKEN_END)
		return fail_at(p, p->at, p->end, "unexpected end of the expression: expected a value");
	if (p->word.len == 0 && p->token != TOKEN_QUOTED)
		return fail_at(p, p->at, p->end, "expected a value");
	switch (expr_class_of(field)) {
	case CLASS_INTEGER:
		r = parse_integer_literal(field, text, &literal.integer);
		break;
	case CLASS_REAL:
		r = parse_real(field, text, &literal.real);
		break;
	case CLASS_ADDR:
		r = prefix_parse(text, &literal.prefix);
		break;
	case CLASS_ENDPOINT:
		r = addr_parse_endpoint(text, &literal.endpoint);
		break;
	default:
		literal.text = keep_text(p, text);
		r = 0;
	}
	if (r < 0)
		return bad_literal(p, field);
	vec_push(&p->expr->literals, literal);
	return next(p);
}

/* --- comparisons --- */

static uint32_t add_node(struct parser *p, const struct expr_node *node)
{
	vec_push(&p->expr->nodes, *node);
	return (uint32_t)p->expr->nodes.count - 1;
}

/* Whether the field's kind supports the operator. */
static int check_op(struct parser *p, const struct field *field, enum expr_op op)
{
	enum expr_class class = expr_class_of(field);

	if (class == CLASS_NONE)
		return fail_at(p, p->at, p->end, "%s is a list: it cannot be compared", field->name);
	if (op == EXPR_MATCH && field->kind != KIND_TEXT && field->kind != KIND_FLAGS)
		return fail_at(p, p->at, p->end, "~ matches text against a pattern, but %s is not text", field->name);
	if (op >= EXPR_LT && op <= EXPR_GE && class != CLASS_INTEGER && class != CLASS_REAL)
		return fail_at(p, p->at, p->end, "%s has no order: use ==, !=%s or in", field->name,
			       class == CLASS_TEXT ? ", ~" : "");
	if (op >= EXPR_LT && op <= EXPR_GE && (field->kind == KIND_FLAGS || field->kind == KIND_ENUM))
		return fail_at(p, p->at, p->end, "%s has named values, which have no order", field->name);
	return 0;
}

static bool comparable(const struct field *a, const struct field *b)
{
	enum expr_class class = expr_class_of(a);

	if (class != expr_class_of(b))
		return false;
	return class != CLASS_INTEGER || a->kind == b->kind ||
	       (a->kind != KIND_ENUM && b->kind != KIND_ENUM && (a->kind == KIND_COUNT || b->kind == KIND_COUNT));
}

static int parse_in(struct parser *p, struct expr_node *node)
{
	bool list = p->token == TOKEN_OPEN;
	int r = list ? next(p) : 0;

	for (;;) {
		if (r < 0)
			return r;
		r = take_literal(p, node->field.field);
		if (r < 0)
			return r;
		node->literal_count++;
		if (!list)
			return 0;
		if (p->token == TOKEN_CLOSE)
			return next(p);
		if (p->token != TOKEN_COMMA)
			return fail_at(p, p->at, p->end, "expected a comma or a closing parenthesis");
		r = next(p);
	}
}

/* Whether the current word is a field to compare with. For text and enums a bare word is a literal. */
static bool is_other_field(struct parser *p, const struct field *field, struct field_ref *ret_other)
{
	uint64_t value;

	/* No field begins with a digit, and most literals do. */
	if (expr_class_of(field) == CLASS_TEXT || field->kind == KIND_FLAGS ||
	    isdigit((unsigned char)*buf_text(&p->word)) || !find_field(p, ret_other))
		return false;
	return !field->names || enum_value_find(field->names, buf_text(&p->word), &value) < 0;
}

static bool at_word(const struct parser *p, const char *word)
{
	return p->token == TOKEN_WORD && strcmp(buf_text(&p->word), word) == 0;
}

/* The right side: another field, else a constant. */
static int parse_operand(struct parser *p, struct expr_node *node)
{
	const struct field *field = node->field.field;

	/* "dst == default" matches the value shown as default. */
	if (field->unknown && at_word(p, field->unknown) && (node->op == EXPR_EQ || node->op == EXPR_NE)) {
		node->op = node->op == EXPR_EQ ? EXPR_UNKNOWN : EXPR_KNOWN;
		return next(p);
	}
	if (!is_other_field(p, field, &node->other)) {
		node->other = (struct field_ref){};
		node->literal_count = 1;
		return take_literal(p, field);
	}
	if (!comparable(field, node->other.field))
		return fail_at(p, p->at, p->end, "cannot compare %s with %s: different kinds of values", field->name,
			       node->other.field->name);
	return next(p);
}

/* After "is". */
static int parse_is(struct parser *p, struct expr_node *node)
{
	int r = next(p);

	if (r < 0)
		return r;
	if (!at_word(p, "known") && !at_word(p, "unknown"))
		return fail_at(p, p->at, p->end, "expected 'known' or 'unknown'; == compares values");
	node->op = at_word(p, "known") ? EXPR_KNOWN : EXPR_UNKNOWN;
	return next(p);
}

static int parse_comparison(struct parser *p, uint32_t *ret_node)
{
	struct expr_node node = {.op = EXPR_TRUTH};
	int r;

	if (!find_field(p, &node.field))
		return unknown_field(p);
	r = next(p);
	if (r < 0)
		return r;
	node.first_literal = (uint32_t)p->expr->literals.count;
	if (p->token == TOKEN_OP || p->token == TOKEN_IN) {
		node.op = p->op;
		r = check_op(p, node.field.field, node.op);
		if (r == 0)
			r = next(p);
		if (r == 0)
			r = node.op == EXPR_IN ? parse_in(p, &node) : parse_operand(p, &node);
	} else if (at_word(p, "is")) {
		r = parse_is(p, &node);
	} else if (p->token == TOKEN_WORD || p->token == TOKEN_QUOTED) {
		/* The syntax of ss: state established, dst 10.0.0.0/8. */
		node.op = EXPR_EQ;
		r = check_op(p, node.field.field, node.op);
		if (r == 0)
			r = parse_operand(p, &node);
	}
	if (r < 0)
		return r;
	*ret_node = add_node(p, &node);
	return 0;
}

static int parse_or(struct parser *p, uint32_t *ret_node);

static int parse_not(struct parser *p, uint32_t *ret_node)
{
	struct expr_node node = {.op = EXPR_NOT};
	size_t open_at = p->at;
	int r;

	if (p->token != TOKEN_NOT && p->token != TOKEN_OPEN)
		return parse_comparison(p, ret_node);
	if (++p->depth > EXPR_DEPTH_MAX)
		return fail_at(p, p->at, p->end, "more than %d levels of parentheses", EXPR_DEPTH_MAX);
	if (p->token == TOKEN_NOT) {
		r = next(p);
		if (r == 0)
			r = parse_not(p, &node.left_node);
		if (r == 0)
			*ret_node = add_node(p, &node);
	} else {
		r = next(p);
		if (r == 0)
			r = parse_or(p, ret_node);
		if (r == 0 && p->token == TOKEN_END)
			r = fail_at(p, open_at, open_at + 1, "unclosed parenthesis");
		else if (r == 0 && p->token != TOKEN_CLOSE)
			r = fail_at(p, p->at, p->end, "expected 'and', 'or' or a closing parenthesis");
		else if (r == 0)
			r = next(p);
	}
	p->depth--;
	return r;
}

/*
 * The tree of a chain is right-deep: the evaluator comes to its first condition at once, and mostly needs no other. A
 * limit on nodes also limits its depth.
 */
#define EXPR_NODES_MAX 4096

static int parse_chain(struct parser *p, enum token token, enum expr_op op,
		       int (*operand)(struct parser *p, uint32_t *ret_node), uint32_t *ret_node)
{
	uint32_t tail = 0, operand_node = 0;
	bool is_chain = false;
	int r = operand(p, &operand_node);

	*ret_node = operand_node;
	while (r == 0 && p->token == token) {
		struct expr_node node = {.op = op, .left_node = operand_node};
		uint32_t at;

		/* One for the next condition, one that joins it. */
		if (p->expr->nodes.count + 2 > EXPR_NODES_MAX)
			return fail_at(p, p->at, p->end, "more than %d conditions", EXPR_NODES_MAX / 2);
		r = next(p);
		if (r == 0)
			r = operand(p, &operand_node);
		if (r < 0)
			break;
		node.right_node = operand_node;
		at = add_node(p, &node);
		if (is_chain)
			p->expr->nodes.items[tail].right_node = at;
		else
			*ret_node = at;
		is_chain = true;
		tail = at;
	}
	return r;
}

static int parse_and(struct parser *p, uint32_t *ret_node)
{
	return parse_chain(p, TOKEN_AND, EXPR_AND, parse_not, ret_node);
}

static int parse_or(struct parser *p, uint32_t *ret_node)
{
	return parse_chain(p, TOKEN_OR, EXPR_OR, parse_and, ret_node);
}

void expr_free(struct expr *expr)
{
	if (!expr)
		return;
	vec_each(&expr->texts, text)
		free(*text);
	vec_done(&expr->texts);
	vec_done(&expr->literals);
	vec_done(&expr->nodes);
	free(expr);
}

int expr_parse(const char *text, const struct shape *shape, struct expr **ret_expr, struct why *why)
{
	size_t at;

	return expr_parse_at(text, shape, ret_expr, &at, why);
}

int expr_parse_at(const char *text, const struct shape *shape, struct expr **ret_expr, size_t *ret_at, struct why *why)
{
	_cleanup_(expr_freep) struct expr *expr = xzalloc(sizeof(*expr));
	struct parser p = {.text = text, .shape = shape, .expr = expr, .why = why, .word = BUF_INIT(EXPR_TEXT_MAX)};
	int r;

	*ret_at = 0;
	if (strnlen(text, EXPR_TEXT_MAX + 1) > EXPR_TEXT_MAX)
		return why_set(why, -EINVAL, "the expression is longer than %zu bytes", EXPR_TEXT_MAX);
	r = next(&p);
	if (r == 0)
		r = parse_or(&p, &expr->root);
	if (r == 0 && p.token != TOKEN_END)
		r = fail_at(&p, p.at, p.end, "expected 'and' or 'or'");
	buf_done(&p.word);
	*ret_at = p.error_at;
	if (r < 0)
		return r;
	*ret_expr = take_ptr(expr);
	return 0;
}
