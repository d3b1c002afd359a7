/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the reader. */
#pragma once

#include "store/column.h"
#include "store/recording.h"

struct recording {
	sqlite3 *db;
	char *path;
	struct buf bytes; /* of a bundled recording */
	bool has_log;
	bool preparing; /* set for nest's own statements; later ones are checked */
	uint64_t deadline_ns;
	VEC(struct recorded_table) tables;
	struct host_record host;
	struct recording_record about;
};

const struct recorded_table *recording_find(const struct recording *recording, const char *name);
int recording_prepare(struct recording *recording, const char *sql, sqlite3_stmt **ret_statement,
		      struct why *why) _must_check_;
