/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "diagnose/graph/module.h"

static const char *const kind_names[MODULE_KINDS] = {
	[MODULE_HOST] = "host",     [MODULE_CGROUP] = "cgroup", [MODULE_APP] = "app",
	[MODULE_CONN] = "conn",     [MODULE_UDP] = "udp",       [MODULE_LISTENER] = "listener",
	[MODULE_LINK] = "link",     [MODULE_QDISC] = "qdisc",   [MODULE_ROUTE] = "route",
	[MODULE_NEIGH] = "neigh",   [MODULE_TUNNEL] = "tunnel", [MODULE_FILTER] = "filter",
	[MODULE_PATH] = "path",     [MODULE_PEER] = "peer",     [MODULE_RESOLVER] = "resolver",
	[MODULE_THREAD] = "thread", [MODULE_CPU] = "cpu",       [MODULE_MEMORY] = "memory",
	[MODULE_FLOW] = "flow",
};

const char *module_kind_name(enum module_kind kind)
{
	return kind_names[kind];
}

int module_kind_find(const char *name, enum module_kind *ret_kind)
{
	for (unsigned i = 0; i < MODULE_KINDS; i++)
		if (strcmp(kind_names[i], name) == 0) {
			*ret_kind = (enum module_kind)i;
			return 0;
		}
	return -ENOENT;
}

const char *activity_name(enum activity activity)
{
	static const char *const names[] = {
		[ACTIVITY_UNKNOWN] = "unknown",
		[ACTIVITY_ACTIVE] = "active",
		[ACTIVITY_WAITING] = "waiting",
		[ACTIVITY_IDLE] = "idle",
		[ACTIVITY_WAITING_ANCESTOR] = "waiting-ancestor",
		[ACTIVITY_IGNORED] = "ignored",
	};

	return names[activity];
}

const struct module_scope *module_scope_find(enum module_kind kind)
{
	registry_each(module_scope, scope)
		if ((*scope)->kind == kind)
			return *scope;
	return NULL;
}

struct shape module_scope_shape(const struct module_scope *scope)
{
	struct shape shape = {};

	while (shape.count < RECORD_PARTS_MAX && scope->parts[shape.count].type) {
		shape.types[shape.count] = scope->parts[shape.count].type;
		shape.count++;
	}
	return shape;
}

struct record module_scope_record(const struct module_scope *scope, const struct module *module)
{
	struct record record = {};

	for (unsigned i = 0; i < RECORD_PARTS_MAX && scope->parts[i].type; i++)
		memcpy(&record.parts[i], (const char *)&module->measures + scope->parts[i].member, sizeof(void *));
	return record;
}

struct graph *graph_new(void)
{
	struct graph *graph = xzalloc(sizeof(*graph));

	graph->by_id = MAP_INIT(0, sizeof(struct module *), 0);
	return graph;
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	vec_each(&graph->modules, module) {
		vec_done(&(*module)->depends_on);
		vec_done(&(*module)->needed_by);
		free((*module)->id);
		free((*module)->name);
		free(*module);
	}
	vec_done(&graph->modules);
	map_done(&graph->by_id);
	vec_each(&graph->memory, block)
		free(*block);
	vec_done(&graph->memory);
	free(graph);
}

struct module *graph_find(const struct graph *graph, const char *id)
{
	struct module **module = map_get(&graph->by_id, id);

	return module ? *module : NULL;
}

struct module *graph_module(struct graph *graph, enum module_kind kind, const char *id, const char *name)
{
	struct module *module = graph_find(graph, id);

	if (module)
		return module;
	module = xzalloc(sizeof(*module));
	module->kind = kind;
	module->id = xstrdup(id);
	module->id_length = strlen(id);
	module->name = xstrdup(name);
	module->related[kind] = module;
	vec_push(&graph->modules, module);
	*(struct module **)map_put(&graph->by_id, id, NULL) = module;
	return module;
}

static bool is_on_loopback(const struct module *module)
{
	const char *address = strchr(module->id, ':');

	address = address ? address + 1 : "";
	address += *address == '[';
	return strncmp(address, "127.", 4) == 0 || strncmp(address, "::1", 3) == 0;
}

bool module_is_shared(const struct module *module)
{
	return module->kind == MODULE_HOST ||
	       ((module->kind == MODULE_PATH || module->kind == MODULE_PEER) && !is_on_loopback(module));
}

void module_set_waiting(struct module *conn)
{
	struct module *app = conn->related[MODULE_APP];

	conn->activity = ACTIVITY_WAITING;
	if (app && app->activity == ACTIVITY_IDLE)
		app->activity = ACTIVITY_WAITING;
}

const struct module *module_traffic(const struct module *module)
{
	const struct module *conn = module->carries ?: module, *other = conn->other_end;

	return other && other->place != conn->place && other < conn ? other : conn;
}

bool module_is_passed_by(const struct module *dev, const struct module *conn)
{
	const struct module *other = conn->other_end, *route = conn->related[MODULE_ROUTE],
			    *peer = conn->related[MODULE_PEER];

	if (dev->kind == MODULE_LISTENER)
		return peer && peer->related[MODULE_LISTENER] == dev;
	if (dev->place || !conn->place)
		return false;
	/* The host forwards by the route that it has to the same destination. */
	if (dev->kind == MODULE_ROUTE)
		return !other && route && route->id_length == dev->id_length &&
		       memcmp(route->id, dev->id, dev->id_length) == 0;
	if (dev->kind != MODULE_LINK && dev->kind != MODULE_QDISC)
		return false;
	if (dev->leads_to)
		return dev->leads_to == conn->place || (other && dev->leads_to == other->place);
	/* What has no end in this host leaves it. */
	return !other;
}

bool module_leaves_with(const struct module *one, const struct module *other)
{
	const struct module *own = one->place ? other : one, *link = own->related[MODULE_LINK];

	if (one->place == other->place)
		return link && link == one->related[MODULE_LINK] && link == other->related[MODULE_LINK];
	if (!own->place)
		return link && module_is_passed_by(link, own == one ? other : one);
	return !one->other_end && !other->other_end;
}

/* One of two may have very many neighbours: the other's list is as good. */
static bool has_edge(const struct module *above, const struct module *below)
{
	if (above->depends_on.count > below->needed_by.count) {
		vec_each(&below->needed_by, known)
			if (*known == above)
				return true;
		return false;
	}
	vec_each(&above->depends_on, known)
		if (*known == below)
			return true;
	return false;
}

void graph_add_edge(struct module *above, struct module *below)
{
	if (has_edge(above, below))
		return;
	vec_push(&above->depends_on, below);
	vec_push(&below->needed_by, above);
}

void *graph_alloc(struct graph *graph, size_t size)
{
	void *block = xzalloc(size);

	vec_push(&graph->memory, block);
	return block;
}

static bool is_waiting(const struct module *module)
{
	return module->activity == ACTIVITY_WAITING || module->activity == ACTIVITY_WAITING_ANCESTOR;
}

static bool wants_nothing(const struct module *module)
{
	return module->activity == ACTIVITY_IDLE || module->activity == ACTIVITY_IGNORED;
}

/* The state of a silent module, from those above it; unknown when theirs is. */
static enum activity seen_from_above(const struct module *module)
{
	size_t careless = 0;

	vec_each(&module->needed_by, above) {
		if (is_waiting(*above))
			return ACTIVITY_WAITING_ANCESTOR;
		careless += wants_nothing(*above);
	}
	return careless > 0 && careless == module->needed_by.count ? ACTIVITY_IGNORED : ACTIVITY_UNKNOWN;
}

/*
 * A silent module below a waiting one may be the reason; below idle ones only, it does not matter. States travel
 * down one layer per round, and no chain is longer than the number of kinds.
 */
void graph_propagate(struct graph *graph)
{
	for (unsigned round = 0; round < MODULE_KINDS; round++)
		vec_each(&graph->modules, module)
			if ((*module)->activity == ACTIVITY_UNKNOWN)
				(*module)->activity = seen_from_above(*module);
}
