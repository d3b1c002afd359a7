/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reduces detail: omits functions and puts their callees in their place. Criteria: depth, calls within one module,
 * names, short calls, or little information.
 */
#pragma once

#include "base/option.h"
#include "flow/analyse/profile.h"

struct coarsen_options {
	uint64_t depth;         /* omit deeper calls; 0: none */
	bool modules;           /* keep only calls between modules */
	struct text_list hide;  /* name patterns, or "module!name" */
	struct text_list only;  /* omit all but these */
	uint64_t min_ns;        /* omit functions with no call of at least this duration */
	uint64_t max_functions; /* keep the N most informative functions; 0: all */
};

/* For OPTION_GROUP of a command. */
extern const struct option_spec coarsen_option_table[];

/* Whether anything would be omitted. */
bool coarsen_wanted(const struct coarsen_options *options);

/* What is omitted from this trace; a profile is computed only for times and information. */
struct coarsen {
	const struct flow_trace *trace;
	const struct coarsen_options *options;
	bool *is_hidden; /* by function */
	size_t hidden_count;
};

void coarsen_init(struct coarsen *coarsen, const struct coarsen_options *options, struct flow_sessions *sessions);
/* Whether the name patterns leave nothing. */
bool coarsen_is_empty(const struct coarsen *coarsen);
void coarsen_done(struct coarsen *coarsen);
/* Reduces the node into `into`. Depth counts from the node's calls. */
uint32_t coarsen_tree(const struct coarsen *coarsen, const struct forest *from, uint32_t node, struct forest *into);
