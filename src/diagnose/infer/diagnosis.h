/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From windows to findings: a diagnosis follows the hypotheses from one window to the next, reports those that were
 * confirmed, and lays them out as records (type "diagnosis", with modules and findings inside), which is the form that
 * JSON, the tree and recordings share.
 */
#pragma once

#include "diagnose/infer/engine.h"
#include "diagnose/infer/selection.h"
#include "diagnose/infer/time_list.h"
#include "diagnose/infer/witness.h"
#include "diagnose/measure/conn.h"

#define DIAGNOSIS_SCHEMA "nest.diagnosis/1"

/* Windows of one run. */
#define DIAGNOSIS_WINDOWS 3

/* An item of a list of text. */
struct text_record {
	const char *text;
};

static inline const char *text_record_at(const struct list *list, uint32_t i)
{
	const struct text_record *items = list->items;

	return items[i].text;
}

struct evidence_record {
	const char *rule;
	double cf;
	const char *text;
};

struct finding_record {
	const char *cause;
	const char *layer;
	const char *module;
	double certainty;
	uint8_t severity;
	struct list affects;      /* text */
	struct list for_evidence; /* evidence_record */
	struct list against_evidence;
	const char *because;
	struct list spent_in; /* at most one spent_record */
	const char *advice;
	struct list next;           /* text */
	struct list ambiguous_with; /* text */
	struct list would_change;   /* text */
	bool over;
	uint64_t netns; /* of a container; 0: that of the diagnosis */
	const char *netns_name;
	/* For the text only: */
	const char *accused; /* name of the module */
	const char *summary; /* of the cause */
};

/* Where the accused application spent its time, if a witness knows (witness.h). */
struct spent_record {
	const char *function;
	const char *module;
	double share;
	uint32_t tid;
	struct list path; /* text */
	const char *text;
};

struct module_record {
	const char *id;
	const char *layer;
	const char *name;
	const char *state;
	struct list depends_on; /* text */
	struct list limited_by; /* at most one limit_record */
	uint64_t netns;         /* of a container; 0: that of the diagnosis */
	const char *netns_name;
	/* For the text only: */
	enum module_kind kind;
	const char *related[MODULE_KINDS]; /* ids of its application, its path ...; NULL = none known */
};

struct diagnosis_record {
	const char *schema;
	const char *host;
	uint64_t netns;
	const char *netns_name;
	uint64_t start_ns;
	uint64_t window_ms;
	struct list modules;  /* module_record */
	struct list findings; /* finding_record */
	struct list notes;    /* finding_record, of severity info */
	bool healthy;
	uint64_t lost;
	struct list time;     /* time_record */
	struct list not_seen; /* unseen_record */
	uint64_t baseline_s;
	struct list seen_from; /* text: the hosts, where both ends were recorded; else unknown */
	struct list ends;      /* far_end_measures: connections that both have */
	/* For the text only: what the baseline was read from; NULL: there is none. */
	const char *baseline_from;
	/* For the text only: requests without a reply, where there is no finding (waits.h). */
	struct list waits;  /* text */
	size_t waits_count; /* of all; the list holds the first few */
};

extern const struct record_type diagnosis_type, finding_type, module_type, evidence_type;

struct diagnosis;

struct diagnosis *diagnosis_new(const struct knowledge *knowledge);
void diagnosis_free(struct diagnosis *diagnosis);
static inline void diagnosis_freep(struct diagnosis **diagnosis)
{
	diagnosis_free(*diagnosis);
}

/* The engine from the next window on; at first ENGINE_DEFAULT. */
void diagnosis_set_engine(struct diagnosis *diagnosis, const struct engine *engine);
/* What is reported; NULL: everything. Stays the caller's. */
void diagnosis_set_selection(struct diagnosis *diagnosis, const struct selection *selection);
/* The display name of the namespace of the windows; NULL: it has none. */
void diagnosis_set_netns_name(struct diagnosis *diagnosis, const char *name);
/* What -N of `next` commands names, where they must look into another namespace; NULL: they need not. */
void diagnosis_set_netns_option(struct diagnosis *diagnosis, const char *netns);
/* Knows where an application spent its time; NULL: none. Stays the caller's. */
void diagnosis_set_witness(struct diagnosis *diagnosis, const struct witness *witness);
/* The name of the host that the snapshots come from, where it is not this one. */
void diagnosis_set_host(struct diagnosis *diagnosis, const char *host);
/* How much past the windows before the first one covered, and which recording it came from. */
void diagnosis_set_baseline(struct diagnosis *diagnosis, uint64_t seconds, const char *from);
/* Both ends were recorded: the connections of its graphs have measures of the other end (far_end.h). */
void diagnosis_set_seen_from(struct diagnosis *diagnosis, const char *own_host, const char *far_host);
/*
 * Of recordings: a window is concluded when the one after it is known, so that what begins in a window is confirmed by
 * the next one.
 */
void diagnosis_set_hindsight(struct diagnosis *diagnosis);
/* Takes over the graph of the next window and draws the conclusions. False: with hindsight, there are none yet. */
bool diagnosis_add_window(struct diagnosis *diagnosis, struct graph *graph);
/* With hindsight: concludes the last window. False: there is none. */
bool diagnosis_end(struct diagnosis *diagnosis);
/* The last DIAGNOSIS_WINDOWS windows as a record; valid until the next window. */
const struct diagnosis_record *diagnosis_get(struct diagnosis *diagnosis);
/* Whether a finding of the last window is a fact. */
bool diagnosis_has_fact(const struct diagnosis *diagnosis);
/* Whether the last window has findings, all of them facts, and nothing waits to be confirmed. */
bool diagnosis_is_settled(const struct diagnosis *diagnosis);
/* Whether the last window suggests something that is not confirmed yet, or confirmed it. */
bool diagnosis_is_stirred(const struct diagnosis *diagnosis);
/* The strongest explanation of the last window for what affects a module, confirmed by another window or not. */
struct suspicion {
	const char *cause, *layer;
	double certainty;
};
bool diagnosis_suspects(const struct diagnosis *diagnosis, const char *module, struct suspicion *ret_suspicion);
/* The graph of the last window, or NULL. */
const struct graph *diagnosis_graph(const struct diagnosis *diagnosis);
