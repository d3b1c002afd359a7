/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two measures without a meaning, for tests of the diagnosis without networks: figures of name servers under other
 * names.
 */
#pragma once

#include "diagnose/infer/engine.h"
#include "diagnose/measure/nameserver.h"

static const struct field reading_fields[] = {
	FIELD_AS(struct resolver_measures, dns_queries, "level", COUNT, "a measure"),
	FIELD_AS(struct resolver_measures, dns_answers, "other", COUNT, "another one"),
};
static const struct record_type reading_type = {.name = "reading",
						.fields = reading_fields,
						.field_count = ARRAY_SIZE(reading_fields),
						.size = sizeof(struct resolver_measures)};

#define READING_PART                                                                                                   \
	{                                                                                                              \
		&reading_type, offsetof(struct module_measures, resolver)                                              \
	}

/* What the engine of the program says. */
static inline struct verdict *reading_judge(const struct knowledge *knowledge, struct graph *graph)
{
	const struct engine *engine;
	struct why why = {};

	REQUIRE(engine_find(NULL, &engine, &why) == 0);
	return engine->judge(knowledge, graph);
}

static inline const struct resolver_measures *reading_new(struct graph *graph, uint64_t level, uint64_t other)
{
	struct resolver_measures *reading = graph_alloc(graph, sizeof(*reading));

	reading->dns_queries = level;
	reading->dns_answers = other;
	return reading;
}
