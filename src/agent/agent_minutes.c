/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent_minutes.h"

#include "diagnose/measure/conn_minute.h"

static int add_rows(struct run *run, const struct snapshot *snapshot)
{
	struct conn_minute_record minute;
	struct store_table *table;
	int r = store_table_open(run->store, conn_minute_type.name, &SHAPE_OF(&conn_minute_type), &table);

	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (r == 0 && conn_minute_fill(snapshot, socket, &minute))
			r = store_add(table, &RECORD_OF(&minute));
	return run_stored(run, r);
}

static int take(struct run_sink *sink, struct run *run, const void *item)
{
	struct agent_minutes *minutes = (struct agent_minutes *)sink;
	const struct snapshot *snapshot = item;

	if (snapshot->begin_boot_ns < minutes->due_ns)
		return 0;
	minutes->due_ns = snapshot->begin_boot_ns + minutes->every_ns;
	return add_rows(run, snapshot);
}

static const struct run_sink_ops minutes_ops = {.take = take};

void agent_minutes_init(struct agent_minutes *minutes, struct run *run, struct run_source *samples, uint64_t every_ns)
{
	*minutes = (struct agent_minutes){.sink.ops = &minutes_ops, .run = run, .every_ns = every_ns};
	run_add_sink(run, samples, &minutes->sink);
}
