/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wakeup latency of the recorder: which wakeups were late, and what is kept of very many. */
#include "flow/record/wakeup.h"
#include "unit.h"

#define BEGIN_NS UINT64_C(5000000000)

TEST(late_wakeups_are_noted_from_when_they_were_due)
{
	struct wakeup wakeup;

	wakeup_begin(&wakeup, BEGIN_NS);
	wakeup_note(&wakeup, BEGIN_NS + WAKEUP_NS + 1000, 1);
	/* Due as the second one; the third has expired meanwhile, and the fourth comes in time. */
	wakeup_note(&wakeup, BEGIN_NS + 3 * WAKEUP_NS + 500000, 2);
	wakeup_note(&wakeup, BEGIN_NS + 4 * WAKEUP_NS, 1);
	wakeup_note(&wakeup, BEGIN_NS + 5 * WAKEUP_NS + WAKEUP_LATE_NS, 1);
	REQUIRE(wakeup.late.count == 2);
	CHECK_EQ_UINT(wakeup.late.items[0].due_ticks, BEGIN_NS + 2 * WAKEUP_NS);
	CHECK_EQ_UINT(wakeup.late.items[0].awake_ticks, BEGIN_NS + 3 * WAKEUP_NS + 500000);
	CHECK_EQ_UINT(wakeup.late.items[1].due_ticks, BEGIN_NS + 5 * WAKEUP_NS);
	CHECK_EQ_UINT(wakeup.late.items[1].awake_ticks, BEGIN_NS + 5 * WAKEUP_NS + WAKEUP_LATE_NS);
	wakeup_done(&wakeup);
}

/* Every wakeup is late for a quarter of an hour, each 1,000th by 50 ms. */
TEST(of_very_many_the_longest_are_kept)
{
	struct wakeup wakeup;
	unsigned longest = 0, made = 0;

	wakeup_begin(&wakeup, BEGIN_NS);
	for (uint64_t i = 1; i <= 450000;) {
		bool is_long = i % 1000 == 0;

		wakeup_note(&wakeup, BEGIN_NS + i * WAKEUP_NS + (is_long ? 50000000 : 300000 + i), is_long ? 26 : 1);
		made += is_long;
		i += is_long ? 26 : 1;
		REQUIRE(wakeup.late.count < WAKEUP_ROOM);
	}
	for (size_t i = 0; i < wakeup.late.count; i++) {
		longest += wakeup.late.items[i].awake_ticks - wakeup.late.items[i].due_ticks >= 50000000;
		CHECK(!i || wakeup.late.items[i - 1].awake_ticks <= wakeup.late.items[i].due_ticks + WAKEUP_NS);
	}
	CHECK(made > 400);
	CHECK_EQ_UINT(longest, made);
	CHECK(wakeup.least_ns > WAKEUP_LATE_NS);
	wakeup_done(&wakeup);
}
