/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow diagram: a session as a sequence diagram, or sessions as a flame graph. */
#include <errno.h>
#include <limits.h>

#include "base/out.h"
#include "base/text.h"
#include "flow/draw/proxy_diagram.h"
#include "flow/draw/session_diagram.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "view/flame.h"
#include "view/format.h"

struct config {
	const char *trace;
	const char *sessions;
	const char *good;
	const char *bad;
	bool divergence;
	bool flame;
	unsigned format;
	unsigned lines;
	uint64_t max_lines;
	const char *with;
	const char *output;
	struct split_options split;
	struct coarsen_options coarsen;
};

/* Known neither from -F nor from the name of the output file. */
#define FORMAT_UNSET UINT_MAX
/* A page holds everything; it starts folded. */
#define PAGE_ITEMS 400000
#define PAGE_LINES 200

static const struct option_spec options[] = {
	OPTION(struct config, sessions, TEXT, "session", 's', "N|EXPR",
	       "draw this session, or the first that matches; default: first of the largest class, or of the bad ones"),
	OPTION(struct config, format, CHOICE, "format", 'F', "NAME",
	       "output format; default: from the name of -o (.svg, .html, .mmd, .puml, .json), else text",
	       .choices = sequence_format_names),
	OPTION(struct config, lines, CHOICE, "lines", 0, "WHAT", "what a lifeline stands for (default functions)",
	       .choices = session_diagram_line_names),
	OPTION(struct config, max_lines, UINT, "max-lines", 0, "N",
	       "fold calls beyond N lifelines (default 16, 200 on a page)", .min = 1, .max = 1000),
	OPTION(struct config, divergence, FLAG, "divergence", 0, NULL,
	       "draw an outlier session, with a box where it differs from the others"),
	OPTION(struct config, good, TEXT, "good", 0, "EXPR", "good sessions, to compare with those of --bad"),
	OPTION(struct config, bad, TEXT, "bad", 0, "EXPR", "bad sessions"),
	OPTION(struct config, flame, FLAG, "flame", 0, NULL,
	       "draw a flame graph (svg, html, json); with --divergence, --good or --bad a differential one"),
	OPTION(struct config, with, TEXT, "with", 0, "TRACE",
	       "trace of the server behind this proxy: draw both on one timeline", .file = FILE_READ),
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "write to this file", .file = FILE_WRITE),
	OPTION_GROUP(struct config, split, split_option_table),
	OPTION_GROUP(struct config, coarsen, coarsen_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace to draw", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

struct drawing {
	const struct config *config;
	struct flow_trace *trace;
	struct flow_sessions *sessions;
	struct comparison *comparison;
	flow_groups groups; /* 0 chosen or good, 1 bad */
	struct out out;
};

static bool compares(const struct config *config)
{
	return config->divergence || config->good || config->bad;
}

static int compare(struct drawing *d)
{
	struct why why = {};
	_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
	int r = d->config->good || d->config->bad
			? compare_label(d->sessions, d->config->good, d->config->bad, d->groups.items, &why)
			: compare_find_outliers(d->sessions, d->groups.items, &outlier, &why);

	if (r < 0)
		return command_fail(r == -ENODATA ? EXIT_CANNOT_OBSERVE : EXIT_USAGE, "flow diagram: %s", why.text);
	d->comparison = compare_groups(d->sessions, d->groups.items, &(struct compare_options){.outlier = &outlier});
	return EXIT_DONE;
}

/* Index of the session to draw. */
static int choose(struct drawing *d, uint32_t *ret_session)
{
	struct flow_sessions *s = d->sessions;
	_cleanup_groups_ flow_groups chosen = flow_groups_of(s);
	struct why why = {};
	uint8_t wanted = 0;

	if (!s->list.count)
		return command_fail(EXIT_CANNOT_OBSERVE,
				    "flow diagram: the trace has no sessions (--by thread draws a thread)");
	if (d->config->sessions) {
		if (flow_view_choose(s, d->config->sessions, chosen.items, &why) < 0)
			return command_fail(EXIT_USAGE, "flow diagram: %s", why.text);
	} else if (d->comparison) {
		memcpy(chosen.items, d->groups.items, s->list.count);
		wanted = 1;
	} else {
		*ret_session = s->classes.items[0].example;
		return EXIT_DONE;
	}
	for (uint32_t i = 0; i < s->list.count; i++)
		if (chosen.items[i] == wanted) {
			*ret_session = i;
			return EXIT_DONE;
		}
	return EXIT_CANNOT_OBSERVE;
}

static char *title_of(const struct flow_session *session)
{
	_cleanup_buf_ struct buf title = BUF_INIT(1024);

	buf_add_format(&title, "session %u", session->session);
	if (session->rport) {
		buf_add_text(&title, " of ");
		addr_format_endpoint(&(struct endpoint){session->raddr, session->rport}, &title);
	}
	buf_add_format(&title, ", class %u: %llu call%s in ", session->class, (unsigned long long)session->calls,
		       text_plural(session->calls));
	format_add_duration(&title, (int64_t)session->span_ns);
	return xstrdup(buf_text(&title));
}

static void write_sequence(struct drawing *d, const struct sequence *sequence)
{
	sequence_write(sequence, d->config->format, &d->out);
	if (sequence->folded)
		log_info("%llu call%s folded into the caller (--depth, --max-lines)",
			 (unsigned long long)sequence->folded, text_plural(sequence->folded));
}

/* What is not called cannot be boxed: its caller is. */
static uint32_t marked_place(const struct comparison *c, const struct divergence *where)
{
	return where->kind == DIVERGENCE_MISSING ? c->profile->places.items[where->place].parent : where->place;
}

static const char *mark_of(const struct divergence *where, struct buf *text)
{
	if (!where)
		return NULL;
	if (where->kind == DIVERGENCE_MISSING)
		buf_add_format(text, "divergence: %s is not called", where->function);
	else if (where->kind == DIVERGENCE_LEFT)
		buf_add_format(text, "divergence: left before %s", where->before);
	else
		buf_add_text(text, where->kind == DIVERGENCE_SLOWER ? "divergence: slower" : "divergence: extra");
	return buf_text(text);
}

/* Formats that hold everything: whoever shows them folds. */
static bool is_whole(unsigned format)
{
	return format == SEQUENCE_AS_HTML || format == SEQUENCE_AS_JSON;
}

static int draw_sequence(struct drawing *d)
{
	const struct divergence *where = d->comparison && d->comparison->all.count ? d->comparison->all.items : NULL;
	bool page = is_whole(d->config->format);
	_cleanup_(call_list_freep) struct call_list *list = NULL;
	struct session_diagram_options o = {
		.lines = d->config->lines,
		.depth = d->config->coarsen.depth,
		.max_lines = d->config->max_lines ? d->config->max_lines
			     : page               ? PAGE_LINES
						  : 0,
		.max_items = page ? PAGE_ITEMS : 0,
	};
	_cleanup_buf_ struct buf mark = BUF_INIT(1024);
	struct sequence sequence = {};
	struct coarsen coarsen = {};
	struct flow_session about;
	uint32_t session = 0;
	int r = choose(d, &session);

	if (r != EXIT_DONE)
		return r;
	flow_view_coarsen(&coarsen, &d->config->coarsen, d->sessions);
	o.is_hidden = coarsen.is_hidden;
	o.mark = mark_of(where, &mark);
	list = call_list_new(d->sessions, session, where ? d->comparison->profile : NULL,
			     where ? marked_place(d->comparison, where) : 0);
	if (where && where->kind == DIVERGENCE_SLOWER)
		call_list_mark_long(list);
	about = flow_session_at(d->sessions, session);
	sequence.title = title_of(&about);
	sequence.note = d->comparison ? xstrdup(d->comparison->answer) : NULL;
	session_diagram_draw(list, &o, &sequence);
	write_sequence(d, &sequence);
	sequence_done(&sequence);
	coarsen_done(&coarsen);
	return EXIT_DONE;
}

/* The session of -s, else the one with the slowest request. */
static int draw_pair(struct drawing *d)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *behind = NULL;
	_cleanup_(align_freep) struct align *align = NULL;
	struct coarsen in_front = {}, at_back = {};
	struct proxy_diagram diagram = {.proxy = d->sessions};
	struct session_diagram_options o = {
		.lines = d->config->lines, .depth = d->config->coarsen.depth, .max_lines = d->config->max_lines};
	struct sequence sequence = {};
	struct why why = {};
	uint32_t session = 0;
	int r = flow_view_open(d->config->with, &d->config->split, &trace, &behind);

	if (r == EXIT_DONE && d->config->sessions) {
		r = choose(d, &session);
		diagram.session = session + 1;
	}
	if (r != EXIT_DONE)
		return r;
	diagram.server = behind;
	coarsen_init(&in_front, &d->config->coarsen, d->sessions);
	coarsen_init(&at_back, &d->config->coarsen, behind);
	diagram.proxy_hides = in_front.is_hidden;
	diagram.server_hides = at_back.is_hidden;
	r = align_new(d->sessions, behind, &align, &why);
	diagram.align = align;
	if (r < 0 || proxy_diagram_draw(&diagram, &o, &sequence, &why) < 0) {
		log_error("flow diagram: %s", why.text);
		r = EXIT_CANNOT_OBSERVE;
	} else {
		sequence.title = xstrdup("a proxy and the server behind it");
		sequence.note = xstrdup(align->answer);
		r = EXIT_DONE;
		write_sequence(d, &sequence);
	}
	sequence_done(&sequence);
	coarsen_done(&in_front);
	coarsen_done(&at_back);
	return r;
}

/* Boxes for every place; in a comparison the width is the bad group's time a session. */
static void fill_flame(const struct drawing *d, const struct profile *profile, const struct profile_sums *sums,
		       struct flame *flame)
{
	uint32_t *box_of = xzalloc(profile->places.count * sizeof(*box_of));
	uint32_t sessions[2] = {1, 1};

	for (unsigned g = 0; g < 2 && d->comparison; g++)
		sessions[g] = max_of(d->comparison->group[g].sessions, 1u);
	for (uint32_t i = 1; i < profile->places.count; i++) {
		const struct profile_place *place = &profile->places.items[i];
		struct flame_box box = {.name = d->trace->functions[place->fn].name, .count = place->group[0].calls};

		if (d->comparison) {
			box.value = sums->ticks[1][i] / sessions[1];
			box.before = sums->ticks[0][i] / sessions[0];
			box.count = place->group[1].calls;
		} else {
			box.value = flow_span_ns(d->trace, sums->ticks[0][i]);
		}
		box_of[i] = (uint32_t)flame->boxes.count;
		box.parent = place->parent ? box_of[place->parent] : box_of[i];
		vec_push(&flame->boxes, box);
	}
	free(box_of);
}

/* Formats that a flame graph has; NULL: none of its own. */
static void (*const flame_writers[])(const struct flame *, struct out *) = {
	[SEQUENCE_AS_TEXT] = NULL,    [SEQUENCE_AS_SVG] = flame_write_svg, [SEQUENCE_AS_HTML] = flame_write_html,
	[SEQUENCE_AS_MERMAID] = NULL, [SEQUENCE_AS_PLANTUML] = NULL,       [SEQUENCE_AS_JSON] = flame_write_json,
};

static int draw_flame(struct drawing *d)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	struct flame flame = {.title = "time by function", .is_time = true};
	struct profile_sums sums = {};
	struct why why = {};

	if (d->comparison) {
		flame.title = "time per bad session by function; red: more than in good ones, blue: less";
		flame.note = d->comparison->answer;
		flame.is_difference = true;
		fill_flame(d, d->comparison->profile, &d->comparison->sums, &flame);
	} else {
		if (d->config->sessions &&
		    flow_view_choose(d->sessions, d->config->sessions, d->groups.items, &why) < 0)
			return command_fail(EXIT_USAGE, "flow diagram: %s", why.text);
		profile = profile_new(d->sessions, d->groups.items, 2);
		profile_sum(profile, &sums);
		fill_flame(d, profile, &sums, &flame);
	}
	flame_writers[d->config->format](&flame, &d->out);
	flame_done(&flame);
	profile_sums_done(&sums);
	return EXIT_DONE;
}

static int write_drawing(struct drawing *d)
{
	int r = out_open(&d->out, d->config->output), code = EXIT_DONE;

	if (r == 0)
		code = d->config->flame ? draw_flame(d) : d->config->with ? draw_pair(d) : draw_sequence(d);
	if (code != EXIT_DONE)
		out_drop(&d->out);
	else if (r == 0)
		r = out_done(&d->out);
	if (r < 0 && r != -EPIPE)
		log_error("flow diagram: cannot write %s: %s", d->config->output ?: "standard output",
			  new_file_error(r));
	return r < 0 ? EXIT_IO : code;
}

static int draw(struct drawing *d)
{
	int r = EXIT_DONE;

	d->groups = flow_groups_of(d->sessions);
	if (compares(d->config))
		r = compare(d);
	if (r == EXIT_DONE)
		r = write_drawing(d);
	comparison_free(d->comparison);
	flow_groups_done(&d->groups);
	return r;
}

/* The format of -F, else the one that the name of the output file asks for. */
static unsigned choose_format(const struct config *config)
{
	static const struct {
		const char *ending;
		enum sequence_format format;
	} formats[] = {
		{".svg", SEQUENCE_AS_SVG},           {".html", SEQUENCE_AS_HTML},       {".htm", SEQUENCE_AS_HTML},
		{".mmd", SEQUENCE_AS_MERMAID},       {".mermaid", SEQUENCE_AS_MERMAID}, {".puml", SEQUENCE_AS_PLANTUML},
		{".plantuml", SEQUENCE_AS_PLANTUML}, {".json", SEQUENCE_AS_JSON},
	};
	const char *ending = config->output ? strrchr(config->output, '.') : NULL;

	if (config->format != FORMAT_UNSET)
		return config->format;
	for (size_t i = 0; ending && i < ARRAY_SIZE(formats); i++)
		if (strcmp(ending, formats[i].ending) == 0)
			return formats[i].format;
	return SEQUENCE_AS_TEXT;
}

static int run(const void *data)
{
	struct config chosen = *(const struct config *)data;
	const struct config *config = &chosen;
	struct drawing d = {.config = config};
	int r;

	chosen.format = choose_format(config);

	if (config->flame && !flame_writers[config->format])
		return command_fail(EXIT_USAGE,
				    "flow diagram: a flame graph is svg, html or json: -F svg, or -o FILE.svg");
	if (config->with && (config->flame || compares(config)))
		return command_fail(EXIT_USAGE,
				    "flow diagram: --with excludes --flame, --divergence, --good and --bad");
	r = flow_view_open(config->trace, &config->split, &d.trace, &d.sessions);
	if (r == EXIT_DONE)
		r = draw(&d);
	if (r == EXIT_DONE)
		flow_view_say_summary(d.trace);
	if (r == EXIT_DONE)
		flow_view_close(d.trace);
	flow_sessions_free(d.sessions);
	flow_trace_close(d.trace);
	return r;
}

static const char *const examples[] = {
	"nest flow diagram server.trace",
	"a typical session in the terminal",
	"nest flow diagram server.trace --divergence -F html -o odd.html",
	"an outlier session, with the difference boxed, as a page",
	"nest flow diagram server.trace --flame --bad 'span > 1s' -F svg -o flame.svg",
	"where long sessions spend more time than others",
	"nest flow diagram haproxy.trace --with server.trace -F svg -o both.svg",
	"the slowest request through a proxy and its server, on one timeline",
	NULL,
};

static const struct config defaults = {.format = FORMAT_UNSET};

static const struct command diagram_command = {
	.name = "flow diagram",
	.summary = "sequence diagram or flame graph of a session",
	.description = "Calls go from lifeline to lifeline, top to bottom; repetitions are frames with a count; a "
		       "value pushed by one thread and popped by another is a green arrow. Deeper calls are folded "
		       "into their callers. The page (html) is self-contained: it folds, zooms and searches.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(diagram_command);
