/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command does with its records: the options that choose format, columns, filter and file, and the pipeline
 * behind them. A command opens an output for its shape, hands in records, closes it; it never knows the format.
 */
#pragma once

#include "base/option.h"
#include "base/out.h"
#include "record/value.h"

struct output_options {
	bool json;
	bool csv;
	bool wide;
	bool numeric; /* changes nothing; hands that know other programs give it */
	const char *format;
	const char *file;
	const char *where;
	struct text_list show;
};

/* For OPTION_GROUP in a command's table. */
extern const struct option_spec output_option_table[];

/* A column that a command shows in tables unless the user names others. */
struct output_column {
	const char *field;
	const char *heading; /* as other programs call it; --show and --where take it, too */
	const char *instead; /* the field that is shown where this one is unknown */
	const char *prefix;  /* the field that holds the length of an address's prefix, shown behind it */
	unsigned from_width; /* shown only on terminals of so many columns */
	const struct view_word *words;
};

struct output;

/* -EINVAL when the filter or a column is wrong, -EIO when the file cannot be opened; with a sentence. */
int output_open(const struct output_options *options, const struct shape *shape, struct output **ret_output,
		struct why *why) _must_check_;
/* The same with columns of the command's own, the last one without a field; NULL is as above. */
int output_open_columns(const struct output_options *options, const struct shape *shape,
			const struct output_column *columns, struct output **ret_output, struct why *why) _must_check_;
/* For --show help and --where help, which output_open knows: lists the fields and ends the program, as --help does. */
_Noreturn void output_help(const struct shape *shape);
/* The headings that are no fields' names, for shape.aliases; the caller frees them. */
struct field_alias *output_aliases(const struct output_column *columns);
/* Records will come one by one, as things happen. */
void output_stream(struct output *output);
/*
 * What follows, up to output_flush, is the next sample of the same things: a table begins anew below the time. In
 * place: where the terminal allows it, instead of the last one.
 */
void output_interval(struct output *output, uint64_t time_ns, bool in_place);
/* Shows the record if the filter lets it through; false when it did not. */
bool output_record(struct output *output, const struct record *record);

/* Many records of one kind, made one by one as they are needed. */
struct output_batch {
	size_t count;
	/* Makes the record of this number; false: none to be shown. Threads may call it, each with its own room. */
	bool (*make)(const void *context, size_t number, void *room, struct record *record);
	const void *context;
	size_t room_size; /* zeroed once, for what a record points to and what is worth keeping from one to the next */
};
/* Shows them in their order, with several threads where that pays. Returns how many the filter let through. */
uint64_t output_batch(struct output *output, const struct output_batch *batch);

/* Whether the filter would let it through. */
bool output_wants(const struct output *output, const struct record *record);
/* Whether a column or the filter looks at this part of the records. */
bool output_uses(const struct output *output, const struct shape *shape, unsigned part);
/* Where text that is no table goes (histograms, trees). */
struct out *output_out(struct output *output);
/* Whether the format is a table for people, or all of every record is wanted. */
bool output_shows_all(const struct output_options *options);
int output_flush(struct output *output);
/* No more records will come: what the format says at the end goes out, before whatever else is told to a person. */
int output_end(struct output *output);
/* Nothing could be observed: nothing is written, and an existing file keeps its content. */
void output_drop(struct output *output);
/* Frees it too; the first error that writing met. */
int output_close(struct output *output) _must_check_;
