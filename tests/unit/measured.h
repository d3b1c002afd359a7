/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures by their number, on snapshots made by hand (scene.h): some windows, then the graph of the last one. Expected
 * figures are worked out from the steps of the scene, not taken from a run.
 */
#pragma once

#include "scene.h"
#include "view/json.h"

#define SAMPLES 10 /* per window: 2 s from the second on, 1.8 s in the first */
#define MS      UINT64_C(1000000)

typedef void extra_fn(struct snapshot *snapshot, unsigned sample);

static struct window *window;

/* The graph of the last of some windows; extra (may be NULL) adds records to each snapshot. */
static struct graph *measure(scene_fn *step, extra_fn *extra, unsigned windows)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct graph *graph = NULL;
	struct scene scene;

	window = window_new();
	scene_begin(&scene);
	for (unsigned sample = 0; sample < windows * SAMPLES; sample++) {
		step(&scene, sample);
		fill(snapshot, &scene, sample);
		if (extra)
			extra(snapshot, sample);
		window_add(window, snapshot);
		if (sample % SAMPLES == SAMPLES - 1) {
			graph_free(graph);
			graph = window_finish(window);
		}
	}
	REQUIRE(graph);
	return graph;
}

static void measured(struct graph **graph)
{
	graph_free(*graph);
	window_free(window);
}

#define _cleanup_measured_ _cleanup_(measured)

static _unused_ const struct module *module_of(const struct graph *graph, const char *id)
{
	const struct module *module = graph_find(graph, id);

	unit_note("%s", id);
	REQUIRE(module);
	return module;
}

/* As JSON; numbers with a fraction to seven digits, so that an expectation is short. */
static const char *shown(const struct field *field, const void *data)
{
	static char text[128];
	_cleanup_buf_ struct buf json = BUF_INIT(4096);
	struct value value = value_get(field, data);

	if (value.class == VALUE_REAL) {
		snprintf(text, sizeof(text), "%.7g", value.real);
	} else {
		json_add_value(&json, field, &value);
		snprintf(text, sizeof(text), "%s", buf_text(&json));
	}
	return text;
}

struct expected {
	const char *field, *shown;
};

static const char *expectation(const struct expected *list, const char *field)
{
	for (; list->field; list++)
		if (strcmp(list->field, field) == 0)
			return list->shown;
	return NULL;
}

static _unused_ void check_all(const struct record_type *type, const void *data, const struct expected *list)
{
	unsigned found = 0, wanted = 0;

	REQUIRE(data);
	for (uint32_t i = 0; i < type->field_count; i++) {
		const char *want = expectation(list, type->fields[i].name);

		unit_note("%s.%s", type->name, type->fields[i].name);
		found += want != NULL;
		if (CHECK(want != NULL))
			CHECK_EQ_TEXT(shown(&type->fields[i], data), want);
	}
	for (; list->field; list++)
		wanted++;
	CHECK_EQ_UINT(found, wanted);
}

static const struct field *field_of(const struct record_type *type, const char *name)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	return NULL;
}

/* Only those of the list. */
static _unused_ void check_some(const struct record_type *type, const void *data, const struct expected *list)
{
	REQUIRE(data);
	for (; list->field; list++) {
		const struct field *field = field_of(type, list->field);

		unit_note("%s.%s", type->name, list->field);
		REQUIRE(field != NULL);
		CHECK_EQ_TEXT(shown(field, data), list->shown);
	}
}
