/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When an agent rests, and what it sheds to stay below a limit of CPU time. */
#include "unit.h"

#include "agent/disk_budget.h"
#include "agent/shed.h"
#include "base/clock.h"
#include "run/rest.h"

/* Windows of a second; returns how many of them were dense. */
static unsigned go_on(struct rest *rest, uint64_t *now_ns, unsigned seconds, bool stirred)
{
	unsigned dense = 0;

	for (unsigned i = 0; i < seconds; i++) {
		*now_ns += NSEC_PER_SEC;
		dense += !rest_note(rest, *now_ns, stirred);
	}
	return dense;
}

TEST(it_rests_when_nothing_is_suspected)
{
	struct rest rest = {.pace_ns = NSEC_PER_SEC};
	uint64_t now_ns = NSEC_PER_SEC;

	/* It begins with a look. */
	CHECK_EQ_UINT(go_on(&rest, &now_ns, 5, false), 5);
	CHECK_EQ_UINT(go_on(&rest, &now_ns, 100, false), 0);
	/* Something new, and the time that it takes to be confirmed. */
	CHECK_EQ_UINT(go_on(&rest, &now_ns, 1, true), 1);
	CHECK_EQ_UINT(go_on(&rest, &now_ns, 20, false), 4);
}

TEST(dense_sampling_is_used_up)
{
	struct rest rest = {.pace_ns = NSEC_PER_SEC};
	uint64_t now_ns = NSEC_PER_SEC;
	unsigned dense = go_on(&rest, &now_ns, 70, true);

	CHECK(dense >= 55 && dense <= 65);
	/* From then on a seventh of the time. */
	dense = go_on(&rest, &now_ns, 700, true);
	CHECK(dense >= 80 && dense <= 120);
	rest.never_dense = true;
	CHECK_EQ_UINT(go_on(&rest, &now_ns, 10, true), 0);
}

TEST(dense_sampling_that_costs_more_is_used_up_sooner)
{
	struct rest rest = {.pace_ns = NSEC_PER_SEC, .price = 4};
	uint64_t now_ns = NSEC_PER_SEC;
	unsigned dense = go_on(&rest, &now_ns, 70, true);

	/* A minute of credit at four times the price, and what has grown since. */
	CHECK(dense >= 15 && dense <= 20);
}

TEST(costly_samples_are_further_apart)
{
	CHECK_EQ_UINT(shed_rest_pace(0), NSEC_PER_SEC);
	CHECK_EQ_UINT(shed_rest_pace(15 * NSEC_PER_MSEC), NSEC_PER_SEC);
	CHECK_EQ_UINT(shed_rest_pace(60 * NSEC_PER_MSEC), 4 * NSEC_PER_SEC);
	CHECK_EQ_UINT(shed_rest_pace(NSEC_PER_SEC), 5 * NSEC_PER_SEC);
	CHECK(shed_dense_price(NSEC_PER_MSEC) == 1);
	CHECK(shed_dense_price(80 * NSEC_PER_MSEC) == 8);
}

TEST(a_run_without_a_pace_for_rest_never_rests)
{
	struct rest rest = {};
	uint64_t now_ns = NSEC_PER_SEC;

	CHECK_EQ_UINT(go_on(&rest, &now_ns, 100, false), 100);
}

/* Periods in which it uses this share of a CPU; returns how often the step changed. */
static unsigned use(struct shed *shed, uint64_t times[2], double share, unsigned periods)
{
	unsigned changes = 0;

	for (unsigned i = 0; i < periods; i++) {
		times[0] += SHED_PERIOD_NS;
		times[1] += (uint64_t)(share * (double)SHED_PERIOD_NS);
		changes += shed_note(shed, times[0], times[1]);
	}
	return changes;
}

TEST(it_sheds_in_steps_and_takes_them_back)
{
	struct shed shed = {.limit = 0.02};
	uint64_t times[2] = {NSEC_PER_SEC, NSEC_PER_SEC};

	/* The start loads programs. */
	CHECK_EQ_UINT(use(&shed, times, 0.9, 1), 0);
	CHECK_EQ_UINT(use(&shed, times, 0.019, 10), 0);
	CHECK_EQ_UINT(use(&shed, times, 0.03, 2), 2);
	CHECK_EQ_INT(shed.step, SHED_FOLLOWED);
	CHECK(shed.used > 0.0299 && shed.used < 0.0301);
	/* Below, but not far. */
	CHECK_EQ_UINT(use(&shed, times, 0.015, 100), 0);
	CHECK_EQ_UINT(use(&shed, times, 0.005, 6), 1);
	CHECK_EQ_INT(shed.step, SHED_DENSE);
	/* The next step back waits longer, and so does the one after a relapse. */
	CHECK_EQ_UINT(use(&shed, times, 0.005, 11), 0);
	CHECK_EQ_UINT(use(&shed, times, 0.005, 1), 1);
	CHECK_EQ_INT(shed.step, SHED_NOTHING);
	CHECK_EQ_UINT(use(&shed, times, 0.03, 1), 1);
	CHECK_EQ_UINT(use(&shed, times, 0.005, 23), 0);
	CHECK_EQ_UINT(use(&shed, times, 0.005, 1), 1);
	CHECK_EQ_INT(shed.step, SHED_NOTHING);
}

TEST(the_last_step_is_the_last)
{
	struct shed shed = {.limit = 0.01};
	uint64_t times[2] = {NSEC_PER_SEC, NSEC_PER_SEC};

	CHECK_EQ_UINT(use(&shed, times, 0.5, 20), SHED_STEPS - 1);
	CHECK_EQ_INT(shed.step, SHED_STEPS - 1);
	for (enum shed_step step = SHED_NOTHING; step < SHED_STEPS; step++)
		CHECK(shed_what(step) != NULL);
}

TEST(no_limit_sheds_nothing)
{
	struct shed shed = {};
	uint64_t times[2] = {NSEC_PER_SEC, NSEC_PER_SEC};

	CHECK_EQ_UINT(use(&shed, times, 2, 20), 0);
}

/* --- the recording --- */

/* Each connection that moves is a row of 200 B per second; the rest is 3 kB per second. */
static uint64_t write_for(struct disk_budget *budget, uint64_t *now_ns, uint64_t bytes, unsigned moving,
			  unsigned minutes)
{
	for (unsigned i = 0; i < minutes * 12; i++) {
		*now_ns += 5 * NSEC_PER_SEC;
		bytes += 5 * (3000 + 200 * min_of((uint64_t)moving, (uint64_t)budget->moving));
		disk_budget_note(budget, *now_ns, bytes, true);
	}
	return bytes;
}

TEST(a_recording_is_to_last_its_age)
{
	struct disk_budget budget;
	uint64_t now_ns = NSEC_PER_SEC, bytes = 1000000;

	disk_budget_init(&budget, UINT64_C(512) << 20, 24 * 3600 * NSEC_PER_SEC);
	CHECK_NEAR(budget.limit, 6213.78, 0.01);
	/* Few move: all that may be followed are. */
	bytes = write_for(&budget, &now_ns, bytes, 12, 3);
	CHECK_EQ_UINT(budget.moving, FOLLOWED);
	/* 128 rows per second do not fit, 16 do. */
	bytes = write_for(&budget, &now_ns, bytes, 1000, 3);
	CHECK_EQ_UINT(budget.moving, FOLLOWED_FEW);
	/* Never fewer. */
	bytes = write_for(&budget, &now_ns, bytes, 1000, 10);
	CHECK_EQ_UINT(budget.moving, FOLLOWED_FEW);
	CHECK(budget.rate <= 6213.78);
	/* What is dense is not counted, nor is what is deleted. */
	now_ns += 60 * NSEC_PER_SEC;
	disk_budget_note(&budget, now_ns, bytes += 100, false);
	CHECK_EQ_UINT(budget.moving, FOLLOWED_FEW);
	now_ns += 60 * NSEC_PER_SEC;
	disk_budget_note(&budget, now_ns, bytes / 2, true);
	CHECK_EQ_UINT(budget.moving, FOLLOWED_FEW);
	bytes /= 2;
	/* Quiet again. */
	for (unsigned i = 0; i < 36; i++) {
		now_ns += 5 * NSEC_PER_SEC;
		disk_budget_note(&budget, now_ns, bytes += 5000, true);
	}
	CHECK_EQ_UINT(budget.moving, FOLLOWED);
	/* Without a limit of size or age there is none. */
	disk_budget_init(&budget, 0, NSEC_PER_SEC);
	bytes = write_for(&budget, &now_ns, bytes, 1000, 3);
	CHECK_EQ_UINT(budget.moving, FOLLOWED);
}
