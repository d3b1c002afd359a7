/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines judge a window. Everything before (snapshots, measures, the graph) and after (confirmation over two windows,
 * competition of explanations, records) is the same for all engines, so that only their judgement differs. An engine
 * is a file that registers itself.
 */
#pragma once

#include "diagnose/infer/infer.h"

#define ENGINE_DEFAULT "rules"

struct engine {
	const char *name;
	const char *summary;
	/* All hypotheses about a window, strongest first, before they compete. */
	struct verdict *(*judge)(const struct knowledge *knowledge, struct graph *graph);
};

REGISTRY(engine, struct engine);

#define ENGINE(object) REGISTER(engine, struct engine, object)

/* NULL: the default. -ENOENT with a sentence that lists those that are there. */
int engine_find(const char *name, const struct engine **ret_engine, struct why *why) _must_check_;
