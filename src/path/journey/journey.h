/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One packet's way through this host, and the names of what it passes. Everything that shows journeys works on this
 * struct alone; path/source/journey_source.h fills it from the kernel, a recording from its tables, a test by hand.
 */
#pragma once

#include "base/buf.h"
#include "event/core/packet.h"
#include "event/path/path.h"
#include "event/path/path_names.h"
#include "record/field.h"

#define JOURNEY_STAGES_MAX 24

struct journey_stage {
	uint64_t start_ns; /* CLOCK_REALTIME; the first begins at the journey's time_ns, each where the last ended */
	uint64_t ns;
	uint32_t note;   /* PATH_NO_NOTE, or a number whose meaning struct path_stage_info says */
	uint16_t cpu;    /* where it ended */
	uint8_t stage;   /* enum path_stage */
	uint8_t context; /* enum path_context at its end */
};

struct journey {
	uint64_t time_ns;  /* when it began, CLOCK_REALTIME */
	uint64_t total_ns; /* the sum of the stages, exactly */
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
	uint32_t pid; /* of the socket's owner, or whoever read it; 0: unknown */
	uint32_t tid; /* that read or wrote it */
	uint32_t uid;
	uint32_t netns;
	char comm[16];
	char dev[16];
	uint32_t bytes;
	uint32_t seq; /* of TCP: numbers of its first byte and of the one after the last; both 0: none */
	uint32_t end_seq;
	uint32_t reason; /* of a drop, enum skb_drop_reason; 0: not dropped, or not said */
	uint32_t hidden; /* bits 1 << stage: stages that it may have passed and that could not be seen apart */
	uint32_t stage_count;
	struct journey_stage stages[JOURNEY_STAGES_MAX]; /* in the order of time */
};

/* What a stage is called and means. */
struct path_stage_info {
	const char *name; /* as in JSON */
	bool rx, tx;      /* which directions pass it */
	const char *help; /* what it means */
	/* A sentence's middle when it is the widest gap: "reader waited 4.1 ms for a CPU" has "for a CPU". */
	const char *gap;
	const char *note; /* what its number means; NULL: it has none */
};

/* Index by enum path_stage; [0] is empty. */
extern const struct path_stage_info path_stages[PATH_STAGES];

/* Every stage once: those of a packet's way in that direction (enum packet_dir), in its order, then the others. */
const uint8_t *path_order(uint8_t dir);
#define PATH_ORDER_COUNT (PATH_STAGES - 1)

extern struct enum_names path_stage_names;
extern struct enum_names path_context_names;

/* The journey without its stages, and a stage, as records: fields, JSON, columns and filters come from these. */
extern const struct record_type journey_type;
extern const struct record_type journey_stage_type;

/* The stage that took longest, NULL when there is none. */
const struct journey_stage *journey_widest(const struct journey *journey);
/* "reader waited 4.10ms for a CPU: 3 runnable tasks ahead": what the time went for at this stage. */
void journey_add_gap(struct buf *out, const struct journey *journey, const struct journey_stage *stage);
