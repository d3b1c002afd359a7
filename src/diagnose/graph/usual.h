/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is usual on a host: sketches of RTTs, answer times and rates by hour of the day, per path, service and program.
 * An agent learns them in windows without findings and keeps them in its recording (type "usual"); a run that begins
 * after a fault compares with them. Pure and bounded: the least recently seen make room.
 */
#pragma once

#include "base/map.h"
#include "record/field.h"

#define USUAL_NAME  56
#define USUAL_HOURS 24

enum usual_of { USUAL_HOST, USUAL_PATH, USUAL_SERVICE, USUAL_PROGRAM };

enum usual_figure {
	USUAL_RTT,    /* ns */
	USUAL_ANSWER, /* ns */
	USUAL_RATE,   /* bytes per second, both directions */
};

/* What a sketch is about; padding must be zero (usual_key). */
struct usual_key {
	uint32_t netns;
	uint8_t of, figure;
	uint16_t zero;
	char name[USUAL_NAME]; /* "10.1.2.2", "10.1.2.2:80", ":80" served here, "nginx"; "" of the host */
};

struct usual {
	struct map sketches; /* struct usual_key -> struct usual_sketch */
};

/* One hour of a sketch. */
struct usual_record {
	uint32_t netns;
	uint8_t of, figure;
	char name[USUAL_NAME];
	uint8_t hour;
	uint64_t count, p50, p95;
	uint64_t begin_ns, end_ns;
	const char *sketch; /* "BUCKET:COUNT .." */
};

extern const struct record_type usual_type;
/* What is known about a figure at an hour. */
struct usual_answer {
	uint64_t count; /* of observations: of this hour, of it and those around it, or of the whole day */
	uint64_t p50, p95;
};

void usual_init(struct usual *usual);
void usual_done(struct usual *usual);
struct usual_key usual_key(uint32_t netns, enum usual_of of, enum usual_figure figure, const char *name);
/* The hour of a time of day, in UTC: the same on hosts of all time zones, and when clocks are put forward. */
unsigned usual_hour(uint64_t time_ns);
void usual_add(struct usual *usual, const struct usual_key *key, uint64_t time_ns, uint64_t value, unsigned times);
/* False: nothing is known. */
bool usual_get(const struct usual *usual, const struct usual_key *key, unsigned hour, struct usual_answer *ret_answer);
/* Forgets all other namespaces: their numbers change with a boot. */
void usual_keep_netns(struct usual *usual, uint32_t netns);
/* Seconds of a namespace that were learned from. */
uint64_t usual_seconds(const struct usual *usual, uint32_t netns);
/*
 * Calls back with each hour that has changed since the last time, or since it was loaded; 0 or the first error. *row is
 * 0 at first and stays what the callback makes it: the number of the row that the hour is kept in.
 */
typedef int usual_keep_fn(void *context, const struct usual_record *record, int64_t *row);
int usual_each_changed(struct usual *usual, usual_keep_fn *fn, void *context);
/* An hour that was kept; one that does not make sense is ignored. */
void usual_load(struct usual *usual, const struct usual_record *record);
