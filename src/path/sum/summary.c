/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "event/core/packet_names.h"
#include "path/sum/summary.h"

/* In addition to the journey's own fields: the CPU where it started. */
struct first_cpu {
	uint16_t cpu;
};

static const struct field cpu_fields[] = {
	FIELD(struct first_cpu, cpu, ID, "CPU where the journey started"),
};
static RECORD_TYPE(cpu_type, "first_cpu", struct first_cpu, cpu_fields, "start of a journey");

static const struct shape by_shape = {.count = 2, .types = {&journey_type, &cpu_type}};

static int add_key(struct summary *summary, const char *name, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};
	struct field_ref ref, at = {};

	if (shape_find(&by_shape, name, &ref) == 0) {
		vec_each(&summary->by, known)
			if (known->field == ref.field)
				return 0;
		vec_push(&summary->by, ref);
		row_layout_add(&summary->keys, ref.field);
		return 0;
	}
	while (shape_next(&by_shape, &at))
		near_consider(&near, at.field->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 40));
	return why_set(why, -EINVAL, "--by: unknown field '%s'%s", buf_text(&shown), buf_text(&hint));
}

int summary_init(struct summary *summary, const struct text_list *by, struct why *why)
{
	int r;

	*summary = (struct summary){};
	row_layout_init(&summary->keys);
	r = add_key(summary, "dir", why);
	for (size_t i = 0; r == 0 && by && i < by->count; i++)
		r = add_key(summary, by->items[i], why);
	summary->index = MAP_INIT(summary->keys.size, sizeof(size_t), SUMMARY_GROUPS_MAX);
	return r;
}

static void group_free(struct summary_group *group)
{
	for (unsigned i = 0; i < PATH_STAGES; i++)
		spread_done(&group->stages[i]);
	spread_done(&group->total);
	tail_done(&group->tail);
	free(group->key);
	free(group);
}

void summary_done(struct summary *summary)
{
	vec_each(&summary->groups, group)
		group_free(*group);
	vec_done(&summary->groups);
	vec_done(&summary->by);
	map_done(&summary->index);
	row_layout_done(&summary->keys);
}

static struct summary_group *find_group(struct summary *summary, const struct journey *journey)
{
	struct first_cpu first = {.cpu = journey->stage_count ? journey->stages[0].cpu : UINT16_MAX};
	const void *parts[] = {journey, &first};
	_cleanup_free_ void *key = xzalloc(summary->keys.size);
	struct summary_group *group;
	size_t *number;
	bool is_new;

	for (size_t i = 0; i < summary->by.count; i++) {
		struct field_ref ref = summary->by.items[i];

		row_set(&summary->keys, i, key, ref.field, parts[ref.part]);
	}
	number = map_put(&summary->index, key, &is_new);
	if (!number)
		return NULL;
	if (is_new) {
		*number = summary->groups.count;
		group = xzalloc(sizeof(*group));
		group->key = take_ptr(key);
		vec_push(&summary->groups, group);
	}
	return summary->groups.items[*number];
}

void summary_add(struct summary *summary, const struct journey *journey)
{
	struct summary_group *group = find_group(summary, journey);
	uint64_t ns[PATH_STAGES] = {};
	uint32_t passed = 0;

	summary->journeys++;
	if (!group) {
		summary->ungrouped++;
		return;
	}
	group->ends[min_of(journey->end, (uint8_t)PATH_UNFINISHED)]++;
	/* A stage passed twice (backlog of a tunnel) counts once, with its total time. */
	for (uint32_t i = 0; i < journey->stage_count; i++) {
		const struct journey_stage *stage = &journey->stages[i];

		if (stage->stage < PATH_STAGES) {
			ns[stage->stage] += stage->ns;
			passed |= 1u << stage->stage;
		}
	}
	for (unsigned i = 1; i < PATH_STAGES; i++)
		if (passed >> i & 1)
			spread_add(&group->stages[i], ns[i]);
		else if (journey->hidden >> i & 1)
			group->hidden[i]++;
	spread_add(&group->total, journey->total_ns);
	tail_add(&group->tail, journey);
}

uint8_t summary_dir(const struct summary_group *group)
{
	return *(const uint8_t *)group->key; /* the first key */
}

static int compare_groups(const void *left, const void *right)
{
	const struct summary_group *a = *(struct summary_group *const *)left,
				   *b = *(struct summary_group *const *)right;

	if (summary_dir(a) != summary_dir(b))
		return summary_dir(a) < summary_dir(b) ? -1 : 1;
	if (a->total.sum != b->total.sum)
		return a->total.sum > b->total.sum ? -1 : 1;
	return 0;
}

void summary_sort(struct summary *summary)
{
	vec_sort(&summary->groups, compare_groups);
	/* Sorting renumbers the groups, so the index is rebuilt empty. */
	for (size_t i = 0; i < summary->groups.count; i++) {
		size_t *number = map_get(&summary->index, summary->groups.items[i]->key);

		if (number)
			*number = i;
	}
}
