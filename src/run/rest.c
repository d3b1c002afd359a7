/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/rest.h"

#include "base/clock.h"

/* As long as a finding takes to be confirmed or to fade, with some margin. */
#define DENSE_NS (5 * NSEC_PER_SEC)
/* The most dense sampling in a row, and the share of the time that it has in the long run. */
#define CREDIT_NS    (60 * NSEC_PER_SEC)
#define CREDIT_SHARE 6
/* Used up, it begins again with this much. */
#define CREDIT_LEAST_NS (10 * NSEC_PER_SEC)

static void count_credit(struct rest *rest, uint64_t now_ns)
{
	uint64_t span_ns = now_ns - rest->last_ns;

	if (rest->resting)
		rest->credit_ns = min_of(rest->credit_ns + span_ns / CREDIT_SHARE, CREDIT_NS);
	else
		rest->credit_ns -=
			min_of(rest->credit_ns, (uint64_t)((double)span_ns * (rest->price > 1 ? rest->price : 1)));
}

bool rest_note(struct rest *rest, uint64_t now_ns, bool stirred)
{
	if (rest->last_ns == 0) {
		rest->credit_ns = CREDIT_NS;
		rest->until_ns = now_ns + DENSE_NS;
	} else {
		count_credit(rest, now_ns);
	}
	rest->last_ns = now_ns;
	if (stirred)
		rest->until_ns = now_ns + DENSE_NS;
	if (rest->pace_ns == 0)
		return false;
	rest->resting = rest->never_dense || now_ns >= rest->until_ns ||
			rest->credit_ns < (rest->resting ? CREDIT_LEAST_NS : 1);
	return rest->resting;
}
