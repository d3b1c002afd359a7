/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow summary: call sequences of sessions, with repetitions folded. */
#include <errno.h>

#include "base/new_file.h"
#include "base/out.h"
#include "base/text.h"
#include "flow/analyse/fold.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "run/output_exit.h"
#include "view/format.h"

struct config {
	const char *trace;
	uint64_t session;
	uint64_t class;
	unsigned algorithm;
	uint64_t window;
	bool near;
	bool json;
	const char *output;
	struct split_options split;
	struct coarsen_options coarsen;
};

#define CLASSES_MAX 20
#define INDENT      2

static const struct option_spec options[] = {
	OPTION(struct config, session, UINT, "session", 's', "N", "limit to this session", .min = 1, .max = UINT32_MAX),
	OPTION(struct config, class, UINT, "class", 'c', "N", "limit to this class", .min = 1, .max = UINT32_MAX),
	OPTION(struct config, algorithm, CHOICE, "algorithm", 0, "NAME",
	       "how to find repetitions (default linear; window: one size, search: all sizes)",
	       .choices = fold_algorithm_names),
	OPTION(struct config, window, UINT, "window", 0, "N", "size of the (largest) window in calls", .min = 1,
	       .max = 100000),
	OPTION(struct config, near, FLAG, "near", 0, NULL, "treat calls of one shape as equal: shorter, not lossless"),
	OPTION(struct config, json, FLAG, "json", 'j', NULL, "JSON lines"),
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "write to this file", .file = FILE_WRITE),
	OPTION_GROUP(struct config, split, split_option_table),
	OPTION_GROUP(struct config, coarsen, coarsen_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace to summarise", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

struct summary {
	const struct config *config;
	struct flow_sessions *s;
	struct coarsen coarsen;
	struct forest coarse, folded;
	struct out *out;
	uint64_t lines;
};

/* --- text --- */

static void add_line(struct summary *m, unsigned depth, const char *text)
{
	buf_add_fill(&m->out->pending, ' ', (size_t)depth * INDENT);
	buf_add_text(&m->out->pending, text);
	out_end_line(m->out);
	m->lines++;
}

static void show_node(struct summary *m, uint32_t node, uint32_t times, unsigned depth);

static void show_items(struct summary *m, uint32_t node, unsigned depth)
{
	size_t count;
	const struct forest_item *items = forest_items(&m->folded, node, &count);

	for (size_t i = 0; i < count; i++)
		show_node(m, items[i].node, items[i].times, depth);
}

static void show_node(struct summary *m, uint32_t node, uint32_t times, unsigned depth)
{
	_cleanup_buf_ struct buf line = BUF_INIT(8192);
	uint32_t fn = m->folded.nodes.items[node].fn;
	struct fold_recursion recursion;

	if (times > 1)
		buf_add_format(&line, "%u x ", times);
	if (fn == FOREST_BLOCK) {
		buf_add_text(&line, "(");
		add_line(m, depth, buf_text(&line));
		show_items(m, node, depth + 1);
		add_line(m, depth, ")");
		return;
	}
	recursion = fold_recursion(&m->folded, node);
	text_add_terminal(&line, m->s->trace->functions[fn].name, strlen(m->s->trace->functions[fn].name));
	if (recursion.levels > 1)
		buf_add_format(&line, "  [calls itself, %u deep; the innermost:]", recursion.levels);
	add_line(m, depth, buf_text(&line));
	show_items(m, recursion.base, depth + 1);
}

/* --- JSON --- */

static void json_node(const struct summary *m, struct buf *out, uint32_t node, uint32_t times);

static void json_items(const struct summary *m, struct buf *out, uint32_t node)
{
	size_t count;
	const struct forest_item *items = forest_items(&m->folded, node, &count);

	buf_add_text(out, "[");
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_add_text(out, ",");
		json_node(m, out, items[i].node, items[i].times);
	}
	buf_add_text(out, "]");
}

static void json_node(const struct summary *m, struct buf *out, uint32_t node, uint32_t times)
{
	uint32_t fn = m->folded.nodes.items[node].fn;
	struct fold_recursion recursion = fold_recursion(&m->folded, node);

	buf_add_format(out, "{\"times\":%u", times);
	if (fn != FOREST_BLOCK) {
		const char *name = m->s->trace->functions[fn].name;

		buf_add_text(out, ",\"function\":\"");
		text_add_json(out, name, strlen(name));
		buf_add_format(out, "\",\"levels\":%u", recursion.levels);
	}
	if (m->folded.nodes.items[recursion.base].count) {
		buf_add_text(out, ",\"calls\":");
		json_items(m, out, recursion.base);
	}
	buf_add_text(out, "}");
}

/* --- what is shown --- */

static uint32_t summarise(struct summary *m, uint32_t tree)
{
	struct fold_options fold = {.algorithm = m->config->algorithm, .window = (uint32_t)m->config->window};
	const struct forest *from = &m->s->forest;
	_cleanup_free_ uint32_t *memo = NULL;

	if (coarsen_wanted(&m->config->coarsen)) {
		tree = coarsen_tree(&m->coarsen, &m->s->forest, tree, &m->coarse);
		from = &m->coarse;
	} else if (m->config->near) {
		fold.alike = m->s->shape_of;
	}
	memo = xzalloc(((size_t)tree + 1) * sizeof(*memo));
	return fold_tree(from, tree, &fold, &m->folded, memo);
}

static void show_session(struct summary *m, size_t index, const struct flow_class *class)
{
	struct flow_session about = flow_session_at(m->s, index), *session = &about;
	uint32_t tree = m->s->list.items[index].tree, node = tree ? summarise(m, tree) : 0;
	struct buf *out = &m->out->pending;

	if (m->config->json) {
		buf_add_format(
			out,
			"{\"session\":%u,\"class\":%u,\"sessions\":%u,\"calls\":%llu,\"span_ns\":%llu,\"exact\":%s,"
			"\"tree\":",
			session->session, session->class, class ? class->sessions : 1,
			(unsigned long long)session->calls, (unsigned long long)session->span_ns,
			m->config->near || coarsen_wanted(&m->config->coarsen) ? "false" : "true");
		json_items(m, out, node);
		buf_add_text(out, "}");
		out_end_line(m->out);
		return;
	}
	if (class)
		buf_add_format(out, "class %u: %u session%s, like session %u: ", class->class, class->sessions,
			       class->sessions == 1 ? "" : "s", session->session);
	else
		buf_add_format(out, "session %u, class %u: ", session->session, session->class);
	format_add_count(out, (int64_t)session->calls);
	buf_add_text(out, " calls in ");
	format_add_duration(out, (int64_t)session->span_ns);
	out_end_line(m->out);
	show_items(m, node, 1);
	out_end_line(m->out);
}

static int show(struct summary *m)
{
	const struct config *config = m->config;
	struct flow_sessions *s = m->s;

	if (config->session > s->list.count || config->class > s->classes.count)
		return command_fail(
			EXIT_USAGE, "flow summary: no %s %llu (of %zu)",
			config->session > s->list.count ? "session" : "class",
			(unsigned long long)(config->session > s->list.count ? config->session : config->class),
			config->session > s->list.count ? s->list.count : s->classes.count);
	flow_view_report_none(s);
	if (config->session) {
		show_session(m, config->session - 1, NULL);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < s->classes.count; i++) {
		const struct flow_class *class = &s->classes.items[i];

		if (config->class ? config->class == class->class : i < CLASSES_MAX)
			show_session(m, class->example, class);
	}
	if (!config->class && s->classes.count > CLASSES_MAX)
		log_info("%zu more not shown; -c N shows one", s->classes.count - CLASSES_MAX);
	return EXIT_DONE;
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_(flow_sessions_freep) struct flow_sessions *sessions = NULL;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct summary m = {.config = config};
	struct out out;
	int r, written;

	r = flow_view_open(config->trace, &config->split, &trace, &sessions);
	if (r != EXIT_DONE)
		return r;
	r = out_open(&out, config->output);
	if (r < 0)
		return command_fail(EXIT_IO, "flow summary: cannot write %s: %s", config->output, new_file_error(r));
	m.s = sessions;
	m.out = &out;
	flow_view_coarsen(&m.coarsen, &config->coarsen, sessions);
	forest_init(&m.coarse, trace->function_count);
	forest_init(&m.folded, trace->function_count);
	r = show(&m);
	coarsen_done(&m.coarsen);
	forest_done(&m.coarse);
	forest_done(&m.folded);
	written = output_exit_code("flow summary", out_done(&out));
	if (written != EXIT_DONE)
		return written;
	if (m.coarsen.hidden_count)
		log_info("%zu function%s left out", m.coarsen.hidden_count, text_plural(m.coarsen.hidden_count));
	flow_view_close(trace);
	return r;
}

static const char *const examples[] = {
	"nest flow summary server.trace",
	"one session of each class, loops written once",
	"nest flow summary server.trace -s 17 --depth 4",
	"session 17, four levels of calls",
	"nest flow summary server.trace --hide 'lib*!*,*alloc*'",
	"without libraries and allocators",
	NULL,
};

static const struct command summary_command = {
	.name = "flow summary",
	.summary = "call sequence of sessions, with repetitions folded",
	.description = "Repeated calls are written as N x ( ... ), recursion as one call with its depth. The summary "
		       "is lossless unless --near or an option that leaves out functions is given: expanded, it is "
		       "the sequence of calls of the session.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(summary_command);
