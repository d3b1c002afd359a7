/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run_ship.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

/* At the end of a run. What is not sent then waits in the spool. */
#define FINISH_NS (5 * NSEC_PER_SEC)

static void take_row(void *context, const char *table, uint64_t row, const struct shape *shape,
		     const struct record *record)
{
	struct run_ship *ship = context;

	shipper_add(ship->shipper, table, row, shape, record);
}

static void say(void *context, const char *text)
{
	struct run_ship *ship = context;

	log_warn("%s: %s", ship->run->options.name, text);
}

static int prepare(struct run_sink *sink, struct run *run)
{
	struct run_ship *ship = (struct run_ship *)sink;
	struct fleet_url url = {};
	int r = fleet_url_parse(ship->options->url, &url, &run->why);

	/* Refused before a file is made. */
	fleet_url_done(&url);
	return r;
}

static int begin(struct run_sink *sink, struct run *run)
{
	struct run_ship *ship = (struct run_ship *)sink;
	struct fleet_origin origin;
	int r;

	shipper_origin_here(&origin, store_begin_ns(run->store));
	r = shipper_new(run->loop, ship->options, &origin, say, ship, &ship->shipper, &run->why);
	if (r == 0)
		store_on_row(run->store, take_row, ship);
	return r;
}

static int end(struct run_sink *sink, struct run *run)
{
	struct run_ship *ship = (struct run_ship *)sink;

	if (!ship->shipper)
		return 0;
	store_on_row(run->store, NULL, NULL);
	shipper_finish(ship->shipper, FINISH_NS);
	ship->figures = shipper_look(ship->shipper);
	return 0;
}

/* Without a spool on the disk, what waits is lost with the process. */
static void account(struct run_sink *sink, struct run *run _unused_, struct run_account *account)
{
	struct run_ship *ship = (struct run_ship *)sink;
	const struct shipper_figures *figures = &ship->figures;
	uint64_t lost = figures->lost + (ship->options->spool ? 0 : figures->waiting);
	uint64_t shipped = figures->sender.rows_sent + figures->sender.rows_known;

	buf_add_format(&account->more, "%s%" PRIu64 " row%s shipped", account->more.len ? ", " : "", shipped,
		       text_plural(shipped));
	if (lost)
		buf_add_format(&account->more, ", %" PRIu64 " not shipped", lost);
	if (ship->options->spool && figures->waiting)
		buf_add_format(&account->more, ", %" PRIu64 " in the spool", figures->waiting);
}

static void close_ship(struct run_sink *sink)
{
	struct run_ship *ship = (struct run_ship *)sink;

	shipper_free(ship->shipper);
	ship->shipper = NULL;
}

static const struct run_sink_ops ship_ops = {
	.prepare = prepare, .begin = begin, .end = end, .account = account, .close = close_ship};

void run_ship_init(struct run_ship *ship, struct run *run, const struct ship_options *options)
{
	if (!options->url)
		return;
	*ship = (struct run_ship){.sink.ops = &ship_ops, .options = options, .run = run};
	run_add_sink(run, NULL, &ship->sink);
}
