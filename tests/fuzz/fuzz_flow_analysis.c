/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a trace, through all analyses: every call is counted once, nothing is read out of bounds. */
#include "flow/analyse/coarsen.h"
#include "flow/analyse/fold.h"
#include "flow/analyse/serving_thread.h"
#include "flow/draw/proxy_diagram.h"
#include "flow/draw/session_diagram.h"
#include "fuzz_flow.h"

static void draw(struct flow_sessions *s)
{
	struct sequence sequence = {};
	struct call_list *list = call_list_new(s, 0, NULL, 0);
	unsigned open = 0;

	session_diagram_draw(list, &(struct session_diagram_options){.max_items = 200}, &sequence);
	vec_each(&sequence.items, item) {
		bool opens = item->kind == SEQUENCE_CALL || item->kind == SEQUENCE_LOOP || item->kind == SEQUENCE_BOX;
		bool ends = item->kind == SEQUENCE_RETURN || item->kind == SEQUENCE_LOOP_END ||
			    item->kind == SEQUENCE_BOX_END;

		fuzz_require(item->kind == SEQUENCE_LOOP || item->kind == SEQUENCE_LOOP_END ||
			     item->kind == SEQUENCE_GAP || item->to < sequence.lines.count);
		fuzz_require(!ends || open);
		open += opens;
		open -= ends;
	}
	fuzz_require(!open);
	sequence_done(&sequence);
	call_list_free(list);
}

static void fold(struct flow_sessions *s)
{
	uint32_t tree = s->list.items[0].tree, *memo, folded;
	struct forest into;

	if (!tree)
		return;
	memo = xzalloc(s->forest.nodes.count * sizeof(*memo));
	forest_init(&into, s->trace->function_count);
	folded = fold_tree(&s->forest, tree, &(struct fold_options){}, &into, memo);
	fuzz_require(into.nodes.items[folded].calls == s->forest.nodes.items[tree].calls);
	forest_done(&into);
	free(memo);
}

/* Of the first socket that is described: any stretch of time has an answer or none, and shares are shares. */
static void ask(const struct flow_trace *trace)
{
	struct serving_question q = {.start_ns = flow_ns(trace, trace->first_ticks),
				     .end_ns = flow_ns(trace, trace->last_ticks)};
	struct serving_thread serving = {};
	struct why why = {};

	for (size_t i = 0; i < trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;
		struct flow_socket seen;

		flow_cursor_begin(&cursor, trace, i);
		while (flow_cursor_next(&cursor, &event))
			if (flow_event_socket(&event, &seen)) {
				q.local = seen.local;
				q.remote = seen.remote;
			}
	}
	if (serving_thread_find(trace, &q, &serving, &why) == 0)
		fuzz_require(serving.share > 0.49 && serving.share < 1.01 && serving.call_path.count);
	serving_thread_done(&serving);
}

/* A trace as the proxy of itself: if any request matches, a picture has lines for all that is in it. */
static void pair_up(struct flow_sessions *s)
{
	struct align *align = NULL;
	struct sequence sequence = {};
	struct why why = {};

	if (align_new(s, s, &align, &why) < 0)
		return;
	if (proxy_diagram_draw(&(struct proxy_diagram){.align = align, .proxy = s, .server = s},
			       &(struct session_diagram_options){}, &sequence, &why) == 0)
		vec_each(&sequence.items, item)
			fuzz_require(item->from < sequence.lines.count && item->to < sequence.lines.count);
	sequence_done(&sequence);
	align_free(align);
}

/* Sessions that stand out are in one of the groups, and what they were found by is told. */
static void find_odd(struct flow_sessions *s, uint8_t *group_of)
{
	struct compare_outlier outlier = {};
	struct comparison *c;
	struct why why = {};

	if (compare_find_outliers(s, group_of, &outlier, &why) == 0) {
		c = compare_groups(s, group_of, &(struct compare_options){.outlier = &outlier});
		fuzz_require(c->group[0].sessions && c->group[1].sessions && c->how);
		fuzz_require(!outlier.path.count || c->divergence.count);
		comparison_free(c);
	}
	compare_outlier_done(&outlier);
}

static void analyse(const struct flow_trace *trace, enum demux_by by)
{
	struct flow_sessions *s = NULL;
	struct comparison *c;
	struct why why = {};
	uint64_t calls = 0;
	uint8_t *group_of;

	fuzz_require(flow_sessions_new(trace, &(struct demux_options){.by = by}, &s, &why) == 0);
	for (size_t i = 0; i < s->list.count; i++)
		calls += flow_session_at(s, i).calls * flow_row_count(s, &s->list.items[i]);
	fuzz_require(calls + s->rest_calls + s->dispatch_calls == s->calls);
	group_of = xzalloc(s->list.count + 1);
	for (size_t i = 0; i < s->list.count; i++)
		group_of[i] = i % 2;
	c = compare_groups(s, group_of, &(struct compare_options){});
	fuzz_require(c->answer && c->answer[0]);
	comparison_free(c);
	find_odd(s, group_of);
	if (s->list.count) {
		fold(s);
		draw(s);
	}
	pair_up(s);
	free(group_of);
	flow_sessions_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *copy = xmalloc(max_of(size, (size_t)1));
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct why why = {};

	memcpy(copy, data, size);
	put_checksums_right(copy, size);
	if (flow_trace_open_memory(copy, size, &trace, &why) < 0)
		return 0;
	for (enum demux_by by = DEMUX_CONNECTION; by <= DEMUX_THREAD; by++)
		analyse(trace, by);
	ask(trace);
	return 0;
}
