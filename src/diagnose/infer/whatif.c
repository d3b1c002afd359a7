/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "diagnose/infer/whatif.h"
#include "diagnose/measure/far_end.h"

/* Rules against it that are named. */
#define AGAINST_MAX 3

struct answer {
	char **sentences;
	size_t count;
};

static void say(struct answer *answer, char *sentence)
{
	if (answer->count < WHATIF_MAX)
		answer->sentences[answer->count++] = sentence;
	else
		free(sentence);
}

static bool has_spoken(const struct hypothesis *h, const struct rule *rule)
{
	vec_each(&h->evidence, evidence)
		if (strcmp(evidence->name, rule->name) == 0)
			return true;
	return false;
}

/* "[a], [b]": the piece of evidence and those that saw the same thing. */
static void add_akin(struct buf *text, const struct hypothesis *h, const struct evidence *evidence)
{
	buf_add_format(text, "[%s]", evidence->name);
	vec_each(&h->evidence, other)
		if (other != evidence && evidence_is_akin(other, evidence) && strcmp(other->name, evidence->name) != 0)
			buf_add_format(text, ", [%s]", other->name);
}

/* Pieces of evidence without which the finding would not be reported. */
static void say_what_carries(struct answer *answer, const struct hypothesis *h)
{
	vec_each(&h->evidence, evidence) {
		_cleanup_buf_ struct buf names = BUF_INIT(1024);
		double without;

		if (!evidence->counted || evidence->factor < 0)
			continue;
		without = hypothesis_without(h, evidence);
		if (without >= INFER_THRESHOLD)
			continue;
		add_akin(&names, h, evidence);
		say(answer, xasprintf("without %s it would be at %.2f, and %.2f is needed", buf_text(&names), without,
				      INFER_THRESHOLD));
	}
}

/* A rule about both ends, of a connection that was recorded at one: no look would have known more. */
static bool needs_other_end(const struct rule *rule, const struct module *module)
{
	struct shape shape = module_scope_shape(rule->about);
	struct field_ref at = {};

	if (module->measures.far_end)
		return false;
	while (shape_next(&shape, &at))
		if (shape.types[at.part] == &far_end_measures_type && expr_uses(rule->when, at))
			return true;
	return false;
}

/* Where a rule about this hypothesis would have looked: a module of its kind that the evidence was seen at. */
static const struct module *place_of(const struct hypothesis *h, const struct rule *rule)
{
	vec_each(&h->evidence, evidence)
		if (evidence->seen_at->kind == rule->about->kind && !needs_other_end(rule, evidence->seen_at))
			return evidence->seen_at;
	return NULL;
}

/* The first measure of the condition that is not known there; NULL when all are. */
static const char *unknown_measure(const struct rule *rule, const struct module *module)
{
	struct record record = module_scope_record(rule->about, module);
	struct shape shape = module_scope_shape(rule->about);
	struct field_ref at = {};

	while (shape_next(&shape, &at))
		if (expr_uses(rule->when, at) && record_get(&record, at).class == VALUE_UNKNOWN)
			return at.field->name;
	return NULL;
}

/* Evidence against that did not show and would have been enough by itself; what could not be seen first. */
static void say_what_speaks_not(struct answer *answer, const struct knowledge *knowledge, const struct hypothesis *h,
				bool unseen)
{
	size_t said = 0;

	vec_each(&knowledge->rules, at) {
		const struct rule *rule = *at;
		const struct module *place;
		const char *unknown;
		double with;

		if (said == AGAINST_MAX || rule->certainty > 0 || !rule_suggests(rule, h->cause) || has_spoken(h, rule))
			continue;
		place = place_of(h, rule);
		with = hypothesis_with(h, rule->family, rule->certainty);
		if (!place || with >= INFER_THRESHOLD)
			continue;
		unknown = unknown_measure(rule, place);
		if ((unknown != NULL) != unseen)
			continue;
		said++;
		say(answer,
		    unknown ? xasprintf("%s is not known there; if '%s' held [%s], it would be at %.2f", unknown,
					rule->when_text, rule->name, with)
			    : xasprintf("if '%s' held [%s], it would be at %.2f", rule->when_text, rule->name, with));
	}
}

/* The rule that would lift it most, were its condition met; NULL when none would. */
static const struct rule *best_missing(const struct knowledge *knowledge, const struct hypothesis *h, double *ret_with)
{
	const struct rule *best = NULL;

	*ret_with = h->certainty;
	vec_each(&knowledge->rules, rule) {
		double with;

		if ((*rule)->certainty < 0 || !rule_suggests(*rule, h->cause) || has_spoken(h, *rule) ||
		    !place_of(h, *rule))
			continue;
		with = hypothesis_with(h, (*rule)->family, (*rule)->certainty);
		if (with > *ret_with) {
			*ret_with = with;
			best = *rule;
		}
	}
	return best;
}

/* The strongest explanation of the same trouble that was dropped, if there is a way for it to win. */
static void say_what_the_runner_up_lacks(struct answer *answer, const struct knowledge *knowledge,
					 const struct verdict *verdict, const struct hypothesis *h)
{
	vec_each(&verdict->losers, other) {
		const struct rule *rule;
		double with;

		if (!hypothesis_shares_affected(h, *other))
			continue;
		rule = best_missing(knowledge, *other, &with);
		if (!rule || with <= h->certainty - INFER_MARGIN)
			continue;
		say(answer,
		    xasprintf("%s (%s) is at %.2f; if '%s' held [%s], it would be at %.2f and %s",
			      (*other)->cause->name, (*other)->accused->name, (*other)->certainty, rule->when_text,
			      rule->name, with, with >= h->certainty + INFER_MARGIN ? "win" : "count as well"));
		return;
	}
}

size_t whatif_sentences(const struct knowledge *knowledge, const struct verdict *verdict, const struct hypothesis *h,
			char *ret_sentences[WHATIF_MAX])
{
	struct answer answer = {.sentences = ret_sentences};

	say_what_carries(&answer, h);
	say_what_the_runner_up_lacks(&answer, knowledge, verdict, h);
	say_what_speaks_not(&answer, knowledge, h, true);
	say_what_speaks_not(&answer, knowledge, h, false);
	return answer.count;
}
