/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <math.h>

#include "diagnose/rules/certainty.h"

TEST(evidence_adds_up_as_published)
{
	double x;

	CHECK_NEAR(certainty_combine(0.6, 0.4), 0.76, 1e-12);
	CHECK_NEAR(certainty_combine(0.6, -0.4), 1.0 / 3, 1e-12);
	CHECK_NEAR(certainty_combine(-0.6, -0.6), -0.84, 1e-12);
	CHECK_NEAR(certainty_combine(certainty_combine(0.6, 0.6), 0.6), 0.936, 1e-12);
	x = certainty_combine(0.4, -0.6);
	x = certainty_combine(x, -0.6);
	x = certainty_combine(x, -0.6);
	CHECK_NEAR(x, -0.893, 0.0005);
}

TEST(the_absolutes_win_and_cancel_each_other)
{
	CHECK_NEAR(certainty_combine(1, -1), 0, 0);
	CHECK_NEAR(certainty_combine(-1, 1), 0, 0);
	CHECK_NEAR(certainty_combine(1, 1), 1, 0);
	CHECK_NEAR(certainty_combine(-1, -1), -1, 0);
	CHECK_NEAR(certainty_combine(1, -0.95), 1, 0);
	CHECK_NEAR(certainty_combine(-0.95, 1), 1, 0);
	CHECK_NEAR(certainty_combine(-1, 0.95), -1, 0);
	CHECK_NEAR(certainty_combine(0.95, -1), -1, 0);
	CHECK_NEAR(certainty_combine(1, 0), 1, 0);
	CHECK_NEAR(certainty_combine(0, -1), -1, 0);
}

/* From -size to size. */
static double random_factor(uint64_t *state, double size)
{
	return ((double)(unit_random(state) >> 11) / (double)(UINT64_C(1) << 52) - 1) * size;
}

TEST(two_pieces_of_evidence)
{
	uint64_t state = 20111115;

	for (unsigned i = 0; i < 20000; i++) {
		double a = random_factor(&state, 0.999), b = random_factor(&state, 0.999);
		double both = certainty_combine(a, b);

		unit_note("%.17g and %.17g make %.17g", a, b, both);
		if (!CHECK_NEAR(certainty_combine(b, a), both, 0) || !CHECK(fabs(both) < 1) ||
		    !CHECK_NEAR(certainty_combine(-a, -b), -both, 0) || !CHECK_NEAR(certainty_combine(a, 0), a, 0) ||
		    !CHECK_NEAR(certainty_combine(0, a), a, 0) || !CHECK_NEAR(certainty_combine(a, -a), 0, 0) ||
		    !CHECK(b < 0 || both >= a) || !CHECK(b > 0 || both <= a))
			break;
	}
}

TEST(three_pieces_of_evidence_in_any_grouping)
{
	uint64_t state = 19750101;

	for (unsigned i = 0; i < 20000; i++) {
		double a = random_factor(&state, CERTAINTY_CLAMP), b = random_factor(&state, CERTAINTY_CLAMP);
		double c = random_factor(&state, CERTAINTY_CLAMP);

		unit_note("%.17g, %.17g, %.17g", a, b, c);
		if (!CHECK_NEAR(certainty_combine(certainty_combine(a, b), c),
				certainty_combine(a, certainty_combine(b, c)), 1e-9))
			break;
	}
}

/* Weights -ln(1-|x|) with the sign of x simply add up: an independent way to the same figure. */
TEST(many_pieces_of_evidence_in_any_order)
{
	uint64_t state = 20120401;

	for (unsigned i = 0; i < 5000; i++) {
		double factors[6], forward = 0, shuffled = 0, weight = 0, want;
		unsigned n = 1 + (unsigned)(unit_random(&state) % ARRAY_SIZE(factors));

		for (unsigned j = 0; j < n; j++) {
			factors[j] = random_factor(&state, 0.8);
			forward = certainty_combine(forward, factors[j]);
			weight += copysign(-log1p(-fabs(factors[j])), factors[j]);
		}
		for (unsigned j = n; j > 0; j--) {
			unsigned at = (unsigned)(unit_random(&state) % j);

			shuffled = certainty_combine(shuffled, factors[at]);
			factors[at] = factors[j - 1];
		}
		want = copysign(-expm1(-fabs(weight)), weight);
		unit_note("sequence %u of %u", i, n);
		if (!CHECK_NEAR(shuffled, forward, 1e-9) || !CHECK_NEAR(forward, want, 1e-9) ||
		    !CHECK(fabs(forward) < 1))
			break;
	}
}

TEST(nothing_leaves_the_scale)
{
	static const double steps[] = {-1, -0.95, -0.5, 0, 0.5, 0.95, 1};
	uint64_t state = 42;
	double x = 0;

	for (unsigned i = 0; i < 20000; i++) {
		x = certainty_combine(x, steps[unit_random(&state) % ARRAY_SIZE(steps)]);
		if (!CHECK(x >= -1 && x <= 1))
			break;
	}
}
