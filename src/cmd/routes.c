/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest routes: the routing tables, the ways to the addresses in use, the neighbours. */
#include "run/snapshot_view.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/route.h"

struct config {
	struct look_options look;
	struct output_options output;
	bool used;
	bool neighbours;
	bool local;
	uint64_t interval_ns;
	uint64_t count;
};

static const struct option_spec options[] = {
	OPTION(struct config, used, FLAG, "used", 'u', NULL, "the way to each remote address that a socket uses"),
	OPTION(struct config, neighbours, FLAG, "neighbours", 0, NULL, "the neighbours on each link"),
	OPTION(struct config, local, FLAG, "local", 0, NULL, "routes of the table local too"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, interval_ns, SECONDS, "INTERVAL", "look again every so many seconds"),
	POSITIONAL(struct config, count, UINT, "COUNT", "how many looks"),
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

static uint64_t show_used(const struct snapshot *snapshot, struct output *output, void *context)
{
	(void)context;
	return look_show_table(snapshot, &destination_type, output);
}

static uint64_t show_neighbours(const struct snapshot *snapshot, struct output *output, void *context)
{
	(void)context;
	return look_show_table(snapshot, &neighbour_type, output);
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
		.output = &config->output,
		.shape = &route_shape,
		.columns = columns,
		.types = route_types,
		.interval_ns = config->interval_ns,
		.count = config->count,
		.show = show_routes,
		.context = (void *)config,
	};

	if (config->used && config->neighbours) {
		log_error("routes: only one of --used and --neighbours");
		return EXIT_USAGE;
	}
	if (config->used) {
		look.shape = &used_shape;
		look.columns = NULL;
		look.types = used_types;
		look.show = show_used;
	} else if (config->neighbours) {
		look.shape = &neighbour_shape;
		look.columns = NULL;
		look.types = neighbour_types;
		look.show = show_neighbours;
	}
	return look_run(&look);
}

static const char *const examples[] = {
	"nest routes --used --where error",
	"remote addresses to which there is no way",
	"nest routes --neighbours --where 'neigh_state == FAILED'",
	"neighbours that do not answer",
	NULL,
};

static const struct command routes_command = {
	.name = "routes",
	.summary = "the routing tables, the ways to the addresses in use, the neighbours",
	.description = "Routes of the table local (the host's own addresses) are left out unless --local is given.\n\n"
		       "With --used the kernel is asked, for each remote address of a socket and its local address, "
		       "which way a "
		       "packet would take now.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(routes_command);
