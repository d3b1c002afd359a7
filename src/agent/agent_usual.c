/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent_usual.h"

#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "run/past.h"
#include "store/about.h"

/* Soon at first, so that others have something to compare with; then rarely, because pages are written again. */
#define KEEP_FIRST_NS (3 * NSEC_PER_SEC)
#define KEEP_NS       (300 * NSEC_PER_SEC)

void agent_usual_load(struct agent_usual *usual, const char *file)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct host_record here;
	struct stat own;
	struct why why = {};

	if (recording_open(file, &recording, &why) < 0 || past_load_usual(recording, &usual->usual, &why) < 0)
		return;
	host_record_fill(&here);
	if (strcmp(here.host, recording_host(recording)->host) != 0) {
		usual_done(&usual->usual);
		usual_init(&usual->usual);
	} else if (strcmp(here.boot_id, recording_host(recording)->boot_id) != 0 &&
		   stat("/proc/self/ns/net", &own) == 0) {
		usual_keep_netns(&usual->usual, (uint32_t)own.st_ino);
	}
}

/* What is slow or lost is not usual, however long it lasts. */
void agent_usual_learn(struct agent_usual *usual, const struct graph *graph, const struct diagnosis_record *record)
{
	if (graph && record->findings.count == 0)
		usual_learn(&usual->usual, graph);
}

static int keep(void *context, const struct usual_record *record, int64_t *row)
{
	return store_put(context, &RECORD_OF(record), row);
}

int agent_usual_keep(struct agent_usual *usual, struct store *store, bool at_once)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct store_table *table;
	bool first = usual->kept_ns == 0;
	int r;

	if (!first && !at_once && now_ns - usual->kept_ns < usual->pause_ns)
		return 0;
	r = store_table_open(store, usual_type.name, &SHAPE_OF(&usual_type), &table);
	/* What was there has been loaded, and is written again. */
	if (r == 0 && first)
		r = store_table_clear(table);
	if (r == 0)
		r = usual_each_changed(&usual->usual, keep, table);
	if (r == 0)
		r = store_commit(store);
	usual->kept_ns = now_ns;
	usual->pause_ns = first ? KEEP_FIRST_NS : min_of(usual->pause_ns * 2, KEEP_NS);
	return r;
}
