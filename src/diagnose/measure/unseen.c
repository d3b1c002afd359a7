/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/unseen.h"

#include <string.h>

#include "base/text.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/time_use.h"
#include "snapshot/proc/other_netns.h"

static const struct field unseen_fields[] = {
	FIELD(struct unseen_record, what, TEXT, "what was not observed"),
	FIELD(struct unseen_record, why, TEXT, "the reason"),
	FIELD(struct unseen_record, lost, TEXT, "what is not known for it"),
};
RECORD_TYPE(unseen_type, "unseen", struct unseen_record, unseen_fields, "what could not be observed");

#define UNSEEN_MAX 100

struct gap_track {
	unsigned window; /* the last one it was seen in */
	bool at_once;    /* in the first window: some sources report a failure only then */
	char *what, *why, *lost;
};

/* Named of the other namespaces. */
#define NAMED_MAX 3

struct state {
	struct map gaps; /* "what why" -> struct gap_track */
	unsigned others; /* network namespaces, in the last sample */
	struct other_netns_record named[NAMED_MAX];
};

static const struct state initial = {.gaps = MAP_INIT(0, sizeof(struct gap_track), UNSEEN_MAX)};

static bool is_here(const struct window *window, const struct gap_record *gap)
{
	return gap->netns == 0 || gap->netns == UINT32_MAX || window->netns == 0 || gap->netns == window->netns;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, gap_type, const struct gap_record, gap) {
		_cleanup_free_ char *key = is_here(window, gap) ? xasprintf("%s %s", gap->source, gap->lost) : NULL;
		struct gap_track *track = key ? map_put(&state->gaps, key, NULL) : NULL;

		if (!track)
			continue;
		if (!track->what) {
			track->what = xstrdup(gap->source);
			track->lost = xstrdup(gap->lost);
		}
		free(track->why);
		track->why = xstrdup(gap->why);
		track->window = window->number;
		track->at_once |= window->number == 0;
	}
	state->others = 0;
	snapshot_each(snapshot, other_netns_type, const struct other_netns_record, other) {
		if (state->others < NAMED_MAX)
			state->named[state->others] = *other;
		state->others++;
	}
}

static const char *copy(struct graph *graph, const char *text)
{
	char *to = graph_alloc(graph, strlen(text) + 1);

	memcpy(to, text, strlen(text));
	return to;
}

static int by_what(const void *a, const void *b)
{
	const struct unseen_record *x = a, *y = b;
	int order = strcmp(x->what, y->what);

	return order ? order : strcmp(x->lost, y->lost);
}

static struct unseen_record others_of(const struct state *state, struct graph *graph)
{
	_cleanup_buf_ struct buf why = BUF_INIT(1024), lost = BUF_INIT(256);

	buf_add_format(&lost, "connections in %u other network namespace%s", state->others,
		       state->others == 1 ? "" : "s");
	for (unsigned i = 0; i < state->others && i < NAMED_MAX; i++) {
		buf_add_text(&why, i ? ", " : "with ");
		text_add_terminal(&why, state->named[i].comm, strlen(state->named[i].comm));
		buf_add_format(&why, " (%u)", state->named[i].pid);
	}
	buf_add_text(&why, state->others > NAMED_MAX ? ", ...: nest diagnose -N all" : ": nest diagnose -N all");
	return (struct unseen_record){"netns", copy(graph, buf_text(&why)), copy(graph, buf_text(&lost))};
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	struct unseen_record *items = graph_alloc(graph, (state->gaps.count + 1) * sizeof(*items));
	uint32_t count = 0;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->gaps, &at, &key, &value)) {
		const struct gap_track *track = value;

		if (track->at_once || window->number - track->window < TIME_WINDOWS)
			items[count++] = (struct unseen_record){copy(graph, track->what), copy(graph, track->why),
								copy(graph, track->lost)};
	}
	if (state->others)
		items[count++] = others_of(state, graph);
	qsort(items, count, sizeof(*items), by_what);
	graph->unseen = (struct list){items, count};
}

static void release(void *data)
{
	struct state *state = data;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->gaps, &at, &key, &value)) {
		struct gap_track *track = value;

		free(track->what);
		free(track->why);
		free(track->lost);
	}
	map_done(&state->gaps);
}

static const struct measurer unseen_measurer = {
	.name = "unseen",
	.stage = MEASURE_HOST,
	.needs = MEASURER_NEEDS(&gap_type, &other_netns_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(unseen_measurer);
