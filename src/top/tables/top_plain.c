/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/tables/top_plain.h"

#include <math.h>
#include <string.h>

#include "probe/drop_tally.h"
#include "probe/wire.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/process.h"

#include "top/tables/move.h"

void top_plain_fill(struct grid *grid, const struct top_moment *moment, void *state _unused_)
{
	const struct snapshot_table *table = snapshot_table(moment->snapshot, grid->shape->types[0]);

	for (size_t i = 0; table && i < table->count; i++)
		grid_add(grid, &RECORD_OF(table->items + i * table->type->size));
}

/* --- drops --- */

static const struct record_type *const drop_types[] = {&drop_type, NULL};

static const struct top_column drop_columns[] = {
	{"packets", .adds = true},
	{"reason"},
	{"dev"},
	{"dir"},
	{"proto"},
	{"laddr"},
	{"lport"},
	{"raddr"},
	{"rport"},
	{"bytes"},
	{"flags"},
	{"place"},
	{},
};

static void drop_links(const struct record *record, struct top_links *links)
{
	const struct drop_record *drop = record->parts[0];

	if (drop->reason && *drop->reason)
		top_links_add(links, NULL, "what the reason means", "explain %s", drop->reason);
	top_links_add(links, NULL, "drops with kernel stack", "skbdrop --stack");
}

static const struct top_table drops_table = {
	.name = "drops",
	.key = '7',
	.help = "dropped packets by reason and flow, since the screen is shown",
	.types = drop_types,
	.shape = {1, {&drop_type}},
	.columns = drop_columns,
	.sort = "-packets",
	.trees = {"reason", "dev", "raddr"},
	.id = {"reason", "laddr", "raddr", "rport"},
	.plots = {"packets"},
	.fill = top_plain_fill,
	.links = drop_links,
};
TOP_TABLE(drops_table);

/* --- DNS --- */

static const struct record_type *const lookup_types[] = {&lookup_type, NULL};

static void lookup_links(const struct record *record, struct top_links *links)
{
	const struct lookup_record *lookup = record->parts[0];
	char address[ADDR_TEXT_MAX];

	addr_format(&lookup->raddr, address);
	top_links_add(links, NULL, "latency of replies", "dnslat 1");
	top_links_add(links, "connections", "connections to it", "raddr == %s", address);
}

static const struct top_table dns_table = {
	.name = "dns",
	.key = '9',
	.help = "name servers with queries, replies, failures and latency",
	.types = lookup_types,
	.shape = {1, {&lookup_type}},
	.sort = "-queries",
	.id = {"raddr", "netns"},
	.plots = {"queries", "pending"},
	.fill = top_plain_fill,
	.links = lookup_links,
};
TOP_TABLE(dns_table);

/* --- threads --- */

static const struct record_type *const thread_types[] = {&thread_type, NULL};

static const struct top_column thread_columns[] = {
	{"pid"},   {"tid"},    {"comm"},    {"thread_state", "STATE"}, {"syscall"},
	{"wchan"}, {"run_ns"}, {"wait_ns"}, {"switches_voluntary"},    {"switches_involuntary"},
	{},
};

static const struct top_table threads_table = {
	.name = "threads",
	.help = "threads of processes that hold sockets",
	.types = thread_types,
	.shape = {1, {&thread_type}},
	.columns = thread_columns,
	.sort = "-run_ns",
	.trees = {"pid", "comm"},
	.id = {"tid"},
	.plots = {"run_ns", "wait_ns"},
	.fill = top_plain_fill,
};
TOP_TABLE(threads_table);

/* --- counters --- */

struct counter_rate {
	double rate;
};

static const struct field counter_fields[] = {
	FIELD(struct counter_rate, rate, RATIO, "increase per second", .unit = "/s"),
};
static RECORD_TYPE(counter_rate_type, "top_counter", struct counter_rate, counter_fields, "rate of a counter");

static const struct record_type *const counter_types[] = {&counter_type, NULL};

struct counter_key {
	uint32_t netns;
	char name[60];
};

static void fill_counters(struct grid *grid, const struct top_moment *moment, void *data)
{
	struct moves *moves = data;

	moves_begin(moves, sizeof(struct counter_key), moment->snapshot->begin_boot_ns);
	snapshot_each(moment->snapshot, counter_type, const struct counter_record, counter) {
		struct counter_key key = {.netns = counter->netns};
		struct counter_rate rate;

		memcpy(key.name, counter->counter, strnlen(counter->counter, sizeof(key.name) - 1));
		moves_take(moves, &key, &counter->value, 1, &rate.rate);
		if (counter->gauge)
			rate.rate = NAN;
		if (counter->value != 0)
			grid_add(grid, &(struct record){.parts = {counter, &rate}});
	}
	moves_end(moves);
}

static void counter_release(void *data)
{
	moves_done(data);
}

static void counter_links(const struct record *record, struct top_links *links)
{
	const struct counter_record *counter = record->parts[0];

	top_links_add(links, NULL, "what it means", "explain %s", counter->counter);
}

static const struct top_column counter_columns[] = {{"counter"}, {"rate"}, {"value"}, {"netns"}, {}};

static const struct top_table counters_table = {
	.name = "counters",
	.help = "protocol counters (SNMP) with their rates",
	.command = "counters",
	.types = counter_types,
	.shape = {2, {&counter_type, &counter_rate_type}},
	.columns = counter_columns,
	.sort = "-rate",
	.trees = {"netns"},
	.id = {"counter", "netns"},
	.plots = {"rate"},
	.state_size = sizeof(struct moves),
	.fill = fill_counters,
	.release = counter_release,
	.links = counter_links,
};
TOP_TABLE(counters_table);
