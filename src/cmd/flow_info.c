/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow info: what a trace holds, and whether it is sound. */
#include <errno.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "flow/trace/trace_check.h"
#include "flow/trace/trace_text.h"
#include "run/command.h"
#include "run/output_exit.h"
#include "view/format.h"
#include "view/output.h"

struct config {
	const char *trace;
	bool check;
	bool events;
	bool threads;
	bool functions;
	bool modules;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, check, FLAG, "check", 0, NULL, "read the whole trace and check that it is well-formed"),
	OPTION(struct config, threads, FLAG, "threads", 0, NULL, "list the threads"),
	OPTION(struct config, functions, FLAG, "functions", 0, NULL, "list the functions, with their calls"),
	OPTION(struct config, modules, FLAG, "modules", 0, NULL, "list the modules: program and libraries"),
	OPTION(struct config, events, FLAG, "events", 0, NULL,
	       "print every event as a line of text (nest flow import reads it)"),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, trace, TEXT, "TRACE", "the trace to inspect", .required = true, .file = FILE_INPUT),
	OPTION_END,
};

/* --- the trace as one record --- */

struct info {
	const char *trace;
	const char *source;
	const char *command;
	const char *host;
	uint64_t time_ns;
	uint64_t span_ns;
	uint64_t events;
	uint64_t calls;
	uint64_t threads;
	uint64_t processes;
	uint64_t functions;
	uint64_t modules;
	uint64_t bytes;
	double bytes_per_event;
	uint64_t lost;
	uint64_t torn_bytes;
	uint64_t damaged_bytes;
	bool complete;
	bool untimed;
	bool summarised;
	uint64_t cut;
};

static const struct field info_fields[] = {
	FIELD(struct info, trace, TEXT, "the file"),
	FIELD(struct info, source, TEXT, "what recorded it"),
	FIELD(struct info, command, TEXT, "the command that was recorded"),
	FIELD(struct info, host, TEXT, "the host it ran on"),
	FIELD(struct info, time_ns, TIME, "start of the trace", .zero_is_unknown = true),
	FIELD(struct info, span_ns, DURATION, "from the first to the last event"),
	FIELD(struct info, events, COUNT, "calls, returns and everything else"),
	FIELD(struct info, calls, COUNT, "calls of functions"),
	FIELD(struct info, threads, COUNT, "threads that were recorded"),
	FIELD(struct info, processes, COUNT, "processes they belong to"),
	FIELD(struct info, functions, COUNT, "different functions that were called"),
	FIELD(struct info, modules, COUNT, "programs and libraries they are in"),
	FIELD(struct info, bytes, BYTES, "size of the trace"),
	FIELD(struct info, bytes_per_event, RATIO, "of the whole file"),
	FIELD(struct info, lost, COUNT, "events that could not be kept"),
	FIELD(struct info, torn_bytes, BYTES,
	      "incomplete chunks (disk full, killed): their events are elsewhere or counted as lost"),
	FIELD(struct info, damaged_bytes, BYTES, "bytes of the file that are not part of a trace"),
	FIELD(struct info, complete, BOOL, "the recording ended normally and is complete"),
	FIELD(struct info, untimed, BOOL, "only some events have a time"),
	FIELD(struct info, summarised, BOOL, "summarised while recording: kinds of sessions, no events"),
	FIELD(struct info, cut, COUNT, "calls beyond the limit of the summary: counted, but in no tree"),
};
static RECORD_TYPE(info_type, "flow_info", struct info, info_fields, "a function trace");

/* --- what --check found --- */

struct check_row {
	bool well_formed;
	uint64_t events;
	uint64_t calls;
	uint64_t returns;
	uint64_t unwound;
	uint64_t open;
	uint64_t operations;
	uint64_t sockets;
	uint64_t lost;
	uint64_t gaps;
	uint64_t damaged;
	uint64_t faults;
	uint32_t max_depth;
};

static const struct field check_fields[] = {
	FIELD(struct check_row, well_formed, BOOL, "each return matches its call, and what is missing is marked"),
	FIELD(struct check_row, events, COUNT, "read"),
	FIELD(struct check_row, calls, COUNT, "calls of functions"),
	FIELD(struct check_row, returns, COUNT, "returns from them"),
	FIELD(struct check_row, unwound, COUNT, "calls that ended without returning (longjmp, exit of the thread)"),
	FIELD(struct check_row, open, COUNT, "calls that were still open at the end of their thread's trace"),
	FIELD(struct check_row, operations, COUNT, "operations on sockets and other descriptors"),
	FIELD(struct check_row, sockets, COUNT, "descriptions of sockets"),
	FIELD(struct check_row, lost, COUNT, "events marked as lost"),
	FIELD(struct check_row, gaps, COUNT, "places where an unknown number of events is missing"),
	FIELD(struct check_row, damaged, COUNT, "damaged chunks"),
	FIELD(struct check_row, faults, COUNT, "faults found"),
	FIELD(struct check_row, max_depth, COUNT, "deepest nesting of calls"),
};
static RECORD_TYPE(check_type, "flow_check", struct check_row, check_fields, "whether a trace is well-formed");

/* --- lists --- */

struct thread_row {
	uint32_t thread;
	uint32_t pid;
	uint32_t tid;
	const char *comm;
	uint64_t time_ns;
	uint64_t span_ns;
	uint64_t events;
	uint64_t calls;
	uint64_t lost;
};

static const struct field thread_fields[] = {
	FIELD(struct thread_row, thread, ID, "its number in the trace"),
	FIELD(struct thread_row, pid, ID, "process"),
	FIELD(struct thread_row, tid, ID, "thread"),
	FIELD(struct thread_row, comm, TEXT, "its name when it started"),
	FIELD(struct thread_row, time_ns, TIME, "first event", .zero_is_unknown = true),
	FIELD(struct thread_row, span_ns, DURATION, "from its first to its last event"),
	FIELD(struct thread_row, events, COUNT, "events"),
	FIELD(struct thread_row, calls, COUNT, "calls"),
	FIELD(struct thread_row, lost, COUNT, "events that could not be kept"),
};
static RECORD_TYPE(thread_type, "flow_thread", struct thread_row, thread_fields, "a thread of a trace");

struct function_row {
	const char *function;
	const char *module;
	uint64_t offset;
	const char *file;
	uint32_t line;
	uint64_t calls;
};

static const struct field function_fields[] = {
	FIELD(struct function_row, function, TEXT, "name, or module and address"),
	FIELD(struct function_row, module, TEXT, "program or library it is in"),
	FIELD(struct function_row, calls, COUNT, "calls of it"),
	FIELD(struct function_row, offset, HEX, "address in the module's file", .hidden = true),
	FIELD(struct function_row, file, TEXT, "source file", .hidden = true),
	FIELD(struct function_row, line, ID, "line in it", .hidden = true, .zero_is_unknown = true),
};
static RECORD_TYPE(function_type, "flow_function", struct function_row, function_fields, "a function of a trace");

struct module_row {
	const char *module;
	const char *path;
	const char *build_id;
	uint64_t bias;
};

static const struct field module_fields[] = {
	FIELD(struct module_row, module, TEXT, "its name"),
	FIELD(struct module_row, path, TEXT, "where it was loaded from"),
	FIELD(struct module_row, build_id, TEXT, "build id, when it has one"),
	FIELD(struct module_row, bias, HEX, "load bias: address in memory minus address in the file", .hidden = true),
};
static RECORD_TYPE(module_type, "flow_module", struct module_row, module_fields, "a program or library of a trace");

static uint64_t process_count(const struct flow_trace *trace)
{
	struct map pids = MAP_INIT(sizeof(uint32_t), 1, 0);
	uint64_t count;

	for (size_t i = 0; i < trace->thread_count; i++)
		(void)map_put(&pids, &trace->threads[i].pid, NULL);
	count = pids.count;
	map_done(&pids);
	return count;
}

static struct info info_of(const struct config *config, const struct flow_trace *trace)
{
	return (struct info){
		.trace = config->trace,
		.source = flow_trace_property(trace, "source"),
		.command = flow_trace_property(trace, "command"),
		.host = flow_trace_property(trace, "host"),
		.time_ns = trace->clock_ns > NSEC_PER_SEC ? flow_ns(trace, trace->first_ticks) : 0,
		.span_ns = flow_span_ns(trace, trace->last_ticks - trace->first_ticks),
		.events = trace->events,
		.calls = trace->calls,
		.threads = trace->summarised ? trace->recorded_threads : trace->thread_count,
		.processes = process_count(trace),
		.functions = trace->function_count - 1,
		.modules = trace->module_count - 1,
		.bytes = trace->bytes,
		.bytes_per_event = trace->events ? (double)trace->bytes / (double)trace->events : NAN,
		.lost = trace->lost,
		.torn_bytes = trace->torn_bytes,
		.damaged_bytes = trace->damaged_bytes,
		.complete = trace->complete,
		.untimed = trace->untimed,
		.summarised = trace->summarised,
		.cut = trace->cut,
	};
}

/* One record as lines for a person, as a record for everybody else. */
static void show_one(const struct config *config, struct output *output, const struct shape *shape,
		     const struct record *record)
{
	struct out *out = output_out(output);
	struct field_ref at = {};

	if (config->output.json || config->output.csv || config->output.format || config->output.show.count) {
		(void)output_record(output, record);
		return;
	}
	while (shape_next(shape, &at)) {
		struct value value = record_get(record, at);

		/* As in a table's heading: what the unit says need not be said. */
		size_t n = strlen(at.field->name) -
			   (at.field->kind == KIND_DURATION || at.field->kind == KIND_TIME ? 3 : 0);

		buf_add_format(&out->pending, "%.*s", (int)n, at.field->name);
		buf_add_fill(&out->pending, ' ', n < 16 ? 17 - n : 1);
		format_add_value(&out->pending, at.field, &value);
		out_end_line(out);
	}
}

static bool show_check(const struct config *config, const struct flow_trace *trace, struct output *output,
		       const struct shape *shape)
{
	struct flow_check check;
	struct check_row row;

	flow_trace_check(trace, &check);
	row = (struct check_row){
		.well_formed = check.faults == 0,
		.events = check.events,
		.calls = check.calls,
		.returns = check.returns,
		.unwound = check.unwound,
		.open = check.open,
		.operations = check.operations,
		.sockets = check.sockets,
		.lost = check.lost,
		.gaps = check.gaps,
		.damaged = check.damaged,
		.faults = check.faults,
		.max_depth = check.max_depth,
	};
	show_one(config, output, shape, &RECORD_OF(&row));
	for (size_t i = 0; i < check.problem_count; i++)
		log_error("flow info: thread %u, after %.6f s: %s", check.problems[i].thread,
			  (double)flow_span_ns(trace, check.problems[i].ticks - trace->first_ticks) / 1e9,
			  check.problems[i].text);
	if (trace->torn_bytes)
		log_info("%llu bytes of the file are incomplete chunks: their events are elsewhere or counted as lost",
			 (unsigned long long)trace->torn_bytes);
	if (trace->damaged_bytes)
		log_error("flow info: %llu bytes of the file are not part of a trace",
			  (unsigned long long)trace->damaged_bytes);
	return row.well_formed;
}

static void show_threads(const struct flow_trace *trace, struct output *output)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct flow_thread *thread = &trace->threads[i];
		struct thread_row row = {
			.thread = thread->id,
			.pid = thread->pid,
			.tid = thread->tid,
			.comm = thread->name,
			.time_ns = trace->clock_ns > NSEC_PER_SEC ? flow_ns(trace, thread->start_ticks) : 0,
			.span_ns = flow_span_ns(trace, thread->end_ticks - thread->start_ticks),
			.events = thread->events,
			.calls = thread->calls,
			.lost = thread->lost,
		};

		(void)output_record(output, &RECORD_OF(&row));
	}
}

static int by_calls(const void *a, const void *b)
{
	const struct function_row *one = a, *other = b;

	if (one->calls != other->calls)
		return one->calls > other->calls ? -1 : 1;
	return strcmp(one->function, other->function);
}

static void show_functions(const struct flow_trace *trace, struct output *output)
{
	VEC(struct function_row) rows = {};

	for (size_t i = 0; i < trace->function_count; i++) {
		const struct flow_function *function = &trace->functions[i];

		vec_push(&rows, (struct function_row){
					.function = function->name,
					.module = trace->modules[function->module].name,
					.offset = function->offset,
					.file = function->file,
					.line = function->line,
				});
	}
	for (size_t i = 0; i < trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;

		flow_cursor_begin(&cursor, trace, i);
		while (flow_cursor_next(&cursor, &event))
			if (event.kind == FLOW_CALL)
				rows.items[event.fn].calls++;
	}
	vec_sort(&rows, by_calls);
	vec_each(&rows, row)
		if (row->calls)
			(void)output_record(output, &RECORD_OF(row));
	vec_done(&rows);
}

static void show_modules(const struct flow_trace *trace, struct output *output)
{
	for (size_t i = 1; i < trace->module_count; i++) {
		const struct flow_module *module = &trace->modules[i];
		struct module_row row = {module->name, module->path, module->build_id, module->bias};

		(void)output_record(output, &RECORD_OF(&row));
	}
}

static const struct record_type *type_of(const struct config *config)
{
	return config->check       ? &check_type
	       : config->threads   ? &thread_type
	       : config->functions ? &function_type
	       : config->modules   ? &module_type
				   : &info_type;
}

static int show(const struct config *config, const struct flow_trace *trace)
{
	const struct shape shape = SHAPE_OF(type_of(config));
	struct output *output;
	struct why why = {};
	bool sound = true;
	int r = output_open(&config->output, &shape, &output, &why);

	if (r < 0)
		return output_refused("flow info", r, &why);
	if (config->events) {
		(void)trace_text_dump(trace, output_out(output));
	} else if (config->check) {
		sound = show_check(config, trace, output, &shape);
	} else if (config->threads) {
		show_threads(trace, output);
	} else if (config->functions) {
		show_functions(trace, output);
	} else if (config->modules) {
		show_modules(trace, output);
	} else {
		struct info info = info_of(config, trace);

		show_one(config, output, &shape, &RECORD_OF(&info));
	}
	r = output_exit_code("flow info", output_close(output));
	return r == EXIT_DONE && !sound ? EXIT_IO : r;
}

static int run(const void *data)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	const struct config *config = data;
	struct why why = {};
	int r;

	if (config->check + config->events + config->threads + config->functions + config->modules > 1)
		return command_fail(EXIT_USAGE,
				    "flow info: only one of --check, --threads, --functions, --modules and --events");
	r = flow_trace_open(config->trace, &trace, &why);
	if (r < 0)
		return command_fail(EXIT_IO, "flow info: %s", why.text);
	return show(config, trace);
}

static const char *const examples[] = {
	"nest flow info server.trace",
	"contents of the trace",
	"nest flow info server.trace --check",
	"check that it is well-formed; exit code 5 if not",
	"nest flow info server.trace --functions --where 'calls > 1000'",
	"the functions that were called most",
	NULL,
};

static const struct command info_command = {
	.name = "flow info",
	.summary = "contents and consistency of a function trace",
	.description = "Without an option: one record about the whole trace. A damaged or unfinished trace is read as "
		       "far as possible, and what is missing is reported.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(info_command);
