/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "event/core/filter.h"
#include "record/expr.h"
#include "tool/core/draw.h"
#include "tool/core/pipeline.h"

#define NEEDS_OF_ALL (~(uint32_t)(EVENT_NEED_KSTACK | EVENT_NEED_USTACK))

static bool is_recorded(const struct pipeline *pipeline)
{
	return pipeline->options->input.file != NULL;
}

/* --- events and their shapes -------------------------------------------------------------------------------------- */

static int no_event(const char *name, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};

	registry_each(event, event)
		near_consider(&near, (*event)->name);
	registry_each(event_union, entry)
		near_consider(&near, (*entry)->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 60));
	return why_set(why, -EINVAL, "there is no event '%s'%s (nest events lists them)", buf_text(&shown),
		       buf_text(&hint));
}

static int find_events(struct pipeline *pipeline, struct why *why)
{
	const struct trace_plan *plan = pipeline->plan;

	for (unsigned i = 0; i < TOOL_EVENTS_MAX && plan->events[i]; i++) {
		const struct event *events[EVENT_UNION_MAX];
		unsigned count = event_resolve(plan->events[i], events);

		if (count == 0)
			return no_event(plan->events[i], why);
		if (pipeline->count + count > TOOL_EVENTS_MAX)
			return why_set(why, -EINVAL, "at most %d events together", TOOL_EVENTS_MAX);
		for (unsigned k = 0; k < count; k++) {
			unsigned request = pipeline->count++;

			pipeline->requests[request].event = events[k];
			pipeline->shapes[request] = event_shape(events[k]);
			pipeline->shapes[request].aliases = pipeline->aliases;
			pipeline->where_of[request] = plan->where_of[i];
		}
	}
	return pipeline->count ? 0 : why_set(why, -EINVAL, "no event given");
}

/* Whether all values of the one field are values of the other with its meaning. */
static bool is_within(const struct field *field, const struct field *wide)
{
	bool same = field->store == wide->store && field->size == wide->size;

	return strcmp(field->name, wide->name) == 0 && field->kind == wide->kind && field->names == wide->names &&
	       (same || (STORES_UNSIGNED & 1u << field->store && STORES_UNSIGNED & 1u << wide->store &&
			 field->size < wide->size));
}

/* The field of one of the events that the others' of this name fit into. */
static const struct field *widest(const struct pipeline *pipeline, const struct field *field)
{
	for (unsigned i = 0; i < pipeline->count; i++) {
		const struct record_type *type = pipeline->requests[i].event->type;

		for (uint32_t f = 0; f < type->field_count; f++)
			if (is_within(field, &type->fields[f]) && type->fields[f].size > field->size)
				field = &type->fields[f];
	}
	return field;
}

/* Several events in one table: the union of their fields. */
static struct shape join_shapes(struct pipeline *pipeline)
{
	struct shape shape = pipeline->shapes[0];

	row_layout_init(&pipeline->joint);
	for (unsigned i = 0; i < pipeline->count; i++) {
		const struct record_type *type = pipeline->requests[i].event->type;

		/* An event without a process has fewer fields of the same structs. */
		for (unsigned part = EVENT_PART_HEAD; part <= EVENT_PART_EXTRA; part++)
			if (pipeline->shapes[i].types[part]->field_count > shape.types[part]->field_count)
				shape.types[part] = pipeline->shapes[i].types[part];
		for (uint32_t f = 0; f < type->field_count; f++) {
			bool known = false;

			vec_each(&pipeline->joint.fields, field)
				known |= strcmp(field->name, type->fields[f].name) == 0;
			if (!known)
				row_layout_add(&pipeline->joint, widest(pipeline, &type->fields[f]));
		}
	}
	pipeline->joint_type = (struct record_type){.name = "events",
						    .help = "several events",
						    .fields = pipeline->joint.fields.items,
						    .field_count = (uint32_t)pipeline->joint.fields.count,
						    .size = pipeline->joint.size};
	pipeline->joint_row = xzalloc(max_of(pipeline->joint.size, 8u));
	shape.types[EVENT_PART_DATA] = &pipeline->joint_type;
	return shape;
}

static const void *join_record(struct pipeline *pipeline, unsigned request, const struct record *record)
{
	const struct record_type *type = pipeline->requests[request].event->type;

	for (size_t i = 0; i < pipeline->joint.fields.count; i++) {
		const struct field *like = &pipeline->joint.fields.items[i], *from = NULL;

		for (uint32_t f = 0; !from && f < type->field_count; f++)
			if (is_within(&type->fields[f], like))
				from = &type->fields[f];
		row_set(&pipeline->joint, i, pipeline->joint_row, from, record->parts[EVENT_PART_DATA]);
	}
	return pipeline->joint_row;
}

/* --- the filter --------------------------------------------------------------------------------------------------- */

static struct shape rows_shape(const struct pipeline *pipeline)
{
	struct shape shape = SHAPE_OF(aggregate_type(pipeline->aggregate));

	shape.aliases = pipeline->aliases;
	return shape;
}

/* An expression over the aggregated figures is none over events: it filters the rows. */
static bool is_about_rows(const struct pipeline *pipeline, const char *text)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct why ignored = {};
	struct shape shape;

	if (!pipeline->aggregate)
		return false;
	shape = rows_shape(pipeline);
	return expr_parse(text, &shape, &expr, &ignored) == 0;
}

/* Check the user's expression alone first: an error then points into it. */
static int check_where(struct pipeline *pipeline, struct why *why)
{
	const char *text = pipeline->options->output.where;
	struct why reason = {};

	if (!text)
		return 0;
	if (strcmp(text, "help") == 0)
		return output_help(&pipeline->shapes[0], why);
	for (unsigned i = 0; i < pipeline->count; i++) {
		_cleanup_(expr_freep) struct expr *expr = NULL;
		int r = expr_parse(text, &pipeline->shapes[i], &expr, &reason);

		if (r < 0) {
			pipeline->where_rows = is_about_rows(pipeline, text);
			return pipeline->where_rows ? 0 : why_set(why, r, "--where: %s", reason.text);
		}
	}
	return 0;
}

static int make_filter(struct pipeline *pipeline, unsigned request, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(EXPR_TEXT_MAX);
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct event_config *config = &pipeline->requests[request].config;
	struct field_ref at = {};
	int r = trace_options_where(pipeline->options, pipeline->requests[request].event, &text, why);

	if (r < 0)
		return r;
	if (pipeline->plan->where.len)
		trace_where_add(&text, "%s", buf_text(&pipeline->plan->where));
	if (pipeline->where_of[request])
		trace_where_add(&text, "%s", pipeline->where_of[request]);
	if (pipeline->options->output.where && !pipeline->where_rows)
		trace_where_add(&text, "%s", pipeline->options->output.where);
	if (text.over)
		return why_set(why, -E2BIG, "the filter conditions are too long");
	config->by_tree = pipeline->options->children || pipeline->options->command.argc > 0;
	if (config->by_tree)
		config->needs |= EVENT_NEED_OWNER;
	config->by_cgroup = pipeline->options->cgroup && !is_recorded(pipeline);
	if (config->by_cgroup)
		config->needs |= EVENT_NEED_CGROUP;
	if (text.len == 0)
		return 0;
	r = expr_parse(buf_text(&text), &pipeline->shapes[request], &expr, why);
	if (r < 0)
		return r;
	while (shape_next(&pipeline->shapes[request], &at))
		if (expr_uses(expr, at))
			config->needs |= event_field_needs(at);
	/* A recording has no kernel side. */
	if (is_recorded(pipeline) || !event_filter_add(config, expr) || pipeline->requests[request].event->spills)
		pipeline->where[request] = take_ptr(expr);
	return 0;
}

/* --- adding up in the kernel -------------------------------------------------------------------------------------- */

/* Fields made in user space are derived from a number of the kernel. */
static bool add_extra_key(struct event_config *config, uint32_t offset)
{
	switch (offset) {
	case offsetof(struct event_extra, event):
		return true;
	case offsetof(struct event_extra, cgroup):
	case offsetof(struct event_extra, container):
		return event_key_add(config, offsetof(struct event_head, cgroup_id), sizeof(uint64_t));
	case offsetof(struct event_extra, kstack):
		return event_key_add(config, offsetof(struct event_head, kstack_id), sizeof(int32_t));
	case offsetof(struct event_extra, ustack):
		return event_key_add(config, offsetof(struct event_head, ustack_id), sizeof(int32_t)) &&
		       event_key_add(config, offsetof(struct event_head, pid), sizeof(uint32_t));
	default:
		return false;
	}
}

static bool add_keys(const struct pipeline *pipeline, unsigned request, struct event_config *config)
{
	for (size_t k = 0; k < aggregate_key_count(pipeline->aggregate); k++) {
		struct field_ref ref = aggregate_key(pipeline->aggregate, request, k);
		bool fits = true;

		if (!ref.field)
			continue;
		if (ref.part == EVENT_PART_EXTRA)
			fits = add_extra_key(config, ref.field->offset);
		else
			fits = ref.field->kind != KIND_TIME && event_field_offset(ref) >= 0 &&
			       event_key_add(config, (uint32_t)event_field_offset(ref), ref.field->size);
		if (!fits)
			return false;
	}
	return true;
}

/* The kernel aggregates if it can evaluate the whole filter; otherwise events are streamed and aggregated here. */
static void make_aggregation(struct pipeline *pipeline, unsigned request)
{
	struct event_config *config = &pipeline->requests[request].config, trial;
	struct field_ref value = aggregate_value(pipeline->aggregate, request);
	const struct aggregate_spec *spec = &pipeline->plan->aggregate;

	for (size_t k = 0; k < aggregate_key_count(pipeline->aggregate); k++) {
		struct field_ref key = aggregate_key(pipeline->aggregate, request, k);

		if (key.field)
			config->needs |= event_field_needs(key);
		pipeline->with_extra |= key.field && key.part == EVENT_PART_EXTRA;
	}
	if (value.field)
		config->needs |= event_field_needs(value);
	trial = *config;
	/* Stream if the events are saved, come from a recording, or carry their stack. */
	if (is_recorded(pipeline) || pipeline->options->save || pipeline->requests[request].event->frames_at ||
	    pipeline->requests[request].event->spills)
		return;
	if (pipeline->where[request] || !add_keys(pipeline, request, &trial) ||
	    (spec->kind != AGGREGATE_COUNT && (!value.field || event_field_offset(value) < 0)))
		return;
	trial.mode = aggregate_mode(spec);
	if (value.field) {
		trial.value_offset = (uint16_t)event_field_offset(value);
		trial.value_form = (uint8_t)event_number_form(value.field);
		trial.value_flags = event_number_flags(value.field);
	}
	for (unsigned i = 0; spec->table && i < EVENT_ADDS_MAX && spec->table->adds[i]; i++) {
		struct field_ref added = aggregate_added(pipeline->aggregate, request, i);

		if (!added.field || event_field_offset(added) < 0)
			return;
		trial.adds[trial.add_count++] = (struct event_added){.offset = (uint16_t)event_field_offset(added),
								     .form = (uint8_t)event_number_form(added.field),
								     .flags = event_number_flags(added.field)};
	}
	trial.slot_count = aggregate_slot_count(spec);
	trial.slot_first = spec->first;
	trial.slot_width = max_of(spec->step, 1);
	*config = trial;
}

/* --- the output --------------------------------------------------------------------------------------------------- */

struct columns {
	VEC(struct output_column) items;
};

/* Columns of the tool or of the event, plus those that options add in front and behind. */
static void choose_columns(const struct pipeline *pipeline, const struct shape *shape, struct columns *columns)
{
	const struct trace_options *options = pipeline->options;
	struct field_ref at = {};

	if (options->time_of_day)
		vec_push(&columns->items, (struct output_column){.field = "time_ns"});
	if (options->time_since)
		vec_push(&columns->items, (struct output_column){.field = "elapsed_ns"});
	for (const struct output_column *own = pipeline->plan->columns; own && own->field; own++)
		vec_push(&columns->items, *own);
	while (!pipeline->plan->columns && shape_next(shape, &at))
		if (!at.field->hidden)
			vec_push(&columns->items, (struct output_column){.field = at.field->name});
	if (options->kernel_stack)
		vec_push(&columns->items, (struct output_column){.field = "kstack"});
	if (options->user_stack)
		vec_push(&columns->items, (struct output_column){.field = "ustack"});
	vec_push(&columns->items, (struct output_column){});
}

/* Displayed fields must be filled in. */
static void need_shown(struct pipeline *pipeline, const struct output_options *output, const struct shape *shape,
		       const struct columns *columns)
{
	const struct text_list *show = &output->show;
	uint32_t needs = pipeline->options->kernel_stack ? EVENT_NEED_KSTACK : 0;
	struct field_ref ref;

	if (pipeline->options->user_stack)
		needs |= EVENT_NEED_USTACK | EVENT_NEED_OWNER;
	if (output_shows_all(output)) {
		needs |= NEEDS_OF_ALL;
		pipeline->with_extra = true;
	}
	for (size_t i = 0; i < show->count; i++)
		if (shape_find(shape, show->items[i], &ref) == 0) {
			needs |= event_field_needs(ref);
			pipeline->with_extra |= ref.part == EVENT_PART_EXTRA;
		}
	vec_each(&columns->items, column)
		if (!show->count && column->field && shape_find(shape, column->field, &ref) == 0) {
			needs |= event_field_needs(ref);
			pipeline->with_extra |= ref.part == EVENT_PART_EXTRA;
		}
	for (unsigned i = 0; i < pipeline->count; i++)
		pipeline->requests[i].config.needs |= needs;
}

static int open_stream(struct pipeline *pipeline, const struct output_options *output, struct why *why)
{
	struct shape shape = pipeline->shapes[0];
	struct columns columns = {};
	int r;

	if (pipeline->count > 1)
		shape = join_shapes(pipeline);
	choose_columns(pipeline, &shape, &columns);
	need_shown(pipeline, output, &shape, &columns);
	r = output_open_columns(output, &shape, columns.items.items, &pipeline->output, why);
	if (r == 0)
		output_stream(pipeline->output);
	vec_done(&columns.items);
	return r;
}

static int open_groups(struct pipeline *pipeline, struct output_options *output, struct why *why)
{
	const struct trace_options *options = pipeline->options;
	struct shape shape = rows_shape(pipeline);

	if (options->kernel_stack || options->user_stack)
		return why_set(why, -EINVAL, "%s does not apply to sums: nest trace %s --count --by %s groups by it",
			       options->kernel_stack ? "--stack" : "--ustack", pipeline->requests[0].event->name,
			       options->kernel_stack ? "kstack" : "ustack");
	for (unsigned i = 0; i < pipeline->count; i++)
		make_aggregation(pipeline, i);
	if (pipeline->where_rows)
		output->where = pipeline->options->output.where;
	return output_open_columns(output, &shape, pipeline->plan->columns, &pipeline->output, why);
}

/* A recording keeps all fields. */
static void need_all(struct pipeline *pipeline)
{
	uint32_t needs = NEEDS_OF_ALL;

	if (pipeline->options->kernel_stack)
		needs |= EVENT_NEED_KSTACK;
	if (pipeline->options->user_stack)
		needs |= EVENT_NEED_USTACK;
	for (unsigned i = 0; i < pipeline->count; i++)
		pipeline->requests[i].config.needs |= needs;
	pipeline->with_extra = true;
}

int pipeline_open(struct pipeline *pipeline, const struct trace_plan *plan, const struct trace_options *options,
		  struct why *why)
{
	struct output_options output = options->output;
	int r;

	*pipeline = (struct pipeline){
		.plan = plan, .options = options, .start_ns = clock_real_ns(), .cgroups = CGROUPS_INIT};
	pipeline->aliases = output_aliases(plan->columns);
	/* The filter applies to events, before aggregation, unless it is about the aggregated rows. */
	output.where = NULL;
	if (!output.json && !output.csv && !output.format)
		output.format = plan->format;
	r = find_events(pipeline, why);
	if (options->save || plan->silent)
		need_all(pipeline);
	if (r == 0 && plan->aggregate.kind != AGGREGATE_NONE && !plan->silent)
		r = aggregate_open(&plan->aggregate, pipeline->shapes, pipeline->count, &pipeline->aggregate, why);
	if (r == 0)
		r = check_where(pipeline, why);
	for (unsigned i = 0; r == 0 && i < pipeline->count; i++)
		r = make_filter(pipeline, i, why);
	if (r < 0 || plan->silent)
		return r;
	if (plan->aggregate.kind == AGGREGATE_NONE)
		r = open_stream(pipeline, &output, why);
	else
		r = open_groups(pipeline, &output, why);
	return r;
}

int pipeline_keep(struct pipeline *pipeline, struct store *store)
{
	pipeline->store = store;
	for (unsigned i = 0; pipeline->kept == 0 && i < pipeline->count; i++)
		pipeline->kept = store_table_open(store, pipeline->requests[i].event->name, &pipeline->shapes[i],
						  &pipeline->tables[i]);
	return pipeline->kept;
}

int pipeline_close(struct pipeline *pipeline)
{
	int r = pipeline->output ? output_close(pipeline->output) : 0;

	aggregate_close(pipeline->aggregate);
	free(pipeline->aliases);
	for (unsigned i = 0; i < pipeline->count; i++)
		expr_free(pipeline->where[i]);
	if (pipeline->joint_row)
		row_layout_done(&pipeline->joint);
	free(pipeline->joint_row);
	cgroups_done(&pipeline->cgroups);
	stacks_done(&pipeline->stacks);
	return r;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void fill_extra(struct pipeline *pipeline, unsigned request, const struct event_head *head,
		       struct event_extra *extra)
{
	const struct cgroup_known *cgroup = cgroups_find(&pipeline->cgroups, head->cgroup_id);
	/* First: the process may exit while kernel symbols are loaded. */
	struct stack ustack = stacks_user(&pipeline->stacks, head->pid, head->ustack_id);

	*extra = (struct event_extra){
		.elapsed_ns = head->time_ns > pipeline->start_ns ? head->time_ns - pipeline->start_ns : 0,
		.event = pipeline->requests[request].event->name,
		.cgroup = cgroup ? cgroup->path : NULL,
		.container = cgroup ? cgroup->container : NULL,
		.kstack = stacks_kernel(&pipeline->stacks, head->kstack_id),
		.ustack = ustack,
	};
	if (head->time_ns == 0)
		extra->elapsed_ns = UINT64_MAX;
}

/* Whether an event is within the rate. */
static bool is_to_be_kept(struct pipeline *pipeline, const struct event_head *head)
{
	uint64_t second = head->time_ns / NSEC_PER_SEC;

	if (pipeline->plan->keep_rate == 0)
		return true;
	if (second != pipeline->kept_second) {
		pipeline->kept_second = second;
		pipeline->kept_now = 0;
	}
	if (pipeline->kept_now < pipeline->plan->keep_rate) {
		pipeline->kept_now++;
		return true;
	}
	pipeline->left_out++;
	return false;
}

void pipeline_event(void *context, unsigned request, struct record *record)
{
	struct pipeline *pipeline = context;
	struct event_extra extra;

	if (!record->parts[EVENT_PART_EXTRA] && (pipeline->with_extra || pipeline->where[request])) {
		fill_extra(pipeline, request, record->parts[EVENT_PART_HEAD], &extra);
		record->parts[EVENT_PART_EXTRA] = &extra;
	}
	if (pipeline->where[request] && !expr_matches(pipeline->where[request], record))
		return;
	pipeline->seen++;
	if (pipeline->store && pipeline->kept == 0 && is_to_be_kept(pipeline, record->parts[EVENT_PART_HEAD]))
		pipeline->kept = store_add(pipeline->tables[request], record);
	if (pipeline->plan->silent)
		return;
	if (pipeline->aggregate) {
		aggregate_add(pipeline->aggregate, request, record);
		return;
	}
	if (pipeline->joint_row)
		record->parts[EVENT_PART_DATA] = join_record(pipeline, request, record);
	(void)output_record(pipeline->output, record);
}

void pipeline_group(void *context, unsigned request, struct record *record, const struct event_group *group)
{
	struct pipeline *pipeline = context;
	struct event_extra extra;

	fill_extra(pipeline, request, record->parts[EVENT_PART_HEAD], &extra);
	record->parts[EVENT_PART_EXTRA] = &extra;
	pipeline->seen += group->count;
	aggregate_merge(pipeline->aggregate, request, record, group);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static bool is_text(const struct pipeline *pipeline)
{
	const struct output_options *output = &pipeline->options->output;

	return !output->json && !output->csv && !output->format;
}

static bool is_hist(const struct pipeline *pipeline)
{
	return is_text(pipeline) && !pipeline->plan->aggregate.table &&
	       aggregate_mode(&pipeline->plan->aggregate) >= EVENT_LOG2;
}

static bool is_stacks(const struct pipeline *pipeline)
{
	return is_text(pipeline) && !pipeline->plan->aggregate.table && draw_has_stack(pipeline->aggregate);
}

static void show_row(const void *row, void *context)
{
	struct pipeline *pipeline = context;
	struct record record = RECORD_OF(row);

	if (!output_wants(pipeline->output, &record))
		return;
	if (is_hist(pipeline))
		draw_hist(pipeline->aggregate, row, output_out(pipeline->output));
	else if (is_stacks(pipeline))
		draw_stack(pipeline->aggregate, row, output_out(pipeline->output));
	else
		(void)output_record(pipeline->output, &record);
}

/* Above the sums of an interval, and those of a whole run if asked for. */
static void show_moment(struct pipeline *pipeline, uint64_t now)
{
	const struct trace_options *options = pipeline->options;
	struct output_moment moment = {.time_ns = now, .elapsed_ns = UINT64_MAX};

	if (!is_text(pipeline) || !(pipeline->repeated || options->time_of_day || options->time_since))
		return;
	/* That of a recording is where its first interval begins. */
	if (is_recorded(pipeline) && pipeline->start_ns > now)
		pipeline->start_ns = now - pipeline->span_ns;
	if (options->time_since)
		moment.elapsed_ns = now - pipeline->start_ns;
	if (options->time_since && !options->time_of_day)
		moment.time_ns = 0;
	/* Pictures are to be compared with the ones before, and stay. */
	output_interval(pipeline->output, &moment, !is_hist(pipeline) && !is_stacks(pipeline));
}

void pipeline_show_groups(struct pipeline *pipeline, uint64_t now)
{
	if (!pipeline->aggregate)
		return;
	show_moment(pipeline, now);
	aggregate_set_span(pipeline->aggregate, pipeline->shown_ns ? now - pipeline->shown_ns : pipeline->span_ns);
	if (pipeline->shown_ns)
		pipeline->shown_ns = now;
	if (aggregate_take(pipeline->aggregate, now, show_row, pipeline) == 0 && is_hist(pipeline))
		hist_print(output_out(pipeline->output), aggregate_hist_field(pipeline->aggregate), NULL, 0, 0);
}
