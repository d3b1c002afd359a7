/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest routes: routing tables, routes to the addresses in use, neighbours. */
#include "run/look.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/route.h"

struct config {
	struct look_options look;
	bool used;
	bool neighbours;
	bool local;
};

static const struct option_spec options[] = {
	OPTION(struct config, used, FLAG, "used", 'u', NULL,
	       "show the route to each remote address in use by a socket"),
	OPTION(struct config, neighbours, FLAG, "neighbours", 0, NULL, "show the neighbours of each link"),
	OPTION(struct config, local, FLAG, "local", 0, NULL, "also show routes of the table local"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

#define TABLE_LOCAL 255

static uint64_t show_routes(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = context;
	uint64_t shown = 0;

	snapshot_each(snapshot, route_type, const struct route_record, route)
		if (config->local || route->table != TABLE_LOCAL)
			shown += output_record(output, &RECORD_OF(route));
	return shown;
}

static int run(const void *data)
{
	static const struct record_type *const route_types[] = {&route_type, NULL};
	static const struct record_type *const used_types[] = {&destination_type, NULL};
	static const struct record_type *const neighbour_types[] = {&neighbour_type, NULL};
	static const struct shape route_shape = SHAPE_OF(&route_type), used_shape = SHAPE_OF(&destination_type);
	static const struct shape neighbour_shape = SHAPE_OF(&neighbour_type);
	static const struct output_column columns[] = {
		{"dst", .prefix = "prefix"},
		{"route_type"},
		{"gateway"},
		{"dev"},
		{"metric"},
		{"table"},
		{"protocol"},
		{},
	};
	const struct config *config = data;
	struct look look = {
		.command = "routes",
		.options = &config->look,
		.shape = &route_shape,
		.columns = columns,
		.types = route_types,
		.show = show_routes,
		.context = (void *)config,
	};

	if (config->used && config->neighbours)
		return command_fail(EXIT_USAGE, "routes: only one of --used and --neighbours");
	if (config->used) {
		look.shape = &used_shape;
		look.columns = NULL;
		look.types = used_types;
		look.show = NULL;
	} else if (config->neighbours) {
		look.shape = &neighbour_shape;
		look.columns = NULL;
		look.types = neighbour_types;
		look.show = NULL;
	}
	return look_run(&look);
}

static const char *const examples[] = {
	"nest routes --used --where error",
	"remote addresses without a route",
	"nest routes --neighbours --where 'neigh_state == FAILED'",
	"neighbours that do not answer",
	NULL,
};

static const struct command routes_command = {
	.name = "routes",
	.summary = "routing tables, routes to the addresses in use, neighbours",
	.description =
		"Routes of the table local (the host's own addresses) are hidden unless --local is given.\n\n--used "
		"looks up the current route for each pair of local and remote address of a socket, as ip route get.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(routes_command);
