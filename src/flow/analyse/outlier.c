/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/outlier.h"

#include <errno.h>

#include "view/format.h"

/* Fewer sessions show nothing. */
#define SESSIONS_LEAST 14
/* Smallest share of the usual number of calls in a session that does what others do. */
#define WORKS_SHARE 0.5
/* Sessions of a difference that is only mentioned. */
#define MEMBERS_MENTIONED 10

uint32_t outlier_set_common(const struct outlier_set *a, const struct outlier_set *b)
{
	uint32_t count = 0;

	for (size_t i = 0; i < OUTLIER_WORDS; i++)
		count += (uint32_t)__builtin_popcountll(a->words[i] & b->words[i]);
	return count;
}

bool outlier_is_begin(const struct outliers *o, uint32_t place)
{
	uint32_t caller = o->profile->places.items[place].parent;

	return !caller || o->profile->places.items[caller].is_dispatcher;
}

bool outlier_is_dispatch(const struct outliers *o, uint32_t place)
{
	return outlier_is_begin(o, place) && !o->cells->has_client[place] && !o->s->demux->has_values;
}

/* --- properties of places and sessions --- */

static void index_places(struct outliers *o)
{
	size_t n = o->profile->places.count;
	_cleanup_free_ uint32_t *caller = xzalloc((o->s->trace->function_count + 1) * sizeof(*caller)),
				*any = xzalloc((o->s->trace->function_count + 1) * sizeof(*any));

	o->height = xzalloc((n + 1) * sizeof(*o->height));
	o->many_callers = xzalloc(o->s->trace->function_count + 1);
	o->is_shared = xzalloc(o->s->trace->function_count + 1);
	for (uint32_t place = 1; place < n; place++) {
		const struct profile_place *p = &o->profile->places.items[place];
		uint32_t up = o->profile->places.items[p->parent].fn + 1;
		size_t count;

		o->is_shared[p->fn] |= any[p->fn] && any[p->fn] != up;
		any[p->fn] = up;
		(void)outlier_cells(o, place, &count);
		if (!count)
			continue;
		o->many_callers[p->fn] |= caller[p->fn] && caller[p->fn] != up;
		caller[p->fn] = up;
	}
	for (size_t i = n; i-- > 1;) {
		uint32_t parent = o->profile->places.items[i].parent;

		o->height[parent] = max_of(o->height[parent], o->height[i] + 1);
	}
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

/* Clients that send in more pieces than most. */
static void find_paced(struct outliers *o)
{
	uint32_t slots = o->cells->slots, usual = 0, most = 0;
	_cleanup_free_ uint32_t *reads = xzalloc((slots + 1) * sizeof(*reads));

	memcpy(reads, o->cells->reads, slots * sizeof(*reads));
	qsort(reads, slots, sizeof(*reads), by_number);
	for (uint32_t i = 0, end; i < slots; i = end) {
		for (end = i; end < slots && reads[end] == reads[i];)
			end++;
		if (end - i > most) {
			most = end - i;
			usual = reads[i];
		}
	}
	for (uint32_t i = 0; i < slots && most * 2 >= slots; i++)
		if (o->cells->reads[i] > usual)
			outlier_set_add(&o->paced, i);
}

/*
 * The first session of a thread meets cold caches, unlike the later ones. A thread that serves one session was made for
 * it, as all others of its kind.
 */
static uint32_t *sessions_of_threads(const struct outliers *o)
{
	uint32_t *served = xzalloc((o->s->trace->thread_count + 1) * sizeof(*served));

	for (size_t i = 0; i < o->s->list.count; i++) {
		served[o->s->list.items[i].thread]++;
		spill_trim_at(i);
	}
	return served;
}

/* Calls of half of the sessions. */
static uint64_t usual_calls(const struct outliers *o)
{
	flow_weighed_table calls = {};
	uint64_t usual;

	for (uint32_t i = 0; i < o->cells->slots; i++) {
		const struct flow_row *row = &o->s->list.items[o->cells->session_of[i]];

		spill_trim_apart(i);
		spill_push(&calls, (struct flow_weighed){o->s->forest.nodes.items[row->tree].calls,
							 flow_row_count(o->s, row), 0});
	}
	flow_weighed_sort(&calls);
	usual = flow_median(calls.items, calls.count);
	spill_done(&calls);
	return usual;
}

static void know_sessions(struct outliers *o)
{
	_cleanup_free_ bool *known = xzalloc(o->s->trace->thread_count + 1);
	_cleanup_free_ uint32_t *served = sessions_of_threads(o);
	uint64_t usual = usual_calls(o);
	bool is_first = true;

	o->weight = xzalloc((o->cells->slots + 1) * sizeof(*o->weight));
	for (size_t i = 0; i < o->s->list.count; i++) {
		const struct flow_row *row = &o->s->list.items[i];
		uint32_t slot = o->cells->slot_of.items[i];
		bool begins = is_first || (!known[row->thread] && served[row->thread] > 1);
		/* One that is refused because the program still begins to work is not the first. */
		bool works = o->s->forest.nodes.items[row->tree].calls >= WORKS_SHARE * (double)usual;

		spill_trim_at(i);
		if (!row->rx_bytes && !row->tx_bytes && o->s->demux->by == DEMUX_CONNECTION)
			continue;
		begins = begins && works;
		known[row->thread] |= works;
		is_first = is_first && !works;
		if (slot == DEMUX_NONE)
			continue;
		o->weight[slot] = (uint32_t)min_of(flow_row_count(o->s, row), (uint64_t)(UINT32_MAX >> 12));
		o->all += o->weight[slot];
		if (begins)
			outlier_set_add(&o->begins, slot);
	}
	find_paced(o);
}

/* --- the result --- */

static const char *const client_waits[PROFILE_TIMES] = {
	[PROFILE_DRIP] = "wait for the client to send", [PROFILE_STALL] = "wait for the client to read"};

static void describe_mark(const struct outliers *o, const struct outlier_mark *mark, struct buf *how)
{
	const char *name = mark->place ? o->s->trace->functions[o->profile->places.items[mark->place].fn].name : NULL;

	buf_add_text(how, "sessions ");
	if (mark->good_calls > 0)
		buf_add_format(how, "that call %s more often than the others", name);
	else if (mark->kind == DIVERGENCE_SLOWER && client_waits[mark->time])
		buf_add_format(how, "that %s longer than the others", client_waits[mark->time]);
	else if (mark->kind == DIVERGENCE_SLOWER && mark->time == PROFILE_CPU)
		buf_add_format(how, "in which %s computes longer than in the others", name ? name : "the program");
	else if (mark->kind == DIVERGENCE_SLOWER)
		buf_add_format(how, "in which %s takes longer than in the others", name ? name : "the program");
	else
		buf_add_format(how, "that %s %s, unlike the others",
			       mark->kind == DIVERGENCE_EXTRA ? "call" : "do not call", name);
}

/* What the trace does not have, and a comparison would use. */
static void add_limits(const struct outliers *o, struct buf *out)
{
	const char *source = flow_trace_property(o->s->trace, "source");
	bool is_probed = source && strcmp(source, "uprobes") == 0;
	const char *missing = !o->cells->delays.is_known  ? "scheduling delays not recorded"
			      : !o->cells->delays.has_cpu ? "CPU times not recorded"
							  : "";

	if (is_probed || *missing)
		buf_add_format(out, " (%s%s%s)", is_probed ? "probed functions only" : "",
			       is_probed && *missing ? ", " : "", missing);
}

static void describe(const struct outliers *o, const struct outlier_mark *mark, struct compare_outlier *ret_outlier)
{
	_cleanup_buf_ struct buf how = BUF_INIT(4096);
	uint32_t depth = o->profile->places.items[mark->place].depth, at = mark->place;

	describe_mark(o, mark, &how);
	add_limits(o, &how);
	*ret_outlier = (struct compare_outlier){
		.how = xstrdup(buf_text(&how)),
		.kind = mark->kind,
		.time = mark->time,
		.good_calls = mark->good_calls,
		.bad_calls = mark->bad_calls,
		.good_ns = mark->good_ns,
		.bad_ns = mark->bad_ns,
		.confidence = 1 - mark->chance,
	};
	for (uint32_t i = 0; i < depth; i++)
		(void)vec_add(&ret_outlier->path);
	for (uint32_t i = depth; i-- > 0; at = o->profile->places.items[at].parent)
		ret_outlier->path.items[i] = o->profile->places.items[at].fn;
}

/* As an expression over sessions. */
static void add_members(const struct outliers *o, const struct outlier_mark *mark, struct buf *out)
{
	const char *before = "session in (";
	unsigned count = 0;

	for (uint32_t i = 0; i < o->cells->slots && count < MEMBERS_MENTIONED; i++) {
		if (!outlier_set_has(&mark->few, i))
			continue;
		buf_add_format(out, "%s%u", before, o->cells->session_of[i] + 1);
		before = ", ";
		count++;
	}
	buf_add_text(out, ")");
}

/* What was compared, and how large a difference would have been found. */
static void describe_none(const struct outliers *o, const struct outlier_mark *calls,
			  struct compare_outlier *ret_outlier)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	buf_add_format(&text, "no session stands out: %.0f sessions compared", o->all);
	if (o->all < SESSIONS_LEAST) {
		buf_add_format(&text, "; at least %u are needed", SESSIONS_LEAST);
	} else {
		buf_add_text(&text, " at ");
		format_add_plural(&text, o->looked_at, "place");
		add_limits(o, &text);
		buf_add_text(&text, ". Two sessions would stand out by ");
		format_add_duration(&text, (int64_t)o->seen_own_ns);
		buf_add_text(&text, " more of the program's own time, ");
		if (o->cells->delays.has_cpu) {
			format_add_duration(&text, (int64_t)o->seen_cpu_ns);
			buf_add_text(&text, " more CPU time, ");
		}
		buf_add_text(&text, "or ");
		format_add_duration(&text, (int64_t)o->seen_client_ns);
		buf_add_text(&text, " more waiting for the client");
	}
	if (calls) {
		buf_add_format(&text, ". Not reported: %u ", calls->few.count);
		describe_mark(o, calls, &text);
		buf_add_text(&text, " (calls differ, time does not; --bad '");
		add_members(o, calls, &text);
		buf_add_text(&text, "' compares them)");
	}
	ret_outlier->how = xstrdup(buf_text(&text));
}

int compare_find_outliers(struct flow_sessions *s, uint8_t *ret_group_of, struct compare_outlier *ret_outlier,
			  struct why *why)
{
	struct profile *profile = xzalloc(sizeof(*profile));
	struct outliers *o = xzalloc(sizeof(*o));
	const struct outlier_mark *mark = NULL, *calls = NULL;
	struct profile_cells cells;

	*ret_outlier = (struct compare_outlier){};
	profile->trace = s->trace;
	profile_init(profile);
	profile_cells_fill(&cells, profile, &(struct profile_view){.sessions = s});
	*o = (struct outliers){.s = s, .profile = profile, .cells = &cells};
	index_places(o);
	know_sessions(o);
	if (o->all >= SESSIONS_LEAST) {
		mark = outlier_find_time(o);
		calls = mark ? NULL : outlier_find_calls(o);
	}
	for (size_t i = 0; i < s->list.count; i++) {
		uint32_t slot = cells.slot_of.items[i];
		bool counts = slot != DEMUX_NONE && o->weight[slot];

		ret_group_of[i] = !counts ? UINT8_MAX : mark && outlier_set_has(&mark->few, slot);
		spill_trim_at(i);
	}
	if (mark)
		describe(o, mark, ret_outlier);
	else
		describe_none(o, calls, ret_outlier);
	vec_done(&o->marks);
	free(o->weight);
	free(o->height);
	free(o->many_callers);
	free(o->is_shared);
	free(o);
	profile_cells_done(&cells);
	profile_free(profile);
	return mark ? 0 : why_set(why, -ENODATA, "%s", ret_outlier->how);
}

void compare_outlier_done(struct compare_outlier *outlier)
{
	free(outlier->how);
	vec_done(&outlier->path);
	*outlier = (struct compare_outlier){};
}
