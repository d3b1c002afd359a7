/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent_minutes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/exchange.h"
#include "probe/drop_tally.h"
#include "probe/retransmit_tally.h"

/* A total that rests for a minute may disappear. */
#define READ_NS (20 * NSEC_PER_SEC)

/* --- drops and retransmissions --- */

static void copy_text(char *to, size_t size, const char *from)
{
	/* Zeroed before: keys are compared as bytes. */
	if (from)
		memcpy(to, from, strnlen(from, size - 1));
}

static void read_drops(struct flow_minutes *drops, const struct snapshot *snapshot)
{
	flow_minutes_begin(drops);
	snapshot_each(snapshot, drop_type, const struct drop_record, drop) {
		struct flow_minutes_key key = {.laddr = drop->laddr,
					       .raddr = drop->raddr,
					       .dir = drop->dir,
					       .proto = drop->proto,
					       .state = drop->state,
					       .flags = drop->flags,
					       .lport = drop->lport,
					       .cookie = drop->cookie,
					       .netns = drop->netns,
					       .rport = drop->rport};

		copy_text(key.what, sizeof(key.what), drop->reason);
		copy_text(key.place, sizeof(key.place), drop->place);
		copy_text(key.dev, sizeof(key.dev), drop->dev);
		flow_minutes_read(drops, &key, drop->packets, drop->bytes);
	}
	flow_minutes_end(drops);
}

static void read_retransmits(struct flow_minutes *retransmits, const struct snapshot *snapshot)
{
	flow_minutes_begin(retransmits);
	snapshot_each(snapshot, retransmission_type, const struct retransmission_record, record) {
		struct flow_minutes_key key = {.laddr = record->laddr,
					       .raddr = record->raddr,
					       .lport = record->lport,
					       .cookie = record->cookie,
					       .netns = record->netns,
					       .rport = record->rport};

		copy_text(key.what, sizeof(key.what), enum_name_find(&retransmission_kind_names, record->kind));
		flow_minutes_read(retransmits, &key, record->count, record->bytes);
	}
	flow_minutes_end(retransmits);
}

/* --- rows --- */

struct rows {
	struct store_table *table;
	uint64_t time_ns, span_ns;
};

static int add_drop(void *context, const struct flow_minutes_key *key, const struct flow_total *total)
{
	const struct rows *rows = context;
	struct drop_minute_record row = {.time_ns = rows->time_ns,
					 .span_ns = rows->span_ns,
					 .netns = key->netns,
					 .dir = key->dir,
					 .proto = key->proto,
					 .laddr = key->laddr,
					 .raddr = key->raddr,
					 .lport = key->lport,
					 .rport = key->rport,
					 .packets = total->count,
					 .bytes = total->bytes};

	memcpy(row.reason, key->what, sizeof(row.reason));
	memcpy(row.place, key->place, sizeof(row.place));
	memcpy(row.dev, key->dev, sizeof(row.dev));
	return store_add(rows->table, &RECORD_OF(&row));
}

static int add_retransmit(void *context, const struct flow_minutes_key *key, const struct flow_total *total)
{
	const struct rows *rows = context;
	struct retransmit_minute_record row = {.time_ns = rows->time_ns,
					       .span_ns = rows->span_ns,
					       .netns = key->netns,
					       .laddr = key->laddr,
					       .raddr = key->raddr,
					       .lport = key->lport,
					       .rport = key->rport,
					       .count = total->count,
					       .bytes = total->bytes};

	memcpy(row.kind, key->what, sizeof(row.kind));
	return store_add(rows->table, &RECORD_OF(&row));
}

struct traffic_rows {
	struct rows paths, services;
};

static int add_path(void *context, const struct path_minute_record *row)
{
	const struct rows *rows = &((struct traffic_rows *)context)->paths;
	struct path_minute_record timed = *row;

	timed.time_ns = rows->time_ns;
	timed.span_ns = rows->span_ns;
	return store_add(rows->table, &RECORD_OF(&timed));
}

static int add_service(void *context, const struct service_minute_record *row)
{
	const struct rows *rows = &((struct traffic_rows *)context)->services;
	struct service_minute_record timed = *row;

	timed.time_ns = rows->time_ns;
	timed.span_ns = rows->span_ns;
	return store_add(rows->table, &RECORD_OF(&timed));
}

static int open_rows(struct agent_minutes *minutes, const struct record_type *type, struct rows *ret_rows)
{
	*ret_rows = (struct rows){.time_ns = clock_real_ns(), .span_ns = minutes->due_ns - minutes->begin_ns};
	return store_table_open(minutes->run->store, type->name, &SHAPE_OF(type), &ret_rows->table);
}

static int add_sums(struct agent_minutes *minutes)
{
	struct traffic_rows traffic;
	struct rows drops, retransmits;
	int r = open_rows(minutes, &drop_minute_type, &drops);

	if (r == 0)
		r = open_rows(minutes, &retransmit_minute_type, &retransmits);
	if (r == 0)
		r = open_rows(minutes, &path_minute_type, &traffic.paths);
	if (r == 0)
		r = open_rows(minutes, &service_minute_type, &traffic.services);
	if (r == 0)
		r = flow_minutes_take(&minutes->drops, add_drop, &drops);
	if (r == 0)
		r = flow_minutes_take(&minutes->retransmits, add_retransmit, &retransmits);
	if (r == 0)
		r = traffic_minutes_take(&minutes->traffic, &(struct traffic_sinks){add_path, add_service, &traffic});
	return r == 0 ? agent_lives_note_loss(&minutes->lives, minutes->run->store) : r;
}

/* --- samples --- */

/* Counters of all connections; rows of them where the minute is over. */
static int read_conns(struct agent_minutes *minutes, const struct snapshot *snapshot, bool is_due)
{
	struct conn_minute_record minute;
	struct store_table *table;
	int r = store_table_open(minutes->run->store, conn_minute_type.name, &SHAPE_OF(&conn_minute_type), &table);

	traffic_minutes_begin(&minutes->traffic);
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (socket->proto == 6 && socket->state == SOCKET_LISTEN)
			traffic_minutes_listener(&minutes->traffic, socket->netns, socket->lport);
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		if (!conn_minute_fill(snapshot, socket, &minute))
			continue;
		traffic_minutes_conn(&minutes->traffic, &minute);
		if (r == 0 && is_due)
			r = store_add(table, &RECORD_OF(&minute));
	}
	return r;
}

void agent_minutes_see(struct agent_minutes *minutes, const struct graph *graph)
{
	vec_each(&graph->modules, module) {
		const struct conn_measures *conn = (*module)->measures.conn;
		const struct exchange_measures *exchange = (*module)->measures.exchange;

		if ((*module)->kind == MODULE_CONN && conn && exchange && exchange->timed_now)
			traffic_minutes_answers(&minutes->traffic, (uint32_t)graph->netns, exchange->serves,
						exchange->serves ? conn->lport : conn->rport, exchange->timed_now,
						exchange->timed_now_ns);
	}
}

static int take(struct run_sink *sink, struct run *run, const void *item)
{
	struct agent_minutes *minutes = (struct agent_minutes *)sink;
	const struct snapshot *snapshot = item;
	uint64_t now_ns = snapshot->begin_boot_ns;
	bool first = minutes->begin_ns == 0, is_due = now_ns >= minutes->due_ns;
	int r = read_conns(minutes, snapshot, is_due);

	if (is_due || now_ns >= minutes->read_ns) {
		read_drops(&minutes->drops, snapshot);
		read_retransmits(&minutes->retransmits, snapshot);
		minutes->read_ns = now_ns + READ_NS;
	}
	if (!is_due)
		return run_stored(run, r);
	minutes->due_ns = now_ns;
	/* The first sample ends no minute. */
	if (r == 0 && !first)
		r = add_sums(minutes);
	minutes->begin_ns = now_ns;
	minutes->due_ns = now_ns + minutes->every_ns;
	return run_stored(run, r);
}

/* The last minute is shorter. */
static int end(struct run_sink *sink, struct run *run)
{
	struct agent_minutes *minutes = (struct agent_minutes *)sink;

	if (minutes->begin_ns == 0)
		return 0;
	minutes->due_ns = max_of(clock_ns(CLOCK_BOOTTIME), minutes->begin_ns);
	return run_stored(run, add_sums(minutes));
}

static void close_minutes(struct run_sink *sink)
{
	struct agent_minutes *minutes = (struct agent_minutes *)sink;

	flow_minutes_done(&minutes->drops);
	flow_minutes_done(&minutes->retransmits);
	traffic_minutes_done(&minutes->traffic);
}

static const struct run_sink_ops minutes_ops = {.take = take, .end = end, .close = close_minutes};

void agent_minutes_init(struct agent_minutes *minutes, struct run *run, struct run_source *samples,
			const struct agent_minutes_options *options)
{
	*minutes = (struct agent_minutes){.sink.ops = &minutes_ops, .run = run, .every_ns = options->every_ns};
	flow_minutes_init(&minutes->drops);
	flow_minutes_init(&minutes->retransmits);
	traffic_minutes_init(&minutes->traffic);
	run_add_sink(run, samples, &minutes->sink);
	agent_lives_init(&minutes->lives, run, options->netns, options->life_rate, &minutes->traffic);
}
