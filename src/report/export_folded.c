/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks: event;process;outermost;...;innermost COUNT, the input of flame graph programs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "event/core/event.h"
#include "report/export.h"
#include "view/folded.h"

#define STACKS_MAX 1000000

struct folding {
	struct map counts; /* the line -> uint64_t */
	uint64_t without;
};

static int fold(void *context, const char *event, const struct shape *shape _unused_, const struct record *record)
{
	struct folding *folding = context;
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	const struct event_extra *extra = record->parts[EVENT_PART_EXTRA];
	_cleanup_buf_ struct buf line = BUF_INIT(1 << 16);
	uint64_t *count;

	if (!extra->kstack.count && !extra->ustack.count) {
		folding->without++;
		return 0;
	}
	buf_add_format(&line, "%s;", event);
	text_add_folded(&line, head->comm[0] ? head->comm : "-",
			head->comm[0] ? strnlen(head->comm, sizeof(head->comm)) : 1);
	folded_add_stack(&line, &extra->ustack, "");
	/* Kernel functions are marked as by perf. */
	folded_add_stack(&line, &extra->kstack, "_[k]");
	count = map_put(&folding->counts, buf_text(&line), NULL);
	if (count)
		(*count)++;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int export_folded(const struct export_request *request, struct out *out, struct why *why)
{
	struct folding folding = {.counts = MAP_INIT(0, sizeof(uint64_t), STACKS_MAX)};
	VEC(const char *) lines = {};
	const void *key;
	size_t at = 0;
	void *value;
	int r = export_each_event(request, fold, &folding, why);

	if (r == 0 && folding.counts.count == 0)
		r = why_set(why, -ENOENT, "no stacks in the recording: record events with --stack");
	while (r == 0 && map_next(&folding.counts, &at, &key, &value))
		vec_push(&lines, key);
	vec_sort(&lines, by_text);
	vec_each(&lines, line) {
		const uint64_t *count = map_get(&folding.counts, *line);

		buf_add_format(&out->pending, "%s %" PRIu64, *line, *count);
		out_end_line(out);
	}
	vec_done(&lines);
	map_done(&folding.counts);
	return r;
}
