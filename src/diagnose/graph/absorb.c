/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "diagnose/graph/module.h"

static bool is_of_host(enum module_kind kind)
{
	return kind == MODULE_CGROUP || kind == MODULE_CPU;
}

/* By process, whatever namespace: an id that others rely on stays as it is where it can. */
static bool is_of_process(enum module_kind kind)
{
	return kind == MODULE_APP || kind == MODULE_THREAD;
}

static const char *copy(struct graph *graph, const char *text)
{
	char *to = text ? graph_alloc(graph, strlen(text) + 1) : NULL;

	if (to)
		memcpy(to, text, strlen(text));
	return to;
}

static const struct module_place *copy_place(struct graph *graph, const struct module_place *place)
{
	struct module_place *own = graph_alloc(graph, sizeof(*own));

	*own = (struct module_place){.netns = place->netns,
				     .name = copy(graph, place->name),
				     .option = copy(graph, place->option),
				     .port = copy(graph, place->port)};
	return own;
}

static void take_module(struct graph *graph, struct module *module, const struct module_place *place)
{
	if ((!is_of_process(module->kind) && !is_of_host(module->kind)) || graph_find(graph, module->id)) {
		char *id = xasprintf("%s@%" PRIu64, module->id, place->netns);

		free(module->id);
		module->id = id;
	}
	module->place = place;
	vec_push(&graph->modules, module);
	*(struct module **)map_put(&graph->by_id, module->id, NULL) = module;
}

/* What is the same in both graphs; NULL: nothing. */
static struct module *twin_of(const struct graph *graph, const struct module *module)
{
	return is_of_host(module->kind) ? graph_find(graph, module->id) : NULL;
}

/* The modules above now depend on the twin. */
static void replace(struct graph *other, struct module *module, struct module *twin)
{
	vec_each(&other->modules, at) {
		if ((*at)->related[module->kind] == module)
			(*at)->related[module->kind] = twin;
		vec_each(&(*at)->depends_on, below)
			if (*below == module) {
				*below = twin;
				vec_push(&twin->needed_by, *at);
			}
		vec_each(&(*at)->needed_by, above)
			if (*above == module)
				*above = twin;
	}
}

static void find_port(struct graph *graph, const struct module_place *place)
{
	vec_each(&graph->modules, module)
		if (!(*module)->place && ((*module)->kind == MODULE_LINK || (*module)->kind == MODULE_QDISC) &&
		    place->port && strcmp((*module)->name, place->port) == 0)
			(*module)->leads_to = place;
}

static void drop_module(struct module *module)
{
	vec_done(&module->depends_on);
	vec_done(&module->needed_by);
	free(module->id);
	free(module->name);
	free(module);
}

void graph_absorb(struct graph *graph, struct graph *other, const struct module_place *place)
{
	const struct module_place *own = copy_place(graph, place);

	find_port(graph, own);
	vec_each(&other->modules, module) {
		struct module *twin = twin_of(graph, *module);

		if (twin)
			replace(other, *module, twin);
	}
	vec_each(&other->modules, module) {
		if (twin_of(graph, *module))
			drop_module(*module);
		else
			take_module(graph, *module, own);
	}
	other->modules.count = 0;
	vec_each(&other->memory, block)
		vec_push(&graph->memory, *block);
	other->memory.count = 0;
	graph->lost += other->lost;
	graph->has_places = true;
	graph_free(other);
}
