/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures over time: rates of totals, drops by reason as they appear, bounded memory. */
#include <math.h>

#include "base/clock.h"
#include "probe/drop_tally.h"
#include "show/figure.h"
#include "unit.h"

/* A sample at that second: packets dropped for each reason since the beginning. */
struct dropped {
	const char *reason;
	uint64_t packets;
};

static void add_sample(struct figure_history *history, unsigned second, const struct dropped *dropped, size_t count)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	snapshot->begin_boot_ns = (100 + second) * NSEC_PER_SEC;
	snapshot->begin_time_ns = (1000 + second) * NSEC_PER_SEC;
	for (size_t i = 0; i < count; i++) {
		struct drop_record *drop = snapshot_table_add(snapshot_table(snapshot, &drop_type));

		*drop = (struct drop_record){.reason = dropped[i].reason, .packets = dropped[i].packets};
	}
	CHECK(figure_history_add(history, snapshot));
}

/* Of that second; NaN: not known, or no such figure. */
static double value_at(const struct figure_history *history, const char *name, unsigned second)
{
	int index = figure_history_find(history, name);
	double value = NAN;

	if (index >= 0)
		figure_history_read(history, (unsigned)index, (1000 + second) * NSEC_PER_SEC, NSEC_PER_SEC, &value, 1);
	return value;
}

TEST(figure_parts_appear)
{
	struct figure_history history;

	figure_history_init(&history);
	CHECK(figure_history_find(&history, "drop.NO_SOCKET") < 0);
	CHECK(figure_history_find(&history, "drop") < 0);
	add_sample(&history, 0, (struct dropped[]){{"NO_SOCKET", 40}}, 1);
	/* Two flows of one reason are one figure; a reason that was not there before began at zero. */
	add_sample(&history, 1, (struct dropped[]){{"NO_SOCKET", 40}, {"NO_SOCKET", 10}, {"", 3}}, 3);
	add_sample(&history, 2, (struct dropped[]){{"NO_SOCKET", 50}, {"", 3}}, 2);
	CHECK(isnan(value_at(&history, "drop.NO_SOCKET", 0)));
	CHECK(value_at(&history, "drop.NO_SOCKET", 1) == 10);
	CHECK(value_at(&history, "drop.NO_SOCKET", 2) == 0);
	CHECK(value_at(&history, "drop.NOT_SPECIFIED", 1) == 3);
	CHECK(value_at(&history, "drop.NOT_SPECIFIED", 2) == 0);
	CHECK_EQ_TEXT(history.figures[figure_history_find(&history, "drop.NO_SOCKET")]->title, "NO_SOCKET");
	/* A sample without the table: not known, not zero. */
	add_sample(&history, 3, NULL, 0);
	CHECK(isnan(value_at(&history, "drop.NO_SOCKET", 3)));
	figure_history_done(&history);
}

TEST(figure_parts_are_bounded)
{
	struct figure_history history;
	char names[40][8];
	struct dropped dropped[40];

	for (unsigned i = 0; i < ARRAY_SIZE(dropped); i++) {
		snprintf(names[i], sizeof(names[i]), "R%u", i);
		dropped[i] = (struct dropped){names[i], i};
	}
	figure_history_init(&history);
	add_sample(&history, 0, NULL, 0);
	add_sample(&history, 1, dropped, ARRAY_SIZE(dropped));
	CHECK(history.count <= FIGURES_MAX && history.part_count == PARTS_MAX);
	CHECK(value_at(&history, "drop.R3", 1) == 3);
	/* 11 to 39. */
	CHECK(value_at(&history, "drop.other", 1) == 725);
	figure_history_done(&history);
}
