/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of one session as a sequence diagram. */
#pragma once

#include "flow/draw/call_list.h"
#include "view/sequence.h"

enum diagram_lines { DIAGRAM_FUNCTIONS, DIAGRAM_MODULES, DIAGRAM_THREADS };

extern const char *const session_diagram_line_names[];

struct session_diagram_options {
	enum diagram_lines lines;
	uint64_t depth;     /* deeper calls are folded; 0: as deep as fits */
	uint64_t max_lines; /* lifelines; 0: 16 */
	uint64_t max_items; /* rows; 0: 4000 */
	bool *is_hidden;    /* by function: folded into their callers; NULL: none */
	const char *mark;   /* label of the marked call */
	double least_share; /* calls with a smaller share of the session are folded, segments are not; 0: none */
	bool is_unfolded;   /* draw repetitions individually, unless there are very many */
	const char *prefix; /* of the lifelines' names; NULL: none */
};

void session_diagram_draw(const struct call_list *list, const struct session_diagram_options *options,
			  struct sequence *ret_sequence);
