/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "path/journey/journey_store.h"
#include "path/journey/journey_words.h"
#include "path/sum/slowest.h"
#include "path/sum/summary.h"
#include "report/report_journeys.h"
#include "view/format.h"

#define SHOWN 3

static void add_line(struct out *out, const char *before, const struct buf *text)
{
	buf_add_text(&out->pending, before);
	text_add_terminal(&out->pending, buf_text(text), text->len);
	out_end_line(out);
}

/* "receive: 990 journeys (990 delivered)", and the stage that makes the slow ones slow. */
static void print_groups(struct summary *summary, struct out *out)
{
	summary_sort(summary);
	vec_each(&summary->groups, group) {
		_cleanup_buf_ struct buf title = BUF_INIT(256), tail = BUF_INIT(512);

		summary_add_title(summary, *group, &title);
		buf_add_text(&title, ": ");
		summary_add_ends((*group)->ends, &title);
		add_line(out, "", &title);
		tail_add_words(&tail, &(*group)->tail);
		add_line(out, "  ", &tail);
	}
}

static void print_slowest(const struct slowest *slowest, struct out *out)
{
	vec_each(&slowest->journeys, journey) {
		_cleanup_buf_ struct buf title = BUF_INIT(512), widest = BUF_INIT(256);

		format_add_duration(&title, (int64_t)journey->total_ns);
		buf_add_char(&title, ' ');
		journey_add_title(&title, journey);
		add_line(out, "", &title);
		journey_add_widest(&widest, journey);
		if (widest.len)
			add_line(out, "  ", &widest);
	}
}

static int print_all(struct journey_replay *replay, struct out *out, struct why *why)
{
	struct slowest slowest = {.limit = SHOWN};
	struct summary summary = {};
	struct journey journey;
	int r = summary_init(&summary, NULL, why);

	while (r == 0 && (r = journey_replay_next(replay, &journey, why)) > 0) {
		summary_add(&summary, &journey);
		slowest_add(&slowest, &journey);
		r = 0;
	}
	if (r == 0 && slowest.journeys.count) {
		out_end_line(out);
		buf_add_format(&out->pending, "%sPacket journeys%s", out_style_on(out, OUT_BOLD),
			       out_style_off(out, OUT_BOLD));
		out_end_line(out);
		print_groups(&summary, out);
		print_slowest(&slowest, out);
	}
	slowest_done(&slowest);
	summary_done(&summary);
	return r;
}

int report_journeys_print(const struct input_options *input, struct out *out, struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(journey_replay_closep) struct journey_replay *replay = NULL;
	struct time_range range;
	int r = input_open(input, &recording, &range, why);

	if (r == 0)
		r = journey_replay_open(recording, &range, &replay, why);
	/* Most recordings have none. */
	if (r == -ENOENT)
		return 0;
	return r == 0 ? print_all(replay, out, why) : r;
}
