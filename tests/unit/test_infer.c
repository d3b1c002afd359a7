/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine without networks: modules of one measure, rules written here. */
#include <math.h>

#include "unit.h"

#include "diagnose/infer/diagnosis.h"
#include "reading.h"

/* It comes before the program's. */
static const struct module_scope resolver_scope = {.kind = MODULE_RESOLVER, .parts = {READING_PART}};
MODULE_SCOPE(resolver_scope);

#define CAUSE(name, kind)                                                                                              \
	"cause " name "\nlayer: host\naccuses: " kind "\nseverity: high\nsummary: s\nmeans: m\nadvice: a\n"            \
	"next: nest x {level}\nnext: nest y {unheard}\n\n"
#define RULE(name, when, cause, cf, family)                                                                            \
	"rule " name "\nabout: resolver\nwhen: " when "\nsuggests: " cause "\ncertainty: " cf "\nfamily: " family      \
	"\nbecause: level {level}\n\n"

static struct knowledge *know(const char *text)
{
	struct knowledge *knowledge = xzalloc(sizeof(*knowledge));
	struct why why = {};

	if (knowledge_add_text(knowledge, "test", text, &why) < 0)
		printf("# %s\n", why.text);
	REQUIRE(knowledge->rules.count > 0);
	return knowledge;
}

static struct module *add(struct graph *graph, const char *id, uint64_t level, uint64_t other)
{
	struct module *module = graph_module(graph, MODULE_RESOLVER, id, id);

	module->measures.resolver = reading_new(graph, level, other);
	return module;
}

static double certainty_of(const struct verdict *verdict, const char *cause)
{
	vec_each(&verdict->hypotheses, h)
		if (strcmp((*h)->cause->name, cause) == 0)
			return (*h)->certainty;
	return -2;
}

TEST(evidence_of_different_families_adds_up)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(
		CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.6", "x") RULE("b", "level > 2", "c", "0.4", "y"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;

	add(g, "r:1", 5, 0);
	v = reading_judge(k, g);
	CHECK_NEAR(certainty_of(v, "c"), 0.76, 1e-9);
}

TEST(of_one_family_only_the_strongest_counts)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.6", "x")
			     RULE("b", "level > 2", "c", "0.8", "x") RULE("d", "level > 3", "c", "-0.4", "x"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;

	add(g, "r:1", 5, 0);
	v = reading_judge(k, g);
	/* The one that speaks against counts on its own: 0.8 and -0.4. */
	CHECK_NEAR(certainty_of(v, "c"), (0.8 - 0.4) / (1 - 0.4), 1e-9);
	CHECK_EQ_UINT(v->hypotheses.items[0]->evidence.count, 3);
	CHECK(v->hypotheses.items[0]->evidence.items[0].counted);
	CHECK(!v->hypotheses.items[0]->evidence.items[1].counted);
}

TEST(evidence_of_the_same_strength_is_in_the_order_of_names)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("b", "level > 1", "c", "0.6", "x")
			     RULE("a", "level > 2", "c", "0.6", "y") RULE("d", "level > 3", "c", "0.6", "z"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	const struct evidence *evidence;

	add(g, "r:1", 5, 0);
	v = reading_judge(k, g);
	REQUIRE(v->hypotheses.count == 1 && v->hypotheses.items[0]->evidence.count == 3);
	evidence = v->hypotheses.items[0]->evidence.items;
	CHECK_EQ_TEXT(evidence[0].name, "a");
	CHECK_EQ_TEXT(evidence[1].name, "b");
	CHECK_EQ_TEXT(evidence[2].name, "d");
}

/* Affected is what waits and depends on the module, nothing else. */
TEST(who_is_affected)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.6", "x"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	struct module *one = add(g, "r:1", 5, 0), *waits = graph_module(g, MODULE_CONN, "conn:1", "1"),
		      *idles = graph_module(g, MODULE_CONN, "conn:2", "2"),
		      *other = graph_module(g, MODULE_CONN, "conn:3", "3");

	waits->related[MODULE_RESOLVER] = idles->related[MODULE_RESOLVER] = one;
	waits->activity = other->activity = ACTIVITY_WAITING;
	idles->activity = ACTIVITY_IDLE;
	v = reading_judge(k, g);
	REQUIRE(v->hypotheses.count == 1);
	CHECK_EQ_UINT(v->hypotheses.items[0]->affects.count, 1);
	CHECK(hypothesis_affects(v->hypotheses.items[0], waits));
}

TEST(a_rule_does_not_fire_on_the_unknown)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "resolver") RULE(
		"a", "not level > 100", "c", "0.6", "x") RULE("b", "level < 100", "c", "0.6", "y"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;

	add(g, "r:1", UINT64_MAX, 0);
	v = reading_judge(k, g);
	CHECK_EQ_UINT(v->hypotheses.count, 0);
}

TEST(a_cause_accuses_the_related_module)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "path") RULE("a", "level > 1", "c", "0.6", "x"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	struct module *one = add(g, "r:1", 5, 0), *path;

	add(g, "r:2", 5, 0); /* has no path: nobody to accuse */
	path = graph_module(g, MODULE_PATH, "path:x", "x");
	one->related[MODULE_PATH] = path;
	v = reading_judge(k, g);
	REQUIRE(v->hypotheses.count == 1);
	CHECK(v->hypotheses.items[0]->accused == path);
	CHECK_EQ_TEXT(v->hypotheses.items[0]->evidence.items[0].text, "level 5");
}

/* Two explanations of what one connection suffers from. */
static struct verdict *rivals(const struct knowledge *k, struct graph *g)
{
	struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1");
	struct module *one = add(g, "r:1", 5, 9);

	conn->related[MODULE_RESOLVER] = one;
	conn->activity = ACTIVITY_WAITING;
	one->related[MODULE_PATH] = graph_module(g, MODULE_PATH, "path:x", "x");
	return reading_judge(k, g);
}

TEST(the_better_explanation_wins)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "path") CAUSE("d", "resolver") RULE(
		"a", "level > 1", "c", "0.9", "x") RULE("b", "other > 2", "d", "0.6", "y"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = rivals(k, g);

	CHECK_EQ_UINT(v->hypotheses.count, 2);
	verdict_compete(v, NULL, NULL);
	REQUIRE(v->hypotheses.count == 1);
	CHECK_EQ_TEXT(v->hypotheses.items[0]->cause->name, "c");
	CHECK_EQ_UINT(v->hypotheses.items[0]->rivals.count, 0);
}

#define EXPLAINS(name, others) "page " name "\nblind: b\nexplains: " others "\n\n"

/* "c" accuses what the connection depends on, "d" the path below another. */
static size_t left_of_two(const char *rules, enum module_kind accused, bool shared)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(rules);
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1"),
		      *second = graph_module(g, MODULE_CONN, "conn:2", "2"), *one = add(g, "r:1", 5, 0),
		      *two = add(g, "r:2", 0, 9), *below = graph_module(g, accused, "below", "below");

	conn->related[MODULE_RESOLVER] = one;
	second->related[MODULE_RESOLVER] = two;
	conn->activity = second->activity = ACTIVITY_WAITING;
	one->related[accused] = conn->related[accused] = below;
	if (shared)
		second->related[accused] = below;
	v = reading_judge(k, g);
	verdict_compete(v, NULL, NULL);
	return v->hypotheses.count;
}

TEST(a_consequence_is_no_finding)
{
#define TWO(kind, first, second)                                                                                       \
	CAUSE("c", kind)                                                                                               \
	CAUSE("d", "resolver") RULE("a", "level > 1", "c", first, "x") RULE("b", "other > 2", "d", second, "y")
	CHECK_EQ_UINT(left_of_two(TWO("path", "0.7", "0.8"), MODULE_PATH, true), 2);
	CHECK_EQ_UINT(left_of_two(TWO("path", "0.8", "0.8") EXPLAINS("c", "d"), MODULE_PATH, true), 1);
	/* Something else waits for it, or it is more certain. */
	CHECK_EQ_UINT(left_of_two(TWO("path", "0.8", "0.8") EXPLAINS("c", "d"), MODULE_PATH, false), 2);
	CHECK_EQ_UINT(left_of_two(TWO("path", "0.7", "0.8") EXPLAINS("c", "d"), MODULE_PATH, true), 2);
	/* All traffic depends on the firewall. */
	CHECK_EQ_UINT(left_of_two(TWO("filter", "0.8", "0.8") EXPLAINS("c", "d"), MODULE_FILTER, true), 2);
}

/* What fills a queue beyond the way out holds up what goes elsewhere, too. */
TEST(a_consequence_on_another_path)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "path") CAUSE("d", "path") RULE(
		"a", "level > 1", "c", "0.7", "x") RULE("b", "other > 2", "d", "0.7", "y") EXPLAINS("c", "d"));

	for (unsigned shared = 0; shared < 2; shared++) {
		_cleanup_(graph_freep) struct graph *g = graph_new();
		_cleanup_(verdict_freep) struct verdict *v = NULL;
		struct module *links[] = {graph_module(g, MODULE_LINK, "eth0", "eth0"),
					  graph_module(g, MODULE_LINK, "eth1", "eth1")};

		for (unsigned i = 0; i < 2; i++) {
			struct module *conn = graph_module(g, MODULE_CONN, i ? "conn:2" : "conn:1", "c"),
				      *one = add(g, i ? "r:2" : "r:1", i ? 0 : 5, i ? 9 : 0);

			conn->activity = ACTIVITY_WAITING;
			conn->related[MODULE_RESOLVER] = one;
			conn->related[MODULE_LINK] = links[i && !shared];
			one->related[MODULE_PATH] = graph_module(g, MODULE_PATH, i ? "path:2" : "path:1", "p");
		}
		v = reading_judge(k, g);
		verdict_compete(v, NULL, NULL);
		CHECK_EQ_UINT(v->hypotheses.count, shared ? 1 : 2);
	}
}

/* A culprit for which nothing is seen to wait: what the cause holds up was on its way there, or not. */
TEST(a_consequence_without_sufferers)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(TWO("filter", "0.8", "0.8") EXPLAINS("c", "d"));

	for (unsigned wanted = 0; wanted < 2; wanted++) {
		_cleanup_(graph_freep) struct graph *g = graph_new();
		_cleanup_(verdict_freep) struct verdict *v = NULL;
		struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1"), *one = add(g, "r:1", 5, 0),
			      *two = add(g, "r:2", 0, 9);

		conn->activity = ACTIVITY_WAITING;
		one->related[MODULE_FILTER] = graph_module(g, MODULE_FILTER, "f", "f");
		v = reading_judge(k, g);
		REQUIRE(v->hypotheses.count == 2);
		vec_each(&v->hypotheses, h)
			if (strcmp((*h)->cause->name, "c") == 0)
				hypothesis_add_affected(*h, conn);
		if (wanted)
			conn->related[MODULE_RESOLVER] = two;
		verdict_compete(v, NULL, NULL);
		CHECK_EQ_UINT(v->hypotheses.count, wanted ? 1 : 2);
	}
}

TEST(equal_explanations_are_both_given)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "path") CAUSE("d", "resolver") RULE(
		"a", "level > 1", "c", "0.7", "x") RULE("b", "other > 2", "d", "0.6", "y"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = rivals(k, g);

	verdict_compete(v, NULL, NULL);
	REQUIRE(v->hypotheses.count == 2);
	CHECK_EQ_TEXT(v->hypotheses.items[0]->cause->name, "c");
	REQUIRE(v->hypotheses.items[0]->rivals.count == 1);
	CHECK_EQ_TEXT(v->hypotheses.items[0]->rivals.items[0]->cause->name, "d");
}

/* Without a piece of evidence: without all that sees the same, and what did not count does not count now. */
TEST(certainty_without_a_piece_of_evidence)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(
		CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.8", "x") RULE("b", "level > 2", "c", "0.6", "x")
			RULE("d", "level > 3", "c", "0.5", "y") RULE("e", "level > 4", "c", "-0.4", "x"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	const struct hypothesis *h;

	add(g, "r:1", 5, 0);
	v = reading_judge(k, g);
	REQUIRE(v->hypotheses.count == 1 && v->hypotheses.items[0]->evidence.count == 4);
	h = v->hypotheses.items[0];
	CHECK_NEAR(h->certainty, (0.9 - 0.4) / 0.6, 1e-9);
	CHECK_NEAR(hypothesis_without(h, &h->evidence.items[0]), (0.5 - 0.4) / 0.6, 1e-9);
	CHECK_NEAR(hypothesis_without(h, &(struct evidence){.family = "y", .factor = 0.1}), (0.8 - 0.4) / 0.6, 1e-9);
	CHECK_NEAR(hypothesis_without(h, &(struct evidence){.family = "x", .factor = -0.1}), 0.9, 1e-9);
	CHECK_NEAR(hypothesis_without(h, &(struct evidence){.family = "z", .factor = 0.9}), h->certainty, 1e-9);
}

/* A window of one sample shows only what moves, and what somebody waits on. */
TEST(a_coarse_window_leaves_out_the_quiet)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.6", "x"));

	for (unsigned i = 0; i < 4; i++) {
		_cleanup_(graph_freep) struct graph *g = graph_new();
		_cleanup_(verdict_freep) struct verdict *v = NULL;

		add(g, "r:1", 5, 0)->quiet = i & 1;
		g->coarse = i & 2;
		v = reading_judge(k, g);
		unit_note("case %u", i);
		CHECK_EQ_UINT(v->hypotheses.count, i != 3);
	}
}

/* What the host sees of a connection of a container explains it better than the path to which it is known. */
TEST(of_a_forwarded_connection_the_host_knows_its_own_part)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "path") CAUSE("d", "resolver") RULE(
		"a", "level > 1", "c", "0.7", "x") RULE("b", "other > 2", "d", "0.6", "y"));

	for (unsigned forwarded = 0; forwarded < 2; forwarded++) {
		_cleanup_(graph_freep) struct graph *g = graph_new();
		_cleanup_(verdict_freep) struct verdict *v = NULL;

		if (forwarded)
			graph_module(g, MODULE_CONN, "conn:1", "1")->carries =
				graph_module(g, MODULE_CONN, "conn:2", "2");
		v = rivals(k, g);
		verdict_compete(v, NULL, NULL);
		REQUIRE(v->hypotheses.count == (forwarded ? 1 : 2));
		CHECK_EQ_TEXT(v->hypotheses.items[0]->cause->name, forwarded ? "d" : "c");
	}
}

TEST(one_rule_may_speak_about_several_causes)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "resolver") CAUSE("d", "resolver") RULE(
		"a", "level > 1", "c, d", "-0.6", "x") RULE("b", "level > 1", "d", "0.6", "y"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	_cleanup_free_ char *causes = rule_causes(k->rules.items[0]);

	CHECK_EQ_TEXT(causes, "c, d");
	add(g, "r:1", 5, 0);
	v = reading_judge(k, g);
	CHECK_NEAR(certainty_of(v, "c"), -0.6, 1e-9);
	CHECK_NEAR(certainty_of(v, "d"), 0, 1e-9);
}

TEST(below_the_threshold_nothing_is_said)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.45", "x"));
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;

	add(g, "r:1", 5, 0);
	v = reading_judge(k, g);
	verdict_compete(v, NULL, NULL);
	CHECK_EQ_UINT(v->hypotheses.count, 0);
}

TEST(two_windows_confirm)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "resolver") RULE(
		"a", "level > 1", "c", "0.9", "x") RULE("b", "level == 1", "c", "0.6", "x"));
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
	/*
	 * What was confirmed may miss one window, not two; what was not must come twice in a row. Negative: it is
	 * over, and told because the first two of the three windows agree.
	 */
	static const uint64_t levels[] = {5, 0, 5, 1, 0, 5, 0, 0, 5, 0, 0, 0, 5, 5, 0, 0};
	static const double said[] = {0, 0, 0, 0.6, -0.6, 0.6, 0, 0, 0, 0, 0, 0, 0, 0.9, -0.9, 0};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		struct graph *g = graph_new();
		const struct diagnosis_record *record;
		const struct finding_record *findings;

		g->start_ns = 1000000000 * (i + 1);
		g->window_ns = 1000000000;
		add(g, "r:1", levels[i], 0);
		diagnosis_add_window(d, g);
		record = diagnosis_get(d);
		unit_note("window %zu", i);
		CHECK_EQ_INT(record->healthy, said[i] == 0);
		REQUIRE(record->findings.count == (said[i] != 0));
		findings = record->findings.items;
		/* The weaker of the two windows is what can be claimed. */
		if (said[i] != 0) {
			CHECK_NEAR(findings[0].certainty, fabs(said[i]), 1e-9);
			CHECK_EQ_INT(findings[0].over, said[i] < 0);
			CHECK_EQ_TEXT(findings[0].module, "r:1");
		}
		if (i >= 2)
			CHECK_EQ_UINT(record->window_ms, 3000);
	}
}

/* With hindsight a window is reported with the next one, which may confirm it; the last one at the end. */
TEST(the_next_window_confirms)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "resolver") RULE(
		"a", "level > 1", "c", "0.9", "x") RULE("b", "level == 1", "c", "0.6", "x"));
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
	static const uint64_t levels[] = {0, 5, 1, 0, 5, 0, 5, 5};
	static const double said[] = {0, 0.6, 0.6, -0.6, 0.6, 0, 0.9, 0.9};
	size_t count = ARRAY_SIZE(levels);

	diagnosis_set_hindsight(d);
	for (size_t i = 0; i <= count; i++) {
		const struct diagnosis_record *record;
		const struct finding_record *findings;
		struct graph *g = i < count ? graph_new() : NULL;
		bool concluded;

		if (g) {
			g->start_ns = 1000000000 * (i + 1);
			g->window_ns = 1000000000;
			add(g, "r:1", levels[i], 0);
		}
		concluded = g ? diagnosis_add_window(d, g) : diagnosis_end(d);
		CHECK_EQ_INT(concluded, i > 0);
		if (!concluded)
			continue;
		record = diagnosis_get(d);
		unit_note("window %zu", i - 1);
		REQUIRE(record->findings.count == (said[i - 1] != 0));
		CHECK_EQ_UINT(diagnosis_graph(d)->start_ns, 1000000000 * i);
		findings = record->findings.items;
		if (said[i - 1] != 0) {
			CHECK_NEAR(findings[0].certainty, fabs(said[i - 1]), 1e-9);
			CHECK_EQ_INT(findings[0].over, said[i - 1] < 0);
		}
	}
	CHECK(!diagnosis_end(d));
}

/* A module that two windows accuse of two things: one of them is known now, unless it is a path or another is older. */
TEST(two_causes_confirm_their_culprit)
{
	static const struct {
		const char *accuses, *said;
		uint64_t level[3], other[3];
	} cases[] = {{"resolver", "d", {0, 5, 0}, {0, 0, 9}},
		     {"path", "", {0, 5, 0}, {0, 0, 9}},
		     {"resolver", "c", {0, 5, 5}, {0, 0, 9}},
		     {"resolver", "", {5, 0, 0}, {0, 0, 9}}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text =
			xasprintf(CAUSE("c", "%s") CAUSE("d", "%s") RULE("a", "level > 1", "c", "0.6", "x")
					  RULE("b", "other > 2", "d", "0.7", "y"),
				  cases[i].accuses, cases[i].accuses);
		_cleanup_(knowledge_freep) struct knowledge *k = know(text);
		_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
		const struct diagnosis_record *record;
		const struct finding_record *f;

		for (unsigned window = 0; window < 3; window++) {
			struct graph *g = graph_new();
			struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1");
			struct module *one = add(g, "r:1", cases[i].level[window], cases[i].other[window]);

			conn->related[MODULE_RESOLVER] = one;
			conn->activity = ACTIVITY_WAITING;
			one->related[MODULE_PATH] = graph_module(g, MODULE_PATH, "path:x", "x");
			diagnosis_add_window(d, g);
		}
		record = diagnosis_get(d);
		f = record->findings.items;
		unit_note("case %zu", i);
		REQUIRE(record->findings.count == (cases[i].said[0] != '\0'));
		if (cases[i].said[0])
			CHECK_EQ_TEXT(f[0].cause, cases[i].said);
	}
}

/* What one window suggests is known before another one confirms it. */
TEST(a_suspicion_is_not_confirmed)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.9", "x"));
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
	static const uint64_t levels[] = {0, 5, 5, 0};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		struct graph *g = graph_new();
		struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1");
		struct suspicion suspicion;

		conn->related[MODULE_RESOLVER] = add(g, "r:1", levels[i], 0);
		conn->activity = ACTIVITY_WAITING;
		diagnosis_add_window(d, g);
		unit_note("window %zu", i);
		REQUIRE(diagnosis_suspects(d, "conn:1", &suspicion) == (levels[i] > 1));
		CHECK(!diagnosis_suspects(d, "conn:2", &suspicion));
		if (levels[i] > 1) {
			CHECK_EQ_TEXT(suspicion.cause, "c");
			CHECK_NEAR(suspicion.certainty, 0.9, 1e-9);
		}
	}
}

/* An ended finding gives way to a current one of the same module or sufferer, and to a module that is gone. */
TEST(what_is_over_gives_way)
{
	_cleanup_(knowledge_freep) struct knowledge *k = know(CAUSE("c", "path") CAUSE("d", "resolver") RULE(
		"a", "level > 1", "c", "0.9", "x") RULE("b", "other > 2", "d", "0.6", "y"));
	static const struct {
		uint64_t level, other;
		const char *module, *said;
	} windows[] = {
		{5, 0, "r:1", ""},  {5, 0, "r:1", "c"}, {0, 9, "r:1", "c over"}, {0, 9, "r:1", "d"},
		{5, 0, "r:1", ""},  {5, 0, "r:1", "c"}, {0, 0, "r:1", "c over"}, {5, 0, "r:1", "c"},
		{5, 0, "r:1", "c"}, {0, 0, "r:2", ""},
	};
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		struct graph *g = graph_new();
		struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1");
		struct module *one = add(g, windows[i].module, windows[i].level, windows[i].other);
		const struct diagnosis_record *record;
		const struct finding_record *f;
		char said[64] = "";

		conn->related[MODULE_RESOLVER] = one;
		conn->activity = ACTIVITY_WAITING;
		one->related[MODULE_PATH] =
			graph_module(g, MODULE_PATH, windows[i].module[2] == '1' ? "path:x" : "path:y", "x");
		diagnosis_add_window(d, g);
		record = diagnosis_get(d);
		f = record->findings.items;
		for (uint32_t n = 0; n < record->findings.count; n++)
			snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s", f[n].cause,
				 f[n].over ? " over" : "");
		unit_note("window %zu", i);
		CHECK_EQ_TEXT(said, windows[i].said);
	}
}

/* A cause that waits to be confirmed is enough, from the threshold on. */
TEST(what_is_over_gives_way_to_what_is_not_confirmed)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{CAUSE("c", "path") CAUSE("d", "resolver") RULE("a", "level > 1", "c", "0.6", "x")
			 RULE("b", "other > 2", "d", "0.5", "y"),
		 ""},
		{CAUSE("c", "path") CAUSE("d", "resolver") RULE("a", "level > 1", "c", "0.6", "x")
			 RULE("b", "other > 2", "d", "0.49", "y"),
		 "c"},
		/* What the last window speaks against was never so. */
		{CAUSE("c", "path") RULE("a", "level > 1", "c", "0.6", "x") RULE("b", "other > 2", "c", "-0.5", "y"),
		 ""},
		{CAUSE("c", "path") RULE("a", "level > 1", "c", "0.6", "x") RULE("b", "other > 2", "c", "-0.49", "y"),
		 "c"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(knowledge_freep) struct knowledge *k = know(cases[i].text);
		_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
		const struct diagnosis_record *record;
		const struct finding_record *f;

		for (unsigned window = 0; window < 3; window++) {
			struct graph *g = graph_new();
			struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1");
			struct module *one = add(g, "r:1", window < 2 ? 5 : 0, window < 2 ? 0 : 9);

			conn->related[MODULE_RESOLVER] = one;
			conn->activity = ACTIVITY_WAITING;
			one->related[MODULE_PATH] = graph_module(g, MODULE_PATH, "path:x", "x");
			diagnosis_add_window(d, g);
		}
		record = diagnosis_get(d);
		f = record->findings.items;
		unit_note("case %zu", i);
		REQUIRE(record->findings.count == (cases[i].said[0] != '\0'));
		if (cases[i].said[0]) {
			CHECK_EQ_TEXT(f[0].cause, cases[i].said);
			CHECK(f[0].over);
		}
	}
}

/* Without a window nothing is known; a fact needs one. */
TEST(facts_and_suspicions_without_a_window)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.97", "x"));
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
	struct graph *g = graph_new();
	struct suspicion suspicion;

	CHECK(!diagnosis_has_fact(d));
	CHECK(!diagnosis_suspects(d, "r:1", &suspicion));
	add(g, "r:1", 0, 0);
	diagnosis_add_window(d, g);
	CHECK(!diagnosis_has_fact(d));
	g = graph_new();
	add(g, "r:1", 5, 0);
	diagnosis_add_window(d, g);
	CHECK(diagnosis_has_fact(d));
}

/* --- the witness --- */

static const struct cause *accused_cause;

/* Evidence of an application: against it from one connection, for it from a name server and another connection. */
static struct verdict *accuse_app(const struct knowledge *knowledge _unused_, struct graph *graph)
{
	struct verdict *verdict = verdict_new(graph);
	struct hypothesis *h = verdict_add(verdict, accused_cause, graph_find(graph, "app:1"));
	const struct evidence evidence[] = {
		{"r", "x", graph_find(graph, "r:1"), 0.97, xstrdup(""), false},
		{"a", "y", graph_find(graph, "conn:1"), -0.9, xstrdup(""), false},
		{"c", "w", graph_find(graph, "conn:2"), 0.8, xstrdup(""), false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(evidence); i++)
		hypothesis_add_evidence(h, &evidence[i]);
	verdict_weigh(verdict);
	return verdict;
}

static bool answer_port(void *context, const struct witness_question *question, struct witness_answer *ret_answer)
{
	*(unsigned *)context = question->local.port;
	*ret_answer = (struct witness_answer){.function = "f", .module = "m", .share = 0.5, .tid = 7, .text = "in f"};
	return true;
}

/* It is asked about the connection that speaks for what the application is accused of. */
TEST(the_witness_is_asked_about_the_connection_that_waits)
{
	static const struct engine engine = {.name = "witness", .judge = accuse_app};
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "app") RULE("a", "level > 1", "c", "0.6", "x"));
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
	const struct finding_record *finding;
	unsigned asked = 0;
	struct witness witness = {.ask = answer_port, .context = &asked};

	accused_cause = k->causes.items[0];
	diagnosis_set_engine(d, &engine);
	diagnosis_set_witness(d, &witness);
	for (unsigned window = 0; window < 2; window++) {
		struct graph *g = graph_new();

		add(g, "r:1", 5, 0);
		graph_module(g, MODULE_APP, "app:1", "1")->activity = ACTIVITY_WAITING;
		for (unsigned i = 1; i <= 2; i++) {
			char id[] = "conn:0";
			struct conn_measures *conn = graph_alloc(g, sizeof(*conn));

			id[5] = (char)('0' + i);
			conn->lport = (uint16_t)(5000 + i);
			graph_module(g, MODULE_CONN, id, id)->measures.conn = conn;
		}
		diagnosis_add_window(d, g);
	}
	REQUIRE(diagnosis_get(d)->findings.count == 1);
	finding = diagnosis_get(d)->findings.items;
	CHECK_NEAR(finding->certainty, 0.94, 1e-9);
	CHECK_EQ_UINT(asked, 5002);
	REQUIRE(finding->spent_in.count == 1);
	CHECK_EQ_TEXT(((const struct spent_record *)finding->spent_in.items)->text, "in f");
}

TEST(next_commands_need_their_values)
{
	_cleanup_(knowledge_freep) struct knowledge *k =
		know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.9", "x"));
	_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
	const struct finding_record *finding;

	for (int i = 0; i < 2; i++) {
		struct graph *g = graph_new();

		add(g, "r:1", 5, 0);
		diagnosis_add_window(d, g);
	}
	REQUIRE(diagnosis_get(d)->findings.count == 1);
	finding = diagnosis_get(d)->findings.items;
	REQUIRE(finding->next.count == 1);
	CHECK_EQ_TEXT(text_record_at(&finding->next, 0), "nest x 5");
	CHECK_EQ_TEXT(finding->because, "level 5");
}

static bool x_takes_netns(const char *name)
{
	return strcmp(name, "x") == 0;
}

TEST(next_commands_keep_the_namespace)
{
	static const struct {
		const char *netns, *want;
	} cases[] = {
		{NULL, "nest x 5"},
		{"web", "nest x -N web 5"},
		{"/run/netns/web", "nest x -N /run/netns/web 5"},
		{"web; reboot", NULL}, /* a name must not become a second command */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(knowledge_freep) struct knowledge *k =
			know(CAUSE("c", "resolver") RULE("a", "level > 1", "c", "0.9", "x"));
		_cleanup_(diagnosis_freep) struct diagnosis *d = diagnosis_new(k);
		const struct finding_record *finding;

		k->takes_netns = x_takes_netns;
		diagnosis_set_netns_option(d, cases[i].netns);
		for (int n = 0; n < 2; n++) {
			struct graph *g = graph_new();

			add(g, "r:1", 5, 0);
			diagnosis_add_window(d, g);
		}
		finding = diagnosis_get(d)->findings.items;
		unit_note("%s", cases[i].netns);
		REQUIRE(finding->next.count == (cases[i].want != NULL));
		if (cases[i].want)
			CHECK_EQ_TEXT(text_record_at(&finding->next, 0), cases[i].want);
	}
}

TEST(waiting_travels_down_and_idleness_absolves)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct module *app = graph_module(g, MODULE_APP, "app:1", "1"),
		      *idle = graph_module(g, MODULE_APP, "app:2", "2");
	struct module *conn = graph_module(g, MODULE_CONN, "conn:1", "1"),
		      *unused = graph_module(g, MODULE_CONN, "conn:2", "2");
	struct module *path = graph_module(g, MODULE_PATH, "path:1", "1"),
		      *far = graph_module(g, MODULE_PATH, "path:2", "2");

	app->activity = ACTIVITY_WAITING;
	idle->activity = ACTIVITY_IDLE;
	graph_add_edge(app, conn);
	graph_add_edge(conn, path);
	graph_add_edge(idle, unused);
	graph_add_edge(unused, far);
	graph_add_edge(unused, path);
	graph_add_edge(unused, path); /* known already */
	graph_propagate(g);
	CHECK_EQ_INT(conn->activity, ACTIVITY_WAITING_ANCESTOR);
	CHECK_EQ_INT(path->activity, ACTIVITY_WAITING_ANCESTOR);
	CHECK_EQ_INT(unused->activity, ACTIVITY_IGNORED);
	CHECK_EQ_INT(far->activity, ACTIVITY_IGNORED);
	CHECK_EQ_UINT(path->needed_by.count, 2);
}
