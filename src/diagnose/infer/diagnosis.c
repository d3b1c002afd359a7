/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "diagnose/infer/diagnosis.h"
#include "diagnose/infer/engine.h"
#include "diagnose/infer/waits.h"
#include "diagnose/infer/whatif.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/far_end.h"
#include "diagnose/measure/time_use.h"
#include "diagnose/measure/unseen.h"

_Static_assert(TIME_WINDOWS == DIAGNOSIS_WINDOWS, "shares cover what a report covers");

/* --- record types --- */

static const struct field text_fields[] = {FIELD(struct text_record, text, TEXT, "the text")};
static const struct record_type text_type = {
	.name = "text", .fields = text_fields, .field_count = 1, .size = sizeof(struct text_record), .bare = true};

static const struct field evidence_fields[] = {
	FIELD(struct evidence_record, rule, TEXT, "rule that fired (nest explain RULE)"),
	FIELD(struct evidence_record, cf, RATIO, "certainty factor, from -1 to 1"),
	FIELD(struct evidence_record, text, TEXT, "the evidence, in one sentence"),
};
RECORD_TYPE(evidence_type, "evidence", struct evidence_record, evidence_fields,
	    "evidence of one rule for or against a finding");

static const struct enum_name severity_items[] = {{SEVERITY_LOW, "low", NULL},
						  {SEVERITY_MEDIUM, "medium", NULL},
						  {SEVERITY_HIGH, "high", NULL},
						  {SEVERITY_INFO, "info", NULL}};
static struct enum_names severity_names = {.items = severity_items, .count = ARRAY_SIZE(severity_items)};

static const struct field spent_fields[] = {
	FIELD(struct spent_record, function, TEXT, "function in which most of the time was spent"),
	FIELD(struct spent_record, module, TEXT, "program or library it is in"),
	FIELD(struct spent_record, share, RATIO, "of the window", .unit = "%"),
	FIELD(struct spent_record, tid, ID, "thread that serves the connection"),
	FIELD(struct spent_record, path, LIST, "call path to it, outermost function first", .element = &text_type),
	FIELD(struct spent_record, text, TEXT, "in one sentence"),
};
static RECORD_TYPE(spent_type, "spent", struct spent_record, spent_fields,
		   "where an application spent its time, from a function trace");

static const struct field finding_fields[] = {
	FIELD(struct finding_record, cause, TEXT, "cause (nest explain CAUSE)"),
	FIELD(struct finding_record, layer, TEXT, "layer of the culprit"),
	FIELD(struct finding_record, module, TEXT, "culprit: module at fault"),
	FIELD(struct finding_record, certainty, RATIO, "certainty, up to 1"),
	FIELD(struct finding_record, severity, ENUM, "severity", .names = &severity_names),
	FIELD(struct finding_record, affects, LIST, "modules affected by it", .element = &text_type),
	FIELD_AS(struct finding_record, for_evidence, "for", LIST, "evidence for it", .element = &evidence_type),
	FIELD_AS(struct finding_record, against_evidence, "against", LIST, "evidence against it",
		 .element = &evidence_type),
	FIELD(struct finding_record, because, TEXT, "the reason in one sentence"),
	FIELD(struct finding_record, spent_in, LIST, "where the application spent its time (--flow)",
	      .element = &spent_type, .single = true),
	FIELD(struct finding_record, advice, TEXT, "what to do"),
	FIELD(struct finding_record, next, LIST, "commands that show more", .element = &text_type),
	FIELD(struct finding_record, ambiguous_with, LIST, "causes that explain the same", .element = &text_type),
	FIELD(struct finding_record, would_change, LIST, "evidence that would change the verdict",
	      .element = &text_type),
	FIELD(struct finding_record, over, BOOL, "ended: absent in the last second of the run"),
	FIELD(struct finding_record, netns, ID, "network namespace of the culprit, where it is a container's",
	      .zero_is_unknown = true),
	FIELD(struct finding_record, netns_name, TEXT, "its name below /run/netns"),
};
RECORD_TYPE(finding_type, "finding", struct finding_record, finding_fields, "a culprit with its cause and evidence");

static const struct field module_fields[] = {
	FIELD(struct module_record, id, TEXT, "identity, the same from window to window"),
	FIELD(struct module_record, layer, TEXT, "layer"),
	FIELD(struct module_record, name, TEXT, "display name"),
	FIELD(struct module_record, state, TEXT, "active, waiting, idle, waiting-ancestor, ignored or unknown"),
	FIELD(struct module_record, depends_on, LIST, "modules it depends on", .element = &text_type),
	FIELD(struct module_record, limited_by, LIST, "what limited the connection", .element = &limit_type,
	      .single = true),
	FIELD(struct module_record, netns, ID, "network namespace, where it is a container's", .zero_is_unknown = true),
	FIELD(struct module_record, netns_name, TEXT, "its name below /run/netns"),
};
RECORD_TYPE(module_type, "module", struct module_record, module_fields, "a producer or consumer of traffic");

static const struct field diagnosis_fields[] = {
	FIELD(struct diagnosis_record, schema, TEXT, "schema of this object"),
	FIELD(struct diagnosis_record, host, TEXT, "host name"),
	FIELD(struct diagnosis_record, netns, ID, "network namespace (inode number)"),
	FIELD(struct diagnosis_record, netns_name, TEXT, "its name below /run/netns"),
	FIELD(struct diagnosis_record, start_ns, TIME, "start of the window"),
	FIELD(struct diagnosis_record, window_ms, ID, "length of the window in milliseconds"),
	FIELD(struct diagnosis_record, modules, LIST, "the graph", .element = &module_type),
	FIELD(struct diagnosis_record, findings, LIST, "strongest first", .element = &finding_type),
	FIELD(struct diagnosis_record, notes, LIST, "causes that are there and cost nothing", .element = &finding_type),
	FIELD(struct diagnosis_record, healthy, BOOL, "nothing reached the reporting threshold"),
	FIELD(struct diagnosis_record, lost, COUNT, "records lost"),
	FIELD(struct diagnosis_record, baseline_s, ID,
	      "seconds of the past that were known, from a running agent or recording; 0: none"),
	FIELD(struct diagnosis_record, seen_from, LIST, "hosts whose recordings were read, where both ends were known",
	      .element = &text_type),
	FIELD(struct diagnosis_record, ends, LIST, "connections recorded at both ends, and what was lost between them",
	      .element = &far_end_measures_type),
	FIELD(struct diagnosis_record, time, LIST, "where the time of each program goes", .element = &time_type),
	FIELD(struct diagnosis_record, not_seen, LIST, "what could not be observed", .element = &unseen_type),
};
RECORD_TYPE(diagnosis_type, "diagnosis", struct diagnosis_record, diagnosis_fields,
	    "diagnosis of a window: modules and findings");

/* As the contract names them. */
static const char *layer_name(enum module_kind kind)
{
	static const char *const layers[MODULE_KINDS] = {
		[MODULE_HOST] = "host",          [MODULE_CGROUP] = "host",   [MODULE_APP] = "application",
		[MODULE_CONN] = "socket",        [MODULE_UDP] = "socket",    [MODULE_LISTENER] = "listener",
		[MODULE_LINK] = "interface",     [MODULE_QDISC] = "queue",   [MODULE_ROUTE] = "route",
		[MODULE_NEIGH] = "neighbour",    [MODULE_TUNNEL] = "tunnel", [MODULE_FILTER] = "filter",
		[MODULE_PATH] = "path",          [MODULE_PEER] = "peer",     [MODULE_RESOLVER] = "resolver",
		[MODULE_THREAD] = "application", [MODULE_CPU] = "host",      [MODULE_MEMORY] = "host",
		[MODULE_FLOW] = "path",
	};

	return layers[kind];
}

/* --- following hypotheses through the windows --- */

/* The certainty of one hypothesis in the last windows, newest first; 0 where no rule suggested it. */
struct trace {
	double certainty[DIAGNOSIS_WINDOWS];
	bool was_confirmed; /* since it was first suggested */
};

struct diagnosis {
	const struct knowledge *knowledge;
	const struct engine *engine;
	const struct selection *selection; /* NULL: everything */
	const struct witness *witness;     /* NULL: none */
	char *netns_name;
	char *netns_option; /* of -N in `next`; NULL: none */
	struct graph *graph;
	struct verdict *verdict;
	struct map traces; /* "cause module" -> struct trace */
	/* With hindsight, the window after that one: judged, and reported when the next one is known. */
	bool hindsight;
	struct graph *next_graph;
	struct verdict *next_verdict;
	struct map next_certainty; /* "cause module" -> double */
	bool has_new;              /* the last window confirmed a hypothesis for the first time */
	uint64_t starts[DIAGNOSIS_WINDOWS];
	unsigned windows;
	uint64_t baseline_s;
	char *baseline_from;       /* NULL: none */
	char *own_host, *far_host; /* where both ends were recorded, else NULL */
	char host[65];
	/* What the record points at. */
	VEC(void *) memory;
	struct diagnosis_record record;
};

static void clear_record(struct diagnosis *d)
{
	vec_each(&d->memory, block)
		free(*block);
	d->memory.count = 0;
}

struct diagnosis *diagnosis_new(const struct knowledge *knowledge)
{
	struct diagnosis *d = xzalloc(sizeof(*d));
	struct why why = {};

	d->knowledge = knowledge;
	/* The default is part of this library. */
	if (engine_find(NULL, &d->engine, &why) < 0)
		abort();
	d->traces = MAP_INIT(0, sizeof(struct trace), 100000);
	d->next_certainty = MAP_INIT(0, sizeof(double), 100000);
	if (gethostname(d->host, sizeof(d->host) - 1) < 0)
		d->host[0] = '\0';
	return d;
}

void diagnosis_set_engine(struct diagnosis *d, const struct engine *engine)
{
	d->engine = engine;
}

void diagnosis_set_selection(struct diagnosis *d, const struct selection *selection)
{
	d->selection = selection && !selection_is_empty(selection) ? selection : NULL;
}

void diagnosis_set_witness(struct diagnosis *d, const struct witness *witness)
{
	d->witness = witness;
}

void diagnosis_set_netns_name(struct diagnosis *d, const char *name)
{
	free(d->netns_name);
	d->netns_name = name && *name ? xstrdup(name) : NULL;
}

void diagnosis_set_netns_option(struct diagnosis *d, const char *netns)
{
	free(d->netns_option);
	d->netns_option = netns ? xstrdup(netns) : NULL;
}

void diagnosis_set_host(struct diagnosis *d, const char *host)
{
	snprintf(d->host, sizeof(d->host), "%.64s", host);
}

void diagnosis_set_baseline(struct diagnosis *d, uint64_t seconds, const char *from)
{
	d->baseline_s = seconds;
	free(d->baseline_from);
	d->baseline_from = xstrdup(from);
}

void diagnosis_set_seen_from(struct diagnosis *d, const char *own_host, const char *far_host)
{
	free(d->own_host);
	free(d->far_host);
	d->own_host = xstrdup(own_host);
	d->far_host = xstrdup(far_host);
}

void diagnosis_set_hindsight(struct diagnosis *d)
{
	d->hindsight = true;
}

void diagnosis_free(struct diagnosis *d)
{
	if (!d)
		return;
	clear_record(d);
	vec_done(&d->memory);
	verdict_free(d->verdict);
	graph_free(d->graph);
	verdict_free(d->next_verdict);
	graph_free(d->next_graph);
	map_done(&d->traces);
	map_done(&d->next_certainty);
	free(d->netns_name);
	free(d->netns_option);
	free(d->baseline_from);
	free(d->own_host);
	free(d->far_host);
	free(d);
}

static char *trace_key(const struct hypothesis *h)
{
	const struct module *accused = h->accused;

	return module_is_shared(accused) ? xasprintf("%s %.*s", h->cause->name, (int)accused->id_length, accused->id)
					 : xasprintf("%s %s", h->cause->name, accused->id);
}

static char *note_key(const struct hypothesis *h)
{
	_cleanup_free_ char *key = trace_key(h);

	return xasprintf("note %s", key);
}

/* Of all causes that accuse it. */
static char *culprit_key(const struct module *module)
{
	return module_is_shared(module) ? xasprintf("@%.*s", (int)module->id_length, module->id)
					: xasprintf("@%s", module->id);
}

/* Moves all traces on by one window and forgets those that have faded. */
static void age_traces(struct diagnosis *d)
{
	VEC(const char *) faded = {};
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&d->traces, &at, &key, &value)) {
		struct trace *trace = value;
		double most = 0;

		memmove(&trace->certainty[1], &trace->certainty[0],
			sizeof(trace->certainty) - sizeof(trace->certainty[0]));
		trace->certainty[0] = 0;
		for (unsigned i = 1; i < DIAGNOSIS_WINDOWS; i++)
			most = fmax(most, trace->certainty[i]);
		if (most <= 0)
			vec_push(&faded, key);
	}
	vec_each(&faded, name)
		(void)map_remove(&d->traces, *name);
	vec_done(&faded);
}

/* A selected module is affected, or none visibly is and the accused one is selected. */
static bool is_asked_about(const struct hypothesis *h)
{
	if (h->affects.count == 0)
		return !h->accused->hidden;
	vec_each(&h->affects, module)
		if (!(*module)->hidden)
			return true;
	return false;
}

/*
 * The certainty of the previous window. A confirmed hypothesis that misses one window need not be confirmed again:
 * it has not ended.
 */
static double certainty_before(const struct trace *trace)
{
	if (trace->certainty[1] < INFER_THRESHOLD && trace->was_confirmed)
		return trace->certainty[2];
	return trace->certainty[1];
}

/* In this window and in the one before. */
static bool is_seen_twice(const struct diagnosis *d, const struct hypothesis *h)
{
	_cleanup_free_ char *key = trace_key(h);
	const struct trace *trace = map_get(&d->traces, key);

	return trace && trace->certainty[0] >= INFER_THRESHOLD && trace->certainty[1] >= INFER_THRESHOLD;
}

/* The firewall and the host have to do with all traffic, and what a path does to packets takes two windows to tell. */
static bool has_one_job(const struct module *module)
{
	return module->kind != MODULE_PATH && module->kind != MODULE_FILTER && module->kind != MODULE_HOST;
}

/*
 * The window before may have accused the same module of something else: a name server is dead until its answer comes
 * late. What is known of a module for longer goes first.
 */
static double culprit_before(const struct diagnosis *d, const struct hypothesis *h)
{
	_cleanup_free_ char *key = culprit_key(h->accused);
	const struct trace *trace = map_get(&d->traces, key);

	if (!trace || !has_one_job(h->accused))
		return 0;
	vec_each(&d->verdict->hypotheses, other)
		if ((*other)->accused == h->accused && is_seen_twice(d, *other))
			return 0;
	return trace->certainty[1];
}

/* That of the window before or, with hindsight, of the one after. */
static double certainty_beside(const struct diagnosis *d, const struct hypothesis *h, const char *key,
			       const struct trace *trace)
{
	const double *next = map_get(&d->next_certainty, key);
	double before = fmax(certainty_before(trace), culprit_before(d, h));

	return next ? fmax(before, *next) : before;
}

/* Confirmed when a window beside it agrees; a fact needs no second one. A coarse window confirms nothing new. */
static bool is_confirmed(const struct hypothesis *h, void *context)
{
	struct diagnosis *d = context;
	_cleanup_free_ char *key = trace_key(h);
	const struct trace *trace = map_get(&d->traces, key);

	if (!trace || !is_asked_about(h))
		return false;
	return hypothesis_is_fact(h) ||
	       (certainty_beside(d, h, key, trace) >= INFER_THRESHOLD && (trace->was_confirmed || !d->graph->coarse));
}

/* A run has three windows, so two pairs of them: the first two may agree, or the last two. */
static bool was_agreed_on(const struct hypothesis *h, void *context)
{
	struct diagnosis *d = context;
	_cleanup_free_ char *key = trace_key(h);
	const struct trace *trace = map_get(&d->traces, key);

	return trace && trace->certainty[1] >= INFER_THRESHOLD && trace->certainty[2] >= INFER_THRESHOLD &&
	       is_asked_about(h);
}

/* For every module it affects, a reported hypothesis explains it much better. */
static bool is_beaten(const struct verdict *verdict, const struct hypothesis *h)
{
	vec_each(&h->affects, module) {
		bool better = false;

		vec_each(&verdict->hypotheses, winner)
			better |= hypothesis_affects(*winner, *module) &&
				  (*winner)->certainty >= h->certainty + INFER_MARGIN;
		if (!better)
			return false;
	}
	return h->affects.count > 0;
}

/*
 * A window with a much better explanation confirms nothing: when that is over, its remains (a
 * silence, a queue that drains) would be blamed on another module at once.
 */
static void forget_beaten(struct diagnosis *d)
{
	vec_each(&d->verdict->losers, h) {
		_cleanup_free_ char *key = trace_key(*h);
		struct trace *trace = map_get(&d->traces, key);

		if (trace && is_beaten(d->verdict, *h))
			trace->certainty[0] = 0;
	}
}

/* Something that was suggested in this window waits to be confirmed, and no finding explains it better. */
static bool is_undecided(const struct diagnosis *d)
{
	vec_each(&d->verdict->losers, h)
		if ((*h)->certainty >= INFER_THRESHOLD && is_asked_about(*h) && !is_beaten(d->verdict, *h))
			return true;
	return false;
}

bool diagnosis_has_fact(const struct diagnosis *d)
{
	if (!d->verdict)
		return false;
	vec_each(&d->verdict->hypotheses, h)
		if (hypothesis_is_fact(*h))
			return true;
	return false;
}

bool diagnosis_is_stirred(const struct diagnosis *d)
{
	return d->verdict && (d->has_new || is_undecided(d));
}

bool diagnosis_is_settled(const struct diagnosis *d)
{
	if (!d->verdict || d->verdict->hypotheses.count == 0 || is_undecided(d))
		return false;
	vec_each(&d->verdict->hypotheses, h)
		if (!hypothesis_is_fact(*h))
			return false;
	return true;
}

/* The certainty of a finding is the lower one of the two windows that agree, but for a fact; strongest first. */
static void confirm_hypotheses(struct diagnosis *d)
{
	d->has_new = false;
	vec_each(&d->verdict->hypotheses, h) {
		_cleanup_free_ char *key = trace_key(*h);
		struct trace *trace = map_get(&d->traces, key);

		if (!trace)
			continue;
		if (!hypothesis_is_fact(*h))
			(*h)->certainty = fmin((*h)->certainty, certainty_beside(d, *h, key, trace));
		d->has_new |= !trace->was_confirmed;
		trace->was_confirmed = true;
	}
	verdict_sort(d->verdict);
}

static struct verdict *judge(const struct diagnosis *d, struct graph *graph)
{
	struct verdict *verdict;

	graph_propagate(graph);
	if (d->selection)
		selection_apply(graph, d->selection);
	verdict = d->engine->judge(d->knowledge, graph);
	if (graph->has_places)
		verdict_merge_views(verdict);
	return verdict;
}

static void note_next(struct diagnosis *d)
{
	map_done(&d->next_certainty);
	d->next_certainty = MAP_INIT(0, sizeof(double), 100000);
	if (!d->next_verdict)
		return;
	vec_each(&d->next_verdict->hypotheses, h) {
		_cleanup_free_ char *key = trace_key(*h);
		double *certainty = (*h)->certainty > 0 ? map_put(&d->next_certainty, key, NULL) : NULL;

		if (certainty)
			*certainty = (*h)->certainty;
	}
}

static void note_certainty(struct diagnosis *d, const char *key, double certainty)
{
	struct trace *trace = certainty > 0 ? map_put(&d->traces, key, NULL) : NULL;

	if (trace)
		trace->certainty[0] = fmax(trace->certainty[0], certainty);
}

static void conclude(struct diagnosis *d, struct graph *graph, struct verdict *verdict)
{
	/* The previous verdict refers to modules of its own graph until it has been carried over. */
	_cleanup_(graph_freep) _unused_ struct graph *past_graph = d->graph;
	_cleanup_(verdict_freep) struct verdict *past = d->verdict;

	clear_record(d);
	d->graph = graph;
	d->verdict = verdict;
	note_next(d);
	age_traces(d);
	vec_each(&d->verdict->hypotheses, h) {
		_cleanup_free_ char *key = trace_key(*h), *culprit = culprit_key((*h)->accused), *note = note_key(*h);

		note_certainty(d, key, (*h)->certainty);
		note_certainty(d, culprit, (*h)->certainty);
		note_certainty(d, note, hypothesis_note(*h));
	}
	verdict_compete(d->verdict, is_confirmed, d);
	forget_beaten(d);
	confirm_hypotheses(d);
	if (past)
		verdict_carry_over(d->verdict, past, was_agreed_on, d);
	memmove(&d->starts[1], &d->starts[0], sizeof(d->starts) - sizeof(d->starts[0]));
	d->starts[0] = graph->start_ns;
	d->windows = min_of(d->windows + 1, (unsigned)DIAGNOSIS_WINDOWS);
}

/* Concludes the window that waits for the next one, if any. */
static bool move_on(struct diagnosis *d, struct graph *graph, struct verdict *verdict)
{
	struct graph *due_graph = d->next_graph;
	struct verdict *due_verdict = d->next_verdict;

	d->next_graph = graph;
	d->next_verdict = verdict;
	if (due_graph)
		conclude(d, due_graph, due_verdict);
	return due_graph;
}

bool diagnosis_add_window(struct diagnosis *d, struct graph *graph)
{
	struct verdict *verdict = judge(d, graph);

	if (d->hindsight)
		return move_on(d, graph, verdict);
	conclude(d, graph, verdict);
	return true;
}

bool diagnosis_end(struct diagnosis *d)
{
	return move_on(d, NULL, NULL);
}

/* A note in one window of the run, seen in this one and in another: what is a note now may have been a suspicion. */
static bool is_note(const struct diagnosis *d, const struct hypothesis *h)
{
	_cleanup_free_ char *key = trace_key(h), *note_name = note_key(h);
	const struct trace *note = map_get(&d->traces, note_name), *trace = map_get(&d->traces, key);
	unsigned seen = 0;

	if (!note || fmax(h->certainty, hypothesis_note(h)) < INFER_THRESHOLD || !is_asked_about(h))
		return false;
	vec_each(&d->verdict->hypotheses, finding)
		if (hypothesis_is_about_the_same(*finding, h))
			return false;
	for (unsigned i = 0; i < DIAGNOSIS_WINDOWS; i++)
		seen += fmax(note->certainty[i], trace ? trace->certainty[i] : 0) >= INFER_THRESHOLD;
	return seen >= 2;
}

/* The strongest one in the last window, whether confirmed or not: both lists are sorted. */
static const struct hypothesis *strongest_of(const struct verdict *verdict, const char *id)
{
	const struct hypothesis *best = NULL;

	vec_each(&verdict->hypotheses, h)
		vec_each(&(*h)->affects, module)
			if (!best && !(*h)->over && strcmp((*module)->id, id) == 0)
				best = *h;
	vec_each(&verdict->losers, h)
		vec_each(&(*h)->affects, module)
			if ((!best || (*h)->certainty > best->certainty) && strcmp((*module)->id, id) == 0)
				best = *h;
	return best;
}

bool diagnosis_suspects(const struct diagnosis *d, const char *id, struct suspicion *ret_suspicion)
{
	const struct hypothesis *h = d->verdict ? strongest_of(d->verdict, id) : NULL;

	if (!h || h->certainty < INFER_THRESHOLD)
		return false;
	*ret_suspicion = (struct suspicion){h->cause->name, layer_name(h->accused->kind), h->certainty};
	return true;
}

const struct graph *diagnosis_graph(const struct diagnosis *d)
{
	return d->graph;
}

/* --- the record --- */

static void *alloc_for_record(struct diagnosis *d, size_t count, size_t size)
{
	void *block = xzalloc(max_of(count, (size_t)1) * size);

	vec_push(&d->memory, block);
	return block;
}

static struct list list_of(const void *items, size_t count)
{
	return (struct list){.items = items, .count = (uint32_t)count};
}

static struct list module_ids(struct diagnosis *d, struct module *const *modules, size_t count)
{
	struct text_record *items = alloc_for_record(d, count, sizeof(*items));
	size_t shown = 0;

	for (size_t i = 0; i < count; i++)
		if (!modules[i]->hidden)
			items[shown++].text = modules[i]->id;
	return list_of(items, shown);
}

static struct list evidence_list(struct diagnosis *d, const struct hypothesis *h, bool speaks_for)
{
	struct evidence_record *items = alloc_for_record(d, h->evidence.count, sizeof(*items));
	size_t count = 0;

	vec_each(&h->evidence, evidence)
		if ((evidence->factor > 0) == speaks_for && evidence->counted)
			items[count++] = (struct evidence_record){
				.rule = evidence->name, .cf = evidence->factor, .text = evidence->text};
	return list_of(items, count);
}

/* A name from outside must not become a second command in the shell that this is pasted into. */
static bool safe_to_paste(const char *command, const char *template)
{
	static const char risky[] = "`$;&|<>\\\n\"'";

	for (const char *c = risky; *c; c++) {
		size_t wanted = 0, got = 0;

		for (const char *p = template; *p; p++)
			wanted += *p == *c;
		for (const char *p = command; *p; p++)
			got += *p == *c;
		if (got > wanted)
			return false;
	}
	return true;
}

/* Where the strongest evidence was seen: its measures fill commands and advice. */
struct sight {
	struct shape shape;
	struct record record;
	bool known;
};

static struct sight sight_of(const struct hypothesis *h)
{
	const struct module *at = h->evidence.items[0].seen_at;
	const struct module_scope *scope = at ? module_scope_find(at->kind) : NULL;

	if (!scope)
		return (struct sight){};
	return (struct sight){module_scope_shape(scope), module_scope_record(scope, at), true};
}

static bool applies(const struct next_step *step, const struct sight *sight)
{
	_cleanup_(expr_freep) struct expr *when = NULL;
	struct why why = {};

	return !step->when ||
	       (expr_parse(step->when, &sight->shape, &when, &why) == 0 && expr_matches(when, &sight->record));
}

/* Commands that run here, show something now, and whose {field}s are all known. */
static struct list next_commands(struct diagnosis *d, const struct hypothesis *h)
{
	struct text_record *items = alloc_for_record(d, h->cause->next.count, sizeof(*items));
	struct sight sight = sight_of(h);
	size_t count = 0;

	if (!sight.known)
		return list_of(items, 0);
	vec_each(&h->cause->next, step) {
		_cleanup_buf_ struct buf text = BUF_INIT(4096);
		char *placed;

		if (!knowledge_can_run(d->knowledge, step->command) || !applies(step, &sight) ||
		    !knowledge_fill(step->command, &sight.shape, &sight.record, &text))
			continue;
		placed = knowledge_in_netns(d->knowledge, buf_text(&text),
					    h->accused->place ? h->accused->place->option : d->netns_option);
		vec_push(&d->memory, placed);
		if (safe_to_paste(placed, step->command))
			items[count++].text = placed;
	}
	return list_of(items, count);
}

static const char *advice_of(struct diagnosis *d, const struct hypothesis *h)
{
	struct sight sight = sight_of(h);
	struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

	knowledge_fill_words(h->cause->advice, sight.known ? &sight.shape : NULL, &sight.record, &text);
	if (!safe_to_paste(buf_text(&text), h->cause->advice)) {
		buf_clear(&text);
		knowledge_fill_words(h->cause->advice, NULL, NULL, &text);
	}
	vec_push(&d->memory, text.data);
	return text.data;
}

static struct list rival_names(struct diagnosis *d, const struct hypothesis *h)
{
	struct text_record *items = alloc_for_record(d, h->rivals.count, sizeof(*items));

	for (size_t i = 0; i < h->rivals.count; i++)
		items[i].text = h->rivals.items[i]->cause->name;
	return list_of(items, h->rivals.count);
}

/* The first sentence of evidence for it is the reason. */
static const char *first_reason(const struct hypothesis *h)
{
	vec_each(&h->evidence, evidence)
		if (evidence->factor > 0)
			return evidence->text;
	return NULL;
}

/* Takes the texts over. */
static struct list text_list(struct diagnosis *d, char *const *texts, size_t count)
{
	struct text_record *items = alloc_for_record(d, count, sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		vec_push(&d->memory, texts[i]);
		items[i].text = texts[i];
	}
	return list_of(items, count);
}

static struct list change_sentences(struct diagnosis *d, const struct hypothesis *h)
{
	char *sentences[WHATIF_MAX];
	size_t count = h->over ? 0 : whatif_sentences(d->knowledge, d->verdict, h, sentences);

	return text_list(d, sentences, count);
}

static const char *keep_text(struct diagnosis *d, const char *text)
{
	char *copy = xstrdup(text);

	vec_push(&d->memory, copy);
	return copy;
}

/* The connection that shows that an application does not read or send. */
static const struct module *waiting_connection(const struct hypothesis *h)
{
	if (h->accused->kind != MODULE_APP)
		return NULL;
	vec_each(&h->evidence, evidence)
		if (evidence->factor > 0 && evidence->seen_at && evidence->seen_at->kind == MODULE_CONN)
			return evidence->seen_at;
	return NULL;
}

static struct list spent_in(struct diagnosis *d, const struct hypothesis *h)
{
	const struct module *at = d->witness ? waiting_connection(h) : NULL;
	const struct conn_measures *conn = at ? at->measures.conn : NULL;
	const struct app_measures *app = at ? at->measures.app : NULL;
	struct witness_answer answer = {};
	struct spent_record *item;
	struct text_record *path;

	if (!conn || !d->witness->ask(d->witness->context,
				      &(struct witness_question){
					      .pid = app ? app->pid : 0,
					      .local = {conn->laddr, conn->lport},
					      .remote = {conn->raddr, conn->rport},
					      .start_ns = d->starts[d->windows - 1],
					      .end_ns = d->graph->start_ns + d->graph->window_ns,
				      },
				      &answer))
		return list_of(NULL, 0);
	item = alloc_for_record(d, 1, sizeof(*item));
	path = alloc_for_record(d, answer.call_path_count, sizeof(*path));
	for (size_t i = 0; i < answer.call_path_count; i++)
		path[i].text = keep_text(d, answer.call_path[i]);
	*item = (struct spent_record){
		.function = keep_text(d, answer.function),
		.module = keep_text(d, answer.module),
		.share = answer.share,
		.tid = answer.tid,
		.path = list_of(path, answer.call_path_count),
		.text = keep_text(d, answer.text),
	};
	return list_of(item, 1);
}

/*
 * The severity is low when connections lose packets and none is slower than it was without loss: BBR makes up for
 * losses, say. Without losses a connection is compared with itself, which in a late run is the stall: then, and without
 * such a baseline, the severity of the cause applies.
 */
static enum severity severity_of(const struct hypothesis *h)
{
	if (h->over)
		return h->cause->severity;
	vec_each(&h->affects, module) {
		const struct conn_measures *m = (*module)->measures.conn;
		bool loses = m && (m->loss_share_recent > 0 || m->ooo_share > 0);

		if (!loses || m->stuck || !(m->clean_slowdown >= 0.9))
			return h->cause->severity;
	}
	return h->affects.count > 0 ? SEVERITY_LOW : h->cause->severity;
}

static struct finding_record make_finding(struct diagnosis *d, const struct hypothesis *h)
{
	return (struct finding_record){
		.cause = h->cause->name,
		.layer = h->cause->layer,
		.module = h->accused->id,
		.certainty = h->certainty,
		.severity = (uint8_t)severity_of(h),
		.affects = module_ids(d, h->affects.items, h->affects.count),
		.for_evidence = evidence_list(d, h, true),
		.against_evidence = evidence_list(d, h, false),
		.because = first_reason(h),
		.spent_in = spent_in(d, h),
		.advice = advice_of(d, h),
		.next = next_commands(d, h),
		.ambiguous_with = rival_names(d, h),
		.would_change = change_sentences(d, h),
		.over = h->over,
		.netns = h->accused->place ? h->accused->place->netns : 0,
		.netns_name = h->accused->place ? h->accused->place->name : NULL,
		.accused = h->accused->name,
		.summary = h->cause->summary,
	};
}

static struct list note_list(struct diagnosis *d)
{
	struct finding_record *items = alloc_for_record(d, d->verdict->losers.count, sizeof(*items));
	size_t count = 0;

	vec_each(&d->verdict->losers, h) {
		if (!is_note(d, *h))
			continue;
		items[count] = make_finding(d, *h);
		items[count].certainty = fmax((*h)->certainty, hypothesis_note(*h));
		items[count++].severity = SEVERITY_INFO;
	}
	return list_of(items, count);
}

static struct list finding_list(struct diagnosis *d)
{
	const struct verdict *verdict = d->verdict;
	struct finding_record *items = alloc_for_record(d, verdict ? verdict->hypotheses.count : 0, sizeof(*items));
	size_t count = 0;

	if (verdict)
		vec_each(&verdict->hypotheses, h)
			items[count++] = make_finding(d, *h);
	return list_of(items, count);
}

static struct list module_list(struct diagnosis *d)
{
	const struct graph *graph = d->graph;
	struct module_record *items = alloc_for_record(d, graph->modules.count, sizeof(*items));
	size_t count = 0;

	vec_each(&graph->modules, at) {
		const struct module *module = *at;
		const struct limit_record *limits = conn_limits(module);
		struct module_record *item = &items[count];

		if (module->hidden)
			continue;
		count++;
		*item = (struct module_record){
			.id = module->id,
			.layer = layer_name(module->kind),
			.name = module->name,
			.state = activity_name(module->activity),
			.depends_on = module_ids(d, module->depends_on.items, module->depends_on.count),
			.limited_by = list_of(limits, limits != NULL),
			.netns = module->place ? module->place->netns : 0,
			.netns_name = module->place ? module->place->name : NULL,
			.kind = module->kind,
		};
		for (unsigned kind = 0; kind < MODULE_KINDS; kind++)
			item->related[kind] = module->related[kind] ? module->related[kind]->id : NULL;
	}
	return list_of(items, count);
}

static struct list seen_from(struct diagnosis *d)
{
	struct text_record *items;

	if (!d->far_host)
		return (struct list){};
	items = alloc_for_record(d, 2, sizeof(*items));
	items[0].text = d->own_host;
	items[1].text = d->far_host;
	return list_of(items, 2);
}

static struct list list_ends(struct diagnosis *d)
{
	struct far_end_measures *items;
	size_t count = 0;

	if (!d->far_host)
		return (struct list){};
	items = alloc_for_record(d, d->graph->modules.count, sizeof(*items));
	vec_each(&d->graph->modules, module)
		if ((*module)->measures.far_end && !(*module)->hidden)
			items[count++] = *(*module)->measures.far_end;
	return list_of(items, count);
}

const struct diagnosis_record *diagnosis_get(struct diagnosis *d)
{
	char *waits[WAITS_MAX];
	uint64_t end_ns;

	clear_record(d);
	if (!d->graph)
		return NULL;
	end_ns = d->graph->start_ns + d->graph->window_ns;
	d->record = (struct diagnosis_record){
		.schema = DIAGNOSIS_SCHEMA,
		.host = d->host,
		.netns = d->graph->netns,
		.netns_name = d->netns_name,
		.start_ns = d->starts[d->windows - 1],
		.window_ms = (end_ns - d->starts[d->windows - 1]) / 1000000,
		.modules = module_list(d),
		.findings = finding_list(d),
		.notes = note_list(d),
		.healthy = d->verdict->hypotheses.count == 0,
		.lost = d->graph->lost,
		.baseline_s = d->baseline_s,
		.baseline_from = d->baseline_from,
		.seen_from = seen_from(d),
		.ends = list_ends(d),
		.time = time_list(d->graph, d->selection ? d->selection->pid : 0, d->windows),
		.not_seen = d->graph->unseen,
	};
	if (d->record.healthy)
		d->record.waits_count = waits_sentences(d->graph, waits);
	d->record.waits = text_list(d, waits, min_of(d->record.waits_count, (size_t)WAITS_MAX));
	return &d->record;
}
