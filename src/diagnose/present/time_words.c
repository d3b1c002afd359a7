/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/present/time_words.h"

#include <string.h>

#include "view/format.h"
#include "view/list.h"

#define PROGRAMS_MAX 3    /* of the table, without --all */
#define SHARE_MIN    0.01 /* of a line of it */
#define SHARE_HARD   0.1  /* less is not worth the headline */

/* A line of the table. */
struct time_line {
	const char *program;
	double share;
	const char *what;
	const char *on;
	uint64_t count;
	uint64_t p50_ns, max_ns, rtt_ns;
};

#define L struct time_line
static const struct field line_fields[] = {
	FIELD(L, program, TEXT, "program"),        FIELD(L, share, RATIO, "share of its time", .unit = "%"),
	FIELD(L, what, TEXT, "what it did"),       FIELD(L, on, TEXT, "module the time depends on"),
	FIELD(L, count, COUNT, "number of waits"), FIELD(L, p50_ns, DURATION, "median"),
	FIELD(L, max_ns, DURATION, "longest"),     FIELD(L, rtt_ns, DURATION, "minimum RTT"),
};
#undef L
static const struct record_type line_type = {.name = "time_share",
					     .fields = line_fields,
					     .field_count = ARRAY_SIZE(line_fields),
					     .size = sizeof(struct time_line)};

static bool is(const struct share_record *share, const char *what)
{
	return strcmp(share->what, what) == 0;
}

static bool is_wait(const struct share_record *share)
{
	return !is(share, "cpu") && !is(share, "idle") && !is(share, "other");
}

/* The largest share that is a wait, of all programs, or else the largest on a CPU; NULL: neither is worth a word. */
static const struct share_record *largest(const struct diagnosis_record *record, bool waits)
{
	const struct time_record *programs = record->time.items;
	const struct share_record *best = NULL;

	for (uint32_t i = 0; i < record->time.count; i++) {
		const struct share_record *shares = programs[i].shares.items;

		for (uint32_t n = 0; n < programs[i].shares.count; n++)
			if ((waits ? is_wait(&shares[n]) : is(&shares[n], "cpu")) && shares[n].share >= SHARE_HARD &&
			    (!best || shares[n].share > best->share))
				best = &shares[n];
	}
	return best;
}

/* What follows "curl (812) spends 98 % ". */
static void add_what(struct buf *text, const struct share_record *share)
{
	static const struct {
		const char *what, *words;
	} words[] = {
		{"cpu", "on the CPU"},
		{"cpu-wait", "waiting for a CPU"},
		{"answer", "waiting for"},
		{"network", "waiting for the network to"},
		{"connect", "connecting to"},
		{"dns", "waiting for name server"},
		{"peer-reading", "blocked in send to"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is(share, words[i].what))
			buf_add_text(text, words[i].words);
	if (share->on_name)
		buf_add_format(text, " %s", share->on_name);
}

static void add_figures(struct buf *text, const struct share_record *share)
{
	const char *separator = ": ";

	if (share->p50_ns != UINT64_MAX) {
		buf_add_text(text, separator);
		format_add_duration(text, (int64_t)share->p50_ns);
		buf_add_text(text, " per request");
		separator = ", ";
	} else if (share->count == 0 && share->max_ns != UINT64_MAX) {
		buf_add_text(text, separator);
		buf_add_text(text, "no answer for ");
		format_add_duration(text, (int64_t)share->max_ns);
		separator = ", ";
	} else if (share->count != UINT64_MAX && share->max_ns != UINT64_MAX) {
		buf_add_text(text, separator);
		format_add_plural(text, share->count, "wait");
		buf_add_text(text, " of up to ");
		format_add_duration(text, (int64_t)share->max_ns);
		separator = ", ";
	}
	if (share->rtt_ns != UINT64_MAX) {
		buf_add_format(text, "%sRTT ", separator);
		format_add_duration(text, (int64_t)share->rtt_ns);
	}
}

void time_words_add(struct buf *text, const struct diagnosis_record *record)
{
	const struct share_record *share = largest(record, true) ?: largest(record, false);

	if (!share) {
		if (record->time.count)
			buf_add_text(text, "No program waits for the network");
		return;
	}
	buf_add_format(text, "%s spends %s", share->program, share->estimate ? "about " : "");
	format_add_share(text, share->share);
	buf_add_char(text, ' ');
	add_what(text, share);
	if (is(share, "answer"))
		add_figures(text, share);
}

static uint32_t add_lines(const struct time_record *program, bool all, struct time_line *lines)
{
	const struct share_record *shares = program->shares.items;
	uint32_t count = 0;

	for (uint32_t i = 0; i < program->shares.count; i++) {
		struct time_line *line = &lines[count];

		if (!all && i > 0 && shares[i].share < SHARE_MIN)
			continue;
		count++;
		*line = (struct time_line){
			.program = shares[i].program,
			.share = shares[i].share,
			.what = shares[i].what,
			.on = shares[i].on_name,
			.count = shares[i].count,
			.p50_ns = shares[i].p50_ns,
			.max_ns = shares[i].max_ns,
			.rtt_ns = shares[i].rtt_ns,
		};
	}
	return count;
}

void time_words_print(const struct diagnosis_record *record, bool all, struct out *out)
{
	const struct time_record *programs = record->time.items;
	uint32_t shown = all ? record->time.count : min_of(record->time.count, (uint32_t)PROGRAMS_MAX), room = 0,
		 count = 0;
	_cleanup_free_ struct time_line *lines = NULL;

	if (shown == 0)
		return;
	for (uint32_t i = 0; i < shown; i++)
		room += programs[i].shares.count;
	lines = xrealloc_array(NULL, max_of(room, 1U), sizeof(*lines));
	for (uint32_t i = 0; i < shown; i++)
		count += add_lines(&programs[i], all, &lines[count]);
	out_end_line(out);
	list_print(out, &line_type, &(struct list){lines, count});
	if (shown < record->time.count) {
		buf_add_char(&out->pending, '(');
		format_add_plural(&out->pending, record->time.count - shown, "more program");
		buf_add_text(&out->pending, "; --all shows them)");
		out_end_line(out);
	}
}
