/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of one packet through this host, and the names of its stages. All views work on this struct alone;
 * path/source/journey_source.h fills it from the kernel, path/journey/journey_store.h from a recording.
 */
#pragma once

#include "base/buf.h"
#include "event/core/packet.h"
#include "event/path/path.h"
#include "event/path/path_names.h"
#include "record/field.h"

#define JOURNEY_STAGES_MAX 24

struct journey_stage {
	uint64_t start_ns; /* CLOCK_REALTIME; the end of the previous stage, or the journey's time_ns */
	uint64_t ns;
	uint32_t note;   /* PATH_NO_NOTE, or a number explained by struct path_stage_info */
	uint16_t cpu;    /* at the end of the stage */
	uint8_t stage;   /* enum path_stage */
	uint8_t context; /* enum path_context at its end */
};

struct journey {
	uint64_t time_ns;  /* start, CLOCK_REALTIME */
	uint64_t total_ns; /* exactly the sum of the stages */
	uint64_t cookie;   /* of the socket; 0: unknown */
	uint64_t cgroup_id;
	struct addr laddr;
	struct addr raddr;
	uint16_t lport;
	uint16_t rport;
	uint8_t dir; /* enum packet_dir */
	uint8_t end; /* enum path_end */
	uint8_t family;
	uint8_t proto;
	uint32_t pid; /* owner of the socket, or the reader; 0: unknown */
	uint32_t tid; /* reader or writer */
	uint32_t uid;
	uint32_t netns;
	char comm[16];
	char dev[16];
	uint32_t bytes;
	uint32_t seq; /* TCP sequence numbers of the first byte and after the last; both 0: none */
	uint32_t end_seq;
	uint32_t reason; /* enum skb_drop_reason; 0: not dropped, or no reason given */
	uint32_t hidden; /* bits 1 << stage: not traced, possibly passed */
	uint32_t stage_count;
	struct journey_stage stages[JOURNEY_STAGES_MAX]; /* in order of time */
};

/* Name and meaning of a stage. */
struct path_stage_info {
	const char *name; /* as in JSON */
	bool rx, tx;      /* directions that pass it */
	const char *help; /* meaning */
	/* End of the sentence when this is the longest stage: "for a CPU" in "reader waited 4.1 ms for a CPU". */
	const char *gap;
	const char *note; /* meaning of its note; NULL: it has none */
};

/* Index by enum path_stage; [0] is empty. */
extern const struct path_stage_info path_stages[PATH_STAGES];

/* All stages: those of the direction (enum packet_dir) in path order, then the others. */
const uint8_t *path_order(uint8_t dir);
#define PATH_ORDER_COUNT (PATH_STAGES - 1)

extern struct enum_names path_stage_names;
extern struct enum_names path_context_names;

/* A journey without its stages, and a stage, as record types for fields, JSON, columns and filters. */
extern const struct record_type journey_type;
extern const struct record_type journey_stage_type;

/* The longest stage; NULL when there is none. */
const struct journey_stage *journey_widest(const struct journey *journey);
/* "reader waited 4.10ms for a CPU: 3 runnable tasks ahead": where the time at this stage went. */
void journey_add_gap(struct buf *out, const struct journey *journey, const struct journey_stage *stage);
