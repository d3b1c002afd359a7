/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow record: runs a program with the recorder inside it. */
#include <limits.h>

#include "base/buf.h"
#include "flow/record/recorder.h"
#include "flow/trace/live_file.h"
#include "run/command.h"
#include "run/run_flow.h"

/* Default depth up to which a summary has times: handlers of servers are that deep. */
#define SUMMARY_DEPTH 6

struct config {
	const char *output;
	struct text_list only;
	struct text_list without;
	uint64_t depth;
	uint64_t structure;
	uint64_t min_ns;
	uint64_t max_bytes;
	uint64_t buffer_bytes;
	uint64_t threads;
	uint64_t sample;
	uint64_t duration_ns;
	uint64_t toggle_signal;
	uint64_t pid;
	uint64_t args;
	bool no_sockets;
	bool paused;
	bool summary;
	bool prepare;
	bool finish;
	struct command_line command;
};

static const struct option_spec options[] = {
	OPTION(struct config, output, TEXT, "output", 'o', "FILE",
	       "trace to write, replacing an existing file (default nest.trace)", .file = FILE_WRITE),
	OPTION(struct config, only, TEXTS, "func", 'F', "PATTERN",
	       "record functions whose name matches; may be repeated"),
	OPTION(struct config, without, TEXTS, "no-func", 'X', "PATTERN", "leave out functions whose name matches"),
	OPTION(struct config, depth, UINT, "depth", 'D', "N", "leave out calls nested deeper than this", .min = 1,
	       .max = FLOW_STACK_MAX),
	OPTION(struct config, min_ns, DURATION, "min", 0, "TIME", "leave out calls that took less, with a unit: 5us"),
	OPTION(struct config, structure, UINT, "structure", 'S', "N",
	       "read the clock only at socket operations and at calls up to depth N: much cheaper", .min = 1,
	       .max = FLOW_STACK_MAX),
	OPTION(struct config, summary, FLAG, "summary", 0, NULL,
	       "summarise while recording: kinds of sessions and their counts, a few megabytes at most"),
	OPTION(struct config, sample, UINT, "sample", 0, "N", "record one connection in N", .min = 1,
	       .max = UINT32_MAX),
	OPTION(struct config, max_bytes, SIZE, "max-size", 0, "SIZE",
	       "limit the trace to this size; further events are dropped and counted"),
	OPTION(struct config, buffer_bytes, SIZE, "buffer", 0, "SIZE", "buffer per thread (default 64K)"),
	OPTION(struct config, threads, UINT, "threads", 0, "N", "limit to N threads at a time (default 4096)", .min = 1,
	       .max = 1u << 20),
	OPTION(struct config, pid, UINT, "pid", 'p', "PID", "probe the functions of --func in a running process",
	       .min = 1, .max = INT32_MAX),
	OPTION(struct config, args, UINT, "args", 0, "N", "with -p: record the first N arguments of each call",
	       .max = 6),
	OPTION(struct config, no_sockets, FLAG, "no-sockets", 0, NULL, "record calls only, no socket operations"),
	OPTION(struct config, paused, FLAG, "paused", 0, NULL, "start paused, until nest flow start"),
	OPTION(struct config, toggle_signal, UINT, "signal", 0, "N",
	       "also pause and resume when the program receives this signal", .min = 1, .max = 64),
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop the program (with -p: the probes) after this time"),
	OPTION(struct config, prepare, FLAG, "prepare", 0, NULL,
	       "start nothing; create the files and print the environment for a service"),
	OPTION(struct config, finish, FLAG, "finish", 0, NULL, "finish a recording started with --prepare"),
	{.kind = OPT_COMMAND,
	 .arg = "PROGRAM",
	 .help = "the program to run and its arguments",
	 .offset = offsetof(struct config, command)},
	OPTION_END,
};

/* Beside the program, as the build leaves it, or where it is installed. */
static char *find_library(void)
{
	static const char *const places[] = {"libnestflow.so", "../lib/nest/libnestflow.so"};
	const char *given = getenv("NEST_FLOW_LIBRARY");
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (given)
		return access(given, R_OK) == 0 ? xstrdup(given) : NULL;
	if (n < 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *path = xasprintf("%.*s/%s", (int)(slash - self), self, places[i]);
		char *full = realpath(path, NULL);

		if (full)
			return full;
	}
	return NULL;
}

/* The program may change its directory. */
static char *absolute(const char *path)
{
	_cleanup_free_ char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

	return here ? xasprintf("%s/%s", here, path) : xstrdup(path);
}

static char *command_text(const struct command_line *command)
{
	struct buf text = BUF_INIT(1 << 16);

	for (int i = 0; i < command->argc; i++)
		buf_add_format(&text, "%s%s", i ? " " : "", command->argv[i]);
	return text.data ? text.data : xstrdup("");
}

static int begin(const struct config *config, const char *path)
{
	_cleanup_free_ char *command = command_text(&config->command);
	struct recorder_options recording = {
		.only = &config->only,
		.without = &config->without,
		.max_depth = config->depth,
		/* Folding calls that carry the time costs more than writing them. */
		.stamp_depth = config->structure ? config->structure
			       : config->summary ? SUMMARY_DEPTH
						 : 0,
		.min_ns = config->min_ns,
		.max_bytes = config->max_bytes,
		.buffer_bytes = config->buffer_bytes,
		.threads = config->threads,
		.sample = config->sample,
		.toggle_signal = config->toggle_signal,
		.no_sockets = config->no_sockets,
		.paused = config->paused,
		.summary = config->summary,
		.command = command,
	};
	struct why why = {};
	int r;

	if (config->buffer_bytes && (config->buffer_bytes < 32000 || config->buffer_bytes > FLOW_CHUNK_MAX))
		return command_fail(EXIT_USAGE, "flow record: --buffer is between 32K and 16M");
	r = recorder_begin(path, &recording, &why);
	return r < 0 ? command_fail(EXIT_IO, "flow record: %s", why.text) : EXIT_DONE;
}

static int probe(const struct config *config, const char *path)
{
	struct run_flow flow = {.path = path,
				.options = {.pid = (uint32_t)config->pid,
					    .output = path,
					    .only = &config->only,
					    .without = &config->without,
					    .args = config->args,
					    .no_sockets = config->no_sockets}};

	if (config->command.argc)
		return command_fail(EXIT_USAGE, "flow record: either -p PID or a program");
	if (!config->only.count)
		return command_fail(EXIT_USAGE, "flow record: -p PID needs the functions to probe (--func PATTERN)");
	return run_flow_probe(&flow, config->duration_ns);
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_free_ char *path = absolute(config->output ? config->output : "nest.trace");
	_cleanup_free_ char *library = find_library();
	struct run_flow flow = {.path = path, .command = &config->command, .library = library};
	int r;

	if (config->pid)
		return probe(config, path);
	if (config->finish)
		return run_flow_finish(&flow);
	if (!library)
		return command_fail(
			EXIT_CANNOT_OBSERVE,
			"flow record: libnestflow.so is neither beside nest nor in ../lib/nest (NEST_FLOW_LIBRARY "
			"names it)");
	if (config->min_ns && (config->structure || config->summary))
		return command_fail(
			EXIT_USAGE,
			"flow record: --min excludes --structure and --summary: it needs the time of every call");
	if (config->prepare) {
		r = begin(config, path);
		if (r == EXIT_DONE)
			printf("LD_PRELOAD=%s\n" FLOW_LIVE_ENV "=%s\n", library, path);
		return r;
	}
	if (!config->command.argc)
		return command_fail(EXIT_USAGE, "flow record: the program to run is missing (-- PROGRAM)");
	r = begin(config, path);
	return r == EXIT_DONE ? run_flow_program(&flow, config->duration_ns) : r;
}

static const char *const examples[] = {
	"nest flow record -o server.trace -- ./server --port 8080",
	"a program built with -finstrument-functions, until it ends",
	"nest flow record -S 6 -X '*rbtree*' -- nginx -g 'daemon off;'",
	"calls and sockets, with times up to depth 6, without the timer tree",
	"nest flow record --summary -o day.trace -- ./server",
	"kinds of sessions with counts and calls instead of events: megabytes per day",
	"nest flow record -p 4711 --func 'ngx_http_*' --args 1 -d 5",
	"selected functions of a running, uninstrumented program, with their first argument",
	"nest flow record --prepare -o /var/log/server.trace",
	"for a service: add the two printed lines to its environment; --finish ends the recording",
	NULL,
};

static const struct command record_command = {
	.name = "flow record",
	.summary = "function trace of a program",
	.description =
		"Calls are recorded from programs built with -finstrument-functions (gcc or clang), socket operations "
		"from any program. The recorder runs inside the program and writes to the trace directly; its child "
		"processes are also recorded. The recording ends when all of them have ended.\n\nThe trace of a "
		"program that crashes or is killed is complete up to that moment.\n\nWith -p, the kernel probes "
		"selected functions of a running program (root): about 1 us per call, 10 us if the function does not "
		"start with a push. Sockets are known from its system calls.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(record_command);
