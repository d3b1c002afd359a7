/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is usual on this host (diagnose/graph/usual.h): learned from windows without findings, kept in the recording,
 * and read again after a restart, also after a boot.
 */
#pragma once

#include "diagnose/infer/diagnosis.h"
#include "diagnose/measure/against_usual.h"
#include "store/store.h"

struct agent_usual {
	struct usual usual;
	uint64_t kept_ns;  /* when it was last written, monotonic; 0: never */
	uint64_t pause_ns; /* from then to the next time */
};

/* What an earlier agent kept in that file; one that cannot be read has nothing. */
void agent_usual_load(struct agent_usual *usual, const char *file);
void agent_usual_learn(struct agent_usual *usual, const struct graph *graph, const struct diagnosis_record *record);
/* Writes what has changed, when that is due; at once: at the end. */
int agent_usual_keep(struct agent_usual *usual, struct store *store, bool at_once) _must_check_;
