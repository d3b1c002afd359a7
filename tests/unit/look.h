/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of the diagnosis on snapshots made by hand: 16 samples, three windows. */
#pragma once

#include "diagnose/graph/window.h"
#include "diagnose/infer/diagnosis.h"
#include "diagnose/rules/knowledge.h"
#include "unit.h"

#define LOOK_SAMPLES 16
#define LOOK_PACE_NS UINT64_C(200000000)
#define LOOK_TIME_NS UINT64_C(1763172787000000000)

/* Puts the rows of one sample into an empty snapshot. */
typedef void look_fn(struct snapshot *snapshot, unsigned sample, const void *context);

/* Causes and modules that it ends with. */
static inline const char *look_at(look_fn *fill, const void *context)
{
	static char said[1024];
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct diagnosis *diagnosis;
	const struct diagnosis_record *record;
	const struct finding_record *findings;
	struct why why = {};

	REQUIRE(knowledge_load(&knowledge, &why) == 0);
	diagnosis = diagnosis_new(knowledge);
	for (unsigned sample = 0; sample < LOOK_SAMPLES; sample++) {
		snapshot_clear(snapshot);
		snapshot->begin_boot_ns = (sample + 1) * LOOK_PACE_NS;
		snapshot->begin_time_ns = LOOK_TIME_NS + sample * LOOK_PACE_NS;
		fill(snapshot, sample, context);
		window_add(window, snapshot);
		if (sample > 0 && sample % 5 == 0)
			diagnosis_add_window(diagnosis, window_finish(window));
	}
	record = diagnosis_get(diagnosis);
	findings = record->findings.items;
	said[0] = '\0';
	for (uint32_t i = 0; i < record->findings.count; i++)
		snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s %s", i ? ", " : "", findings[i].cause,
			 findings[i].module);
	diagnosis_free(diagnosis);
	return said;
}
