/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata of a recording: ordinary tables, declared as record types. */
#pragma once

#include "record/field.h"

/* "nest" as the application id of the file, and the schema version. */
#define STORE_APPLICATION 0x6e657374
#define STORE_VERSION     3

struct recording_record {
	uint32_t version; /* of the schema */
	char nest[32];    /* version of nest */
	uint64_t time_ns; /* start of the recording */
	const char *command;
};

struct host_record {
	char host[65];
	char kernel[65];
	char machine[65];
	char boot_id[40];
	uint32_t cpus;
	int32_t utc_offset; /* seconds */
};

/* One sample of the host. Rows of snapshot tables are valid from one sample to another. */
struct sample_record {
	uint64_t id; /* milliseconds since 1970, made unique */
	uint64_t begin_time_ns;
	uint64_t end_time_ns;
	uint64_t begin_boot_ns;
	uint64_t end_boot_ns;
	uint64_t sockets_boot_ns;
	uint64_t pace_ns;
	uint64_t refused;
	uint64_t left_out; /* samples before this one, at rest (store/lull.h) */
	uint64_t left_out_since;
};

struct attached_record {
	uint64_t time_ns;
	const char *event;
	const char *hook;
	const char *reason;
};

struct loss_record {
	uint64_t time_ns;
	const char *source;
	uint64_t count;
};

struct mark_record {
	uint64_t time_ns;
	const char *label;
};

/* The columns of the other tables, for readers other than nest. */
struct column_record {
	const char *table;
	const char *column;
	const char *kind;
	const char *unit;
	const char *help;
};

/* Time of records without a time field. */
struct moment_record {
	uint64_t time_ns;
};

/* A diagnosis without its modules: those are rebuilt from the snapshots. */
struct verdict_record {
	uint64_t time_ns; /* end of the window */
	uint64_t netns;
	uint64_t start_ns;
	uint32_t findings;
	bool healthy;
	uint64_t lost;
};

extern const struct record_type recording_type, host_type, recorded_sample_type, attached_type, loss_type, mark_type,
	column_type, moment_type, verdict_type;

const char *about_kind_name(enum field_kind kind);
void host_record_fill(struct host_record *host);
