/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a run that stays samples densely and when it rests. It rests while windows suggest nothing new. Dense sampling
 * is a credit that is used up and grows again at rest: what is suspected all the time does not keep it up forever.
 */
#pragma once

#include "base/macros.h"

struct rest {
	uint64_t pace_ns;   /* between samples at rest; 0: never rests */
	double price;       /* of dense sampling: how much faster it uses the credit up; 0: 1 */
	bool never_dense;   /* whatever is suspected */
	uint64_t last_ns;   /* the last window; 0: none yet */
	uint64_t until_ns;  /* dense until then */
	uint64_t credit_ns; /* of dense sampling */
	bool resting;
};

/* After each window; stirred: it suggests something new. Whether to rest now. */
bool rest_note(struct rest *rest, uint64_t now_ns, bool stirred);
