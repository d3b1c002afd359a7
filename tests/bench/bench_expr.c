/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many predicates a second the evaluator does on one core; the goal is 20 million simple ones. */
#include <errno.h>

#include "../unit/sample.h"
#include "base/clock.h"
#include "record/expr.h"

static double rate_of(const char *text, const struct sample *samples, size_t count)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	double best = 0;
	struct why why;

	if (expr_parse(text, &shape, &expr, &why) < 0) {
		fprintf(stderr, "%s\n", why.text);
		exit(1);
	}
	for (int round = 0; round < 5; round++) {
		uint64_t start = clock_monotonic_ns(), matched = 0;
		const size_t rounds = 2000;

		for (size_t i = 0; i < rounds; i++)
			for (size_t k = 0; k < count; k++) {
				struct record record = RECORD_OF(&samples[k]);

				matched += expr_matches(expr, &record);
			}
		if (matched == 0)
			exit(1); /* also keeps the compiler from leaving the work out */
		best = max_of(best, (double)(rounds * count) / (double)(clock_monotonic_ns() - start) * 1e9);
	}
	return best;
}

int main(void)
{
	static const char *const texts[] = {
		"rport == 51234", "lat > 1ms",      "laddr in 10.0.0.0/8",
		"comm == nginx",  "comm ~ \"ng*\"", "rport == 51234 and comm ~ \"nginx*\" and lat > 1ms",
	};
	struct sample samples[1000];

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		samples[i] = sample_make();
		samples[i].rport = (uint16_t)(51234 + i % 2);
	}
	puts("expression evaluator, one core (goal: 20 M simple predicates/s)");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		printf("  %6.1f M/s  %s\n", rate_of(texts[i], samples, ARRAY_SIZE(samples)) / 1e6, texts[i]);
	return 0;
}
