/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow compare: where two groups of sessions differ. */
#include <errno.h>
#include <unistd.h>

#include "base/parse.h"
#include "flow/analyse/compare.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "run/output_exit.h"
#include "view/format.h"
#include "view/output.h"

struct config {
	const char *trace;
	struct text_list what;
	const char *good;
	const char *bad;
	double ratio;
	uint64_t min_ns;
	struct split_options split;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, good, TEXT, "good", 0, "EXPR", "good sessions (fields of nest flow sessions)"),
	OPTION(struct config, bad, TEXT, "bad", 0, "EXPR",
	       "bad sessions; without --good and --bad the outliers are found"),
	OPTION(struct config, ratio, RATIO, "ratio", 0, "FACTOR", "report as slower from this factor on (default 2)"),
	OPTION(struct config, min_ns, DURATION, "min", 0, "TIME",
	       "and from this difference per session on (default 1ms)"),
	OPTION_GROUP(struct config, split, split_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace, or the good one of two", .required = true,
		   .file = FILE_INPUT),
	POSITIONAL(struct config, what, TEXTS, "BAD-TRACE | GOOD-SESSION BAD-SESSION",
		   "another trace, or numbers of two sessions", .file = FILE_READ),
	OPTION_END,
};

/* Bad sessions that are named in text. */
#define MEMBERS_SHOWN 5
/* Other differences of less than this share of the time are left to --json, if there are more than this number. */
#define MINOR      0.01
#define MINOR_MANY 5

/* Everything that a comparison holds on to. */
struct subject {
	struct flow_trace *trace[2];
	struct flow_sessions *sessions[2];
	struct comparison *comparison;
};

static void subject_done(struct subject *s)
{
	comparison_free(s->comparison);
	for (unsigned i = 0; i < 2; i++) {
		flow_sessions_free(s->sessions[i]);
		flow_trace_close(s->trace[i]);
	}
}

static int compare_two_traces(const struct config *config, struct subject *s)
{
	int r = flow_view_open(config->what.items[0], &config->split, &s->trace[1], &s->sessions[1]);

	if (r != EXIT_DONE)
		return r;
	s->comparison = compare_traces(s->sessions[0], s->sessions[1],
				       &(struct compare_options){.ratio = config->ratio, .min_ns = config->min_ns});
	return EXIT_DONE;
}

static int label(const struct config *config, struct flow_sessions *sessions, uint8_t *group_of,
		 struct compare_outlier *ret_outlier)
{
	char good[64], bad[64];
	struct why why = {};
	int r;

	if (config->what.count == 2) {
		uint64_t numbers[2];

		for (unsigned i = 0; i < 2; i++)
			if (parse_u64(config->what.items[i], 1, UINT32_MAX, &numbers[i]) < 0) {
				return command_fail(EXIT_USAGE, "flow compare: '%s' is not a session number",
						    config->what.items[i]);
			} else if (numbers[i] > sessions->list.count)
				return command_fail(EXIT_USAGE, "flow compare: no session %s (of %zu)",
						    config->what.items[i], sessions->list.count);
		snprintf(good, sizeof(good), "session == %llu", (unsigned long long)numbers[0]);
		snprintf(bad, sizeof(bad), "session == %llu", (unsigned long long)numbers[1]);
		r = compare_label(sessions, good, bad, group_of, &why);
	} else if (config->good || config->bad) {
		r = compare_label(sessions, config->good, config->bad, group_of, &why);
	} else {
		r = compare_find_outliers(sessions, group_of, ret_outlier, &why);
	}
	/* The answer says what was compared. */
	if (r == -ENODATA && !(config->what.count || config->good || config->bad))
		return EXIT_DONE;
	return r == 0 ? EXIT_DONE : command_fail(EXIT_USAGE, "flow compare: %s", why.text);
}

static int compare_in_trace(const struct config *config, struct subject *s)
{
	_cleanup_groups_ flow_groups groups = flow_groups_of(s->sessions[0]);
	_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
	int r = label(config, s->sessions[0], groups.items, &outlier);

	if (r != EXIT_DONE)
		return r;
	s->comparison = compare_groups(
		s->sessions[0], groups.items,
		&(struct compare_options){.ratio = config->ratio, .min_ns = config->min_ns, .outlier = &outlier});
	return EXIT_DONE;
}

/* The bad sessions by peer and time, and how to look at one. */
static void show_members(const struct config *config, const struct subject *s, struct out *out)
{
	const struct flow_sessions *sessions = s->sessions[1] ? s->sessions[1] : s->sessions[0];
	const struct compared_group *bad = &s->comparison->group[1];
	const struct compared_member *members = bad->members.items;
	uint32_t first = 0;

	for (uint32_t i = 0; i < bad->members.count && i < MEMBERS_SHOWN; i++) {
		struct flow_session session = flow_session_at(sessions, members[i].session - 1);
		struct endpoint peer = {.addr = session.raddr, .port = session.rport};

		first = first ? first : session.session;
		buf_add_format(&out->pending, "%s %u", i ? "," : "bad sessions:", session.session);
		buf_add_text(&out->pending, " (");
		if (session.rport) {
			addr_format_endpoint(&peer, &out->pending);
			buf_add_char(&out->pending, ' ');
		}
		format_add_time(&out->pending, session.start_ns);
		buf_add_text(&out->pending, ")");
	}
	if (!first)
		return;
	if (bad->members.count > MEMBERS_SHOWN)
		buf_add_format(&out->pending, ", ... (%u; --json lists them)", bad->sessions);
	out_end_line(out);
	buf_add_format(&out->pending, "next: nest flow diagram %s --session %u",
		       s->sessions[1] ? config->what.items[0] : config->trace, first);
	out_end_line(out);
}

static double time_of(const struct divergence *d)
{
	return fabs((double)d->bad_ns - (double)d->good_ns);
}

/* Who stand out by their time also make other calls, mostly as a consequence. */
static bool is_minor(const struct comparison *c, const struct divergence *other)
{
	const struct divergence *first = c->divergence.items;

	return c->how && time_of(other) < MINOR * time_of(first);
}

/* Of these, how many are not shown. */
static uint32_t count_hidden(const struct comparison *c)
{
	const struct divergence *others = c->others.items;
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->others.count; i++)
		count += is_minor(c, &others[i]);
	return count > MINOR_MANY ? count : 0;
}

static void show_text(const struct config *config, const struct subject *s, uint32_t hidden, struct out *out)
{
	const struct comparison *c = s->comparison;
	const struct divergence *d = c->divergence.items;

	buf_add_format(&out->pending, "%s%s%s", out_style_on(out, OUT_BOLD), c->answer, out_style_off(out, OUT_BOLD));
	out_end_line(out);
	if (c->how && c->divergence.count) {
		buf_add_format(&out->pending, "bad: %s", c->how);
		out_end_line(out);
	}
	if (c->divergence.count) {
		const struct divergence_frame *path = d->path.items;

		buf_add_text(&out->pending, "path:");
		for (uint32_t i = 0; i < d->path.count; i++)
			buf_add_format(&out->pending, "%s %s", i ? " >" : "", path[i].function);
		out_end_line(out);
	}
	if (c->divergence.count)
		show_members(config, s, out);
	if (hidden) {
		buf_add_text(&out->pending, "not shown: ");
		format_add_plural(&out->pending, hidden, "difference");
		buf_add_format(&out->pending, " of less than %g %% of this time (--json lists them)", MINOR * 100);
		out_end_line(out);
	}
	if (c->others.count > hidden) {
		buf_add_text(&out->pending, "\nAlso different:");
		out_end_line(out);
	}
}

static void show_others(const struct comparison *c, uint32_t hidden, struct output *output)
{
	const struct divergence *others = c->others.items;

	for (uint32_t i = 0; i < c->others.count; i++)
		if (!hidden || !is_minor(c, &others[i]))
			(void)output_record(output, &RECORD_OF(&others[i]));
}

static int show(const struct config *config, const struct subject *s)
{
	const struct comparison *c = s->comparison;
	bool text = !config->output.json && !config->output.csv && !config->output.format && !config->output.show.count;
	struct shape shape = SHAPE_OF(text ? &divergence_type : &comparison_type);
	struct output *output;
	struct why why = {};
	int r;

	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("flow compare", r, &why);
	if (text) {
		uint32_t hidden = count_hidden(c);

		show_text(config, s, hidden, output_out(output));
		show_others(c, hidden, output);
	} else {
		(void)output_record(output, &RECORD_OF(c));
	}
	return output_exit_code("flow compare", output_close(output));
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(subject_done) struct subject s = {};
	uint64_t number;
	int r;

	if (config->what.count > 2 || (config->what.count && (config->good || config->bad)))
		return command_fail(
			EXIT_USAGE,
			"flow compare: either two traces, or a trace and two sessions, or --good and --bad");
	if (config->what.count == 1 && parse_u64(config->what.items[0], 0, UINT64_MAX, &number) == 0 &&
	    access(config->what.items[0], F_OK) < 0)
		return command_fail(EXIT_USAGE,
				    "flow compare: session %s needs a second session number, or a second trace",
				    config->what.items[0]);
	r = flow_view_open(config->trace, &config->split, &s.trace[0], &s.sessions[0]);
	if (r == EXIT_DONE)
		flow_view_report_none(s.sessions[0]);
	if (r == EXIT_DONE)
		r = config->what.count == 1 ? compare_two_traces(config, &s) : compare_in_trace(config, &s);
	if (r == EXIT_DONE)
		r = show(config, &s);
	if (s.trace[0] && r == EXIT_DONE)
		flow_view_close(s.trace[0]);
	return r;
}

static const char *const examples[] = {
	"nest flow compare server.trace",
	"outlier sessions, and the function that differs",
	"nest flow compare server.trace --bad 'span > 1s'",
	"long sessions against all others",
	"nest flow compare server.trace 4 17",
	"session 17 against session 4",
	"nest flow compare before.trace after.trace",
	"the sessions of one trace against those of another",
	NULL,
};

static const struct command compare_command = {
	.name = "flow compare",
	.summary = "where two groups of sessions differ",
	.description =
		"Structure first: calls made in the sessions of one group but not of the other. Then time: the "
		"function that takes the additional time, including the time between the calls of a session. "
		"What varies among good sessions is noise and not shown.\n\nWithout --good, --bad, sessions or a "
		"second trace, compare searches for a few sessions that take longer than the rest: in the "
		"program's own time, or waiting for their client in the middle of a request or an answer. Idle "
		"clients do not count. Sessions that only make other calls are mentioned.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(compare_command);
