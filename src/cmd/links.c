/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest links: interfaces and their counters; with -q the queues in front of them. */
#include <string.h>

#include "cmd/snapshot_view.h"
#include "snapshot/link.h"
#include "snapshot/qdisc.h"

struct config {
	struct look_options look;
	struct output_options output;
	const char *dev;
	bool queues;
	bool addresses;
	uint64_t interval_ns;
	uint64_t count;
};

static const struct option_spec options[] = {
	OPTION(struct config, dev, TEXT, "interface", 'i', "IFACE", "this interface only"),
	OPTION(struct config, queues, FLAG, "queues", 'q', NULL,
	       "the queues in front of interfaces (qdiscs and classes)"),
	OPTION(struct config, addresses, FLAG, "addresses", 'a', NULL, "the addresses of interfaces"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, interval_ns, SECONDS, "INTERVAL", "look again every so many seconds"),
	POSITIONAL(struct config, count, UINT, "COUNT", "how many looks"),
	OPTION_END,
};

static uint64_t show_links(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = context;
	uint64_t shown = 0;

	snapshot_each(snapshot, link_type, const struct link_record, link)
		if (!config->dev || strcmp(config->dev, link->dev) == 0)
			shown += output_record(output, &RECORD_OF(link));
	return shown;
}

static uint64_t show_addresses(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = context;
	uint64_t shown = 0;

	snapshot_each(snapshot, address_type, const struct address_record, address)
		if (!config->dev || strcmp(config->dev, address->dev) == 0)
			shown += output_record(output, &RECORD_OF(address));
	return shown;
}

/* The classes of an interface below its queues. */
static uint64_t show_queues(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = context;
	uint64_t shown = 0;

	snapshot_each(snapshot, qdisc_type, const struct qdisc_record, qdisc)
		if (!config->dev || strcmp(config->dev, qdisc->dev) == 0)
			shown += output_record(output, &RECORD_OF(qdisc));
	snapshot_each(snapshot, class_type, const struct qdisc_record, class)
		if (!config->dev || strcmp(config->dev, class->dev) == 0)
			shown += output_record(output, &RECORD_OF(class));
	return shown;
}

static int run(const void *data)
{
	static const struct record_type *const link_types[] = {&link_type, NULL};
	static const struct record_type *const address_types[] = {&address_type, NULL};
	static const struct record_type *const queue_types[] = {&qdisc_type, &class_type, NULL};
	static const struct shape link_shape = {1, {&link_type}}, queue_shape = {1, {&qdisc_type}};
	static const struct shape address_shape = {1, {&address_type}};
	const struct config *config = data;
	struct look look = {
		.command = "links",
		.options = &config->look,
		.output = &config->output,
		.shape = &link_shape,
		.types = link_types,
		.interval_ns = config->interval_ns,
		.count = config->count,
		.show = show_links,
		.context = (void *)config,
	};

	if (config->queues && config->addresses) {
		log_error("links: only one of --queues and --addresses");
		return EXIT_USAGE;
	}
	if (config->queues) {
		look.shape = &queue_shape;
		look.types = queue_types;
		look.show = show_queues;
	} else if (config->addresses) {
		look.shape = &address_shape;
		look.types = address_types;
		look.show = show_addresses;
	}
	return look_run(&look);
}

static const char *const examples[] = {
	"nest links --where 'rx_dropped > 0 or tx_dropped > 0'",
	"interfaces that ever dropped a packet",
	"nest links -q --where 'qlen > 0' 1",
	"queues in which packets wait, every second",
	NULL,
};

static const struct command links_command = {
	.name = "links",
	.summary = "interfaces, their queues and addresses, with all counters",
	.description = "One row an interface; the counters are those since it came into being. With -q one row a queue "
		       "or class "
		       "instead: what waits in it, what it dropped, and the limits that it was given.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(links_command);
