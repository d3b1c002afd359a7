/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "diagnose/infer/engine.h"
#include "diagnose/infer/infer.h"
#include "diagnose/rules/certainty.h"

static void hypothesis_free(struct hypothesis *h)
{
	if (!h)
		return;
	vec_each(&h->evidence, evidence)
		free(evidence->text);
	vec_done(&h->evidence);
	vec_done(&h->affects);
	vec_done(&h->rivals);
	free(h);
}

void verdict_free(struct verdict *verdict)
{
	if (!verdict)
		return;
	vec_each(&verdict->hypotheses, h)
		hypothesis_free(*h);
	vec_each(&verdict->losers, h)
		hypothesis_free(*h);
	vec_done(&verdict->hypotheses);
	vec_done(&verdict->losers);
	free(verdict);
}

struct verdict *verdict_new(struct graph *graph)
{
	struct verdict *verdict = xzalloc(sizeof(*verdict));

	verdict->graph = graph;
	return verdict;
}

struct hypothesis *verdict_add(struct verdict *verdict, const struct cause *cause, struct module *accused)
{
	struct hypothesis *h = xzalloc(sizeof(*h));

	h->cause = cause;
	h->accused = accused;
	vec_push(&verdict->hypotheses, h);
	return h;
}

void hypothesis_add_evidence(struct hypothesis *h, const struct evidence *evidence)
{
	vec_push(&h->evidence, *evidence);
}

void hypothesis_add_affected(struct hypothesis *h, struct module *module)
{
	vec_each(&h->affects, known)
		if (*known == module)
			return;
	vec_push(&h->affects, module);
}

/* --- evidence --- */

/* The identity of a hypothesis: its cause and the module it accuses. */
struct hypothesis_key {
	const struct cause *cause;
	const struct module *accused;
};

static struct hypothesis *hypothesis_of(struct verdict *verdict, struct map *index, const struct cause *cause,
					struct module *accused)
{
	struct hypothesis_key key = {cause, accused};
	struct hypothesis **slot = map_put(index, &key, NULL);

	if (!*slot)
		*slot = verdict_add(verdict, cause, accused);
	return *slot;
}

/* Sockets that wait and depend on the module. */
static void add_dependants(struct hypothesis *h, const struct graph *graph, const struct module *module)
{
	vec_each(&graph->modules, other)
		if (*other != module && (*other)->related[module->kind] == module &&
		    (*other)->activity == ACTIVITY_WAITING && module_is_traffic(*other))
			hypothesis_add_affected(h, *other);
}

static void add_evidence(struct hypothesis *h, const struct rule *rule, struct module *module,
			 const struct record *record)
{
	struct shape shape = module_scope_shape(rule->about);
	struct buf text = BUF_INIT(4096);

	(void)knowledge_fill(rule->because, &shape, record, &text);
	hypothesis_add_evidence(h, &(struct evidence){.name = rule->name,
						      .family = rule->family,
						      .seen_at = module,
						      .factor = rule->certainty,
						      .leaves_note = rule->leaves_note,
						      .text = text.data ? text.data : xstrdup("")});
}

static void suggest(struct verdict *verdict, struct map *index, const struct rule *rule, struct module *module,
		    const struct record *record)
{
	vec_each(&rule->suggests, cause) {
		struct module *accused = module->related[(*cause)->accuses];
		struct hypothesis *h;

		if (!accused)
			continue;
		h = hypothesis_of(verdict, index, *cause, accused);
		add_evidence(h, rule, module, record);
		if (rule->certainty < 0)
			continue;
		if (module_is_traffic(module))
			hypothesis_add_affected(h, module);
	}
}

/*
 * What waits and depends on a module that a rule saw at fault. All traffic depends on the firewall, which drops some of
 * it: where that is known, the rest waits for something else.
 */
static void add_all_dependants(struct hypothesis *h, const struct graph *graph)
{
	if (h->accused->kind == MODULE_FILTER && h->affects.count > 0)
		return;
	vec_each(&h->evidence, evidence)
		if (evidence->factor > 0 && !module_is_traffic(evidence->seen_at))
			add_dependants(h, graph, evidence->seen_at);
}

/* Evaluates all rules on a module; its measures are read once. */
static void apply_rules(struct verdict *verdict, struct map *index, const struct knowledge *knowledge,
			struct module *module)
{
	const struct module_scope *scope = module_scope_find(module->kind);
	struct record record;

	if (!scope)
		return;
	record = module_scope_record(scope, module);
	vec_each(&knowledge->rules, rule)
		if ((*rule)->about == scope && expr_matches((*rule)->when, &record))
			suggest(verdict, index, *rule, module, &record);
}

static int by_strength(const void *a, const void *b)
{
	double x = fabs(((const struct evidence *)a)->factor), y = fabs(((const struct evidence *)b)->factor);

	return x < y ? 1 : x > y ? -1 : strcmp(((const struct evidence *)a)->name, ((const struct evidence *)b)->name);
}

bool evidence_is_akin(const struct evidence *a, const struct evidence *b)
{
	return strcmp(a->family, b->family) == 0 && (a->factor > 0) == (b->factor > 0);
}

/* Of each family the strongest for and the strongest against count; the rest saw the same thing. */
static void weigh_evidence(struct hypothesis *h)
{
	VEC(const struct evidence *) counted = {};

	vec_sort(&h->evidence, by_strength);
	h->certainty = 0;
	vec_each(&h->evidence, evidence) {
		evidence->counted = true;
		/* Not with all that are stronger: a path has evidence of each of its connections. */
		vec_each(&counted, stronger)
			evidence->counted = evidence->counted && !evidence_is_akin(*stronger, evidence);
		if (!evidence->counted)
			continue;
		vec_push(&counted, evidence);
		h->certainty = certainty_combine(h->certainty, evidence->factor);
	}
	vec_done(&counted);
}

double hypothesis_without(const struct hypothesis *h, const struct evidence *gone)
{
	double certainty = 0;

	vec_each(&h->evidence, evidence)
		if (evidence->counted && !evidence_is_akin(evidence, gone))
			certainty = certainty_combine(certainty, evidence->factor);
	return certainty;
}

double hypothesis_note(const struct hypothesis *h)
{
	vec_each(&h->evidence, evidence)
		if (evidence->counted && evidence->leaves_note)
			return hypothesis_without(h, evidence);
	return 0;
}

double hypothesis_with(const struct hypothesis *h, const char *family, double factor)
{
	const struct evidence more = {.family = family, .factor = factor};
	double certainty = factor;

	vec_each(&h->evidence, evidence) {
		bool same = evidence_is_akin(evidence, &more);

		if (!evidence->counted)
			continue;
		/* The stronger of the two counts. */
		if (same && fabs(evidence->factor) >= fabs(factor))
			return h->certainty;
		if (!same)
			certainty = certainty_combine(certainty, evidence->factor);
	}
	return certainty;
}

static int by_certainty(const void *a, const void *b)
{
	const struct hypothesis *x = *(struct hypothesis *const *)a, *y = *(struct hypothesis *const *)b;

	if (x->certainty != y->certainty)
		return x->certainty < y->certainty ? 1 : -1;
	if (x->affects.count != y->affects.count)
		return x->affects.count < y->affects.count ? 1 : -1;
	return strcmp(x->cause->name, y->cause->name) ?: strcmp(x->accused->id, y->accused->id);
}

void verdict_sort(struct verdict *verdict)
{
	vec_sort(&verdict->hypotheses, by_certainty);
}

void verdict_weigh(struct verdict *verdict)
{
	vec_each(&verdict->hypotheses, h)
		weigh_evidence(*h);
	verdict_sort(verdict);
}

/* All hypotheses with evidence for them, before they compete. */
static struct verdict *judge(const struct knowledge *knowledge, struct graph *graph)
{
	struct map index = MAP_INIT(sizeof(struct hypothesis_key), sizeof(struct hypothesis *), 0);
	struct verdict *verdict = verdict_new(graph);

	/* A coarse window is a glance for news. */
	vec_each(&graph->modules, module)
		if (!graph->coarse || !(*module)->quiet)
			apply_rules(verdict, &index, knowledge, *module);
	map_done(&index);
	vec_each(&verdict->hypotheses, h)
		add_all_dependants(*h, graph);
	verdict_weigh(verdict);
	return verdict;
}

static const struct engine rules_engine = {
	.name = ENGINE_DEFAULT,
	.summary = "rules over measures of every layer (nest rules lists them)",
	.judge = judge,
};
ENGINE(rules_engine);

/* --- several namespaces --- */

static bool is_same_in_two(const struct hypothesis *a, const struct hypothesis *b)
{
	const struct module *x = a->accused, *y = b->accused;

	return a->cause == b->cause && x->place != y->place && x->kind == y->kind && module_is_shared(x) &&
	       x->id_length == y->id_length && memcmp(x->id, y->id, x->id_length) == 0;
}

/* That of the host where it is strong enough, so that the next window says the same; else the stronger one. */
static bool is_preferred(const struct hypothesis *a, const struct hypothesis *b)
{
	const struct hypothesis *own = !a->accused->place ? a : !b->accused->place ? b : NULL;

	return own && own->certainty >= INFER_THRESHOLD ? own == a : a->certainty >= b->certainty;
}

static void merge_into(struct hypothesis *kept, struct hypothesis *other)
{
	kept->certainty = fmax(kept->certainty, other->certainty);
	vec_each(&other->affects, module)
		hypothesis_add_affected(kept, *module);
	hypothesis_free(other);
}

void verdict_merge_views(struct verdict *verdict)
{
	struct hypothesis **items = verdict->hypotheses.items;
	size_t left = 0;

	for (size_t i = 0; i < verdict->hypotheses.count; i++) {
		struct hypothesis *h = items[i];

		for (size_t n = i + 1; h && n < verdict->hypotheses.count; n++) {
			if (!items[n] || !is_same_in_two(h, items[n]))
				continue;
			if (is_preferred(h, items[n])) {
				merge_into(h, items[n]);
			} else {
				merge_into(items[n], h);
				h = items[n];
			}
			items[n] = NULL;
		}
		if (h)
			items[left++] = h;
	}
	verdict->hypotheses.count = left;
	verdict_sort(verdict);
}

/* --- competition --- */

/* A connection that two namespaces of this host see is one. */
bool hypothesis_affects(const struct hypothesis *h, const struct module *module)
{
	const struct module *traffic = module_traffic(module);

	vec_each(&h->affects, known)
		if (module_traffic(*known) == traffic)
			return true;
	return false;
}

bool hypothesis_is_fact(const struct hypothesis *h)
{
	return h->certainty >= INFER_FACT && h->evidence.count > 0 && h->evidence.items[0].factor >= INFER_FACT;
}

/* The certainty of the best explanation for an affected module. */
static double best_for(const struct verdict *verdict, const struct module *module)
{
	vec_each(&verdict->hypotheses, h)
		if (hypothesis_affects(*h, module))
			return (*h)->certainty; /* strongest first */
	return 0;
}

static bool is_outside(const struct module *module)
{
	return module->kind == MODULE_PATH || module->kind == MODULE_PEER;
}

/* All that it affects passes a device of the host. */
static bool passes(const struct hypothesis *h, const struct module *dev)
{
	vec_each(&h->affects, module)
		if (!module_is_passed_by(dev, *module))
			return false;
	return true;
}

/* Both affect one connection, and are seen from different namespaces, or by the host that forwards it. */
static bool share_inside(const struct hypothesis *near, const struct hypothesis *h)
{
	vec_each(&h->affects, module)
		if (hypothesis_affects(near, *module) &&
		    (near->accused->place != h->accused->place || (!h->accused->place && (*module)->carries)))
			return true;
	return false;
}

/* The end of a connection knows more of its path than the host that forwards its packets. */
static bool is_seen_from_its_end(const struct hypothesis *end, const struct hypothesis *h)
{
	if (!is_outside(end->accused) || !end->accused->place || h->accused->place || end->certainty < INFER_THRESHOLD)
		return false;
	vec_each(&h->affects, module)
		if ((*module)->kind == MODULE_FLOW && (*module)->carries && hypothesis_affects(end, *module))
			return true;
	return false;
}

/*
 * To a container the rest of its host is path and peer, and so is a container to its host: what either sees of itself
 * explains a connection of both better than what the other suspects of it.
 */
static bool is_known_nearer(const struct verdict *verdict, const struct hypothesis *h)
{
	if (!is_outside(h->accused))
		return false;
	vec_each(&verdict->hypotheses, near)
		if (is_seen_from_its_end(*near, h) ||
		    (!is_outside((*near)->accused) && (*near)->certainty > h->certainty - INFER_MARGIN &&
		     (share_inside(*near, h) || passes(h, (*near)->accused))))
			return true;
	return false;
}

/* No module is visibly affected (a listener, a host counter), or for one of them nothing explains it much better. */
static bool is_good_explanation(const struct verdict *verdict, const struct hypothesis *h)
{
	if (h->affects.count == 0)
		return true;
	if (is_known_nearer(verdict, h))
		return false;
	vec_each(&h->affects, module)
		if (h->certainty > best_for(verdict, *module) - INFER_MARGIN)
			return true;
	return false;
}

bool hypothesis_shares_affected(const struct hypothesis *a, const struct hypothesis *b)
{
	vec_each(&a->affects, module)
		if (hypothesis_affects(b, *module))
			return true;
	return false;
}

bool hypothesis_is_about_the_same(const struct hypothesis *a, const struct hypothesis *b)
{
	return a->accused == b->accused || hypothesis_shares_affected(a, b);
}

/*
 * A module between the connection and whatever it talks to, or its program. The firewall and the host are of all
 * traffic: what waits for them is only what they were seen to affect.
 */
static bool depends_on(const struct module *module, const struct hypothesis *cause)
{
	const struct module *accused = cause->accused;

	return hypothesis_affects(cause, module) || (accused->kind != MODULE_FILTER && accused->kind != MODULE_HOST &&
						     module->related[accused->kind] == accused);
}

/* What waits on one path waits behind what fills another, where both begin alike. */
static bool shares_way_out(const struct module *module, const struct hypothesis *cause)
{
	vec_each(&cause->affects, held)
		if (module_leaves_with(*held, module))
			return true;
	return false;
}

/* What the cause blocks was on its way to that module. */
static bool is_wanted_in_vain(const struct module *module, const struct hypothesis *cause)
{
	vec_each(&cause->affects, held)
		if ((*held)->related[module->kind] == module)
			return true;
	return false;
}

static bool follows_from(const struct hypothesis *h, const struct hypothesis *cause)
{
	bool paths = h->accused->kind == MODULE_PATH && cause->accused->kind == MODULE_PATH;

	if (!cause_explains(cause->cause, h->cause) || cause->certainty < h->certainty)
		return false;
	vec_each(&h->affects, module)
		if (!depends_on(*module, cause) && !(paths && shares_way_out(*module, cause)))
			return false;
	return h->affects.count > 0 || depends_on(h->accused, cause) || is_wanted_in_vain(h->accused, cause);
}

static bool is_consequence(const struct verdict *verdict, const struct hypothesis *h)
{
	vec_each(&verdict->hypotheses, cause)
		if (follows_from(h, *cause))
			return true;
	return false;
}

/* Drops the hypotheses that `wanted` refuses, keeping the order. */
static void drop_unwanted(struct verdict *verdict, const bool *wanted)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdict->hypotheses.count; i++) {
		struct hypothesis *h = verdict->hypotheses.items[i];

		if (wanted[i])
			verdict->hypotheses.items[kept++] = h;
		else
			vec_push(&verdict->losers, h);
	}
	verdict->hypotheses.count = kept;
}

void verdict_compete(struct verdict *verdict, bool (*keep)(const struct hypothesis *hypothesis, void *context),
		     void *context)
{
	_cleanup_free_ bool *wanted = xzalloc(verdict->hypotheses.count);

	for (size_t i = 0; i < verdict->hypotheses.count; i++) {
		const struct hypothesis *h = verdict->hypotheses.items[i];

		wanted[i] = h->certainty >= INFER_THRESHOLD && (!keep || keep(h, context));
	}
	drop_unwanted(verdict, wanted);
	for (size_t i = 0; i < verdict->hypotheses.count; i++)
		wanted[i] = is_good_explanation(verdict, verdict->hypotheses.items[i]) &&
			    !is_consequence(verdict, verdict->hypotheses.items[i]);
	drop_unwanted(verdict, wanted);
	vec_sort(&verdict->losers, by_certainty);
	vec_each(&verdict->hypotheses, a)
		vec_each(&verdict->hypotheses, b)
			if (a != b && hypothesis_shares_affected(*a, *b) &&
			    fabs((*a)->certainty - (*b)->certainty) < INFER_MARGIN)
				vec_push(&(*a)->rivals, *b);
}

/* --- from one window to the next --- */

/* Moves a hypothesis of a past window to the modules of this one; false when those are gone. */
static bool move_to_graph(struct hypothesis *h, const struct graph *graph)
{
	size_t kept = 0;

	h->accused = graph_find(graph, h->accused->id);
	for (size_t i = 0; i < h->affects.count; i++) {
		struct module *module = graph_find(graph, h->affects.items[i]->id);

		if (module)
			h->affects.items[kept++] = module;
	}
	if (!h->accused || (h->affects.count > 0 && kept == 0))
		return false;
	h->affects.count = kept;
	vec_each(&h->evidence, evidence)
		evidence->seen_at = graph_find(graph, evidence->seen_at->id);
	return true;
}

/* Keeps the rivals that were also carried over. */
static void keep_rivals(struct hypothesis *h)
{
	size_t kept = 0;

	vec_each(&h->rivals, rival)
		if ((*rival)->over)
			h->rivals.items[kept++] = *rival;
	h->rivals.count = kept;
}

/* Another hypothesis about the same is reported now, or not much weaker and only waits to be confirmed. */
static bool is_superseded(const struct verdict *verdict, size_t count, const struct hypothesis *h)
{
	for (size_t i = 0; i < count; i++)
		if (hypothesis_is_about_the_same(verdict->hypotheses.items[i], h))
			return true;
	vec_each(&verdict->losers, other)
		if ((*other)->certainty >= fmax(INFER_THRESHOLD, h->certainty - INFER_MARGIN) &&
		    (*other)->cause != h->cause && hypothesis_is_about_the_same(*other, h))
			return true;
	return false;
}

/* This window has evidence against it: it has not ended, it never was. */
static bool is_refuted(const struct verdict *verdict, const struct hypothesis *h)
{
	vec_each(&verdict->losers, other)
		if ((*other)->cause == h->cause && (*other)->accused == h->accused)
			return (*other)->certainty <= -INFER_THRESHOLD;
	return false;
}

void verdict_carry_over(struct verdict *verdict, struct verdict *past,
			bool (*keep)(const struct hypothesis *hypothesis, void *context), void *context)
{
	size_t present = verdict->hypotheses.count, left = 0;

	vec_each(&past->hypotheses, at) {
		struct hypothesis *h = *at;

		if (h->over || !move_to_graph(h, verdict->graph) || is_superseded(verdict, present, h) ||
		    is_refuted(verdict, h) || !keep(h, context)) {
			past->hypotheses.items[left++] = h;
			continue;
		}
		h->over = true;
		vec_push(&verdict->hypotheses, h);
	}
	past->hypotheses.count = left;
	for (size_t i = present; i < verdict->hypotheses.count; i++)
		keep_rivals(verdict->hypotheses.items[i]);
	verdict_sort(verdict);
}
