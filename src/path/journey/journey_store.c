/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/alloc.h"
#include "base/text.h"
#include "path/journey/journey_store.h"
#include "store/rows.h"

/* Joins the two tables. */
struct number {
	uint64_t journey;
};

static const struct field number_fields[] = {
	FIELD(struct number, journey, ID, "number of the journey within this recording"),
};
static RECORD_TYPE(number_type, "journey_number", struct number, number_fields, "number of a journey");

static const struct shape journey_shape = {.count = 2, .types = {&number_type, &journey_type}};
static const struct shape stage_shape = {.count = 2, .types = {&number_type, &journey_stage_type}};

/* --- writing ------------------------------------------------------------------------------------------------------ */

int journey_keeper_open(struct journey_keeper *keeper, struct store *store)
{
	int r = store_table_open(store, journey_type.name, &journey_shape, &keeper->journeys);

	return r == 0 ? store_table_open(store, journey_stage_type.name, &stage_shape, &keeper->stages) : r;
}

int journey_keep(struct journey_keeper *keeper, const struct journey *journey)
{
	struct number number = {.journey = ++keeper->count};
	int r = store_add(keeper->journeys, &(struct record){.parts = {&number, journey}});

	for (uint32_t i = 0; r == 0 && i < journey->stage_count; i++)
		r = store_add(keeper->stages, &(struct record){.parts = {&number, &journey->stages[i]}});
	return r;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct stage_cell {
	struct number number;
	struct journey_stage stage;
};

struct journey_replay {
	struct rows *journeys;
	struct rows *stages;
	struct stage_cell next; /* last stage read, not yet assigned to a journey */
	bool has_next;
	uint64_t lost, refused;
};

static int read_stage(struct journey_replay *replay, struct why *why)
{
	int r = rows_next(replay->stages, (void *[]){&replay->next.number, &replay->next.stage}, why);

	replay->has_next = r > 0;
	return min_of(r, 0);
}

static int open_rows(struct journey_replay *replay, struct recording *recording, const struct time_range *range,
		     struct why *why)
{
	/* Stages are selected by their journey's number, not by time. */
	struct rows_request stages = {.name = journey_stage_type.name, .shape = &stage_shape};
	struct rows_request journeys = {.name = journey_type.name,
					.shape = &journey_shape,
					.from_ns = range->from_ns,
					.to_ns = range->to_ns == UINT64_MAX ? 0 : range->to_ns};
	int r = rows_open(recording, &journeys, &replay->journeys, why);

	if (r == 0)
		r = rows_open(recording, &stages, &replay->stages, why);
	if (r == 0)
		r = read_stage(replay, why);
	return r == 0 ? recording_lost(recording, journey_type.name, &replay->lost, why) : r;
}

int journey_replay_open(struct recording *recording, const struct time_range *range, struct journey_replay **ret_replay,
			struct why *why)
{
	_cleanup_(journey_replay_closep) struct journey_replay *replay = xzalloc(sizeof(*replay));
	int r;

	if (!recording_has(recording, journey_type.name) || !recording_has(recording, journey_stage_type.name)) {
		_cleanup_buf_ struct buf command = BUF_INIT(300);
		const char *text = recording_command(recording);

		text_add_terminal(&command, text, strnlen(text, 200));
		return why_set(why, -ENOENT, "%s has no journeys: recorded by nest %s (use nest path --save)",
			       recording_path(recording), buf_text(&command));
	}
	r = open_rows(replay, recording, range, why);
	if (r == 0)
		*ret_replay = take_ptr(replay);
	return r;
}

void journey_replay_close(struct journey_replay *replay)
{
	if (!replay)
		return;
	rows_close(replay->journeys);
	rows_close(replay->stages);
	free(replay);
}

/*
 * Reads all stages of that number and skips those of filtered journeys. Stages beyond the limit are counted, not kept.
 */
static int take_stages(struct journey_replay *replay, uint64_t number, struct journey *journey, struct why *why)
{
	int r = 0;

	while (r == 0 && replay->has_next && replay->next.number.journey <= number) {
		if (replay->next.number.journey == number && journey->stage_count++ < JOURNEY_STAGES_MAX)
			journey->stages[journey->stage_count - 1] = replay->next.stage;
		r = read_stage(replay, why);
	}
	return r;
}

bool journey_adds_up(const struct journey *journey)
{
	uint64_t at = journey->time_ns, sum = 0;

	if (journey->stage_count > JOURNEY_STAGES_MAX)
		return false;
	for (uint32_t i = 0; i < journey->stage_count; i++) {
		const struct journey_stage *stage = &journey->stages[i];

		if (stage->start_ns != at || __builtin_add_overflow(at, stage->ns, &at) || at > INT64_MAX)
			return false;
		sum += stage->ns;
	}
	return sum == journey->total_ns;
}

int journey_replay_next(struct journey_replay *replay, struct journey *ret_journey, struct why *why)
{
	struct number number;
	int r;

	while ((r = rows_next(replay->journeys, (void *[]){&number, ret_journey}, why)) > 0) {
		ret_journey->stage_count = 0;
		r = take_stages(replay, number.journey, ret_journey, why);
		if (r < 0)
			return r;
		if (number.journey != UINT64_MAX && journey_adds_up(ret_journey))
			return 1;
		replay->refused++;
	}
	return r;
}

uint64_t journey_replay_lost(const struct journey_replay *replay)
{
	return replay->lost + replay->refused + rows_refused(replay->journeys) + rows_refused(replay->stages);
}
