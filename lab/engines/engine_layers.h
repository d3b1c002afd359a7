/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a module of the old layers (layers.h) that an engine blames to a hypothesis in today's vocabulary of causes. */
#pragma once

#include "diagnose/infer/infer.h"
#include "layers.h"

struct layer_accuser {
	const struct knowledge *knowledge;
	struct verdict *verdict;
	struct map hypotheses; /* cause and module -> struct hypothesis * */
	const char *family;    /* the engine's name: what it says of one culprit is one piece of evidence */
};

void layer_accuser_begin(struct layer_accuser *accuser, const char *engine, const struct knowledge *knowledge,
			 struct graph *graph);
/*
 * Blames one direction of a node with that certainty, because of what `saw` says. A direction that never carried
 * anything is not reported: an upload socket is idle inbound, which the paper counts as found and a person as a false
 * alarm.
 */
void layer_accuse(struct layer_accuser *accuser, const struct layer_node *node, enum layer_direction direction,
		  double certainty, const char *saw);
/* The verdict, strongest first. */
struct verdict *layer_accuser_end(struct layer_accuser *accuser);
