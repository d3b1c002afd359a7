/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What would change a verdict, with rules written here and modules of two measures. */
#include "unit.h"

#include "diagnose/infer/whatif.h"
#include "reading.h"

static const struct module_scope tunnel_scope = {.kind = MODULE_TUNNEL, .parts = {READING_PART}};
MODULE_SCOPE(tunnel_scope);

#define CAUSE(name) "cause " name "\nlayer: host\naccuses: tunnel\nseverity: high\nsummary: s\nmeans: m\nadvice: a\n\n"
#define RULE(name, when, cause, cf, family)                                                                            \
	"rule " name "\nabout: tunnel\nwhen: " when "\nsuggests: " cause "\ncertainty: " cf "\nfamily: " family        \
	"\nbecause: level {level}\n\n"

/* The sentences about the strongest hypothesis of one module, joined by lines. */
static const char *ask(const char *rules, uint64_t level, uint64_t other)
{
	static char said[2048];
	_cleanup_(knowledge_freep) struct knowledge *k = xzalloc(sizeof(*k));
	_cleanup_(graph_freep) struct graph *graph = graph_new();
	_cleanup_(verdict_freep) struct verdict *verdict = NULL;
	struct module *module = graph_module(graph, MODULE_TUNNEL, "tunnel:a", "a"),
		      *conn = graph_module(graph, MODULE_CONN, "conn:a", "a");
	char *sentences[WHATIF_MAX];
	struct why why = {};
	size_t count;

	REQUIRE(knowledge_add_text(k, "test", rules, &why) == 0);
	module->measures.resolver = reading_new(graph, level, other);
	conn->related[MODULE_TUNNEL] = module;
	conn->activity = ACTIVITY_WAITING;
	verdict = reading_judge(k, graph);
	verdict_compete(verdict, NULL, NULL);
	REQUIRE(verdict->hypotheses.count > 0);
	count = whatif_sentences(k, verdict, verdict->hypotheses.items[0], sentences);
	said[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s", i ? "\n" : "", sentences[i]);
		free(sentences[i]);
	}
	return said;
}

TEST(the_evidence_that_carries_a_finding_is_named)
{
	CHECK_EQ_TEXT(ask(CAUSE("c") RULE("a", "level > 1", "c", "0.8", "x"), 5, 0),
		      "without [a] it would be at 0.00, and 0.50 is needed");
	/* Each of two that are enough alone carries nothing. */
	CHECK_EQ_TEXT(
		ask(CAUSE("c") RULE("a", "level > 1", "c", "0.8", "x") RULE("b", "level > 1", "c", "0.6", "y"), 5, 0),
		"");
	/* Two that see the same fall together. */
	CHECK_EQ_TEXT(
		ask(CAUSE("c") RULE("a", "level > 1", "c", "0.8", "x") RULE("b", "level > 1", "c", "0.6", "x"), 5, 0),
		"without [a], [b] it would be at 0.00, and 0.50 is needed");
	/* One of another family stays. */
	CHECK_EQ_TEXT(
		ask(CAUSE("c") RULE("a", "level > 1", "c", "0.8", "x") RULE("b", "level > 1", "c", "0.3", "y"), 5, 0),
		"without [a] it would be at 0.30, and 0.50 is needed");
}

TEST(evidence_against_that_did_not_show)
{
	const char *rules = CAUSE("c") RULE("a", "level > 1", "c", "0.6", "x") RULE("b", "level > 1", "c", "0.6", "y")
		RULE("n", "other > 3", "c", "-0.9", "z") RULE("weak", "other > 4", "c", "-0.1", "w");

	/* 0.84 with -0.9 is -0.06 / 0.16. */
	CHECK_EQ_TEXT(ask(rules, 5, 0), "if 'other > 3' held [n], it would be at -0.38");
	CHECK_EQ_TEXT(ask(rules, 5, UINT64_MAX),
		      "other is not known there; if 'other > 3' held [n], it would be at -0.38");
}

/* 0.75 with -0.5 is 0.25 / 0.5: at the threshold it would still be reported. */
TEST(evidence_against_that_would_change_nothing)
{
	CHECK_EQ_TEXT(
		ask(CAUSE("c") RULE("a", "level > 1", "c", "0.75", "x") RULE("n", "other > 3", "c", "-0.5", "z"), 5, 0),
		"without [a] it would be at 0.00, and 0.50 is needed");
	/* A rule about another kind of module has no place to look at. */
	CHECK_EQ_TEXT(
		ask(CAUSE("c") RULE("a", "level > 1", "c", "0.75", "x") "rule n\nabout: conn\nwhen: loss_share > "
									"0.1\nsuggests: c\ncertainty: -0.9\nfamily: z\n"
									"because: loss\n\n",
		    5, 0),
		"without [a] it would be at 0.00, and 0.50 is needed");
}

TEST(what_the_runner_up_lacks)
{
	const char *rules =
		CAUSE("c") CAUSE("d") RULE("a", "level > 1", "c", "0.6", "x") RULE("b", "level > 1", "c", "0.6", "y")
			RULE("e", "level > 1", "d", "0.4", "x") RULE("f", "other > 3", "d", "0.9", "y");

	CHECK_EQ_TEXT(ask(rules, 5, 0),
		      "d (a) is at 0.40; if 'other > 3' held [f], it would be at 0.94 and count as well");
}
