/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evaluates expressions, and extracts their simple comparisons. */
#include "base/text.h"
#include "record/expr_node.h"

enum expr_class expr_class_of(const struct field *field)
{
	switch (field->kind) {
	case KIND_RATIO:
		return CLASS_REAL;
	case KIND_TEXT:
		return CLASS_TEXT;
	case KIND_ADDR:
		return CLASS_ADDR;
	case KIND_ENDPOINT:
		return CLASS_ENDPOINT;
	case KIND_STACK:
	case KIND_LIST:
		return CLASS_NONE;
	default:
		return CLASS_INTEGER;
	}
}

static bool holds(enum expr_op op, int order)
{
	switch (op) {
	case EXPR_EQ:
	case EXPR_IN:
		return order == 0;
	case EXPR_NE:
		return order != 0;
	case EXPR_LT:
		return order < 0;
	case EXPR_LE:
		return order <= 0;
	case EXPR_GT:
		return order > 0;
	case EXPR_GE:
		return order >= 0;
	default:
		return false;
	}
}

static __int128 as_integer(const struct value *v)
{
	return v->class == VALUE_INT ? (__int128)v->sint : (__int128)v->uint;
}

static double as_real(const struct value *v)
{
	if (v->class == VALUE_REAL)
		return v->real;
	return v->class == VALUE_INT ? (double)v->sint : (double)v->uint;
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int order_text(const struct value *v, const char *text, size_t len)
{
	int order = memcmp(v->text, text, min_of(v->len, len));

	return order ? order : ORDER(v->len, len);
}

static bool match_text(const struct value *v, const char *pattern)
{
	char copy[256];
	_cleanup_free_ char *large = NULL;

	if (v->len < sizeof(copy)) {
		memcpy(copy, v->text, v->len);
		copy[v->len] = '\0';
		return text_glob_match(pattern, copy);
	}
	large = xstrndup(v->text, v->len);
	return text_glob_match(pattern, large);
}

static bool endpoint_fits(const struct endpoint *e, const struct endpoint *asked)
{
	return (asked->addr.family == ADDR_UNKNOWN || addr_equal(&e->addr, &asked->addr)) &&
	       (asked->port == 0 || e->port == asked->port);
}

static bool compare_literal(enum expr_op op, const struct value *v, const struct field *field,
			    const struct expr_literal *literal)
{
	switch (expr_class_of(field)) {
	case CLASS_INTEGER:
		if (op == EXPR_MATCH)
			return (as_integer(v) & literal->integer) == literal->integer;
		return holds(op, ORDER(as_integer(v), literal->integer));
	case CLASS_REAL:
		return holds(op, ORDER(v->real, literal->real));
	case CLASS_TEXT:
		if (op == EXPR_MATCH)
			return match_text(v, literal->text);
		return holds(op, order_text(v, literal->text, strlen(literal->text)));
	case CLASS_ADDR:
		return prefix_contains(&literal->prefix, v->addr) != (op == EXPR_NE);
	case CLASS_ENDPOINT:
		return endpoint_fits(v->endpoint, &literal->endpoint) != (op == EXPR_NE);
	case CLASS_NONE:
		break;
	}
	return false;
}

static enum truth compare_fields(enum expr_op op, const struct value *a, const struct value *b)
{
	int order;

	if (a->class == VALUE_UNKNOWN || b->class == VALUE_UNKNOWN)
		return TRUTH_UNKNOWN;
	if (a->class == VALUE_TEXT)
		order = order_text(a, b->text, b->len);
	else if (a->class == VALUE_ADDR)
		order = addr_compare(a->addr, b->addr);
	else if (a->class == VALUE_ENDPOINT)
		order = addr_compare(&a->endpoint->addr, &b->endpoint->addr)
				?: ORDER(a->endpoint->port, b->endpoint->port);
	else if (a->class == VALUE_REAL || b->class == VALUE_REAL)
		order = ORDER(as_real(a), as_real(b));
	else
		order = ORDER(as_integer(a), as_integer(b));
	return holds(op, order) ? TRUTH_YES : TRUTH_NO;
}

static enum truth truth_of(const struct value *v)
{
	switch (v->class) {
	case VALUE_UNKNOWN:
		return TRUTH_UNKNOWN;
	case VALUE_UINT:
		return v->uint != 0 ? TRUTH_YES : TRUTH_NO;
	case VALUE_INT:
		return v->sint != 0 ? TRUTH_YES : TRUTH_NO;
	case VALUE_REAL:
		return v->real != 0 ? TRUTH_YES : TRUTH_NO;
	case VALUE_STACK:
		return v->stack->count != 0 ? TRUTH_YES : TRUTH_NO;
	case VALUE_LIST:
		return v->list->count != 0 ? TRUTH_YES : TRUTH_NO;
	default:
		return TRUTH_YES;
	}
}

static enum truth eval_comparison(const struct expr *expr, const struct expr_node *node, const struct record *record)
{
	struct value v = record_get(record, node->field);
	const struct expr_literal *literals;

	if (node->op == EXPR_TRUTH)
		return truth_of(&v);
	if (node->op == EXPR_KNOWN || node->op == EXPR_UNKNOWN)
		return (v.class == VALUE_UNKNOWN) == (node->op == EXPR_UNKNOWN) ? TRUTH_YES : TRUTH_NO;
	if (node->other.field) {
		struct value other = record_get(record, node->other);

		return compare_fields(node->op, &v, &other);
	}
	if (v.class == VALUE_UNKNOWN)
		return TRUTH_UNKNOWN;
	literals = expr->literals.items + node->first_literal;
	for (uint32_t i = 0; i < node->literal_count; i++)
		if (compare_literal(node->op, &v, node->field.field, &literals[i]))
			return TRUTH_YES;
	return TRUTH_NO;
}

/* The parser bounds the depth. */
static enum truth eval_node(const struct expr *expr, uint32_t at, const struct record *record)
{
	for (;;) {
		const struct expr_node *node = &expr->nodes.items[at];
		/* The value that decides without the other side. */
		enum truth deciding = node->op == EXPR_AND ? TRUTH_NO : TRUTH_YES, left;

		if (node->op == EXPR_NOT) {
			left = eval_node(expr, node->left_node, record);
			return left == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : left == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
		}
		if (node->op != EXPR_AND && node->op != EXPR_OR)
			return eval_comparison(expr, node, record);
		left = eval_node(expr, node->left_node, record);
		if (left == deciding)
			return deciding;
		if (left == TRUTH_UNKNOWN)
			return eval_node(expr, node->right_node, record) == deciding ? deciding : TRUTH_UNKNOWN;
		at = node->right_node;
	}
}

enum truth expr_eval(const struct expr *expr, const struct record *record)
{
	return eval_node(expr, expr->root, record);
}

/* The terms found so far. */
struct terms {
	struct expr_term *items;
	size_t count, max;
	unsigned clause;
	bool complete;
};

/* The alternatives below a node; false when one is not simple or they do not all fit. */
static bool collect_clause(const struct expr *expr, uint32_t at, struct terms *terms)
{
	static const struct expr_literal zero;
	const struct expr_node *node = &expr->nodes.items[at];
	bool is_truth = node->op == EXPR_TRUTH && expr_class_of(node->field.field) == CLASS_INTEGER;
	bool is_bare = is_truth || node->op == EXPR_KNOWN || node->op == EXPR_UNKNOWN;

	if (node->op == EXPR_OR)
		return collect_clause(expr, node->left_node, terms) && collect_clause(expr, node->right_node, terms);
	if ((node->op < EXPR_EQ && !is_bare) || node->other.field || terms->count == terms->max)
		return false;
	terms->items[terms->count++] = (struct expr_term){
		.ref = node->field,
		.op = is_truth ? EXPR_NE : node->op,
		.literals = is_bare ? &zero : expr->literals.items + node->first_literal,
		.literal_count = is_bare ? 1 : node->literal_count,
		.clause = terms->clause,
	};
	return true;
}

static void collect_terms(const struct expr *expr, uint32_t at, struct terms *terms)
{
	const struct expr_node *node = &expr->nodes.items[at];
	size_t before = terms->count;

	if (node->op == EXPR_AND) {
		collect_terms(expr, node->left_node, terms);
		collect_terms(expr, node->right_node, terms);
		return;
	}
	if (collect_clause(expr, at, terms)) {
		terms->clause++;
		return;
	}
	/* A partial clause would match too little. */
	terms->count = before;
	terms->complete = false;
}

size_t expr_terms(const struct expr *expr, struct expr_term *terms, size_t max, bool *ret_complete)
{
	struct terms all = {.items = terms, .max = max, .complete = true};

	collect_terms(expr, expr->root, &all);
	*ret_complete = all.complete;
	return all.count;
}

bool expr_uses(const struct expr *expr, struct field_ref ref)
{
	vec_each(&expr->nodes, node)
		if ((node->field.field == ref.field && node->field.part == ref.part) ||
		    (node->other.field == ref.field && node->other.part == ref.part))
			return true;
	return false;
}
