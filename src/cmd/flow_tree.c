/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow tree: the call tree with times. */
#include <errno.h>

#include "base/text.h"
#include "flow/analyse/profile.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "run/output_exit.h"
#include "view/format.h"
#include "view/output.h"

struct config {
	const char *trace;
	const char *sessions;
	bool rest;
	double share;
	uint64_t depth;
	struct split_options split;
	struct output_options output;
};

static const struct config defaults = {.share = 0.005};

static const struct option_spec options[] = {
	OPTION(struct config, sessions, TEXT, "sessions", 's', "EXPR",
	       "limit to these sessions (a number, or an expression over the fields of nest flow sessions)"),
	OPTION(struct config, rest, FLAG, "rest", 0, NULL, "limit to calls of no session"),
	OPTION(struct config, share, RATIO, "share", 0, "SHARE",
	       "fold places below this share of the time (default 0.5%; 0: show all)", .max = 1),
	OPTION(struct config, depth, UINT, "depth", 0, "N", "fold calls nested deeper than N", .min = 1, .max = 10000),
	OPTION_GROUP(struct config, split, split_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace to show", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

struct row {
	uint32_t depth;
	const char *function;
	const char *module;
	uint64_t calls;
	uint64_t lat_ns;
	uint64_t self_ns;
	uint64_t wait_ns;
	uint64_t max_ns;
	struct list path;
};

struct frame {
	const char *function;
};

static const struct field frame_fields[] = {FIELD(struct frame, function, TEXT, "function")};
static RECORD_TYPE(frame_type, "flow_tree_frame", struct frame, frame_fields, "a function of a call path",
		   .bare = true);

static const struct field row_fields[] = {
	FIELD(struct row, lat_ns, DURATION, "inside the calls and waiting for their clients, callees included"),
	FIELD(struct row, self_ns, DURATION, "inside the calls, without callees"),
	FIELD(struct row, wait_ns, DURATION, "between calls, waiting after the last operation of this function"),
	FIELD(struct row, calls, COUNT, "calls at this place"),
	FIELD(struct row, max_ns, DURATION, "longest call"),
	FIELD(struct row, depth, COUNT, "callers above it", .hidden = true),
	FIELD(struct row, function, TEXT, "function"),
	FIELD(struct row, module, TEXT, "program or library", .hidden = true),
	FIELD(struct row, path, LIST, "call path, outermost function first", .element = &frame_type, .hidden = true),
};
static RECORD_TYPE(row_type, "flow_place", struct row, row_fields, "a place in a call tree");

struct tree {
	const struct config *config;
	const struct flow_trace *trace;
	struct profile *profile;
	struct profile_sums sums;
	struct output *output;
	bool is_text;
	uint64_t folded;
};

static uint64_t total_of(const struct tree *t, uint32_t place)
{
	uint64_t total = 0;

	for (unsigned g = 0; g < 2; g++)
		total += t->sums.ticks[g][place];
	return total;
}

static void fill(const struct tree *t, uint32_t place, struct row *row)
{
	const struct profile_place *p = &t->profile->places.items[place];
	const struct flow_function *function = &t->trace->functions[p->fn];

	*row = (struct row){
		.depth = p->depth - 1,
		.function = function->name,
		.module = t->trace->modules[function->module].name,
		.lat_ns = flow_span_ns(t->trace, total_of(t, place)),
	};
	for (unsigned g = 0; g < 2; g++) {
		row->calls += p->group[g].calls;
		row->self_ns += flow_span_ns(t->trace, p->group[g].self_ticks);
		row->wait_ns += flow_span_ns(t->trace, p->group[g].wait_ticks);
		row->max_ns = max_of(row->max_ns, flow_span_ns(t->trace, p->group[g].max_ticks));
	}
}

static void show_record(struct tree *t, uint32_t place, struct row *row)
{
	VEC(struct frame) frames = {};
	uint32_t depth = t->profile->places.items[place].depth, at = place;

	vec_reserve(&frames, depth);
	for (uint32_t i = depth; i-- > 0; at = t->profile->places.items[at].parent)
		frames.items[i].function = t->trace->functions[t->profile->places.items[at].fn].name;
	row->path = (struct list){frames.items, depth};
	(void)output_record(t->output, &RECORD_OF(row));
	vec_done(&frames);
}

static void add_cell(struct buf *out, uint64_t ns)
{
	_cleanup_buf_ struct buf cell = BUF_INIT(64);

	if (ns)
		format_add_duration(&cell, (int64_t)ns);
	else
		buf_add_text(&cell, ".");
	buf_add_format(out, "%8s ", buf_text(&cell));
}

static void show_line(struct tree *t, const struct row *row, uint64_t folded)
{
	struct out *out = output_out(t->output);
	_cleanup_buf_ struct buf calls = BUF_INIT(64);

	add_cell(&out->pending, row->lat_ns);
	add_cell(&out->pending, row->self_ns);
	add_cell(&out->pending, row->wait_ns);
	format_add_count(&calls, (int64_t)row->calls);
	buf_add_format(&out->pending, "%7s  ", row->calls ? buf_text(&calls) : ".");
	buf_add_fill(&out->pending, ' ', (size_t)row->depth * 2);
	text_add_terminal(&out->pending, row->function, strlen(row->function));
	if (folded)
		buf_add_format(&out->pending, " (+%llu folded)", (unsigned long long)folded);
	out_end_line(out);
}

static bool is_shown(const struct tree *t, uint32_t place)
{
	uint64_t total = total_of(t, place), all = total_of(t, 0), calls = 0;

	for (unsigned g = 0; g < 2; g++)
		calls += t->profile->places.items[place].group[g].calls;
	if (!total && !calls && !t->profile->places.items[place].first_child)
		return false;
	return (double)total >= t->config->share * (double)all &&
	       (!t->config->depth || t->profile->places.items[place].depth <= t->config->depth);
}

/* Places without any call of the group, in and below them, are no part of the tree. */
static uint64_t count_below(const struct tree *t, uint32_t place)
{
	uint64_t count = 0;
	uint32_t at = place;

	do {
		const struct profile_place *p = &t->profile->places.items[at];

		count += p->group[0].calls + p->group[1].calls > 0;
		if (p->first_child) {
			at = p->first_child;
			continue;
		}
		while (at != place && !t->profile->places.items[at].next)
			at = t->profile->places.items[at].parent;
		if (at != place)
			at = t->profile->places.items[at].next;
	} while (at != place);
	return count;
}

static uint64_t folded_below(const struct tree *t, uint32_t place)
{
	uint64_t count = 0;

	for (uint32_t at = t->profile->places.items[place].first_child; at; at = t->profile->places.items[at].next)
		count += is_shown(t, at) ? 0 : count_below(t, at);
	return count;
}

static void show_places(struct tree *t)
{
	uint32_t at = t->profile->places.items[0].first_child;

	while (at) {
		bool shown = !t->is_text || is_shown(t, at);
		struct row row;

		fill(t, at, &row);
		if (!t->is_text && (row.calls || row.wait_ns)) {
			show_record(t, at, &row);
		} else if (t->is_text && shown) {
			uint64_t folded = folded_below(t, at);

			t->folded += folded;
			show_line(t, &row, folded);
		}
		if (shown && t->profile->places.items[at].first_child) {
			at = t->profile->places.items[at].first_child;
			continue;
		}
		while (at && !t->profile->places.items[at].next)
			at = t->profile->places.items[at].parent;
		at = at ? t->profile->places.items[at].next : 0;
	}
}

/* Group 0 is shown, 3 is left out; dispatchers belong to no session and are shown with all of them. */
static int make_profile(struct tree *t, struct flow_sessions *sessions)
{
	_cleanup_groups_ flow_groups groups = flow_groups_of(sessions);
	struct why why = {};
	uint8_t rest = t->config->sessions ? 2 : 1;

	if (t->config->rest) {
		memset(groups.items, PROFILE_GROUPS, groups.count);
		rest = 0;
	} else if (t->config->sessions) {
		if (flow_view_choose(sessions, t->config->sessions, groups.items, &why) < 0)
			return command_fail(EXIT_USAGE, "flow tree: %s", why.text);
	}
	t->profile = profile_new(sessions, groups.items, rest);
	profile_sum(t->profile, &t->sums);
	return EXIT_DONE;
}

static int show(struct tree *t)
{
	const struct output_options *o = &t->config->output;
	struct shape shape = SHAPE_OF(&row_type);
	struct why why = {};
	int r;

	t->is_text = !o->json && !o->csv && !o->format && !o->show.count;
	r = output_open(o, &shape, &t->output, &why);
	if (r < 0)
		return output_refused("flow tree", r, &why);
	if (t->is_text) {
		buf_add_format(&output_out(t->output)->pending, "%8s %8s %8s %7s  FUNCTION", "TOTAL", "SELF", "WAIT",
			       "CALLS");
		out_end_line(output_out(t->output));
	}
	show_places(t);
	return output_exit_code("flow tree", output_close(t->output));
}

static int run(const void *data)
{
	_cleanup_(flow_sessions_freep) struct flow_sessions *sessions = NULL;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	const struct config *config = data;
	struct tree t = {.config = config};
	int r;

	r = flow_view_open(config->trace, &config->split, &trace, &sessions);
	if (r != EXIT_DONE)
		return r;
	t.trace = trace;
	r = make_profile(&t, sessions);
	if (r != EXIT_DONE)
		return r;
	r = show(&t);
	if (t.folded)
		log_info("%llu place%s with little time folded (--share 0 shows all)", (unsigned long long)t.folded,
			 text_plural(t.folded));
	if (t.profile->is_full)
		log_warn("too many places: the deepest calls are counted in their callers");
	profile_sums_done(&t.sums);
	profile_free(t.profile);
	flow_view_close(trace);
	return r;
}

static const char *const examples[] = {
	"nest flow tree server.trace",
	"where the time goes",
	"nest flow tree server.trace -s 17",
	"in session 17",
	"nest flow tree server.trace -s 'class == 2' --json",
	"in the sessions of a class, one object per place",
	NULL,
};

static const struct command tree_command = {
	.name = "flow tree",
	.summary = "call tree of a trace, with times",
	.description = "Recursion is shown once, at the outermost call. WAIT is the time between the calls of a "
		       "session: it is shown at the function that made the last operation of the session, and is part "
		       "of TOTAL. TOTAL of a function that serves several sessions is what it did for them.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(tree_command);
