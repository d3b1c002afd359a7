/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the calls of a session into a sequence diagram. */
#include "flow/draw/session_diagram.h"
#include "flow/analyse/fold.h"
#include "view/format.h"

#define LINES_MAX 16
#define ITEMS_MAX 4000
/* Longer rows of calls are always folded. */
#define UNFOLDED_MAX 100
/* Shorter gaps between two calls of a session get no row. */
#define GAP_SHARE 0.02

const char *const session_diagram_line_names[] = {"functions", "modules", "threads", NULL};

/* Origin of a passed value: the lifeline of the pushing call. */
struct handed {
	uint64_t value;
	uint32_t line;
};

struct draw {
	const struct call_list *list;
	const struct session_diagram_options *options;
	struct sequence *out;
	struct map lines; /* text -> lifeline */
	uint64_t depth;   /* drawn depth */
	uint64_t start_ticks;
	bool with_threads;    /* several threads: names go into the lifelines */
	bool with_tids;       /* the names are ambiguous */
	bool *is_wanted;      /* by call: on the call path to the subject, or called there; NULL: all */
	struct forest forest; /* for folding rows */
	VEC(struct handed) handed;
};

static const char *thread_name(const struct draw *d, uint32_t thread)
{
	const struct flow_thread *t = &d->list->trace->threads[thread];

	return t->name[0] ? t->name : "thread";
}

static void name_threads(struct draw *d)
{
	const struct call_list *list = d->list;
	struct map names = MAP_INIT(0, sizeof(uint32_t), 0); /* -> thread, plus 1 */

	for (size_t i = 0; i < list->roots.count; i++) {
		uint32_t thread = list->calls.items[list->roots.items[i]].thread;
		uint32_t *known = map_put(&names, thread_name(d, thread), NULL);

		d->with_threads |= thread != list->calls.items[list->roots.items[0]].thread;
		d->with_tids |= *known && *known != thread + 1;
		*known = thread + 1;
	}
	map_done(&names);
}

static void add_line_name(const struct draw *d, const struct listed_call *call, struct buf *out)
{
	const struct flow_function *function = &d->list->trace->functions[call->fn];
	uint32_t tid = d->list->trace->threads[call->thread].tid;

	if (d->options->prefix) {
		buf_add_text(out, d->options->prefix);
		if (d->with_threads || d->options->lines == DIAGRAM_THREADS)
			buf_add_format(out, " %u", tid);
		if (d->options->lines == DIAGRAM_THREADS)
			return;
		buf_add_text(out, ": ");
	} else if (d->options->lines == DIAGRAM_THREADS) {
		buf_add_format(out, "%s (%u)", thread_name(d, call->thread), tid);
		return;
	} else if (d->with_tids) {
		buf_add_format(out, "%s %u: ", thread_name(d, call->thread), tid);
	} else if (d->with_threads) {
		buf_add_format(out, "%s: ", thread_name(d, call->thread));
	}
	buf_add_text(out, d->options->lines == DIAGRAM_MODULES ? d->list->trace->modules[function->module].name
							       : function->name);
}

static uint32_t line_of(struct draw *d, const struct listed_call *call)
{
	_cleanup_buf_ struct buf name = BUF_INIT(8192);
	uint32_t *line;
	bool is_new;

	add_line_name(d, call, &name);
	line = map_put(&d->lines, buf_text(&name), &is_new);
	if (is_new) {
		*line = (uint32_t)d->out->lines.count;
		vec_push(&d->out->lines, xstrdup(buf_text(&name)));
	}
	return *line;
}

static bool is_drawn(const struct draw *d, const struct listed_call *call, unsigned depth)
{
	return depth < d->depth && !(d->options->is_hidden && d->options->is_hidden[call->fn]);
}

/* Whether the call's share of the session is too small to draw. Its callees take even less. */
static bool is_short(const struct draw *d, const struct listed_call *call)
{
	const struct flow_row *session = d->list->session;

	return call->parent != CALL_NONE &&
	       (double)(call->end_ticks - call->start_ticks) <
		       d->options->least_share * (double)(session->end_ticks - session->start_ticks);
}

static uint64_t ns_of(const struct draw *d, uint64_t ticks)
{
	return flow_span_ns(d->list->trace, ticks);
}

static struct sequence_item *add(struct draw *d, enum sequence_kind kind, uint32_t from, uint32_t to, unsigned depth)
{
	struct sequence_item *item = vec_add(&d->out->items);

	*item = (struct sequence_item){.kind = (uint8_t)kind, .from = from, .to = to, .depth = depth, .times = 1};
	return item;
}

/* A value pushed here and popped in another thread, which continues with it. */
static void draw_value(struct draw *d, const struct listed_call *call, uint32_t line, unsigned depth)
{
	char text[40];

	if (!call->has_value)
		return;
	if (call->value_kind == FLOW_VALUE_PUSH) {
		vec_push(&d->handed, (struct handed){call->value, line});
		return;
	}
	for (size_t i = d->handed.count; i-- > 0;)
		if (d->handed.items[i].value == call->value) {
			struct sequence_item *item = add(d, SEQUENCE_VALUE, d->handed.items[i].line, line, depth);

			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)call->value);
			item->label = sequence_text(d->out, text);
			item->start_ns = ns_of(d, call->start_ticks - d->start_ticks);
			return;
		}
}

/*
 * The connection continues in another thread without a reported value: then the descriptor itself was passed. Drawn
 * from the last call of the previous segment to the first of this one.
 */
static void draw_passing(struct draw *d, uint32_t last_root, uint32_t root)
{
	const struct listed_call *from = &d->list->calls.items[last_root], *to = &d->list->calls.items[root];
	struct sequence_item *item;
	char text[40];

	if (d->list->fd < 0 || from->thread == to->thread || !is_drawn(d, from, 0) || !is_drawn(d, to, 0))
		return;
	for (uint32_t i = 0; i < to->size; i++)
		if (to[i].has_value && to[i].value_kind == FLOW_VALUE_POP)
			return;
	item = add(d, SEQUENCE_VALUE, line_of(d, from), line_of(d, to), 0);
	snprintf(text, sizeof(text), "descriptor %d", d->list->fd);
	item->label = sequence_text(d->out, text);
	item->start_ns = ns_of(d, to->start_ticks - d->start_ticks);
}

static void draw_row(struct draw *d, const uint32_t *calls, size_t count, uint32_t caller, unsigned depth);

/* Callees, with undrawn ones replaced by their own callees. Returns how many were omitted. */
static uint32_t collect_inside(const struct draw *d, uint32_t at, struct forest_row *ret_calls)
{
	uint32_t left_out = 0;

	for (uint32_t c = d->list->calls.items[at].first; c != CALL_NONE; c = d->list->calls.items[c].next) {
		const struct listed_call *call = &d->list->calls.items[c];

		if ((d->is_wanted && !d->is_wanted[c]) || is_short(d, call))
			left_out += call->size;
		else if (d->options->is_hidden && d->options->is_hidden[call->fn])
			left_out += collect_inside(d, c, ret_calls);
		else
			vec_push(&ret_calls->items, (struct forest_item){c, 1});
	}
	return left_out;
}

static void draw_call(struct draw *d, uint32_t at, uint32_t caller, unsigned depth, uint32_t times)
{
	const struct listed_call *call = &d->list->calls.items[at];
	uint32_t line = line_of(d, call);
	struct forest_row inside = {};
	struct sequence_item *item;
	size_t index;

	if (call->is_marked)
		add(d, SEQUENCE_BOX, line, line, depth)->label = sequence_text(d->out, d->options->mark);
	item = add(d, SEQUENCE_CALL, caller == CALL_NONE ? line : caller, line, depth);
	index = d->out->items.count - 1;
	item->label = sequence_text(d->out, d->list->trace->functions[call->fn].name);
	item->times = times;
	item->start_ns = ns_of(d, call->start_ticks - d->start_ticks);
	item->ns = ns_of(d, call->end_ticks - call->start_ticks);
	draw_value(d, call, line, depth + 1);
	if (depth + 1 < d->depth) {
		uint32_t left_out = collect_inside(d, at, &inside);

		d->out->items.items[index].folded = left_out;
		d->out->folded += left_out;
	} else {
		/* Values passed inside are passed here. */
		for (uint32_t i = 1; i < call->size; i++)
			draw_value(d, &call[i], line, depth + 1);
		d->out->items.items[index].folded = call->size - 1;
		d->out->folded += call->size - 1;
	}
	if (inside.items.count) {
		uint32_t *calls = xrealloc_array(NULL, inside.items.count, sizeof(*calls));

		for (size_t i = 0; i < inside.items.count; i++)
			calls[i] = inside.items.items[i].node;
		draw_row(d, calls, inside.items.count, line, depth + 1);
		free(calls);
	}
	vec_done(&inside.items);
	add(d, SEQUENCE_RETURN, line, caller == CALL_NONE ? line : caller, depth);
	if (call->is_marked)
		add(d, SEQUENCE_BOX_END, line, line, depth);
}

/* Calls of a row covered by an item of its fold. */
static size_t width_of(const struct forest *forest, const struct forest_item *item)
{
	const struct forest_node *node = &forest->nodes.items[item->node];
	size_t width = 0;

	if (node->fn != FOREST_BLOCK)
		return item->times;
	for (uint32_t i = 0; i < node->count; i++)
		width += width_of(forest, &forest->items.items[node->first + i]);
	return width * item->times;
}

static uint64_t time_of(const struct draw *d, const uint32_t *calls, size_t count)
{
	uint64_t ticks = 0;

	for (size_t i = 0; i < count; i++)
		ticks += d->list->calls.items[calls[i]].end_ticks - d->list->calls.items[calls[i]].start_ticks;
	return ns_of(d, ticks);
}

static void draw_items(struct draw *d, const struct forest_item *items, size_t count, const uint32_t *calls,
		       uint32_t caller, unsigned depth)
{
	for (size_t i = 0; i < count; i++) {
		struct forest_item item = items[i];
		size_t width = width_of(&d->forest, &item), index;
		const struct forest_node *node = &d->forest.nodes.items[item.node];
		bool is_group = node->fn == FOREST_BLOCK;

		if (!is_group && item.times == 1) {
			draw_call(d, calls[0], caller, depth, 1);
			calls++;
			continue;
		}
		add(d, SEQUENCE_LOOP, 0, 0, depth);
		index = d->out->items.count - 1;
		d->out->items.items[index].times = item.times;
		d->out->items.items[index].ns = time_of(d, calls, width);
		if (is_group) {
			/* The forest may move while inner rows are folded. */
			uint32_t first = node->first, n = node->count;
			struct forest_item *copy = xrealloc_array(NULL, n, sizeof(*copy));

			memcpy(copy, d->forest.items.items + first, n * sizeof(*copy));
			draw_items(d, copy, n, calls, caller, depth);
			free(copy);
		} else {
			draw_call(d, calls[0], caller, depth, 1);
		}
		add(d, SEQUENCE_LOOP_END, 0, 0, depth);
		calls += width;
	}
}

/* A marked call is drawn separately: it is the subject. */
static uint32_t symbol_of(const struct draw *d, uint32_t call, bool marks)
{
	return d->list->calls.items[call].node * 2 + (marks && d->list->calls.items[call].is_marked);
}

static void draw_row(struct draw *d, const uint32_t *calls, size_t count, uint32_t caller, unsigned depth)
{
	struct forest_row row = {};

	if (d->options->is_unfolded && count <= UNFOLDED_MAX) {
		for (size_t i = 0; i < count; i++)
			draw_call(d, calls[i], caller, depth, 1);
		return;
	}
	for (size_t i = 0; i < count; i++)
		vec_push(&row.items,
			 (struct forest_item){forest_cons(&d->forest, symbol_of(d, calls[i], true), NULL, 0), 1});
	fold_row(&d->forest, &(struct fold_options){}, &row);
	draw_items(d, row.items.items, row.items.count, calls, caller, depth);
	vec_done(&row.items);
}

/* --- automatic depth --- */

static size_t lines_at_depth(const struct call_list *list, const struct session_diagram_options *options,
			     uint64_t depth, size_t *ret_calls)
{
	struct draw d = {.list = list, .options = options, .lines = MAP_INIT(0, sizeof(uint32_t), 0), .depth = depth};
	struct sequence scratch = {};
	size_t count;

	d.out = &scratch;
	name_threads(&d);
	*ret_calls = 0;
	for (size_t i = 0; i < list->calls.count; i++) {
		const struct listed_call *call = &list->calls.items[i];

		if (!is_drawn(&d, call, call->depth) || is_short(&d, call))
			continue;
		(void)line_of(&d, call);
		++*ret_calls;
		if (d.lines.count > 10000)
			break;
	}
	count = d.lines.count;
	map_done(&d.lines);
	sequence_done(&scratch);
	return count;
}

static uint64_t depth_that_fits(const struct call_list *list, const struct session_diagram_options *options)
{
	size_t lines_max = options->max_lines ? options->max_lines : LINES_MAX;
	size_t items_max = options->max_items ? options->max_items : ITEMS_MAX, calls;
	uint64_t depth = 1, deepest = 1;

	if (options->depth)
		return options->depth;
	vec_each(&list->calls, call) {
		deepest = max_of(deepest, (uint64_t)call->depth + 1);
		/* Contains the subject. */
		if (call->is_marked)
			depth = max_of(depth, (uint64_t)call->depth + 2);
	}
	while (depth < deepest && lines_at_depth(list, options, depth + 1, &calls) <= lines_max && calls <= items_max)
		depth++;
	return depth;
}

/* Too much context: draw only the call path to the subject, and its callees. */
static void focus(struct draw *d)
{
	const struct call_list *list = d->list;
	size_t lines_max = d->options->max_lines ? d->options->max_lines : LINES_MAX, calls;
	bool any = false;

	vec_each(&list->calls, call)
		any |= call->is_marked;
	if (!any || d->options->depth || lines_at_depth(list, d->options, d->depth, &calls) <= lines_max)
		return;
	d->is_wanted = xzalloc(max_of(list->calls.count, (size_t)1));
	for (size_t i = 0; i < list->roots.count; i++)
		d->is_wanted[list->roots.items[i]] = true;
	for (uint32_t i = 0; i < list->calls.count; i++) {
		const struct listed_call *call = &list->calls.items[i];

		if (call->parent != CALL_NONE && list->calls.items[call->parent].is_marked)
			d->is_wanted[i] = true;
		for (uint32_t at = i; call->is_marked && at != CALL_NONE; at = list->calls.items[at].parent)
			d->is_wanted[at] = true;
	}
}

static void draw_segment(struct draw *d, uint32_t root, uint64_t *last_end, uint64_t least_gap)
{
	const struct listed_call *call = &d->list->calls.items[root];
	uint32_t calls[1] = {root};

	if (*last_end && call->start_ticks > *last_end && call->start_ticks - *last_end >= least_gap) {
		struct sequence_item *gap = add(d, SEQUENCE_GAP, 0, 0, 0);

		gap->ns = ns_of(d, call->start_ticks - *last_end);
		gap->start_ns = ns_of(d, *last_end - d->start_ticks);
	}
	*last_end = max_of(*last_end, call->end_ticks);
	if (is_drawn(d, call, 0)) {
		draw_call(d, calls[0], CALL_NONE, 0, 1);
	} else {
		struct forest_row inside = {};

		(void)collect_inside(d, root, &inside);
		for (size_t i = 0; i < inside.items.count; i++)
			draw_call(d, inside.items.items[i].node, CALL_NONE, 0, 1);
		vec_done(&inside.items);
	}
}

void session_diagram_draw(const struct call_list *list, const struct session_diagram_options *options,
			  struct sequence *ret_sequence)
{
	struct draw d = {
		.list = list,
		.options = options,
		.out = ret_sequence,
		.lines = MAP_INIT(0, sizeof(uint32_t), 0),
		.depth = depth_that_fits(list, options),
		.start_ticks = list->session->start_ticks,
	};
	uint64_t last_end = 0;

	focus(&d);
	forest_init(&d.forest, 0);
	name_threads(&d);
	for (size_t i = 0; i < list->roots.count; i++) {
		if (i)
			draw_passing(&d, list->roots.items[i - 1], list->roots.items[i]);
		draw_segment(&d, list->roots.items[i], &last_end,
			     (uint64_t)(GAP_SHARE * (double)(list->session->end_ticks - list->session->start_ticks)));
	}
	if (list->session->is_open && last_end && list->session->end_ticks > last_end)
		add(&d, SEQUENCE_GAP, 0, 0, 0)->ns = ns_of(&d, list->session->end_ticks - last_end);
	forest_done(&d.forest);
	map_done(&d.lines);
	vec_done(&d.handed);
	free(d.is_wanted);
}
