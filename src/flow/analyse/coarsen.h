/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Less detail: functions are left out, and what they call takes their place. Which ones: those deeper than a depth,
 * calls within one module, names, calls that are all short, or those that say least.
 */
#pragma once

#include "base/option.h"
#include "flow/analyse/profile.h"

struct coarsen_options {
	uint64_t depth;         /* calls nested deeper are left out; 0: none */
	bool modules;           /* only calls from one module into another */
	struct text_list hide;  /* patterns of names, or of modules as "module!name" */
	struct text_list only;  /* all but these are left out */
	uint64_t min_ns;        /* functions none of whose calls takes so long are left out */
	uint64_t max_functions; /* so many functions are kept: those that tell most; 0: all */
};

/* For OPTION_GROUP in a command's table. */
extern const struct option_spec coarsen_option_table[];

/* Whether anything would be left out. */
bool coarsen_wanted(const struct coarsen_options *options);

/* What is left out of this trace; the profile is looked at only for times and for what tells most. */
struct coarsen {
	const struct flow_trace *trace;
	const struct coarsen_options *options;
	bool *is_hidden; /* by function */
	size_t hidden_count;
};

void coarsen_init(struct coarsen *coarsen, const struct coarsen_options *options, struct flow_sessions *sessions);
/* Whether names leave nothing. */
bool coarsen_is_empty(const struct coarsen *coarsen);
void coarsen_done(struct coarsen *coarsen);
/* The node with less in it, in `into`. Depth counts from the node's calls. */
uint32_t coarsen_tree(const struct coarsen *coarsen, const struct forest *from, uint32_t node, struct forest *into);
