/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest links: interfaces and their counters; with -q the queues in front of them. */
#include <string.h>

#include "base/map.h"
#include "run/look.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/ethtool.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"

struct config {
	struct look_options look;
	const char *dev;
	bool queues;
	bool addresses;
	bool details;
};

static const struct option_spec options[] = {
	OPTION(struct config, dev, TEXT, "interface", 'i', "IFACE", "limit to this interface"),
	OPTION(struct config, queues, FLAG, "queues", 'q', NULL, "show qdiscs and classes"),
	OPTION(struct config, addresses, FLAG, "addresses", 'a', NULL, "show addresses"),
	OPTION(struct config, details, FLAG, "details", 'e', NULL,
	       "show driver, rings, queues, coalescing, offloads and driver counters (as ethtool)"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

/* The change of an interface between two samples: a second part beside its record. */
struct link_move {
	double rx_rate, tx_rate;
	double rx_packet_rate, tx_packet_rate;
	double util;
	double saturation;
	double error_rate;
};

static const struct field link_move_fields[] = {
	FIELD(struct link_move, tx_rate, RATIO, "bytes sent per second", .unit = "B/s", .as_bits = true),
	FIELD(struct link_move, rx_rate, RATIO, "bytes received per second", .unit = "B/s", .as_bits = true),
	FIELD(struct link_move, tx_packet_rate, RATIO, "packets sent per second", .unit = "/s"),
	FIELD(struct link_move, rx_packet_rate, RATIO, "packets received per second", .unit = "/s"),
	FIELD(struct link_move, util, RATIO,
	      "share of the link speed in use, of the busier direction; unknown without a speed", .unit = "%"),
	FIELD(struct link_move, saturation, RATIO, "drops and overruns per second", .unit = "/s"),
	FIELD(struct link_move, error_rate, RATIO, "errors per second, both directions", .unit = "/s"),
};
RECORD_TYPE(link_move_type, "link_move", struct link_move, link_move_fields, "rates of an interface");

struct state {
	const struct config *config;
	struct map before; /* struct place -> struct link_record */
	uint64_t time_ns;
	uint64_t now_ns;
};

struct place {
	uint32_t netns;
	uint32_t ifindex;
};

/* The share of the link; where both directions share it, of both together. */
static double used_share(const struct link_record *link, double rx_rate, double tx_rate)
{
	double rate = link->duplex == 0 ? rx_rate + tx_rate : max_of(rx_rate, tx_rate);

	return link->speed == UINT64_MAX || link->speed == 0 ? __builtin_nan("") : rate * 8 / (double)link->speed;
}

static struct link_move move_of(struct state *state, const struct link_record *link)
{
	struct place place = {link->netns, link->ifindex};
	uint64_t span = state->now_ns - state->time_ns;
	struct link_record *before;
	struct link_move move;
	bool is_new;

	for (uint32_t i = 0; i < link_move_type.field_count; i++)
		value_set_unknown(&link_move_fields[i], &move);
	before = map_put(&state->before, &place, &is_new);
	if (!before)
		return move;
#define RATE(member) delta_rate(delta_between(before->member, link->member), span)
	if (!is_new && state->time_ns) {
		move.rx_rate = RATE(rx_bytes);
		move.tx_rate = RATE(tx_bytes);
		move.rx_packet_rate = RATE(rx_packets);
		move.tx_packet_rate = RATE(tx_packets);
		move.util = used_share(link, move.rx_rate, move.tx_rate);
		move.saturation = RATE(rx_dropped) + RATE(tx_dropped) + RATE(rx_missed_errors) + RATE(rx_fifo_errors) +
				  RATE(tx_fifo_errors);
		move.error_rate = RATE(rx_errors) + RATE(tx_errors) + RATE(collisions);
	}
#undef RATE
	*before = *link;
	return move;
}

static uint64_t show_links(const struct snapshot *snapshot, struct output *output, void *context)
{
	struct state *state = context;
	const struct config *config = state->config;
	bool baseline = config->look.interval_ns && !state->time_ns;
	uint64_t shown = 0;

	state->now_ns = snapshot->begin_boot_ns;
	snapshot_each(snapshot, link_type, const struct link_record, link) {
		struct link_move move = move_of(state, link);

		if (baseline)
			continue;
		if (!config->dev || strcmp(config->dev, link->dev) == 0)
			shown += output_record(output, &(struct record){.parts = {link, &move}});
	}
	state->time_ns = state->now_ns;
	return shown;
}

static uint64_t show_details(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = ((struct state *)context)->config;
	uint64_t shown = 0;

	snapshot_each(snapshot, link_detail_type, const struct link_detail_record, detail)
		if (!config->dev || strcmp(config->dev, detail->dev) == 0)
			shown += output_record(output, &RECORD_OF(detail));
	return shown;
}

static uint64_t show_addresses(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = ((struct state *)context)->config;
	uint64_t shown = 0;

	snapshot_each(snapshot, address_type, const struct address_record, address)
		if (!config->dev || strcmp(config->dev, address->dev) == 0)
			shown += output_record(output, &RECORD_OF(address));
	return shown;
}

/* The classes of an interface below its queues. */
static uint64_t show_queues(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct config *config = ((struct state *)context)->config;
	uint64_t shown = 0;

	snapshot_each(snapshot, qdisc_type, const struct qdisc_record, qdisc)
		if (!config->dev || strcmp(config->dev, qdisc->dev) == 0)
			shown += output_record(output, &RECORD_OF(qdisc));
	snapshot_each(snapshot, class_type, const struct qdisc_record, class)
		if (!config->dev || strcmp(config->dev, class->dev) == 0)
			shown += output_record(output, &RECORD_OF(class));
	return shown;
}

/* The table to show, by option. */
struct kind {
	const struct record_type *types[4];
	struct shape shape;
	const struct output_column *columns;
	uint64_t (*show)(const struct snapshot *snapshot, struct output *output, void *context);
};

static struct kind choose(const struct config *config)
{
	static const struct output_column counts[] = {
		{"ifindex"},    {"dev"},        {"kind"},      {"operstate"},  {"mtu"},
		{"qdisc"},      {"tx_bytes"},   {"rx_bytes"},  {"tx_packets"}, {"rx_packets"},
		{"tx_dropped"}, {"rx_dropped"}, {"tx_errors"}, {"rx_errors"},  {},
	};
	static const struct output_column rates[] = {
		{"dev"},  {"speed"},      {"tx_rate"},    {"rx_rate"}, {"tx_packet_rate"}, {"rx_packet_rate"},
		{"util"}, {"saturation"}, {"error_rate"}, {},
	};
	static const struct output_column addresses[] = {
		{"ifindex"}, {"dev"}, {"laddr", .prefix = "prefix"}, {"scope"}, {},
	};

	if (config->queues)
		return (struct kind){{&qdisc_type, &class_type, &link_type}, SHAPE_OF(&qdisc_type), NULL, show_queues};
	if (config->addresses)
		return (struct kind){{&address_type, &link_type}, SHAPE_OF(&address_type), addresses, show_addresses};
	if (config->details)
		return (struct kind){{&link_detail_type, &link_type}, SHAPE_OF(&link_detail_type), NULL, show_details};
	if (!config->look.interval_ns)
		return (struct kind){{&link_type}, SHAPE_OF(&link_type), counts, show_links};
	return (struct kind){{&link_type}, {.count = 2, .types = {&link_type, &link_move_type}}, rates, show_links};
}

static int run(const void *data)
{
	const struct config *config = data;
	struct state state = {.config = config,
			      .before = MAP_INIT(sizeof(struct place), sizeof(struct link_record), 65536)};
	struct kind kind = choose(config);
	int code;

	if (config->queues + config->addresses + config->details > 1)
		return command_fail(EXIT_USAGE, "links: only one of --queues, --addresses and --details");
	code = look_run(&(struct look){
		.command = "links",
		.options = &config->look,
		.shape = &kind.shape,
		.columns = kind.columns,
		.types = kind.types,
		.dev = config->dev,
		/* Rates need a sample before the first that is shown. */
		.looks_before = kind.show == show_links && config->look.interval_ns > 0,
		.show = kind.show,
		.context = &state,
	});
	map_done(&state.before);
	return code;
}

static const char *const examples[] = {
	"nest links --where 'rx_dropped > 0 or tx_dropped > 0'",
	"interfaces that ever dropped a packet",
	"nest links 1",
	"rates, utilisation, saturation and errors of each interface, every second",
	"nest links -e -i eth0 --where 'part == ring or part == driver'",
	"driver, rings and queues of an interface, as in ethtool",
	"nest links -q --where 'qlen > 0' 1",
	"queues with waiting packets, every second",
	NULL,
};

static const struct command links_command = {
	.name = "links",
	.summary = "interfaces with counters, queues, addresses and driver settings",
	.description = "One row per interface, with its counters since creation. With an interval: rates, and "
		       "utilisation of the link speed.\n\nWith -q one row per qdisc or class: backlog, drops and "
		       "configured limits. With -e one row per driver setting or counter.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(links_command);
