/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output of records: the options that select format, columns, filter and file, and the pipeline behind them. A command
 * opens an output for its shape, passes records, and closes it; it never knows the format.
 */
#pragma once

#include "base/option.h"
#include "base/out.h"
#include "record/value.h"

struct output_options {
	bool json;
	bool csv;
	bool wide;
	bool numeric; /* changes nothing; accepted because other programs have it */
	const char *format;
	const char *file;
	const char *where;
	struct text_list show;
};

/* For OPTION_GROUP in a command's table. */
extern const struct option_spec output_option_table[];

/* A default column of a command's tables, unless --show selects others. */
struct output_column {
	const char *field;
	const char *heading; /* name in other programs; also valid in --show and --where */
	const char *instead; /* the field shown when this one is unknown */
	const char *prefix;  /* the field with the prefix length of an address, shown after it */
	unsigned from_width; /* shown only on terminals of at least this width */
	const struct view_word *words;
};

struct output;

/*
 * -EINVAL when the filter or a column is wrong, -EIO when the file cannot be opened, with a sentence; -ECANCELED when
 * the fields were listed (--show help, --where help) and nothing is left to do.
 */
int output_open(const struct output_options *options, const struct shape *shape, struct output **ret_output,
		struct why *why) _must_check_;
/* The same with the command's default columns, terminated by one without a field; NULL: as above. */
int output_open_columns(const struct output_options *options, const struct shape *shape,
			const struct output_column *columns, struct output **ret_output, struct why *why) _must_check_;
/*
 * For a caller that takes the records itself: those that match the filter (NULL: all; it stays the caller's) go to
 * take, in order and in this thread.
 */
struct expr;
struct output *output_open_taker(const struct expr *where, void (*take)(void *context, const struct record *record),
				 void *context);
/* For --show help and --where help, handled by output_open: lists the fields. -ECANCELED, or -EIO with a sentence. */
int output_help(const struct shape *shape, struct why *why) _must_check_;
/* Headings other than field names, for shape.aliases; the caller frees them. */
struct field_alias *output_aliases(const struct output_column *columns);
/* Records arrive one by one, as events happen. */
void output_stream(struct output *output);
/* What stands above a sample. */
struct output_moment {
	uint64_t time_ns;    /* 0: not shown */
	uint64_t elapsed_ns; /* UINT64_MAX: not shown */
};

/*
 * The records up to output_flush are the next sample: a new table below the moment. in_place: redraw it in place of the
 * previous one, where the terminal allows it.
 */
void output_interval(struct output *output, const struct output_moment *moment, bool in_place);
/* Shows the record if it matches the filter; else false. */
bool output_record(struct output *output, const struct record *record);

/* Many records of one kind, created on demand. */
struct output_batch {
	size_t count;
	/* Creates record `number`; false: skip it. Called by several threads, each with its own room. */
	bool (*make)(const void *context, size_t number, void *room, struct record *record);
	const void *context;
	size_t room_size; /* zeroed once; for data that a record points to, and caches */
};
/* Shows the records in order, with several threads where that is faster. Returns the number of matches. */
uint64_t output_batch(struct output *output, const struct output_batch *batch);

/* Whether the record matches the filter. */
bool output_wants(const struct output *output, const struct record *record);
/* Whether a column or the filter uses this part of the records. */
bool output_uses(const struct output *output, const struct shape *shape, unsigned part);
/* For text other than records (histograms, trees). */
struct out *output_out(struct output *output);
/* Whether all fields are shown: with -w, or by the format. */
bool output_shows_all(const struct output_options *options);
int output_flush(struct output *output);
/* No more records: writes the end of the format, before any other text. */
int output_end(struct output *output);
/* Nothing could be observed: nothing is written, and an existing file keeps its content. */
void output_drop(struct output *output);
/* Closes and frees the output; returns the first write error. */
int output_close(struct output *output) _must_check_;
