/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run, whatever it looks at: sources hand out items (events, journeys, snapshots), each source to all of its sinks
 * (a table, a recording, a diagnosis, pictures). A source is the running host or a recording of it; sinks do not
 * know which.
 *
 *	struct run run = {.options = {.name = "trace", .duration_ns = ..., .input = ..., .save = ...}};
 *	run_add_source(&run, &source);
 *	run_add_sink(&run, &source, &table);
 *	run_add_sink(&run, &source, &picture);
 *	return run_carry_out(&run);
 *
 * What all runs share is done here and nowhere else: checking the options, the loop, the signals that end it, duration
 * and intervals, the command behind `--`, the recording of --save, `nest: ready`, the closing line, --max-loss, the
 * exit code.
 */
#pragma once

#include "run/child.h"
#include "store/replay.h"
#include "store/store.h"
#include "view/output.h"

struct run;
struct run_source;
struct run_sink;

/* What the closing line says. */
struct run_account {
	uint64_t events;
	uint64_t lost;
	struct buf more; /* after a semicolon; may be empty */
};

struct run_source_ops {
	/* May be NULL. What can be refused before files are made; -EINVAL and -ENOENT: the user's words are wrong. */
	int (*prepare)(struct run_source *source, struct run *run);
	/* Attaches: items come whenever run->loop runs. With options.once there is no loop, and next is called. */
	int (*open)(struct run_source *source, struct run *run);
	/* The same of run->recording, within run->range. */
	int (*open_recorded)(struct run_source *source, struct run *run);
	/* Makes the next item ready and says its time: 1, 0 at the end, or an error. */
	int (*next)(struct run_source *source, struct run *run, uint64_t *ret_ns);
	/* Hands it to the sinks. */
	int (*give)(struct run_source *source, struct run *run);
	/* May be NULL. Before an interval ends: hands out what has been added up elsewhere. */
	int (*collect)(struct run_source *source, struct run *run);
	/* May be NULL. The run is to end (signal 0: its time is over); true: the source will call run_stop. */
	bool (*stop)(struct run_source *source, int signal_number);
	/* Live only, may be NULL. Detaches, hands out what is left; notes in run->store what was lost. */
	int (*finish)(struct run_source *source, struct run *run);
	/* May be NULL. What was lost, and what else there is to say; the place for warnings before the closing line. */
	void (*account)(struct run_source *source, struct run *run, struct run_account *account);
	/* May be NULL. After the sinks are closed, also when open failed. */
	void (*close)(struct run_source *source);
};

struct run_source {
	const struct run_source_ops *ops;
	VEC(struct run_sink *) sinks;
	uint64_t next_ns; /* of the item that is ready; UINT64_MAX: there is none */
};

/* All may be NULL. A negative result is an error with its sentence in run->why, 1 from take: enough was seen. */
struct run_sink_ops {
	/* Opens the output, before anything is attached. -EINVAL, -ENOENT: the user's words are wrong. */
	int (*prepare)(struct run_sink *sink, struct run *run);
	/* All sources are open, and so is run->store where there is one. */
	int (*begin)(struct run_sink *sink, struct run *run);
	/* Privilege was given up, the first item follows: the place to read files that others may have written. */
	int (*start)(struct run_sink *sink, struct run *run);
	/* An item of the source, valid during the call; what it is, source and sink agree on. */
	int (*take)(struct run_sink *sink, struct run *run, const void *item);
	/* An interval is over, the last one perhaps before its time; now_ns is of the items' own time. */
	void (*interval)(struct run_sink *sink, struct run *run, uint64_t now_ns);
	/* No more items will come. run->ended_by says whether a signal cut it short. */
	int (*end)(struct run_sink *sink, struct run *run);
	/* What it lost, and more for the closing line. */
	void (*account)(struct run_sink *sink, struct run *run, struct run_account *account);
	/* Frees the rest, after its output was closed. */
	void (*close)(struct run_sink *sink);
};

/*
 * Where a sink shows its items is opened by it (prepare), and flushed, ended and closed by the run. A reader that has
 * gone ends the run; of one that never began nothing is shown.
 */
struct run_sink {
	const struct run_sink_ops *ops;
	struct output *output; /* records, else NULL */
	struct out *out;       /* text, else NULL */
	uint64_t shown;        /* for the closing line; 0 of a sink that shows what another shows as well */
};

struct run_options {
	const char *name;     /* of the command: for messages, and for the recording */
	uint64_t duration_ns; /* 0: no limit; of a recording: in recorded time */
	uint64_t interval_ns; /* 0: no intervals */
	uint64_t count;       /* of intervals; 0: no limit */
	struct command_line command;
	uint64_t pid;
	bool children; /* follow pid and the processes that it starts */
	struct input_options input;
	bool both_ends; /* a second -f is the recording of the other end */
	const char *save;
	bool resume; /* goes on with a recording of that name */
	const char *max_loss;
	const char *netns;  /* the run ends when this namespace is gone; NULL: none */
	bool once;          /* one item without waiting for it */
	bool attaches;      /* scripts may wait for `nest: ready` */
	bool ends_itself;   /* a signal comes before its time: 128+n */
	bool paced;         /* a recording is not read to its end at once: a sink asks for its items (run_step) */
	bool writes_a_file; /* besides what save names: what fails once it began is output */
};

struct run {
	struct run_options options;
	VEC(struct run_source *) sources;
	VEC(struct run_sink *) sinks; /* of all of them */
	struct loop *loop;            /* NULL with once, and of a recording that is not paced */
	struct child child;
	struct store *store;         /* of --save, else NULL */
	struct recording *recording; /* of -f, else NULL */
	struct time_range range;
	char *netns_path; /* of the namespace that is watched, else NULL */
	uint64_t netns_inum;
	uint64_t intervals; /* that are over */
	uint64_t last_ns;   /* of a recording: time of the item that was handed out last */
	bool began;
	bool cannot_observe; /* a source could not be opened, live */
	bool file_failed;    /* what failed is a file, although the run observes the live host */
	bool stopped;
	int result;    /* 0 or a negative errno, with the sentence in why */
	int ended_by;  /* signal, or 0 */
	unsigned may;  /* enum confine_may: what sources and sinks do until the end (run_needs) */
	uint64_t keep; /* capabilities that this takes */
	struct why why;
};

void run_add_source(struct run *run, struct run_source *source);
/* source NULL: a sink that takes no items. */
void run_add_sink(struct run *run, struct run_source *source, struct run_sink *sink);
/* Runs everything, from checking options to the closing line; an exit code. Closes all sources and sinks. */
int run_carry_out(struct run *run);

/*
 * A run on a recording inside another one: the caller opens it, takes its items by run_step until run_next_ns is
 * UINT64_MAX, and closes it, also where opening failed. Nothing is printed; errors are in run->why.
 */
int run_open_inside(struct run *run) _must_check_;
void run_close_inside(struct run *run);

/* --- for sources and sinks --- */

/* An item for all sinks of the source. */
void run_hand_out(struct run *run, struct run_source *source, const void *item);
/* Of a paced recording: when the next item happened, UINT64_MAX at the end; hands it to the sinks. */
uint64_t run_next_ns(const struct run *run);
int run_step(struct run *run) _must_check_;
/* After a source was moved to another time (run_snapshots_seek): makes its next item ready. */
int run_restep(struct run *run) _must_check_;
/* Ends the run; result: 0, or a negative errno with the sentence in run->why. */
void run_stop(struct run *run, int result);
/* In open: calls follow for the command, or for the process of -p --children and those that it has started. */
int run_follow(struct run *run, child_follow_fn *follow, void *context) _must_check_;
/*
 * In open, prepare or begin: what the source or sink will still do once everything is attached, and the capabilities
 * that it takes. The process gives up everything else before the first item (command_confine.h).
 */
void run_needs(struct run *run, unsigned may, uint64_t keep);
/* The result of a function that writes to run->store, with the sentence. */
int run_stored(struct run *run, int r);
/* In prepare: where the sink writes text; "-" and NULL: standard output. An error is not a usage error. */
int run_open_out(struct run *run, struct run_sink *sink, struct out *out, const char *path) _must_check_;

/* --- messages at the end of a run, also for commands that only read a file --- */

/* `nest: N events, N lost; more`. more may be NULL or empty. */
void run_report_account(uint64_t events, uint64_t lost, const char *more);
/* Options that do not fit together: says so; EXIT_USAGE. */
int run_refuse(const char *name, const struct why *why);
