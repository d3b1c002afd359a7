/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions: refused with a message, or evaluated; and the laws of three-valued logic hold for what was taken. */
#include "../unit/sample.h"
#include "fuzz.h"
#include "record/expr.h"

#define SAMPLES 4

static struct sample samples[SAMPLES];

static void make_samples(void)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct field_ref at = {};

	if (samples[0].pid)
		return;
	samples[0] = sample_make();
	/* All unknown, all zero, and one with extremes. */
	while (shape_next(&shape, &at))
		value_set_unknown(at.field, &samples[1]);
	samples[3] = sample_make();
	samples[3].bytes = samples[3].lat_ns = UINT64_MAX - 1;
	samples[3].delta = INT32_MIN + 1;
	samples[3].share = -1e300;
	samples[3].host = "";
	memset(samples[3].comm, 0xff, sizeof(samples[3].comm));
}

static enum truth negate(enum truth t)
{
	return t == TRUTH_UNKNOWN ? t : t == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
}

/* The format holds the expression once or twice; NULL where the longer text is beyond a limit. */
static struct expr *parse_around(const char *format, const char *text)
{
	_cleanup_buf_ struct buf longer = BUF_INIT(0);
	struct shape shape = SHAPE_OF(&sample_type);
	struct expr *expr = NULL;

	buf_add_format(&longer, format, text, text);
	return expr_parse(buf_text(&longer), &shape, &expr, NULL) == 0 ? expr : NULL;
}

static void check_laws(const char *text, const struct expr *expr)
{
	_cleanup_(expr_freep) struct expr *inside = parse_around("( %s )", text);
	_cleanup_(expr_freep) struct expr *negated = parse_around("not ( %s )", text);
	_cleanup_(expr_freep) struct expr *both = parse_around("( %s ) and ( %s )", text);
	_cleanup_(expr_freep) struct expr *either = parse_around("( %s ) or not ( %s )", text);

	for (int i = 0; i < SAMPLES; i++) {
		struct record record = RECORD_OF(&samples[i]);
		enum truth t = expr_eval(expr, &record);

		fuzz_require(t == TRUTH_NO || t == TRUTH_YES || t == TRUTH_UNKNOWN);
		fuzz_require(!inside || expr_eval(inside, &record) == t);
		fuzz_require(!negated || expr_eval(negated, &record) == negate(t));
		fuzz_require(!both || expr_eval(both, &record) == t);
		fuzz_require(!either || expr_eval(either, &record) == (t == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : TRUTH_YES));
	}
}

static void check_terms(const struct expr *expr)
{
	struct expr_term terms[8];
	bool complete, complete_of_two;
	size_t n = expr_terms(expr, terms, ARRAY_SIZE(terms), &complete);
	size_t two = expr_terms(expr, terms, 2, &complete_of_two);

	fuzz_require(n <= ARRAY_SIZE(terms) && two <= 2 && two <= n);
	fuzz_require(!complete_of_two || (complete && n <= 2));
	for (size_t i = 0; i < two; i++) {
		fuzz_require(terms[i].ref.field && terms[i].ref.part == 0);
		fuzz_require(terms[i].op <= EXPR_IN && terms[i].op != EXPR_TRUTH);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct why why = {};
	int r;

	make_samples();
	r = expr_parse(text, &shape, &expr, &why);
	fuzz_require(r == 0 || r == -EINVAL);
	fuzz_require((r == 0) == (why.text[0] == '\0'));
	if (r < 0) {
		fuzz_require(!expr);
		for (char *p = why.text; *p; p++)
			fuzz_require(*p == '\n' || !fuzz_has_control(p, 1));
		return 0;
	}
	check_laws(text, expr);
	check_terms(expr);
	return 0;
}
