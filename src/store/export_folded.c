/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks: event;process;outermost;...;innermost COUNT, as flame graph programs read them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "event/event.h"
#include "store/export.h"

#define STACKS_MAX 1000000

struct folding {
	struct map counts; /* the line -> uint64_t */
	uint64_t without;
};

/* Semicolons and line ends separate; they cannot be part of a name. */
static void add_frame(struct buf *line, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_add_char(line, text[i] == ';' || (uint8_t)text[i] < 0x20 ? '_' : text[i]);
}

static void add_stack(struct buf *line, const struct stack *stack, const char *mark)
{
	for (uint32_t i = stack->count; stack->frames && i-- > 0;) {
		buf_add_char(line, ';');
		add_frame(line, stack->frames[i], strlen(stack->frames[i]));
		buf_add_text(line, mark);
	}
}

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
	add_frame(&line, head->comm[0] ? head->comm : "-", head->comm[0] ? strnlen(head->comm, sizeof(head->comm)) : 1);
	add_stack(&line, &extra->ustack, "");
	/* The kernel's functions are marked as perf marks them. */
	add_stack(&line, &extra->kstack, "_[k]");
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
		r = why_set(why, -ENOENT, "there are no stacks in it: record events with --stack");
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
