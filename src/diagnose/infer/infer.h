/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inference engine. It knows neither networks nor rules: it evaluates every rule on every module it applies to,
 * takes those that hold as evidence for or against their cause, combines certainty factors, and lets the
 * explanations of one stall compete.
 */
#pragma once

#include "diagnose/rules/knowledge.h"

struct evidence {
	const char *name;       /* of the rule or table entry */
	const char *family;     /* what sees the same thing */
	struct module *seen_at; /* NULL: it has gone since */
	double factor;
	char *text;       /* the sentence with its numbers */
	bool counted;     /* the strongest of its family */
	bool leaves_note; /* against: the cause is there, and costs nothing */
};

struct hypothesis {
	const struct cause *cause;
	struct module *accused;
	double certainty;
	VEC(struct evidence) evidence;         /* strongest first */
	VEC(struct module *) affects;          /* modules affected by it */
	VEC(const struct hypothesis *) rivals; /* explanations of the same stall that cannot be distinguished from it */
	bool over;                             /* the windows before the last one agreed on it */
};

struct verdict {
	struct graph *graph;                 /* not owned */
	VEC(struct hypothesis *) hypotheses; /* strongest first */
	VEC(struct hypothesis *) losers;     /* what was dropped in the competition, strongest first */
};

/* Below this nothing is reported; two windows in a row must reach it. */
#define INFER_THRESHOLD 0.5
/* An explanation wins by at least this much, or both are given. */
#define INFER_MARGIN 0.2
/* Evidence as strong as this is a fact that was read, not a conclusion: one window is enough. */
#define INFER_FACT 0.95

/* --- for engines --- */

struct verdict *verdict_new(struct graph *graph);
/* A new hypothesis. */
struct hypothesis *verdict_add(struct verdict *verdict, const struct cause *cause, struct module *accused);
/* Takes the text over. */
void hypothesis_add_evidence(struct hypothesis *h, const struct evidence *evidence);
void hypothesis_add_affected(struct hypothesis *h, struct module *module);
/* Weighs the evidence of every hypothesis and sorts: strongest first. */
void verdict_weigh(struct verdict *verdict);
void verdict_sort(struct verdict *verdict);
/* Of the same cause and culprit, seen from several network namespaces, one remains. */
void verdict_merge_views(struct verdict *verdict);
/* What its certainty would be without all that sees the same as that evidence, and with another piece of a family. */
double hypothesis_without(const struct hypothesis *h, const struct evidence *gone);
double hypothesis_with(const struct hypothesis *h, const char *family, double factor);
/* Its certainty without the evidence that leaves a note of it; 0 where there is none. */
double hypothesis_note(const struct hypothesis *h);
/* Whether two pieces of evidence see the same thing and say the same about it. */
bool evidence_is_akin(const struct evidence *a, const struct evidence *b);
/* Whether it affects this module, or another that stands for the same connection. */
bool hypothesis_affects(const struct hypothesis *h, const struct module *module);
/* Its strongest evidence is a fact, and there is no evidence against it. */
bool hypothesis_is_fact(const struct hypothesis *h);
/* Whether some module is affected by both. */
bool hypothesis_shares_affected(const struct hypothesis *a, const struct hypothesis *b);
/* The same, or they accuse one module. */
bool hypothesis_is_about_the_same(const struct hypothesis *a, const struct hypothesis *b);
/*
 * What the verdict before said about modules that are still there and that nothing else explains now: moved over, as
 * over. `keep` may veto, seeing the modules of this verdict's graph.
 */
void verdict_carry_over(struct verdict *verdict, struct verdict *past,
			bool (*keep)(const struct hypothesis *hypothesis, void *context), void *context);

void verdict_free(struct verdict *verdict);
static inline void verdict_freep(struct verdict **verdict)
{
	verdict_free(*verdict);
}

/*
 * Keeps the hypotheses at or above the threshold that are the best explanation, or as good as the best, for something
 * that suffers. `keep` may veto (confirmation over several windows); NULL keeps all.
 */
void verdict_compete(struct verdict *verdict, bool (*keep)(const struct hypothesis *hypothesis, void *context),
		     void *context);
