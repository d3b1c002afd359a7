/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A diagnosis in a run: several snapshots per second, a window and a diagnosis every second; of one network
 * namespace or of all, each with its own windows and diagnosis.
 */
#pragma once

#include "base/out.h"
#include "diagnose/graph/usual.h"
#include "diagnose/infer/diagnosis.h"
#include "run/far_side.h"
#include "run/past.h"
#include "run/rest.h"
#include "run/run_snapshots.h"
#include "view/output.h"

/* Options of the commands that diagnose; for OPTION_GROUP. */
struct diagnosis_options {
	const char *netns;
	struct selection selection;
	const char *rules;
	const char *engine;
	bool passive;
	bool no_containers;
	struct input_options input; /* a recording instead of the live host */
	struct text_list routers;   /* recordings of hosts between two ends that translate addresses (NAT) */
	const char *past;           /* a recording of the last minutes; NULL: a running recorder's; "none" */
	const char *save;           /* keep what was seen in this one */
};
extern const struct option_spec diagnosis_option_table[];

/* A container of a namespace: part of its graph. */
struct container_view {
	uint32_t netns;
	struct window *window;
	char name[64];   /* in /run/netns; may be empty */
	char option[72]; /* of -N in `next`; may be empty */
	char port[16];   /* interface of the host that leads there; may be empty */
	bool gone;
};

/* One namespace, with its containers. */
struct diagnosis_view {
	uint32_t netns;
	struct diagnosis *diagnosis;
	struct window *window;
	VEC(struct container_view *) containers;
	unsigned windows;
	bool gone; /* the namespace is no more: this is its last report, about nothing new */
};

/* The open window. */
struct window_count {
	unsigned intervals;         /* between its samples so far */
	uint64_t begin_ns, last_ns; /* its base and its last sample, in time since boot */
};

struct run_diagnosis {
	struct run_sink sink;
	struct run_snapshots snapshots; /* the source */
	struct run *run;
	/* What the command chooses. */
	const struct diagnosis_options *options;
	uint64_t duration_ns; /* 0: until a signal or the end of the recording */
	bool containers;      /* where no namespace is chosen: also looks into the containers of the host */
	bool no_past;         /* does not begin with what a recorder has seen */
	bool endless;         /* of a recording: goes on after its last window, which may be diagnosed again */
	bool until_settled;   /* ends before that when all findings are facts */
	bool lists_unseen;    /* its report has what was not seen: no warning besides */
	unsigned rate;        /* windows a second; 0: one */
	bool suspended;       /* live: samples are not looked at for now; then run_diagnosis_restart */
	struct rest rest;     /* live: samples less often while nothing is suspected; pace_ns 0: never */
	const char *file;     /* where text goes; NULL: standard output */
	/* Records instead of text; NULL: text. */
	const struct output_options *records;
	struct shape shape;
	/*
	 * Called for each namespace after each window from the third on, and before that for facts; negative is an
	 * error, 1: enough.
	 */
	int (*report)(struct run_diagnosis *diagnosis, const struct diagnosis_view *view);
	/* May be NULL. Called for each namespace that was reported on, when a signal ends the run before its time. */
	void (*interrupted)(struct run_diagnosis *diagnosis, const struct diagnosis_view *view);
	/* May be NULL. More for the closing line. */
	void (*closing)(struct run_diagnosis *diagnosis, struct buf *more);
	void *context;
	/* For the report. */
	struct out out;
	VEC(struct diagnosis_view *) views;
	unsigned windows;
	bool last;
	/* Inside. */
	struct knowledge *knowledge;
	struct past past;
	struct far_side *far; /* the recording of the other end, else NULL */
	const struct engine *engine;
	struct usual *usual; /* what is usual here; NULL: unknown. An agent's own, or that of its recording */
	struct usual past_usual;
	const struct record_type **needs;
	char pid[24];
	struct snapshot_slice *slice;
	bool several;     /* namespaces come and go */
	unsigned samples; /* of a window */
	struct window_count count;
	bool has_past;
	bool coarse;               /* the open window is of one sample */
	uint64_t deadline_ns;      /* live: the end of the run, in time since boot; 0: none */
	struct loop_source *clock; /* live: ends the run where no sample does */
	bool overdue;              /* and it did */
	uint64_t end_ns; /* of a recording whose last window is shorter: its last sample, CLOCK_BOOTTIME; otherwise 0 */
	uint64_t window_ns;
	unsigned windows_wanted;
};

/* Forgets all windows: the next sample is of another time. */
void run_diagnosis_restart(struct run_diagnosis *diagnosis);
/* Makes it a source of the run with this diagnosis as its sink; the command has set its choices. */
void run_diagnosis_init(struct run_diagnosis *diagnosis, struct run *run);
