/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the reader share. */
#pragma once

#include "store/column.h"
#include "store/recording.h"

struct recording {
	sqlite3 *db;
	char *path;
	struct buf bytes; /* of a bundled recording */
	bool has_log;
	bool preparing; /* nest's own questions; later ones are checked */
	uint64_t deadline_ns;
	VEC(struct recorded_table) tables;
	struct host_record host;
	struct recording_record about;
};

const struct recorded_table *recording_find(const struct recording *recording, const char *name);
int recording_prepare(struct recording *recording, const char *sql, sqlite3_stmt **ret_statement,
		      struct why *why) _must_check_;
