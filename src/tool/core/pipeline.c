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

static bool is_recorded(const struct session *session)
{
	return session->options->input.file != NULL;
}

/* --- events and their shapes --------------------------------------------------------------------------------------- */

static int no_event(const char *name, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};

	registry_each(event, event)
		near_consider(&near, (*event)->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 60));
	return why_set(why, -EINVAL, "there is no event '%s'%s (nest events lists them)", buf_text(&shown),
		       buf_text(&hint));
}

static int find_events(struct session *session, struct why *why)
{
	for (unsigned i = 0; i < TOOL_EVENTS_MAX && session->plan->events[i]; i++) {
		const struct event *event = event_find(session->plan->events[i]);

		if (!event)
			return no_event(session->plan->events[i], why);
		session->requests[i].event = event;
		session->shapes[i] = event_shape(event);
		session->shapes[i].aliases = session->aliases;
		session->count++;
	}
	return session->count ? 0 : why_set(why, -EINVAL, "no event was named");
}

/* Several events in one table: the fields of all of them, each name once. */
static void join_types(struct session *session)
{
	row_layout_init(&session->joint);
	for (unsigned i = 0; i < session->count; i++) {
		const struct record_type *type = session->requests[i].event->type;

		for (uint32_t f = 0; f < type->field_count; f++) {
			bool known = false;

			vec_each(&session->joint.fields, field)
				known |= strcmp(field->name, type->fields[f].name) == 0;
			if (!known)
				row_layout_add(&session->joint, &type->fields[f]);
		}
	}
	session->joint_type = (struct record_type){.name = "events",
						   .help = "several events",
						   .fields = session->joint.fields.items,
						   .field_count = (uint32_t)session->joint.fields.count,
						   .size = session->joint.size};
	session->joint_row = xzalloc(max_of(session->joint.size, 8u));
}

static const void *join_record(struct session *session, unsigned request, const struct record *record)
{
	const struct record_type *type = session->requests[request].event->type;

	for (size_t i = 0; i < session->joint.fields.count; i++) {
		const struct field *like = &session->joint.fields.items[i], *from = NULL;

		for (uint32_t f = 0; !from && f < type->field_count; f++)
			if (strcmp(type->fields[f].name, like->name) == 0 && type->fields[f].store == like->store &&
			    type->fields[f].size == like->size)
				from = &type->fields[f];
		row_set(&session->joint, i, session->joint_row, from, record->parts[EVENT_PART_DATA]);
	}
	return session->joint_row;
}

/* --- the filter ---------------------------------------------------------------------------------------------------- */

/* The user's own words first, alone: a mistake is pointed at where they wrote it. */
static int check_where(const struct session *session, struct why *why)
{
	const char *text = session->options->output.where;
	struct why reason = {};

	if (!text)
		return 0;
	if (strcmp(text, "help") == 0)
		output_help(&session->shapes[0]);
	for (unsigned i = 0; i < session->count; i++) {
		_cleanup_(expr_freep) struct expr *expr = NULL;
		int r = expr_parse(text, &session->shapes[i], &expr, &reason);

		if (r < 0)
			return why_set(why, r, "--where: %s", reason.text);
	}
	return 0;
}

static int make_filter(struct session *session, unsigned request, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(EXPR_TEXT_MAX);
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct event_config *config = &session->requests[request].config;
	struct field_ref at = {};
	int r = trace_options_where(session->options, &session->shapes[request], &text, why);

	if (r < 0)
		return r;
	if (session->plan->where.len)
		where_add(&text, "%s", buf_text(&session->plan->where));
	if (session->plan->where_of[request])
		where_add(&text, "%s", session->plan->where_of[request]);
	if (session->options->output.where)
		where_add(&text, "%s", session->options->output.where);
	if (text.over)
		return why_set(why, -E2BIG, "the conditions are too long together");
	config->by_tree = session->options->children || session->options->command.argc > 0;
	if (config->by_tree)
		config->needs |= EVENT_NEED_OWNER;
	config->by_cgroup = session->options->cgroup && !is_recorded(session);
	if (config->by_cgroup)
		config->needs |= EVENT_NEED_CGROUP;
	if (text.len == 0)
		return 0;
	r = expr_parse(buf_text(&text), &session->shapes[request], &expr, why);
	if (r < 0)
		return r;
	while (shape_next(&session->shapes[request], &at))
		if (expr_uses(expr, at))
			config->needs |= event_field_needs(at);
	/* There is no kernel behind a recording. */
	if (is_recorded(session) || !event_filter_add(config, expr) || session->requests[request].event->spills)
		session->where[request] = take_ptr(expr);
	return 0;
}

/* --- adding up in the kernel --------------------------------------------------------------------------------------- */

/* The word of the key at this place of the event, a new one if need be; NULL when there is no room. */
static struct event_key_word *key_word(struct event_config *config, uint32_t offset)
{
	for (uint32_t i = 0; i < config->key_words; i++)
		if (config->key[i].offset == offset)
			return &config->key[i];
	if (config->key_words == EVENT_KEY_WORDS)
		return NULL;
	config->key[config->key_words] = (struct event_key_word){.offset = (uint16_t)offset};
	return &config->key[config->key_words++];
}

/* What the kernel must group by for a key; several keys may need the same. */
static bool add_key(struct event_config *config, uint32_t offset, uint32_t size)
{
	if (size > sizeof(struct addr))
		return false;
	for (uint32_t at = offset; at < offset + size; at++) {
		struct event_key_word *word = key_word(config, at / 8 * 8);

		if (!word)
			return false;
		((uint8_t *)&word->mask)[at % 8] = 0xff;
	}
	return true;
}

/* What the program adds is found from a number that the kernel has. */
static bool add_extra_key(struct event_config *config, uint32_t offset)
{
	switch (offset) {
	case offsetof(struct event_extra, event):
		return true;
	case offsetof(struct event_extra, cgroup):
	case offsetof(struct event_extra, container):
		return add_key(config, offsetof(struct event_head, cgroup_id), sizeof(uint64_t));
	case offsetof(struct event_extra, kstack):
		return add_key(config, offsetof(struct event_head, kstack_id), sizeof(int32_t));
	case offsetof(struct event_extra, ustack):
		return add_key(config, offsetof(struct event_head, ustack_id), sizeof(int32_t)) &&
		       add_key(config, offsetof(struct event_head, pid), sizeof(uint32_t));
	default:
		return false;
	}
}

static bool add_keys(const struct session *session, unsigned request, struct event_config *config)
{
	for (size_t k = 0; k < aggregate_key_count(session->aggregate); k++) {
		struct field_ref ref = aggregate_key(session->aggregate, request, k);
		bool fits = true;

		if (!ref.field)
			continue;
		if (ref.part == EVENT_PART_EXTRA)
			fits = add_extra_key(config, ref.field->offset);
		else
			fits = ref.field->kind != KIND_TIME && event_field_offset(ref) >= 0 &&
			       add_key(config, (uint32_t)event_field_offset(ref), ref.field->size);
		if (!fits)
			return false;
	}
	return true;
}

/* The kernel adds up where it can decide everything; else events come one by one and are added up here. */
static void make_aggregation(struct session *session, unsigned request)
{
	struct event_config *config = &session->requests[request].config, trial;
	struct field_ref value = aggregate_value(session->aggregate, request);
	const struct aggregate_spec *spec = &session->plan->aggregate;

	for (size_t k = 0; k < aggregate_key_count(session->aggregate); k++) {
		struct field_ref key = aggregate_key(session->aggregate, request, k);

		if (key.field)
			config->needs |= event_field_needs(key);
		session->with_extra |= key.field && key.part == EVENT_PART_EXTRA;
	}
	if (value.field)
		config->needs |= event_field_needs(value);
	trial = *config;
	/* What is kept comes one by one, and so does what was, and what brings its stack along. */
	if (is_recorded(session) || session->options->save || session->requests[request].event->frames_at ||
	    session->requests[request].event->spills)
		return;
	if (session->where[request] || !add_keys(session, request, &trial) ||
	    (spec->kind != AGGREGATE_COUNT && (!value.field || event_field_offset(value) < 0)))
		return;
	trial.mode = aggregate_mode(spec);
	if (value.field) {
		trial.value_offset = (uint16_t)event_field_offset(value);
		trial.value_form = (uint8_t)event_number_form(value.field);
		trial.value_flags = event_number_flags(value.field);
	}
	for (unsigned i = 0; spec->table && i < EVENT_ADDS_MAX && spec->table->adds[i]; i++) {
		struct field_ref added = aggregate_added(session->aggregate, request, i);

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

/* --- the output ---------------------------------------------------------------------------------------------------- */

struct columns {
	VEC(struct output_column) items;
};

/* The tool's columns, or the event's own, with what options add in front and behind. */
static void choose_columns(const struct session *session, const struct shape *shape, struct columns *columns)
{
	const struct trace_options *options = session->options;
	struct field_ref at = {};

	if (options->time_of_day)
		vec_push(&columns->items, (struct output_column){.field = "time_ns"});
	if (options->time_since)
		vec_push(&columns->items, (struct output_column){.field = "elapsed_ns"});
	for (const struct output_column *own = session->plan->columns; own && own->field; own++)
		vec_push(&columns->items, *own);
	while (!session->plan->columns && shape_next(shape, &at))
		if (!at.field->hidden)
			vec_push(&columns->items, (struct output_column){.field = at.field->name});
	if (options->kernel_stack)
		vec_push(&columns->items, (struct output_column){.field = "kstack"});
	if (options->user_stack)
		vec_push(&columns->items, (struct output_column){.field = "ustack"});
	vec_push(&columns->items, (struct output_column){});
}

/* What is shown must be filled in. */
static void need_shown(struct session *session, const struct output_options *output, const struct shape *shape,
		       const struct columns *columns)
{
	const struct text_list *show = &output->show;
	uint32_t needs = session->options->kernel_stack ? EVENT_NEED_KSTACK : 0;
	struct field_ref ref;

	if (session->options->user_stack)
		needs |= EVENT_NEED_USTACK | EVENT_NEED_OWNER;
	if (output_shows_all(output)) {
		needs |= NEEDS_OF_ALL;
		session->with_extra = true;
	}
	for (size_t i = 0; i < show->count; i++)
		if (shape_find(shape, show->items[i], &ref) == 0) {
			needs |= event_field_needs(ref);
			session->with_extra |= ref.part == EVENT_PART_EXTRA;
		}
	vec_each(&columns->items, column)
		if (!show->count && column->field && shape_find(shape, column->field, &ref) == 0) {
			needs |= event_field_needs(ref);
			session->with_extra |= ref.part == EVENT_PART_EXTRA;
		}
	for (unsigned i = 0; i < session->count; i++)
		session->requests[i].config.needs |= needs;
}

static int open_stream(struct session *session, const struct output_options *output, struct why *why)
{
	struct shape shape = session->shapes[0];
	struct columns columns = {};
	int r;

	if (session->count > 1) {
		join_types(session);
		shape.types[EVENT_PART_DATA] = &session->joint_type;
	}
	choose_columns(session, &shape, &columns);
	need_shown(session, output, &shape, &columns);
	r = output_open_columns(output, &shape, columns.items.items, &session->output, why);
	if (r == 0)
		output_stream(session->output);
	vec_done(&columns.items);
	return r;
}

static int open_groups(struct session *session, const struct output_options *output, struct why *why)
{
	struct shape shape;
	int r = aggregate_open(&session->plan->aggregate, session->shapes, session->count, &session->aggregate, why);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < session->count; i++)
		make_aggregation(session, i);
	shape = SHAPE_OF(aggregate_type(session->aggregate));
	return output_open_columns(output, &shape, session->plan->columns, &session->output, why);
}

/* A recording is to answer questions that nobody has asked yet. */
static void need_all(struct session *session)
{
	uint32_t needs = NEEDS_OF_ALL;

	if (session->options->kernel_stack)
		needs |= EVENT_NEED_KSTACK;
	if (session->options->user_stack)
		needs |= EVENT_NEED_USTACK;
	for (unsigned i = 0; i < session->count; i++)
		session->requests[i].config.needs |= needs;
	session->with_extra = true;
}

int session_open(struct session *session, const struct trace_plan *plan, const struct trace_options *options,
		 struct why *why)
{
	struct output_options output = options->output;
	int r;

	*session = (struct session){
		.plan = plan, .options = options, .start_ns = clock_real_ns(), .cgroups = CGROUPS_INIT};
	session->aliases = output_aliases(plan->columns);
	/* The filter is applied before, to events. */
	output.where = NULL;
	if (!output.json && !output.csv && !output.format)
		output.format = plan->format;
	r = find_events(session, why);
	if (options->save || plan->silent)
		need_all(session);
	if (r == 0)
		r = check_where(session, why);
	for (unsigned i = 0; r == 0 && i < session->count; i++)
		r = make_filter(session, i, why);
	if (r < 0 || plan->silent)
		return r;
	if (plan->aggregate.kind == AGGREGATE_NONE)
		r = open_stream(session, &output, why);
	else
		r = open_groups(session, &output, why);
	return r;
}

int session_keep(struct session *session, struct store *store)
{
	session->store = store;
	for (unsigned i = 0; session->kept == 0 && i < session->count; i++)
		session->kept = store_table_open(store, session->requests[i].event->name, &session->shapes[i],
						 &session->tables[i]);
	return session->kept;
}

int session_close(struct session *session)
{
	int r = session->output ? output_close(session->output) : 0;

	aggregate_close(session->aggregate);
	free(session->aliases);
	for (unsigned i = 0; i < session->count; i++)
		expr_free(session->where[i]);
	if (session->joint_row)
		row_layout_done(&session->joint);
	free(session->joint_row);
	cgroups_done(&session->cgroups);
	stacks_done(&session->stacks);
	return r;
}

/* --- events -------------------------------------------------------------------------------------------------------- */

static void fill_extra(struct session *session, unsigned request, const struct event_head *head,
		       struct event_extra *extra)
{
	const struct cgroup_known *cgroup = cgroups_find(&session->cgroups, head->cgroup_id);
	/* First of all: the process may end while the names of the kernel are read. */
	struct stack ustack = stacks_user(&session->stacks, head->pid, head->ustack_id);

	*extra = (struct event_extra){
		.elapsed_ns = head->time_ns > session->start_ns ? head->time_ns - session->start_ns : 0,
		.event = session->requests[request].event->name,
		.cgroup = cgroup ? cgroup->path : NULL,
		.container = cgroup ? cgroup->container : NULL,
		.kstack = stacks_kernel(&session->stacks, head->kstack_id),
		.ustack = ustack,
	};
	if (head->time_ns == 0)
		extra->elapsed_ns = UINT64_MAX;
}

void session_event(void *context, unsigned request, struct record *record)
{
	struct session *session = context;
	struct event_extra extra;

	if (!record->parts[EVENT_PART_EXTRA] && (session->with_extra || session->where[request])) {
		fill_extra(session, request, record->parts[EVENT_PART_HEAD], &extra);
		record->parts[EVENT_PART_EXTRA] = &extra;
	}
	if (session->where[request] && !expr_matches(session->where[request], record))
		return;
	session->seen++;
	if (session->store && session->kept == 0)
		session->kept = store_add(session->tables[request], record);
	if (session->plan->silent)
		return;
	if (session->aggregate) {
		aggregate_add(session->aggregate, request, record);
		return;
	}
	if (session->joint_row)
		record->parts[EVENT_PART_DATA] = join_record(session, request, record);
	(void)output_record(session->output, record);
}

void session_group(void *context, unsigned request, struct record *record, const struct event_group *group)
{
	struct session *session = context;
	struct event_extra extra;

	fill_extra(session, request, record->parts[EVENT_PART_HEAD], &extra);
	record->parts[EVENT_PART_EXTRA] = &extra;
	session->seen += group->count;
	aggregate_merge(session->aggregate, request, record, group);
}

/* --- groups -------------------------------------------------------------------------------------------------------- */

static bool is_text(const struct session *session)
{
	const struct output_options *output = &session->options->output;

	return !output->json && !output->csv && !output->format;
}

static bool is_hist(const struct session *session)
{
	return is_text(session) && !session->plan->aggregate.table &&
	       aggregate_mode(&session->plan->aggregate) >= EVENT_LOG2;
}

static bool is_stacks(const struct session *session)
{
	return is_text(session) && !session->plan->aggregate.table && draw_has_stack(session->aggregate);
}

static void show_row(const void *row, void *context)
{
	struct session *session = context;
	struct record record = RECORD_OF(row);

	if (is_hist(session))
		draw_hist(session->aggregate, row, output_out(session->output));
	else if (is_stacks(session))
		draw_stack(session->aggregate, row, output_out(session->output));
	else
		(void)output_record(session->output, &record);
}

void session_show_groups(struct session *session, uint64_t now)
{
	if (!session->aggregate)
		return;
	/* Pictures are to be compared with the ones before, and stay. */
	if (is_text(session) && session->repeated)
		output_interval(session->output, now, !is_hist(session) && !is_stacks(session));
	aggregate_set_span(session->aggregate, session->shown_ns ? now - session->shown_ns : session->span_ns);
	if (session->shown_ns)
		session->shown_ns = now;
	if (aggregate_take(session->aggregate, now, show_row, session) == 0 && is_hist(session))
		hist_print(output_out(session->output), aggregate_hist_field(session->aggregate), NULL, 0, 0);
}
