/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/playback.h"

#include <errno.h>

#include "base/clock.h"
#include "store/lull.h"

#define SPEED_MAX    64.0
#define SPEED_MIN    0.25
#define FINDINGS_MAX 10000
#define QUIET_NS     (3 * NSEC_PER_SEC) /* without a finding: the next one is another */

/* Those made while recording; a finding that goes on is reported every second. */
static int read_findings(struct playback *playback, struct recording *recording, struct why *why)
{
	static const char sql[] = "SELECT DISTINCT time_ns FROM finding ORDER BY time_ns";
	uint64_t last_ns = 0;
	sqlite3_stmt *query;
	int code;

	if (!recording_has(recording, "finding"))
		return 0;
	code = sqlite3_prepare_v2(recording_db(recording), sql, -1, &query, NULL);
	if (code != SQLITE_OK)
		return recording_fail(recording, code, why);
	while ((code = sqlite3_step(query)) == SQLITE_ROW && playback->findings.count < FINDINGS_MAX) {
		int64_t at = sqlite3_column_int64(query, 0);
		uint64_t at_ns = at > 0 ? (uint64_t)at : 0;

		if (at_ns > last_ns + QUIET_NS)
			vec_push(&playback->findings, at_ns);
		last_ns = at_ns;
	}
	(void)sqlite3_finalize(query);
	return 0;
}

int playback_open(struct playback *playback, struct recording *recording, const struct time_range *range,
		  struct why *why)
{
	double speed = playback->speed;
	int r;

	*playback = (struct playback){.speed = speed};
	r = samples_bounds(recording, range, &playback->begin_ns, &playback->end_ns, why);
	if (r == 0)
		r = read_findings(playback, recording, why);
	playback->at_ns = playback->begin_ns;
	return r;
}

void playback_done(struct playback *playback)
{
	vec_done(&playback->findings);
}

uint64_t playback_advance(struct playback *playback, uint64_t clock_ns)
{
	uint64_t passed = playback->tick_ns ? clock_ns - playback->tick_ns : 0;

	playback->tick_ns = clock_ns;
	playback->at_ns =
		playback_clamp(playback, (int64_t)(playback->at_ns + (uint64_t)((double)passed * playback->speed)));
	return playback->at_ns;
}

uint64_t playback_clamp(const struct playback *playback, int64_t at_ns)
{
	uint64_t at = at_ns < 0 ? 0 : (uint64_t)at_ns;

	return min_of(max_of(at, playback->begin_ns), playback->end_ns);
}

/* A little tolerance: the time of a finding is the end of its window. */
uint64_t playback_next_finding(const struct playback *playback, int direction)
{
	uint64_t found = 0;

	vec_each(&playback->findings, at_ns) {
		if (direction > 0 && *at_ns > playback->at_ns + NSEC_PER_SEC / 2)
			return *at_ns;
		if (direction < 0 && *at_ns + NSEC_PER_SEC / 2 < playback->at_ns)
			found = *at_ns;
	}
	return found;
}

void playback_faster(struct playback *playback, int direction)
{
	if (playback->speed <= 0)
		playback->speed = 1;
	else if (direction > 0)
		playback->speed = min_of(playback->speed * 2, SPEED_MAX);
	else
		playback->speed = max_of(playback->speed / 2, SPEED_MIN);
}
