/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow export: a trace for other programs. */
#include <inttypes.h>

#include "base/out.h"
#include "base/text.h"
#include "flow/analyse/profile.h"
#include "run/command.h"
#include "run/flow_view.h"
#include "run/output_exit.h"

struct config {
	const char *trace;
	bool perfetto;
	bool folded;
	bool dot;
	bool csv;
	const char *sessions;
	const char *output;
	struct split_options split;
};

static const struct option_spec options[] = {
	OPTION(struct config, perfetto, FLAG, "perfetto", 0, NULL,
	       "write every call as a JSON trace event, for Perfetto and Chrome"),
	OPTION(struct config, folded, FLAG, "folded", 0, NULL,
	       "write folded stacks with their time in ns, for flame graphs"),
	OPTION(struct config, dot, FLAG, "dot", 0, NULL, "write the call graph, for Graphviz"),
	OPTION(struct config, csv, FLAG, "csv", 0, NULL, "write one line per call"),
	OPTION(struct config, sessions, TEXT, "sessions", 's', "N|EXPR", "limit to these sessions"),
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "write to this file", .file = FILE_WRITE),
	OPTION_GROUP(struct config, split, split_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace to export", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

struct ended {
	uint32_t fn, depth;
	uint64_t start, ticks;
};

struct exporter {
	const struct config *config;
	struct flow_trace *trace;
	struct flow_sessions *sessions;
	flow_groups groups;
	struct out out;
	VEC(uint64_t) starts;    /* of the open calls */
	VEC(struct ended) ended; /* calls of the open segment: whose they are is known at its end */
	uint64_t count;
};

/* --- call by call --- */

static void enter(void *context, const struct walk *walk, uint32_t fn, uint64_t ticks)
{
	struct exporter *e = context;

	(void)walk;
	(void)fn;
	vec_push(&e->starts, ticks);
}

static void add_json_name(struct buf *out, const char *name)
{
	buf_add_char(out, '"');
	text_add_json(out, name, strlen(name));
	buf_add_char(out, '"');
}

static void add_event(struct exporter *e, const struct walk *walk, const struct ended *call, uint32_t session)
{
	const struct flow_thread *thread = &e->trace->threads[walk->thread];
	const struct flow_function *function = &e->trace->functions[call->fn];
	struct buf *out = &e->out.pending;

	buf_add_text(out, e->count++ ? "," : "");
	buf_add_text(out, "{\"ph\":\"X\",\"name\":");
	add_json_name(out, function->name);
	buf_add_text(out, ",\"cat\":");
	add_json_name(out, e->trace->modules[function->module].name);
	buf_add_format(out, ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f", thread->pid, thread->tid,
		       (double)flow_span_ns(e->trace, call->start - e->trace->first_ticks) / 1000,
		       (double)flow_span_ns(e->trace, call->ticks) / 1000);
	if (session)
		buf_add_format(out, ",\"args\":{\"session\":%u}", session);
	buf_add_text(out, "}");
	out_end_line(&e->out);
}

static void add_csv(struct exporter *e, const struct walk *walk, const struct ended *call, uint32_t session)
{
	const struct flow_thread *thread = &e->trace->threads[walk->thread];
	const struct flow_function *function = &e->trace->functions[call->fn];
	const char *module = e->trace->modules[function->module].name;
	struct buf *out = &e->out.pending;

	e->count++;
	if (session)
		buf_add_format(out, "%u", session);
	buf_add_format(out, ",%u,%u,%" PRIu64 ",%" PRIu64 ",%u,", thread->pid, thread->tid,
		       flow_ns(e->trace, call->start), flow_span_ns(e->trace, call->ticks), call->depth);
	text_add_csv(out, module, strlen(module));
	buf_add_char(out, ',');
	text_add_csv(out, function->name, strlen(function->name));
	out_end_line(&e->out);
}

static void flush(struct exporter *e, const struct walk *walk)
{
	uint32_t index = flow_sessions_find(e->sessions, walk->session);
	bool wanted = e->config->sessions ? index != DEMUX_NONE && e->groups.items[index] == 0 : true;
	uint32_t session = index == DEMUX_NONE ? 0 : index + 1;

	for (size_t i = 0; wanted && i < e->ended.count; i++)
		(e->config->csv ? add_csv : add_event)(e, walk, &e->ended.items[i], session);
	e->ended.count = 0;
}

static void leave(void *context, const struct walk *walk, uint64_t ticks)
{
	struct exporter *e = context;
	const struct walk_frame *frame = &walk->frames.items[walk->frames.count - 1];
	uint64_t start = e->starts.items[--e->starts.count];

	vec_push(&e->ended, (struct ended){frame->fn, (uint32_t)walk->frames.count - 1, start, ticks - start});
	if (walk->root == SIZE_MAX || walk_at_root(walk) || walk->session != DEMUX_NONE)
		flush(e, walk);
}

static const struct walk_visitor visitor = {.enter = enter, .leave = leave};

static void export_calls(struct exporter *e)
{
	_cleanup_walk_ struct walk walk = {};

	buf_add_text(&e->out.pending, e->config->csv ? "session,pid,tid,time_ns,lat_ns,depth,module,function"
						     : "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	out_end_line(&e->out);
	for (size_t i = 0; i < e->trace->thread_count && e->config->perfetto; i++) {
		buf_add_format(&e->out.pending,
			       "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
			       e->count++ ? "," : "", e->trace->threads[i].pid, e->trace->threads[i].tid);
		add_json_name(&e->out.pending, e->trace->threads[i].name);
		buf_add_text(&e->out.pending, "}}");
		out_end_line(&e->out);
	}
	walk_init(&walk, e->sessions->demux);
	for (size_t i = 0; i < e->trace->thread_count; i++)
		walk_thread(&walk, &visitor, e, i);
	if (e->config->perfetto) {
		buf_add_text(&e->out.pending, "]}");
		out_end_line(&e->out);
	}
	vec_done(&e->ended);
	vec_done(&e->starts);
}

/* --- place by place --- */

static void add_stack(struct exporter *e, const struct profile *profile, uint32_t place)
{
	VEC(const char *) names = {};

	for (uint32_t at = place; at; at = profile->places.items[at].parent)
		vec_push(&names, e->trace->functions[profile->places.items[at].fn].name);
	for (size_t i = names.count; i-- > 0;) {
		text_add_folded(&e->out.pending, names.items[i], strlen(names.items[i]));
		buf_add_text(&e->out.pending, i ? ";" : "");
	}
	vec_done(&names);
}

/* Groups 0 and 1 are exported: sessions, and without -s also calls of no session. */
static void export_folded(struct exporter *e, const struct profile *profile)
{
	for (uint32_t i = 1; i < profile->places.count; i++) {
		const struct profile_place *place = &profile->places.items[i];
		uint64_t ns = flow_span_ns(e->trace, place->group[0].self_ticks + place->group[1].self_ticks +
							     place->group[0].wait_ticks + place->group[1].wait_ticks);

		if (!(place->group[0].calls + place->group[1].calls))
			continue;
		add_stack(e, profile, i);
		buf_add_format(&e->out.pending, " %" PRIu64, ns);
		out_end_line(&e->out);
	}
}

static void add_name(struct exporter *e, const char *name)
{
	text_add_dot(&e->out.pending, name, strlen(name));
}

struct edge {
	uint32_t from, to;
	uint64_t calls;
};

static int by_functions(const void *a, const void *b)
{
	const struct edge *one = a, *other = b;

	if (one->from != other->from)
		return one->from < other->from ? -1 : 1;
	return one->to < other->to ? -1 : one->to > other->to;
}

/* Functions and their callers, whatever the call path. */
static void export_dot(struct exporter *e, const struct profile *profile)
{
	VEC(struct edge) edges = {};

	for (uint32_t i = 1; i < profile->places.count; i++) {
		const struct profile_place *place = &profile->places.items[i];
		uint64_t calls = place->group[0].calls + place->group[1].calls;

		if (place->parent && calls)
			vec_push(&edges, (struct edge){profile->places.items[place->parent].fn, place->fn, calls});
	}
	vec_sort(&edges, by_functions);
	buf_add_text(&e->out.pending, "digraph calls {\nrankdir=LR; node [shape=box, fontname=monospace];");
	out_end_line(&e->out);
	for (size_t i = 0, next; i < edges.count; i = next) {
		uint64_t calls = 0;

		for (next = i; next < edges.count && by_functions(&edges.items[i], &edges.items[next]) == 0; next++)
			calls += edges.items[next].calls;
		buf_add_char(&e->out.pending, '"');
		add_name(e, e->trace->functions[edges.items[i].from].name);
		buf_add_text(&e->out.pending, "\" -> \"");
		add_name(e, e->trace->functions[edges.items[i].to].name);
		buf_add_format(&e->out.pending, "\" [label=\"%" PRIu64 "\"];", calls);
		out_end_line(&e->out);
	}
	buf_add_text(&e->out.pending, "}");
	out_end_line(&e->out);
	vec_done(&edges);
}

static int export_trace(struct exporter *e)
{
	const struct config *config = e->config;
	struct why why = {};
	int r;

	e->groups = flow_groups_of(e->sessions);
	if (config->sessions && flow_view_choose(e->sessions, config->sessions, e->groups.items, &why) < 0)
		return command_fail(EXIT_USAGE, "flow export: %s", why.text);
	r = out_open(&e->out, config->output);
	if (r < 0)
		return command_fail(EXIT_IO, "flow export: cannot write %s: %s", config->output, new_file_error(r));
	if (config->perfetto || config->csv) {
		export_calls(e);
	} else {
		_cleanup_(profile_freep) struct profile *profile =
			profile_new(e->sessions, e->groups.items, config->sessions ? 2 : 1);

		(config->folded ? export_folded : export_dot)(e, profile);
	}
	return output_exit_code("flow export", out_done(&e->out));
}

static int run(const void *data)
{
	const struct config *config = data;
	struct exporter e = {.config = config};
	int r;

	if (config->perfetto + config->folded + config->dot + config->csv != 1)
		return command_fail(EXIT_USAGE,
				    "flow export: a format is missing: one of --perfetto, --folded, --dot, --csv");
	r = flow_view_open(config->trace, &config->split, &e.trace, &e.sessions);
	if (r == EXIT_DONE)
		r = export_trace(&e);
	if (r == EXIT_DONE)
		flow_view_say_summary(e.trace);
	if (r == EXIT_DONE)
		flow_view_close(e.trace);
	flow_groups_done(&e.groups);
	flow_sessions_free(e.sessions);
	flow_trace_close(e.trace);
	return r;
}

static const char *const examples[] = {
	"nest flow export server.trace --perfetto -o server.json",
	"for Perfetto; every call carries its session",
	"nest flow export server.trace --folded -s 'class == 2' | flamegraph.pl >odd.svg",
	"a flame graph of one class of sessions",
	NULL,
};

static const struct command export_command = {
	.name = "flow export",
	.summary = "function traces as Perfetto trace, folded stacks, DOT or CSV",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(export_command);
