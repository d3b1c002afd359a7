/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow record: runs a program with the recorder inside it. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "flow/record/recorder.h"
#include "flow/trace/elf_kind.h"
#include "flow/trace/live_file.h"
#include "flow/trace/trace.h"
#include "probe/function_probe.h"
#include "run/command.h"

/* Where a summary has times if nothing else is said: servers have their handlers so deep. */
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
	OPTION(struct config, output, TEXT, "output", 'o', "FILE", "the trace to write (nest.trace)"),
	OPTION(struct config, only, TEXTS, "func", 'F', "PATTERN",
	       "record functions whose name matches; may be repeated"),
	OPTION(struct config, without, TEXTS, "no-func", 'X', "PATTERN", "leave functions out whose name matches"),
	OPTION(struct config, depth, UINT, "depth", 'D', "N", "leave out calls nested deeper than this", .min = 1,
	       .max = FLOW_STACK_MAX),
	OPTION(struct config, min_ns, DURATION, "min", 0, "TIME", "leave out calls that took less, with a unit: 5us"),
	OPTION(struct config, structure, UINT, "structure", 'S', "N",
	       "read the clock only at sockets and at calls nested at most so deep: much cheaper", .min = 1,
	       .max = FLOW_STACK_MAX),
	OPTION(struct config, summary, FLAG, "summary", 0, NULL,
	       "summarise sessions while the program runs: kinds of sessions and how many, a few megabytes at most"),
	OPTION(struct config, sample, UINT, "sample", 0, "N", "record one connection of so many", .min = 1,
	       .max = UINT32_MAX),
	OPTION(struct config, max_bytes, SIZE, "max-size", 0, "SIZE",
	       "events beyond that size of the trace are dropped and counted"),
	OPTION(struct config, buffer_bytes, SIZE, "buffer", 0, "SIZE", "memory of each thread (64K)"),
	OPTION(struct config, threads, UINT, "threads", 0, "N", "room for so many threads at a time (4096)", .min = 1,
	       .max = 1u << 20),
	OPTION(struct config, pid, UINT, "pid", 'p', "PID",
	       "probe a process that runs: the functions that --func names", .min = 1, .max = INT32_MAX),
	OPTION(struct config, args, UINT, "args", 0, "N", "with -p: record so many arguments of each call", .max = 6),
	OPTION(struct config, no_sockets, FLAG, "no-sockets", 0, NULL, "only calls, no socket operations"),
	OPTION(struct config, paused, FLAG, "paused", 0, NULL, "begin when nest flow start says so"),
	OPTION(struct config, toggle_signal, UINT, "signal", 0, "N",
	       "this signal to the program pauses and resumes, too", .min = 1, .max = 64),
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "end the program, or with -p the probing, after this time"),
	OPTION(struct config, prepare, FLAG, "prepare", 0, NULL,
	       "start nothing: make the files, print the environment for a service"),
	OPTION(struct config, finish, FLAG, "finish", 0, NULL, "end a recording that --prepare began"),
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

	if (config->buffer_bytes && (config->buffer_bytes < 32000 || config->buffer_bytes > FLOW_CHUNK_MAX)) {
		log_error("flow record: --buffer is between 32K and 16M");
		return EXIT_USAGE;
	}
	r = recorder_begin(path, &recording, &why);
	if (r < 0)
		log_error("flow record: %s", why.text);
	return r < 0 ? EXIT_IO : EXIT_DONE;
}

/* --- the program --- */

static _noreturn_ void run_program(char **argv, const char *library, const char *path, const sigset_t *mask)
{
	const char *others = getenv("LD_PRELOAD");
	_cleanup_free_ char *preload = others && *others ? xasprintf("%s:%s", library, others) : xstrdup(library);

	(void)setenv("LD_PRELOAD", preload, 1);
	(void)setenv(FLOW_LIVE_ENV, path, 1);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	log_error("flow record: %s: %s", argv[0], strerror(errno));
	_exit(127);
}

/* Until the program and all that it started have ended. Signals for us end the program; a second one kills it. */
static int wait_for_all(pid_t child, uint64_t until_ns, int *ret_status)
{
	unsigned asked = 0;
	sigset_t set;

	*ret_status = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	for (;;) {
		uint64_t now = clock_monotonic_ns(),
			 wait_ns = until_ns && !asked ? (until_ns > now ? until_ns - now : 0) : NSEC_PER_SEC;
		struct timespec timeout = {(time_t)(wait_ns / NSEC_PER_SEC), (long)(wait_ns % NSEC_PER_SEC)};
		int status, number;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child)
				*ret_status = status;
		if (pid < 0 && errno == ECHILD)
			return 0;
		number = sigtimedwait(&set, NULL, &timeout);
		if (number == SIGINT || number == SIGTERM || (until_ns && !asked && clock_monotonic_ns() >= until_ns)) {
			/* A terminal's interrupt has reached the program already. */
			if (number != SIGINT || asked)
				(void)kill(child, asked ? SIGKILL : SIGTERM);
			asked++;
		}
	}
}

/* Whether the recorder can be loaded into the program; otherwise why not, and what can be done. */
static bool check_program(const char *command)
{
	enum elf_kind kind = elf_kind_of(command);

	if (kind == ELF_KIND_STATIC)
		log_warn("flow record: %s is linked statically: no library can be preloaded into it, and its own calls "
			 "are not recorded (nest flow record -p PID --func PATTERN probes it while it runs)",
			 command);
	else if (kind == ELF_KIND_SECURE)
		log_warn("flow record: %s is set-user-ID: nothing is preloaded into it for you, and its own calls are "
			 "not recorded (run it as its owner, or probe it with -p PID --func PATTERN)",
			 command);
	return kind != ELF_KIND_STATIC && kind != ELF_KIND_SECURE;
}

static int report(const char *path, int status, bool loadable)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct recorder_end end;
	struct why why = {};
	int r = recorder_finish(path, &end, &why);

	if (r < 0)
		log_error("flow record: %s", why.text);
	if (end.dropped)
		log_error("flow record: %llu events could not be written: %s", (unsigned long long)end.dropped,
			  end.error == ENOSPC ? "no space (or --max-size reached)" : strerror(end.error));
	if (WIFSIGNALED(status))
		log_warn("flow record: the program was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		log_warn("flow record: the program ended with code %d", WEXITSTATUS(status));
	if (flow_trace_open(path, &trace, &why) < 0) {
		log_error("flow record: %s", why.text);
		return EXIT_IO;
	}
	if (!trace->calls && trace->events && loadable)
		log_warn("flow record: no call was recorded: was the program built with -finstrument-functions, "
			 "and could its user write the trace and the file beside it?");
	log_info("%llu events, %llu lost; %zu threads, %.1f MB in %s", (unsigned long long)trace->events,
		 (unsigned long long)trace->lost,
		 trace->summarised ? (size_t)trace->recorded_threads : trace->thread_count, (double)trace->bytes / 1e6,
		 path);
	return r < 0 ? EXIT_IO : EXIT_DONE;
}

static int record(const struct config *config, const char *path, const char *library)
{
	uint64_t until = config->duration_ns ? clock_monotonic_ns() + config->duration_ns : 0;
	sigset_t set, mask;
	bool loadable;
	int status, r;
	pid_t child;

	r = begin(config, path);
	if (r != EXIT_DONE)
		return r;
	loadable = check_program(config->command.argv[0]);
	/* What the program leaves running when it ends becomes ours to wait for. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, &mask);
	child = fork();
	if (child < 0) {
		log_error("flow record: cannot start a process: %s", strerror(errno));
		return EXIT_CANNOT_OBSERVE;
	}
	if (child == 0)
		run_program(config->command.argv, library, path, &mask);
	log_info("ready");
	r = wait_for_all(child, until, &status);
	if (r == 0)
		r = report(path, status, loadable);
	return r == EXIT_DONE && WIFEXITED(status) && WEXITSTATUS(status) == 127 ? EXIT_CANNOT_OBSERVE : r;
}

static int probe(const struct config *config, const char *path)
{
	if (!config->only.count || config->command.argc) {
		log_error(config->command.argc ? "flow record: either -p PID or a program"
					       : "flow record: -p PID wants the functions to probe (--func PATTERN)");
		return EXIT_USAGE;
	}
	return flow_probe_record(&(struct probe_options){
		.pid = (uint32_t)config->pid,
		.output = path,
		.only = &config->only,
		.without = &config->without,
		.args = config->args,
		.no_sockets = config->no_sockets,
		.duration_ns = config->duration_ns,
	});
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_free_ char *path = absolute(config->output ? config->output : "nest.trace");
	_cleanup_free_ char *library = find_library();

	if (config->pid)
		return probe(config, path);
	if (config->finish)
		return report(path, 0, true);
	if (!library) {
		log_error("flow record: libnestflow.so is neither beside nest nor in ../lib/nest (NEST_FLOW_LIBRARY "
			  "names it)");
		return EXIT_CANNOT_OBSERVE;
	}
	if (config->min_ns && (config->structure || config->summary)) {
		log_error(
			"flow record: --min needs the time of every call, and --structure and --summary do without it");
		return EXIT_USAGE;
	}
	if (config->prepare) {
		int r = begin(config, path);

		if (r == EXIT_DONE)
			printf("LD_PRELOAD=%s\n" FLOW_LIVE_ENV "=%s\n", library, path);
		return r;
	}
	if (!config->command.argc) {
		log_error("flow record: say which program to run, after --");
		return EXIT_USAGE;
	}
	return record(config, path, library);
}

static const char *const examples[] = {
	"nest flow record -o server.trace -- ./server --port 8080",
	"a program built with -finstrument-functions, until it ends",
	"nest flow record -S 6 -X '*rbtree*' -- nginx -g 'daemon off;'",
	"calls and sockets, the clock only where it matters, without the tree of timers",
	"nest flow record --summary -o day.trace -- ./server",
	"no events: kinds of sessions, how many of each and what they called; megabytes after a day",
	"nest flow record -p 4711 --func 'ngx_http_*' --args 1 -d 5",
	"chosen functions of a running program, not built for it, with their first argument",
	"nest flow record --prepare -o /var/log/server.trace",
	"for a service: put the two lines that it prints into its environment; --finish ends the recording",
	NULL,
};

static const struct command record_command = {
	.name = "flow record",
	.summary = "record what a program does, function by function",
	.description =
		"The program must be built with -finstrument-functions (gcc or clang); what it does to its sockets is "
		"recorded from any program. The recorder runs inside the program and writes to the trace directly; "
		"programs that it starts are recorded, too. The recording ends when all of them have ended.\n\n"
		"A program that crashes or is killed leaves a trace that is whole up to that moment.\n\n"
		"With -p, chosen functions of a program that runs already are probed by the kernel (root): about a "
		"microsecond a call, ten where the function does not begin with a push. Its system calls tell about "
		"sockets.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(record_command);
