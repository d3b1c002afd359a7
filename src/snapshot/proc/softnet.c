/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "snapshot/core/scan.h"
#include "snapshot/proc/softnet.h"

#define S struct softnet_record
static const struct field softnet_fields[] = {
	FIELD(S, cpu, ID, "CPU"),
	FIELD(S, processed, COUNT, "packets processed", .drift = DRIFTS),
	FIELD(S, dropped, COUNT, "packets dropped: backlog full (netdev_max_backlog)"),
	FIELD(S, time_squeeze, COUNT, "times the softirq budget was exhausted with packets left (netdev_budget)",
	      .drift = DRIFTS),
	FIELD(S, received_rps, COUNT, "packets received from other CPUs (RPS)", .hidden = true, .drift = DRIFTS),
	FIELD(S, flow_limit, COUNT, "packets of one flow dropped by the flow limit", .hidden = true),
	FIELD(S, backlog, COUNT, "packets in the backlog now", .drift = DRIFTS),
};
#undef S
RECORD_TYPE(softnet_type, "softnet", struct softnet_record, softnet_fields, "the receive backlog of a CPU");

/* Columns of /proc/net/softnet_stat; older kernels have fewer. */
enum {
	COLUMN_PROCESSED,
	COLUMN_DROPPED,
	COLUMN_SQUEEZE,
	COLUMN_RPS = 9,
	COLUMN_FLOW_LIMIT,
	COLUMN_BACKLOG,
	COLUMN_CPU,
	COLUMNS
};

void softnet_parse(struct snapshot *snapshot, const char *text)
{
	struct snapshot_table *table = snapshot_table(snapshot, &softnet_type);
	uint32_t number = 0;

	do {
		uint64_t columns[COLUMNS];
		const char *line = text;
		unsigned count = 0;
		struct softnet_record *softnet;

		while (count < COLUMNS && scan_hex(&line, &columns[count]))
			count++;
		if (count <= COLUMN_SQUEEZE)
			continue;
		softnet = snapshot_table_add(table);
		if (!softnet)
			return;
		softnet->cpu = count > COLUMN_CPU ? (uint32_t)columns[COLUMN_CPU] : number;
		softnet->processed = columns[COLUMN_PROCESSED];
		softnet->dropped = columns[COLUMN_DROPPED];
		softnet->time_squeeze = columns[COLUMN_SQUEEZE];
		if (count > COLUMN_RPS)
			softnet->received_rps = columns[COLUMN_RPS];
		if (count > COLUMN_FLOW_LIMIT)
			softnet->flow_limit = columns[COLUMN_FLOW_LIMIT];
		if (count > COLUMN_BACKLOG)
			softnet->backlog = (uint32_t)columns[COLUMN_BACKLOG];
		number++;
	} while (scan_next_line(&text));
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	int r = snapshot_read(snapshot, "/proc/thread-self/net/softnet_stat");

	(void)request;
	if (r < 0)
		return why_set(why, r, "cannot read /proc/net/softnet_stat: %s", strerror(-r));
	softnet_parse(snapshot, buf_text(&snapshot->text));
	return 0;
}

static const struct record_type *const types[] = {&softnet_type, NULL};

static const struct snapshot_source softnet_source = {
	.name = "softnet",
	.lost = "receive backlog drops",
	.types = types,
	.stage = STAGE_COUNTERS,
	.collect = collect,
};
SNAPSHOT_SOURCE(softnet_source);
