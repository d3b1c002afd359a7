/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/tally.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "event/core/filter.h"
#include "event/core/live.h"
#include "record/expr.h"

/* Distinct values of `rest`: reasons, devices, namespaces. */
#define RESTS_MAX 1024
/* Keys per interval that the kernel has room for, as a multiple of the cap. */
#define KERNEL_FACTOR 4
/* After this time without an event a key makes room for others. */
#define RESTING_NS (60 * NSEC_PER_SEC)

/* Totals of one key, as in the kernel's maps. */
struct total {
	struct tally_figures before; /* of maps that were replaced */
	struct tally_figures now;    /* of the maps in use, as of this sample */
	uint64_t sample;             /* to which now belongs */
	uint64_t count;              /* of the last sample */
	uint64_t changed_ns;
	char event[]; /* with its keys alone */
};

/* In the order of appearance: a recording writes a row again when its position changes. */
struct totals {
	struct map index; /* event -> struct total * */
	VEC(struct total *) items;
};

struct tally_state {
	const struct tally *tally;
	const struct event *event;
	bool begun;        /* opened, or tried to */
	uint64_t sign;     /* memory of tally.sign */
	struct live *live; /* NULL: could not be opened, or not yet */
	int error;
	struct why why;
	uint32_t netns; /* of the filter; 0: several */
	bool of_time;   /* the value is time_ns */
	struct totals totals, rests;
	uint64_t sample;
	uint64_t groups; /* in the kernel's maps */
	uint64_t lost;   /* of rests, in this sample */
	uint64_t told;   /* losses reported so far */
	uint64_t boot_to_real_ns;
	VEC(struct field_ref) keys, rest_keys;
	void *coarse;
};

static void totals_done(struct totals *totals)
{
	vec_each(&totals->items, total)
		free(*total);
	vec_done(&totals->items);
	map_done(&totals->index);
}

/* NULL: at the cap. */
static struct total *totals_find(struct totals *totals, const void *event)
{
	struct total **slot = map_put(&totals->index, event, NULL);

	if (slot && !*slot) {
		*slot = xzalloc(sizeof(**slot) + totals->index.key_size);
		memcpy((*slot)->event, event, totals->index.key_size);
		vec_push(&totals->items, *slot);
	}
	return slot ? *slot : NULL;
}

static void state_free(struct tally_state *state)
{
	if (!state)
		return;
	live_close(state->live);
	totals_done(&state->totals);
	totals_done(&state->rests);
	vec_done(&state->keys);
	vec_done(&state->rest_keys);
	free(state->coarse);
	free(state);
}

void tally_release(void *data)
{
	state_free(*(struct tally_state **)data);
}

/* --- the request -------------------------------------------------------------------------------------------------- */

/* A tally that names a field wrongly is a mistake of this program. */
static struct field_ref field_of(const struct shape *shape, const char *name)
{
	struct field_ref ref;

	if (shape_find(shape, name, &ref) < 0 || event_field_offset(ref) < 0)
		abort();
	return ref;
}

static void request_keys(struct tally_state *state, const struct shape *shape, struct event_config *config)
{
	for (const char *const *key = state->tally->by; *key; key++) {
		struct field_ref ref = field_of(shape, *key);

		if (!event_key_add(config, (uint32_t)event_field_offset(ref), ref.field->size))
			abort();
		config->needs |= event_field_needs(ref);
		vec_push(&state->keys, ref);
	}
	for (const char *const *key = state->tally->rest; key && *key; key++)
		vec_push(&state->rest_keys, field_of(shape, *key));
}

static void request_figures(struct tally_state *state, const struct shape *shape, struct event_config *config)
{
	const struct tally *tally = state->tally;
	struct field_ref value;

	config->mode = tally->value ? EVENT_SUM : EVENT_COUNT;
	if (!tally->value)
		return;
	value = field_of(shape, tally->value);
	config->needs |= event_field_needs(value);
	config->value_offset = (uint16_t)event_field_offset(value);
	config->value_form = (uint8_t)event_number_form(value.field);
	config->value_flags = event_number_flags(value.field);
	state->of_time = config->needs & EVENT_NEED_TIME && strcmp(tally->value, "time_ns") == 0;
	for (unsigned i = 0; i < EVENT_ADDS_MAX && tally->adds[i]; i++) {
		struct field_ref added = field_of(shape, tally->adds[i]);

		config->needs |= event_field_needs(added);
		config->adds[config->add_count++] =
			(struct event_added){.offset = (uint16_t)event_field_offset(added),
					     .form = (uint8_t)event_number_form(added.field),
					     .flags = event_number_flags(added.field)};
	}
}

static int request_filter(const struct tally_state *state, const struct shape *shape, struct event_config *config,
			  struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(EXPR_TEXT_MAX);
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct field_ref at = {};
	int r;

	if (state->netns)
		buf_add_format(&text, "netns == %u", state->netns);
	if (state->tally->where)
		buf_add_format(&text, "%s(%s)", text.len ? " and " : "", state->tally->where);
	if (text.len == 0)
		return 0;
	r = expr_parse(buf_text(&text), shape, &expr, why);
	if (r < 0)
		return r;
	while (shape_next(shape, &at))
		if (expr_uses(expr, at))
			config->needs |= event_field_needs(at);
	return event_filter_add(config, expr)
		       ? 0
		       : why_set(why, -ENOTSUP, "the kernel cannot evaluate: %s", buf_text(&text));
}

/* --- adding up ---------------------------------------------------------------------------------------------------- */

static void add_extremes(struct tally_figures *sum, int64_t min, int64_t max, bool first)
{
	sum->min = first ? min : min_of(sum->min, min);
	sum->max = first ? max : max_of(sum->max, max);
}

static void add_group(struct tally_figures *sum, const struct event_group *group)
{
	if (group->min || group->max)
		add_extremes(sum, EVENT_GROUP_MIN_OF(group->min), EVENT_GROUP_MAX_OF(group->max), sum->count == 0);
	sum->count += group->count;
	sum->sum += group->sum;
	for (unsigned i = 0; i < EVENT_ADDS_MAX; i++)
		sum->adds[i] += (int64_t)group->slots[i];
}

static struct tally_figures figures_sum(const struct total *total)
{
	struct tally_figures sum = total->before;

	if (total->now.count > 0)
		add_extremes(&sum, total->now.min, total->now.max, sum.count == 0);
	sum.count += total->now.count;
	sum.sum += total->now.sum;
	for (unsigned i = 0; i < EVENT_ADDS_MAX; i++)
		sum.adds[i] += total->now.adds[i];
	return sum;
}

/* The key with all fields unknown but those of `rest`. */
static const void *coarse_key(struct tally_state *state, const struct record *record)
{
	event_clear(state->event, state->coarse);
	vec_each(&state->rest_keys, ref)
		memcpy((char *)state->coarse + event_field_offset(*ref),
		       (const char *)record->parts[ref->part] + ref->field->offset, ref->field->size);
	return state->coarse;
}

static void take_group(void *context, unsigned request _unused_, struct record *record, const struct event_group *group)
{
	struct tally_state *state = context;
	/* The parts of a group's record are contiguous: all bytes but the keys are the same in each. */
	struct total *total = totals_find(&state->totals, record->parts[EVENT_PART_HEAD]);

	state->groups++;
	if (!total)
		total = totals_find(&state->rests, coarse_key(state, record));
	if (!total) {
		state->lost += group->count;
		return;
	}
	if (total->sample != state->sample)
		total->now = (struct tally_figures){};
	total->sample = state->sample;
	add_group(&total->now, group);
}

/* The figures of a sample are complete; of maps that were replaced, they become those before. */
static void settle(struct totals *totals, uint64_t now_ns, bool replaced)
{
	size_t kept = 0;

	for (size_t i = 0; i < totals->items.count; i++) {
		struct total *total = totals->items.items[i];
		struct tally_figures all;

		all = figures_sum(total);
		if (all.count != total->count)
			total->changed_ns = now_ns;
		total->count = all.count;
		if (replaced) {
			total->before = all;
			total->now = (struct tally_figures){};
		}
		if (replaced && now_ns - total->changed_ns > RESTING_NS) {
			(void)map_remove(&totals->index, total->event);
			free(total);
			continue;
		}
		totals->items.items[kept++] = total;
	}
	totals->items.count = kept;
}

/* --- opening and reading ------------------------------------------------------------------------------------------ */

/* The namespace to limit the event to; 0: several. */
static uint32_t only_netns(const struct snapshot *snapshot)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &netns_type);

	return table->count == 1 ? ((const struct netns_record *)table->items)->netns : 0;
}

static struct tally_state *state_new(const struct tally *tally, uint32_t netns)
{
	struct tally_state *state = xzalloc(sizeof(*state));

	state->tally = tally;
	state->netns = netns;
	state->event = event_find(tally->event);
	if (!state->event)
		abort(); /* as field_of */
	state->totals.index = MAP_INIT(event_size(state->event), sizeof(struct total *), tally->cap);
	state->rests.index = MAP_INIT(event_size(state->event), sizeof(struct total *), RESTS_MAX);
	state->coarse = xzalloc(event_size(state->event));
	return state;
}

static int state_open(struct tally_state *state, struct why *why)
{
	/* Nothing is streamed. */
	const struct live_options options = {
		.buffer_bytes = 1, .groups_max = state->tally->cap * KERNEL_FACTOR, .groups_later = true};
	const struct event_sink sink = {.group = take_group, .context = state};
	struct event_request request = {.event = state->event, .cheap = true};
	struct shape shape = event_shape(state->event);
	int r = request_filter(state, &shape, &request.config, why);

	if (r < 0)
		return r;
	request_keys(state, &shape, &request.config);
	request_figures(state, &shape, &request.config);
	r = live_open(&request, 1, &options, &state->live, why);
	if (r == 0)
		live_set_sink(state->live, &sink);
	return r;
}

static int state_read(struct tally_state *state, uint64_t now_ns, struct why *why)
{
	bool crowded = state->groups > (uint64_t)state->tally->cap * KERNEL_FACTOR / 2;
	int r;

	state->sample++;
	state->groups = 0;
	state->lost = 0;
	/* Replacing the maps costs two grace periods: only when they fill up. */
	r = crowded ? live_collect(state->live, why) : live_read(state->live, why);
	if (r < 0)
		return r;
	if (crowded)
		state->groups = 0;
	settle(&state->totals, now_ns, crowded);
	settle(&state->rests, now_ns, crowded);
	return 0;
}

static void copy_keys(const struct tally_state *state, const struct record *event, const struct record_type *type,
		      void *record)
{
	vec_each(&state->keys, ref)
		for (uint32_t i = 0; i < type->field_count; i++) {
			const struct field *to = &type->fields[i];

			if (strcmp(to->name, ref->field->name) == 0 && to->store == ref->field->store &&
			    to->size == ref->field->size)
				memcpy((char *)record + to->offset,
				       (const char *)event->parts[ref->part] + ref->field->offset, to->size);
		}
}

static void add_records(struct tally_state *state, struct snapshot *snapshot, const struct totals *totals)
{
	struct snapshot_table *table = snapshot_table(snapshot, snapshot->source->types[0]);

	vec_each(&totals->items, total) {
		struct tally_figures figures = figures_sum(*total);
		const char *key = (*total)->event;
		struct record event = {
			.parts = {[EVENT_PART_HEAD] = key, [EVENT_PART_DATA] = key + sizeof(struct event_head)}};
		void *record = figures.count > 0 ? snapshot_table_add(table) : NULL;

		if (!record)
			continue;
		if (state->of_time) {
			figures.first_ns = (uint64_t)figures.min + state->boot_to_real_ns;
			figures.last_ns = (uint64_t)figures.max + state->boot_to_real_ns;
		}
		copy_keys(state, &event, table->type, record);
		if (!state->tally->fill(snapshot, &event, &figures, record))
			snapshot_table_drop(table);
	}
}

/*
 * The kernel counts its losses from the beginning; what did not fit among the rests is found again in each sample, as
 * long as the maps are the same.
 */
static uint64_t new_losses(struct tally_state *state)
{
	struct event_loss loss = live_loss(state->live, 0);
	uint64_t all = event_loss_total(&loss) + state->lost, fresh = all > state->told ? all - state->told : 0;

	state->told = max_of(state->told, all);
	/* Before the first reading there were no maps to count in. */
	return state->sample > 1 ? fresh : 0;
}

/* Again when other namespaces are asked for. */
static struct tally_state *state_of(const struct tally *tally, struct snapshot *snapshot)
{
	struct tally_state **state = snapshot_state(snapshot);
	uint32_t netns = only_netns(snapshot);

	if (*state && (*state)->netns != netns)
		state_free(take_ptr(*state));
	if (!*state)
		*state = state_new(tally, netns);
	return *state;
}

static void begin(struct tally_state *state, const struct snapshot *snapshot)
{
	const struct tally *tally = state->tally;

	state->begun = !tally->sign || tally->sign(snapshot, &state->sign);
	if (state->begun)
		state->error = state_open(state, &state->why);
}

int tally_collect(const struct tally *tally, struct snapshot *snapshot, const struct snapshot_request *request,
		  struct why *why)
{
	struct snapshot_table *table = snapshot_table(snapshot, snapshot->source->types[0]);
	struct tally_state *state;
	bool is_new;
	int r;

	if (!request->repeated || request->no_bpf)
		return 0;
	state = state_of(tally, snapshot);
	is_new = !state->begun;
	if (is_new)
		begin(state, snapshot);
	if (state->error < 0) {
		*why = state->why;
		return state->error;
	}
	/* The maps are set in the background. */
	if (is_new)
		return 0;
	/* Of every sample: moments in a recording must not drift apart from its clock. */
	state->boot_to_real_ns = snapshot->begin_time_ns - snapshot->begin_boot_ns;
	r = state_read(state, snapshot->begin_boot_ns, why);
	if (r < 0)
		return r;
	add_records(state, snapshot, &state->totals);
	add_records(state, snapshot, &state->rests);
	table->refused += new_losses(state);
	return 0;
}
