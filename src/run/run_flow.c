/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "flow/record/recorder.h"
#include "flow/trace/elf_kind.h"
#include "flow/trace/live_file.h"
#include "flow/trace/trace.h"
#include "kernel/capability.h"
#include "run/command_confine.h"
#include "run/run_flow.h"
#include "view/format.h"

/* The kernel wakes the reader of probes only when half of a buffer is full. */
#define PROBE_READ_NS (NSEC_PER_SEC / 20)

/* --- a program with the recorder inside it ------------------------------------------------------------------------ */

static _noreturn_ void become(char **argv, const char *library, const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	sigset_t none;
	_cleanup_free_ char *preload = others && *others ? xasprintf("%s:%s", library, others) : xstrdup(library);

	(void)setenv("LD_PRELOAD", preload, 1);
	(void)setenv(FLOW_LIVE_ENV, path, 1);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	log_error("flow record: %s: %s", argv[0], strerror(errno));
	_exit(127);
}

/* Whether the recorder can be loaded into the program; otherwise why not, and what can be done. */
static bool check_program(const char *command)
{
	enum elf_kind kind = elf_kind_of(command);

	if (kind == ELF_KIND_STATIC)
		log_warn("flow record: %s is statically linked: no library can be preloaded, its calls are not "
			 "recorded (nest flow record -p PID --func PATTERN probes the running process)",
			 command);
	else if (kind == ELF_KIND_SECURE)
		log_warn("flow record: %s is set-user-ID: no library can be preloaded, its calls are not recorded (run "
			 "it as its owner, or probe it with -p PID --func PATTERN)",
			 command);
	return kind != ELF_KIND_STATIC && kind != ELF_KIND_SECURE;
}

static void on_child(void *context, int signal_number _unused_)
{
	struct run_flow *flow = context;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == flow->pid)
			flow->status = status;
	if (pid < 0 && errno == ECHILD)
		run_stop(&flow->run, 0);
}

static void on_wakeup(void *context, uint64_t expirations)
{
	struct run_flow *flow = context;

	wakeup_note(&flow->wakeup, clock_monotonic_ns(), expirations);
}

static int start_program(struct run_source *source, struct run *run)
{
	struct run_flow *flow = (struct run_flow *)source;
	/* Before the program is there: its end must not be missed. */
	int r = loop_add_signal(run->loop, SIGCHLD, on_child, flow);

	if (r < 0)
		return why_set(&run->why, r, "cannot wait for the program: %s", strerror(-r));
	flow->loadable = check_program(flow->command->argv[0]);
	/* Names that the program had no room to write are read from its file. One of PATH is below /usr as a rule. */
	if (strchr(flow->command->argv[0], '/'))
		command_confine_note(FILE_READ, flow->command->argv[0]);
	/* What the program leaves running when it ends becomes ours to wait for. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	flow->pid = fork();
	if (flow->pid < 0)
		return why_set(&run->why, -errno, "cannot start a process: %s", strerror(errno));
	if (flow->pid == 0)
		become(flow->command->argv, flow->library, flow->path);
	/* It may change its user, as servers do. */
	run_needs(run, MAY_SIGNAL, CAP_BIT(CAP_KILL));
	recorder_begin_wakeups(&flow->wakeup);
	r = loop_add_timer(run->loop, WAKEUP_NS, WAKEUP_NS, on_wakeup, flow, NULL);
	return r < 0 ? why_set(&run->why, r, "cannot set a timer: %s", strerror(-r)) : 0;
}

/* The end of the program ends the run. A second signal ends it at once. */
static bool stop_program(struct run_source *source, int signal_number)
{
	struct run_flow *flow = (struct run_flow *)source;

	/* A terminal's interrupt has reached the program already. */
	if (signal_number != SIGINT || flow->asked)
		(void)kill(flow->pid, flow->asked ? SIGKILL : SIGTERM);
	flow->asked++;
	return true;
}

static int finish_recording(struct run_flow *flow, struct why *why)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct recorder_end end;
	int r = recorder_finish(flow->path, &end, why), opened;

	if (end.dropped)
		log_error("flow record: %llu events could not be written: %s", (unsigned long long)end.dropped,
			  end.error == ENOSPC ? "no space (or --max-size reached)" : strerror(end.error));
	opened = flow_trace_open(flow->path, &trace, r < 0 ? NULL : why);
	if (opened < 0)
		return r < 0 ? r : opened;
	if (!trace->calls && trace->events && flow->loadable)
		log_warn("flow record: no calls recorded: build the program with -finstrument-functions, and let its "
			 "user write the trace and the file beside it");
	flow->account = (struct run_account){trace->events, trace->lost, BUF_INIT(65536)};
	format_add_plural(&flow->account.more,
			  trace->summarised ? (size_t)trace->recorded_threads : trace->thread_count, "thread");
	buf_add_text(&flow->account.more, ", ");
	format_add_bytes(&flow->account.more, trace->bytes);
	buf_add_format(&flow->account.more, " in %s", flow->path);
	return r;
}

static int finish_program(struct run_source *source, struct run *run)
{
	struct run_flow *flow = (struct run_flow *)source;

	if (WIFSIGNALED(flow->status))
		log_warn("flow record: the program was ended by signal %d (%s)", WTERMSIG(flow->status),
			 strsignal(WTERMSIG(flow->status)));
	else if (WEXITSTATUS(flow->status))
		log_warn("flow record: the program ended with code %d", WEXITSTATUS(flow->status));
	(void)recorder_add_wakeups(flow->path, &flow->wakeup);
	wakeup_done(&flow->wakeup);
	return finish_recording(flow, &run->why);
}

static void account_flow(struct run_source *source, struct run *run _unused_, struct run_account *account)
{
	*account = ((struct run_flow *)source)->account;
}

static int carry_out(struct run_flow *flow, const struct run_source_ops *ops, uint64_t duration_ns)
{
	flow->run.options = (struct run_options){
		.name = "flow record", .duration_ns = duration_ns, .attaches = true, .writes_a_file = true};
	flow->source.ops = ops;
	/* Also when it is the default. */
	command_confine_note(FILE_WRITE, flow->path);
	run_add_source(&flow->run, &flow->source);
	return run_carry_out(&flow->run);
}

int run_flow_program(struct run_flow *flow, uint64_t duration_ns)
{
	static const struct run_source_ops ops = {
		.open = start_program, .stop = stop_program, .finish = finish_program, .account = account_flow};
	int code = carry_out(flow, &ops, duration_ns);

	return code == EXIT_DONE && WIFEXITED(flow->status) && WEXITSTATUS(flow->status) == 127 ? EXIT_USAGE : code;
}

int run_flow_finish(struct run_flow *flow)
{
	struct why why = {};
	int r;

	flow->loadable = true;
	r = finish_recording(flow, &why);
	if (r < 0)
		log_error("flow record: %s", why.text);
	else
		run_report_account(flow->account.events, flow->account.lost, buf_text(&flow->account.more));
	buf_done(&flow->account.more);
	return r < 0 ? EXIT_IO : EXIT_DONE;
}

/* --- a process that runs already ---------------------------------------------------------------------------------- */

static int prepare_probe(struct run_source *source, struct run *run)
{
	struct run_flow *flow = (struct run_flow *)source;
	struct function_probe_counts counts;
	int r = function_probe_new(&flow->options, &flow->probe, &run->why);

	if (r < 0)
		return r;
	counts = function_probe_counts(flow->probe);
	if (counts.slow)
		log_warn("flow record: %zu of %zu functions start with an instruction that must be single-stepped: "
			 "about 10 us per call instead of 1",
			 counts.slow, counts.functions);
	return 0;
}

static void read_probe(struct run_flow *flow)
{
	if (!function_probe_read(flow->probe))
		run_stop(&flow->run, 0);
}

static void on_time(void *context, uint64_t expirations _unused_)
{
	read_probe(context);
}

static void on_readable(void *context, uint32_t events _unused_)
{
	read_probe(context);
}

static int attach_probe(struct run_source *source, struct run *run)
{
	struct run_flow *flow = (struct run_flow *)source;
	int fd, r = function_probe_attach(flow->probe, &fd, &run->why);

	if (r < 0)
		return r;
	if (function_probe_counts(flow->probe).blind)
		log_warn("flow record: this kernel has no tracepoints for system calls: sockets are not seen");
	r = loop_add_fd(run->loop, fd, EPOLLIN, on_readable, flow, NULL);
	if (r == 0)
		r = loop_add_timer(run->loop, PROBE_READ_NS, PROBE_READ_NS, on_time, flow, NULL);
	run_needs(run, MAY_OBSERVE | MAY_SIGNAL | MAY_INSPECT,
		  CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH));
	return r < 0 ? why_set(&run->why, r, "cannot wait for the probes: %s", strerror(-r)) : 0;
}

static int finish_probe(struct run_source *source, struct run *run)
{
	struct run_flow *flow = (struct run_flow *)source;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct function_probe_counts counts;
	int r = function_probe_finish(flow->probe, &run->why);

	if (r == 0)
		r = flow_trace_open(flow->path, &trace, &run->why);
	if (r < 0)
		return r;
	counts = function_probe_counts(flow->probe);
	flow->account = (struct run_account){trace->events, counts.lost, BUF_INIT(4096)};
	format_add_plural(&flow->account.more, trace->thread_count, "thread");
	buf_add_text(&flow->account.more, ", ");
	format_add_plural(&flow->account.more, counts.functions, "function");
	buf_add_text(&flow->account.more, " probed");
	return 0;
}

static void close_probe(struct run_source *source)
{
	function_probe_free(((struct run_flow *)source)->probe);
}

int run_flow_probe(struct run_flow *flow, uint64_t duration_ns)
{
	static const struct run_source_ops ops = {.prepare = prepare_probe,
						  .open = attach_probe,
						  .finish = finish_probe,
						  .account = account_flow,
						  .close = close_probe};

	return carry_out(flow, &ops, duration_ns);
}
