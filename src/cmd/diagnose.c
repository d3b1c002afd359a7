/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest diagnose (and a bare nest): the culprit, with evidence. */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/out.h"
#include "base/text.h"
#include "diagnose/present/present.h"
#include "fleet/fleet_conn.h"
#include "flow/analyse/serving_thread.h"
#include "run/command.h"
#include "run/run_diagnosis.h"
#include "view/json.h"

struct config {
	struct diagnosis_options live;
	uint64_t duration_ns;
	bool json;
	bool all;
	double fail_on;
	const char *file;
	const char *measures;
	const char *flow;
	struct fleet_options fleet;
	const char *conn;
	uint64_t last_ns;
};

/* No finding is that certain. */
static const struct config defaults = {.fail_on = 2};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "observe for this long, at least 0.3 (default: 3, or 1 when facts decide; of a recording: all of it)"),
	OPTION(struct config, json, FLAG, "json", 'j', NULL,
	       "print one JSON object per second, covering the last 3 s; before that only facts"),
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "also show healthy modules"),
	OPTION_GROUP(struct config, live, diagnosis_option_table),
	OPTION(struct config, live.routers, TEXTS, "nat", 0, "FILE",
	       "with two recordings: also match connections that the host of this recording translates (NAT); may be "
	       "repeated",
	       .file = FILE_INPUT),
	OPTION(struct config, fail_on, RATIO, "fail-on", 0, "CERTAINTY",
	       "exit with 1 if a finding is at least this certain", .max = 1),
	OPTION(struct config, file, TEXT, "output", 'o', "FILE", "write to this file instead of standard output",
	       .file = FILE_WRITE),
	OPTION(struct config, measures, TEXT, "measures", 0, "FILE",
	       "write all measures to this file, one JSON line per module and window", .file = FILE_WRITE),
	OPTION(struct config, flow, TEXT, "flow", 0, "TRACE",
	       "name the function of an accused application, from its function trace (nest flow record), also one "
	       "still being written",
	       .file = FILE_READ),
	OPTION_GROUP(struct config, fleet, fleet_option_table),
	OPTION(struct config, conn, TEXT, "conn", 0, "A:PORT-B:PORT",
	       "with --fleet: the connection, from both ends, seen from the first"),
	OPTION(struct config, last_ns, SECONDS, "last", 0, "TIME", "with --fleet: limit to the last TIME (default 1h)"),
	OPTION_END,
};

/* A sink beside the diagnosis, for its files. */
struct report {
	struct run_sink sink;
	const struct config *config;
	struct out measures;
	double worst; /* highest certainty of any finding; below 0: none */
	struct witness witness;
	/* Of the last question that the trace answered. */
	struct flow_trace *trace;
	struct serving_thread serving;
	struct buf sentence;
	struct why silence; /* why it could not */
};

/* --- the function trace --- */

static void forget_answer(struct report *context)
{
	serving_thread_done(&context->serving);
	context->serving = (struct serving_thread){};
	flow_trace_close(context->trace);
	context->trace = NULL;
	buf_clear(&context->sentence);
}

/* Opened again for each query: it grows while its program runs. */
static bool ask_trace(void *data, const struct witness_question *question, struct witness_answer *ret_answer)
{
	struct report *context = data;
	struct serving_question q = {
		.pid = question->pid,
		.local = question->local,
		.remote = question->remote,
		.start_ns = question->start_ns,
		.end_ns = question->end_ns,
	};

	forget_answer(context);
	if (flow_trace_open(context->config->flow, &context->trace, &context->silence) < 0 ||
	    serving_thread_find(context->trace, &q, &context->serving, &context->silence) < 0)
		return false;
	context->silence = (struct why){};
	serving_thread_describe(&context->serving, &context->sentence);
	*ret_answer = (struct witness_answer){
		.function = context->serving.function,
		.module = context->serving.module,
		.share = context->serving.share,
		.tid = context->serving.tid,
		.call_path = context->serving.call_path.items,
		.call_path_count = context->serving.call_path.count,
		.text = buf_text(&context->sentence),
	};
	return true;
}

/* Refuse a file that is not a trace before sampling for seconds. */
static int prepare_witness(struct report *context, struct why *why)
{
	context->sentence = (struct buf)BUF_INIT(65536);
	if (!context->config->flow)
		return 0;
	context->witness = (struct witness){.ask = ask_trace, .context = context};
	return flow_trace_open(context->config->flow, &context->trace, why) < 0 ? -EIO : 0;
}

/* --- the report --- */

/* For authors of rules: the measures that conditions use. */
static void write_measures(const struct graph *graph, struct out *out)
{
	vec_each(&graph->modules, at) {
		const struct module_scope *scope = module_scope_find((*at)->kind);
		struct buf *line = &out->pending;
		struct field_ref ref = {};
		struct record record;
		struct shape shape;

		if (!scope)
			continue;
		buf_add_format(line, "{\"start_ns\":%" PRIu64 ",\"module\":\"", graph->start_ns);
		text_add_json(line, (*at)->id, strlen((*at)->id));
		buf_add_format(line, "\",\"activity\":\"%s\"", activity_name((*at)->activity));
		shape = module_scope_shape(scope);
		record = module_scope_record(scope, *at);
		while (shape_next(&shape, &ref)) {
			struct value value = record_get(&record, ref);

			if (!record.parts[ref.part])
				continue;
			buf_add_format(line, ",\"%s\":", ref.field->name);
			json_add_value(line, ref.field, &value);
		}
		buf_add_char(line, '}');
		out_end_line(out);
	}
}

static void report_text(struct run_diagnosis *live, const struct diagnosis_record *record)
{
	const struct report *context = live->context;
	struct present_options look = {
		.all = context->config->all,
		.several = live->views.count > 1,
		.chosen = !selection_is_empty(&live->options->selection),
		.program = live->options->selection.pid != 0,
	};

	present_diagnosis(record, &look, &live->out);
}

static int report(struct run_diagnosis *live, const struct diagnosis_view *view)
{
	struct report *context = live->context;
	const struct diagnosis_record *record;
	const struct finding_record *findings;

	/* Text shows the last window only. */
	if (context->witness.ask && (context->config->json || live->last))
		diagnosis_set_witness(view->diagnosis, &context->witness);
	record = view->gone ? NULL : diagnosis_get(view->diagnosis);
	if (!record)
		return 0;
	findings = record->findings.items;
	if (record->findings.count > 0)
		context->worst = max_of(context->worst, findings[0].certainty);
	if (context->config->json) {
		json_add_object(&live->out.pending, &diagnosis_type, record);
		out_end_line(&live->out);
	} else if (live->last) {
		report_text(live, record);
	}
	if (context->config->measures)
		write_measures(diagnosis_graph(view->diagnosis), &context->measures);
	return 0;
}

/* Ctrl-C prints what is known so far. */
static void report_interrupted(struct run_diagnosis *live, const struct diagnosis_view *view)
{
	const struct report *context = live->context;
	const struct diagnosis_record *record = context->config->json ? NULL : diagnosis_get(view->diagnosis);

	if (record)
		report_text(live, record);
}

static int prepare(struct run_sink *sink, struct run *run)
{
	struct report *context = (struct report *)sink;
	int r = prepare_witness(context, &run->why);

	return r == 0 && context->config->measures
		       ? run_open_out(run, sink, &context->measures, context->config->measures)
		       : r;
}

static void close_report(struct run_sink *sink)
{
	struct report *context = (struct report *)sink;

	if (context->silence.text[0])
		log_info("%s: %s", context->config->flow, context->silence.text);
	forget_answer(context);
	buf_done(&context->sentence);
}

static const struct run_sink_ops report_ops = {.prepare = prepare, .close = close_report};

/* --- the fleet --- */

static int write_conn(const struct config *config, const struct diagnosis_record *record)
{
	struct present_options look = {.all = config->all};
	struct out out;
	int r = out_open(&out, config->file);

	if (r == 0) {
		if (config->json) {
			json_add_object(&out.pending, &diagnosis_type, record);
			out_end_line(&out);
		} else {
			present_diagnosis(record, &look, &out);
		}
		r = out_done(&out);
	}
	if (r < 0 && r != -EPIPE)
		return command_fail(EXIT_IO, "diagnose: cannot write %s: %s", config->file ?: "standard output",
				    new_file_error(r));
	return EXIT_DONE;
}

static int diagnose_fleet(const struct config *config)
{
	_cleanup_(fleet_conn_freep) struct fleet_conn *conn = NULL;
	uint64_t now_ns = clock_real_ns(), last_ns = config->last_ns ?: 3600 * NSEC_PER_SEC;
	struct fleet_span span = {now_ns - min_of(last_ns, now_ns), now_ns};
	const struct diagnosis_record *record;
	struct fleet_link link = {};
	struct why why = {};
	int r;

	if (!config->fleet.url || !config->conn)
		return command_fail(EXIT_USAGE, "diagnose: --fleet and --conn need each other");
	if (config->live.input.file || config->duration_ns || config->live.save || config->measures)
		return command_fail(EXIT_USAGE, "diagnose: --fleet excludes -f, -d, --save and --measures");
	r = fleet_link_open(&config->fleet, &link, &why);
	if (r == 0)
		r = fleet_conn_make(&link, config->conn, &span, &conn, &why);
	fleet_link_close(&link);
	if (r < 0)
		return command_fail(r == -EINVAL ? EXIT_USAGE : EXIT_IO, "diagnose: %s", why.text);
	record = fleet_conn_diagnosis(conn);
	r = write_conn(config, record);
	if (r == EXIT_DONE && record->findings.count > 0 &&
	    ((const struct finding_record *)record->findings.items)[0].certainty >= config->fail_on)
		return EXIT_FINDINGS;
	return r;
}

static int run(const void *data)
{
	const struct config *config = data;
	struct report context = {.sink.ops = &report_ops, .config = config, .worst = -1};
	struct run run = {.options = {.name = "diagnose", .both_ends = true}};
	struct run_diagnosis live = {.options = &config->live,
				     .duration_ns = config->duration_ns,
				     .file = config->file,
				     .lists_unseen = true,
				     .containers = true,
				     .report = report,
				     .interrupted = report_interrupted,
				     .context = &context};
	int code;

	if (config->fleet.url || config->conn)
		return diagnose_fleet(config);
	/* A recording is gone through to its end. */
	if (!live.duration_ns && !config->live.input.file) {
		live.duration_ns = DIAGNOSIS_WINDOWS * NSEC_PER_SEC;
		live.until_settled = !config->json;
	}
	run_diagnosis_init(&live, &run);
	run_add_sink(&run, NULL, &context.sink);
	code = run_carry_out(&run);
	if (code == EXIT_DONE && context.worst >= config->fail_on)
		return EXIT_FINDINGS;
	return code;
}

static const char *const examples[] = {
	"nest",
	"diagnose this host and its containers, 3 s",
	"nest diagnose -N web --json -d 10",
	"the namespace web for 10 s, as JSON",
	"nest diagnose -p 4711",
	"only the connections of process 4711, in its own namespace",
	"nest diagnose -N all",
	"every network namespace of this host, one after the other",
	"nest diagnose --fail-on 0.8",
	"for scripts: exit code 1 on a finding of certainty 0.8 or more",
	"nest diagnose -p 4711 --flow server.trace",
	"also the function it is in while its clients wait",
	"nest diagnose --save incident.nest; nest diagnose -f incident.nest",
	"record the run, and diagnose it again on any host",
	"nest diagnose -f client.nest -f server.nest",
	"both ends of the same connections, seen from the client: loss between them, and which end paused",
	"nest diagnose --fleet http://reader:secret@clickhouse:8123/nest --conn 10.0.0.1:40000-10.0.0.2:443",
	"both ends of one connection, from what agents shipped in the last hour",
	NULL,
};

static const struct command diagnose_command = {
	.name = "diagnose",
	.summary = "culprit of slow or stalled traffic, with certainty and evidence",
	.description =
		"Samples the whole network stack of this host several times per second and names the module that "
		"limits or stalls traffic, with the evidence for and against. A module is accused only if something "
		"waits for it. Without -N, -p and -i the containers of this host are part of it.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.looks = true,
	.run = run,
};
COMMAND(diagnose_command);
