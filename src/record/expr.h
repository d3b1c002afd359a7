/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The expression language over record fields: one parser, one typed checker, one evaluator.
 *
 *	rport == 443 and comm ~ "nginx*" and lat > 10ms
 *	raddr in (10.0.0.0/8, ::1) or not state == ESTABLISHED
 *	recvq_bytes > rcvbuf            two fields of one kind
 *	error                           field alone: known, not zero, not empty
 *	error is unknown                true or false, never unknown
 *	dst 10.0.0.0/8 and sport = :22  as ss writes it
 *
 * Three-valued logic, as in SQL: a comparison with an unknown field is unknown, and so is its negation; only true
 * matches.
 */
#pragma once

#include "base/why.h"
#include "record/value.h"

#define EXPR_TEXT_MAX  ((size_t)64 << 10)
#define EXPR_DEPTH_MAX 64

enum expr_op {
	EXPR_AND,
	EXPR_OR,
	EXPR_NOT,
	EXPR_TRUTH, /* the field alone */
	EXPR_KNOWN,
	EXPR_UNKNOWN,
	EXPR_EQ,
	EXPR_NE,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_MATCH, /* text: glob; flags: all of these set */
	EXPR_IN,    /* equal to one of several */
};

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_UNKNOWN };

/* A literal, already of the field's kind. */
struct expr_literal {
	__int128 integer; /* counts, sizes, durations, times, enums, flags: base units */
	double real;
	const char *text;
	struct prefix prefix;
	struct endpoint endpoint;
};

/* One simple comparison of a field with a constant. */
struct expr_term {
	struct field_ref ref;
	enum expr_op op;
	const struct expr_literal *literals; /* one, or more for EXPR_IN; unused for EXPR_KNOWN, EXPR_UNKNOWN */
	size_t literal_count;
	unsigned clause; /* terms with the same number are alternatives */
};

struct expr;

/* -EINVAL and why, with a caret below the error. */
int expr_parse(const char *text, const struct shape *shape, struct expr **ret_expr, struct why *why) _must_check_;
/* The same; *ret_at is always written: the byte of the text at which the error is. */
int expr_parse_at(const char *text, const struct shape *shape, struct expr **ret_expr, size_t *ret_at,
		  struct why *why) _must_check_;
void expr_free(struct expr *expr);
static inline void expr_freep(struct expr **expr)
{
	expr_free(*expr);
}

enum truth expr_eval(const struct expr *expr, const struct record *record);

static inline bool expr_matches(const struct expr *expr, const struct record *record)
{
	return expr_eval(expr, record) == TRUTH_YES;
}

/*
 * The simple comparisons of the expression, for a BPF program, which can do no more: all clauses must be true, and at
 * least one term of each clause. Writes at most max terms and returns their number; *ret_complete says whether they
 * cover the whole expression, else it must also be evaluated afterwards.
 */
size_t expr_terms(const struct expr *expr, struct expr_term *terms, size_t max, bool *ret_complete);

/* Whether the expression uses that field. */
bool expr_uses(const struct expr *expr, struct field_ref ref);
