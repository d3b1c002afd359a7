/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/past.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "run/agent_ask.h"
#include "run/recorders.h"
#include "store/rows.h"

static bool is_of_this_boot(const struct recording *recording)
{
	struct host_record here;

	host_record_fill(&here);
	return strcmp(here.boot_id, recording_host(recording)->boot_id) == 0;
}

static int open_file(struct past *past, struct why *why)
{
	struct time_range range = {.from_ns = clock_real_ns() - PAST_NS, .to_ns = UINT64_MAX};
	int r = recording_open(past->file, &past->recording, why);

	if (r == 0 && !is_of_this_boot(past->recording))
		r = why_set(why, -EINVAL, "%s: recorded on another host, or before the last boot", past->file);
	if (r == 0)
		r = replay_open(past->recording, &range, NULL, &past->replay, why);
	return r < 0 ? r : replay_samples(past->replay) > 0;
}

/* A recorder whose file cannot be used is not the user's concern: another one may do, and the look works without. */
static int try_recorder(uint64_t pid, void *context)
{
	struct past *found = context, past = {};
	struct why why = {};

	if (found->replay)
		return 0;
	past.file = recorders_file(pid);
	if (past.file && open_file(&past, &why) > 0)
		*found = past;
	else
		past_close(&past);
	return 0;
}

static bool try_agent(struct past *found)
{
	struct past past = {.file = agent_ask_file()};
	struct why why = {};

	if (past.file && open_file(&past, &why) > 0)
		*found = past;
	else
		past_close(&past);
	return found->replay != NULL;
}

int past_open(struct past *ret_past, const char *file, struct why *why)
{
	int r;

	*ret_past = (struct past){};
	if (!file && try_agent(ret_past))
		return 1;
	if (!file) {
		/* Without /proc there is no recorder to be found. */
		(void)!recorders_each(try_recorder, ret_past);
		return ret_past->replay != NULL;
	}
	ret_past->file = xstrdup(file);
	r = open_file(ret_past, why);
	if (r <= 0)
		past_close(ret_past);
	return r;
}

int past_load_usual(struct recording *recording, struct usual *usual, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&usual_type);
	struct usual_record record;
	int r;

	if (!recording_has(recording, usual_type.name))
		return 0;
	r = rows_open(recording, &(struct rows_request){.name = usual_type.name, .shape = &shape}, &rows, why);
	while (r == 0 && (r = rows_next(rows, (void *[]){&record}, why)) > 0) {
		usual_load(usual, &record);
		rows_free_parts(&shape, (void *[]){&record});
		r = 0;
	}
	return r;
}

void past_close(struct past *past)
{
	replay_close(past->replay);
	recording_close(past->recording);
	free(past->file);
	*past = (struct past){};
}
