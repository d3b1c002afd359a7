/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes snapshots and findings to a recording. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/sql.h"
#include "store/states.h"
#include "store/store_inside.h"

static struct store_table *find_states(const struct store *store, const struct record_type *type)
{
	vec_each(&store->tables, table)
		if ((*table)->states && (*table)->shape.types[0] == type)
			return *table;
	return NULL;
}

/* Gaps and namespaces are in every snapshot; other tables only if requested. */
static bool is_kept(const struct snapshot_table *now)
{
	return now->wanted || now->count > 0 || now->type == &gap_type || now->type == &netns_type;
}

/* Makes tables that are new. Whether all that this sample has is at rest. */
static int plan_states(struct store *store, struct snapshot *snapshot, const struct sample_record *sample,
		       bool *ret_at_rest)
{
	uint64_t since_ns = sample->begin_boot_ns - store->lull.last.begin_boot_ns;
	bool at_rest = true;
	int r = 0;

	for (size_t i = 0; r == 0 && i < snapshot->table_count; i++) {
		const struct snapshot_table *now = &snapshot->tables[i];
		struct store_table *table = find_states(store, now->type);

		if (!table && !is_kept(now))
			continue;
		if (!table) {
			at_rest = false;
			r = store_table_make(store, now->type->name, &SHAPE_OF(now->type), true, &table);
		}
		if (r == 0 && !states_plan(table->states, snapshot, now, sample->id, since_ns))
			at_rest = false;
	}
	*ret_at_rest = at_rest;
	return r;
}

static int write_states(struct store *store, const struct snapshot *snapshot, uint64_t replaced_after)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < snapshot->table_count; i++) {
		struct store_table *table = find_states(store, snapshot->tables[i].type);

		if (table)
			r = states_write(table->states, &snapshot->tables[i], replaced_after);
	}
	return r;
}

/* Unique and increasing, also when the clock is set: on the timeline of the recording. */
static uint64_t sample_id(struct store *store, const struct snapshot *snapshot)
{
	if (!store->origin_ns)
		store->origin_ns = (int64_t)(snapshot->begin_time_ns - snapshot->begin_boot_ns);
	return max_of((snapshot->begin_boot_ns + (uint64_t)store->origin_ns) / NSEC_PER_MSEC, store->last_sample + 1);
}

int store_add_snapshot(struct store *store, struct snapshot *snapshot)
{
	struct sample_record sample = {.id = sample_id(store, snapshot),
				       .begin_time_ns = snapshot->begin_time_ns,
				       .end_time_ns = snapshot->end_time_ns,
				       .begin_boot_ns = snapshot->begin_boot_ns,
				       .end_boot_ns = snapshot->end_boot_ns,
				       .sockets_boot_ns = snapshot->sockets_boot_ns,
				       .pace_ns = snapshot->pace_ns ?: UINT64_MAX,
				       .refused = snapshot_refused(snapshot)};
	struct store_table *table;
	bool at_rest = false, merged;
	int r = store_begin(store);

	if (r == 0)
		r = plan_states(store, snapshot, &sample, &at_rest);
	if (r < 0)
		return r;
	merged = lull_step(&store->lull, &sample, at_rest);
	r = write_states(store, snapshot, merged ? store->lull.first.id : UINT64_MAX);
	if (r == 0)
		r = store_table_open(store, recorded_sample_type.name, &SHAPE_OF(&recorded_sample_type), &table);
	if (r == 0)
		r = store_put(table, &RECORD_OF(&sample), &store->lull.row);
	store->last_sample = sample.id;
	return r == 0 ? store_tick(store) : r;
}

/* --- findings --- */

int store_add_findings(struct store *store, const struct diagnosis_record *diagnosis)
{
	struct shape shape = {.count = 2, .types = {&moment_type, &finding_type}};
	const struct finding_record *findings = diagnosis->findings.items;
	struct moment_record moment = {.time_ns = diagnosis->start_ns + diagnosis->window_ms * NSEC_PER_MSEC};
	struct verdict_record verdict = {.time_ns = moment.time_ns,
					 .netns = diagnosis->netns,
					 .start_ns = diagnosis->start_ns,
					 .findings = diagnosis->findings.count,
					 .healthy = diagnosis->healthy,
					 .lost = diagnosis->lost};
	struct store_table *table;
	int r = store_table_open(store, verdict_type.name, &SHAPE_OF(&verdict_type), &table);

	if (diagnosis->findings.count > 0)
		store->lull.found = store->last_sample;
	if (r == 0)
		r = store_add(table, &RECORD_OF(&verdict));
	if (r == 0)
		r = store_table_open(store, finding_type.name, &shape, &table);
	for (uint32_t i = 0; r == 0 && i < diagnosis->findings.count; i++)
		r = store_add(table, &(struct record){.parts = {&moment, &findings[i]}});
	return r;
}
