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

static void close_file(struct past *past)
{
	replay_close(take_ptr(past->replay));
	recording_close(take_ptr(past->recording));
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

static int add_recorder(uint64_t pid, void *context)
{
	struct past *past = context;
	char *file = recorders_file(pid);

	if (file)
		vec_push(&past->files, file);
	return 0;
}

void past_find(struct past *past, const char *file)
{
	char *of_agent;

	*past = (struct past){.named = file != NULL};
	if (file) {
		vec_push(&past->files, xstrdup(file));
		return;
	}
	of_agent = agent_ask_file();
	if (of_agent)
		vec_push(&past->files, of_agent);
	/* Without /proc there is no recorder to be found. */
	(void)!recorders_each(add_recorder, past);
}

/* A recorder whose file cannot be used is not the user's concern: another one may do, and the look works without. */
int past_open(struct past *past, struct why *why)
{
	int r = 0;

	for (size_t i = 0; i < past->files.count; i++) {
		past->file = past->files.items[i];
		r = open_file(past, why);
		if (r > 0)
			return r;
		close_file(past);
	}
	return past->named ? r : 0;
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
	close_file(past);
	vec_each(&past->files, file)
		free(*file);
	vec_done(&past->files);
}
