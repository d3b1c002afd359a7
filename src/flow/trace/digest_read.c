/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A summary as a trace: each row becomes a thread that serves one such session, with the average times of all calls
 * with the same tree. So trace readers also read summaries; they only need to weight the session by its count.
 */
#include "flow/trace/digest.h"

#include "base/alloc.h"
#include "flow/trace/trace_file.h"

/* Limits on calls per session and in total: a few nodes can expand to more than any memory holds. */
#define ROW_STEPS ((size_t)2 << 20)
#define ALL_STEPS ((size_t)16 << 20)
#define DEPTH_MAX 1024u

struct tree_facts {
	uint32_t begin; /* its first state */
	uint32_t first; /* first called tree */
	uint64_t calls; /* saturates */
};

struct expander {
	const struct digest_head *head;
	const struct digest_node *nodes;
	struct tree_facts *facts; /* by node */
	VEC(uint32_t) words;
	size_t steps, steps_max; /* counts steps, not words: trees may be empty */
	uint64_t last;           /* time of the last word */
	uint64_t clock;
	uint64_t gap;  /* between segments */
	uint32_t open; /* calls */
	uint32_t made_events, made_calls;
	uint64_t not_shown; /* omitted calls */
};

static bool check_nodes(const struct digest_head *head, const struct digest_node *nodes)
{
	for (uint32_t i = 1; i < head->node_count; i++)
		if (nodes[i].prev >= i || (nodes[i].times && (nodes[i].child >= i || !nodes[i].prev)) ||
		    (!nodes[i].times && nodes[i].prev))
			return false;
	return true;
}

static struct tree_facts *learn_trees(const struct digest_head *head, const struct digest_node *nodes)
{
	struct tree_facts *facts = xzalloc(((size_t)head->node_count + 1) * sizeof(*facts));

	for (uint32_t i = 1; i < head->node_count; i++) {
		const struct tree_facts *before = &facts[nodes[i].prev];
		uint64_t product;

		if (!nodes[i].times) {
			facts[i] = (struct tree_facts){.begin = i, .calls = nodes[i].child < DIGEST_PIECES};
			continue;
		}
		facts[i].begin = before->begin;
		facts[i].first = nodes[nodes[i].prev].times ? before->first : nodes[i].child;
		if (__builtin_mul_overflow(facts[nodes[i].child].calls, nodes[i].times, &product) ||
		    __builtin_add_overflow(before->calls, product, &facts[i].calls))
			facts[i].calls = UINT64_MAX;
	}
	return facts;
}

static void add_time(struct expander *e)
{
	vec_push(&e->words, flow_word_other(FLOW_O_TIME, 0, 0));
	vec_push(&e->words, (uint32_t)(e->clock - e->last));
	vec_push(&e->words, (uint32_t)((e->clock - e->last) >> 32));
	e->last = e->clock;
}

static void add_call(struct expander *e, uint32_t fn)
{
	if (e->clock - e->last >= FLOW_LONG_TICKS)
		add_time(e);
	if (e->clock - e->last < FLOW_SHORT_TICKS && fn && fn < FLOW_SHORT_FN) {
		vec_push(&e->words, flow_word_call(fn, (uint32_t)(e->clock - e->last)));
	} else {
		vec_push(&e->words, flow_word_call_long((uint32_t)(e->clock - e->last)));
		vec_push(&e->words, fn);
	}
	e->last = e->clock;
	e->made_calls++;
	e->made_events++;
}

static void add_return(struct expander *e)
{
	if (e->clock - e->last >= FLOW_LONG_TICKS)
		add_time(e);
	vec_push(&e->words, flow_word_return((uint32_t)(e->clock - e->last)));
	e->last = e->clock;
	e->made_events++;
}

static bool expand(struct expander *e, uint32_t node, uint32_t depth);

/*
 * Emits everything called up to this state, in order; split rows are joined: each piece looks like a call of the
 * function, and only its contents count. False when the limit is reached.
 */
static bool expand_row(struct expander *e, uint32_t state, uint32_t depth, bool in_pieces)
{
	VEC(uint32_t) states = {};
	bool fits = true;

	/* Expanding a long row repeatedly also counts as work, whatever it holds. */
	for (; fits && e->nodes[state].times; state = e->nodes[state].prev) {
		vec_push(&states, state);
		fits = ++e->steps <= e->steps_max;
	}
	for (size_t i = states.count; fits && i-- > 0;) {
		const struct digest_node *node = &e->nodes[states.items[i]];

		for (uint32_t n = 0; fits && n < node->times; n++)
			fits = in_pieces ? expand_row(e, node->child, depth, false) : expand(e, node->child, depth);
	}
	vec_done(&states);
	return fits;
}

static bool expand(struct expander *e, uint32_t node, uint32_t depth)
{
	const struct digest_node *n = &e->nodes[node];
	uint32_t fn = e->nodes[e->facts[node].begin].child;
	bool in_pieces = fn == DIGEST_PIECES, fits;
	uint64_t start, mean = n->count ? n->ticks / n->count : 0;

	if (depth > DEPTH_MAX || ++e->steps > e->steps_max)
		return false;
	if (fn == DIGEST_BLOCK)
		return expand_row(e, node, depth + 1, false);
	if (in_pieces)
		fn = e->nodes[e->facts[e->facts[node].first].begin].child;
	if (!e->open && e->made_calls)
		e->clock += e->gap;
	start = e->clock;
	add_call(e, fn);
	e->open++;
	fits = expand_row(e, node, depth + 1, in_pieces);
	e->open--;
	if (!fits)
		return false;
	if (mean < UINT64_MAX / 4 && start < UINT64_MAX / 4 && start + mean > e->clock)
		e->clock = start + mean;
	add_return(e);
	return true;
}

/* Segments of a session; what exceeds the limit is marked as lost. */
static void expand_session(struct expander *e, const struct digest_row *row)
{
	uint64_t lost;

	if (expand(e, row->tree, 0))
		return;
	/* As a loss within a thread; the summary's total of omitted calls is reported separately. */
	lost = e->facts[row->tree].calls - min_of(e->facts[row->tree].calls, (uint64_t)e->made_calls);
	vec_push(&e->words, flow_word_other(FLOW_O_LOST, 2, FLOW_LOST_OTHER));
	vec_push(&e->words, 0);
	vec_push(&e->words, 0);
	vec_push(&e->words, (uint32_t)lost);
	vec_push(&e->words, (uint32_t)(lost >> 32));
	e->not_shown = lost > UINT64_MAX / 2 / row->count ? UINT64_MAX / 2 : e->not_shown + lost * row->count;
}

static int add_row(struct flow_trace_file *file, struct expander *e, const struct digest_row *row, uint32_t id)
{
	struct flow_chunk_ref chunk = {.verified = true};
	uint64_t segments = row->segments / row->count;

	e->words.items = NULL;
	e->words.count = e->words.room = 0;
	e->last = e->clock = row->first;
	e->gap = segments > 1 ? min_of(row->wait / row->count / (segments - 1), UINT64_MAX >> 24) : 0;
	e->steps = e->open = e->made_calls = e->made_events = 0;
	expand_session(e, row);
	chunk.header = (struct flow_chunk){
		.kind = FLOW_CHUNK_EVENTS,
		.flags = e->head->untimed ? FLOW_UNTIMED : 0,
		.thread = id,
		.pid = row->pid,
		.tid = row->tid,
		.start_ticks = row->first,
		.end_ticks = max_of(row->last, e->last),
		.events = e->made_events,
		.calls = e->made_calls,
	};
	vec_push(&file->copies, (void *)e->words.items);
	chunk.words = e->words.items;
	chunk.word_count = (uint32_t)e->words.count;
	return trace_add_events(file, &chunk);
}

static struct flow_thread *thread_with(struct flow_trace_file *file, uint32_t id)
{
	const size_t *index = map_get(&file->thread_index, &id);

	return index ? &file->threads.items[*index].thread : NULL;
}

static void add_rows(struct flow_trace_file *file, struct expander *e, const struct digest_row *rows)
{
	size_t left = ALL_STEPS - min_of(ALL_STEPS, file->summary_steps);

	for (uint32_t i = 0; i < e->head->row_count; i++) {
		uint32_t id = (uint32_t)file->threads.count + 1;
		struct flow_thread *thread;

		if (!rows[i].count || rows[i].tree >= e->head->node_count || rows[i].first > rows[i].last)
			continue;
		e->steps_max = min_of(ROW_STEPS, left);
		if (add_row(file, e, &rows[i], id) < 0)
			return;
		left -= min_of(left, e->steps);
		file->summary_steps += e->steps;
		thread = thread_with(file, id);
		if (thread)
			thread->summary = &rows[i];
	}
}

void trace_take_summary(struct flow_trace_file *file, const uint8_t *data, size_t size)
{
	/* Copied for alignment: chunks are only 4-byte aligned. */
	uint8_t *payload = xmalloc(max_of(size, (size_t)1));
	const struct digest_head *head = (const void *)payload;
	struct expander e = {.head = head};
	struct flow_trace *trace = &file->trace;
	uint64_t events = trace->events, calls = trace->calls;
	size_t nodes, rows;

	memcpy(payload, data, size);
	vec_push(&file->copies, (void *)payload);
	if (size < sizeof(*head) || head->node_count > DIGEST_NODES || head->row_count > DIGEST_ROWS)
		goto damaged;
	nodes = head->node_count * sizeof(struct digest_node);
	rows = head->row_count * sizeof(struct digest_row);
	e.nodes = (const void *)(payload + sizeof(*head));
	if (size != sizeof(*head) + nodes + rows || !check_nodes(head, e.nodes))
		goto damaged;
	e.facts = learn_trees(head, e.nodes);
	add_rows(file, &e, (const void *)(payload + sizeof(*head) + nodes));
	free(e.facts);
	trace->events = events + head->events;
	trace->calls = calls + head->calls;
	trace->lost += head->lost;
	trace->cut += head->cut + e.not_shown;
	trace->dispatched += head->dispatched;
	trace->recorded_threads += head->threads;
	trace->summarised = true;
	return;
damaged:
	trace->damaged_bytes += size;
}
