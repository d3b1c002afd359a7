/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "flow/record/recording.h"
#include "flow/trace/elf_kind.h"
#include "flow/trace/live_file.h"
#include "flow/trace/trace.h"
#include "run/run_flow.h"

/* The kernel wakes who waits for probes only when half of a buffer is full. */
#define PROBE_READ_NS (NSEC_PER_SEC / 20)

/* --- a program with the recorder inside it --------------------------------------------------------------------------- */

static _noreturn_ void become(char **argv, const char *library, const char *path)
{
	const char *others = getenv("LD_PRELOAD");
	sigset_t none;
	_cleanup_free_ char *preload = others && *others ? xasprintf("%s:%s", library, others) : xstrdup(library);

	(void)setenv("LD_PRELOAD", preload, 1);
	(void)setenv(FLOW_LIVE_ENV, path, 1);
	(void)signal(SIGPIPE, SIG_DFL);
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
		log_warn("flow record: %s is linked statically: no library can be preloaded into it, and its own calls "
			 "are not recorded (nest flow record -p PID --func PATTERN probes it while it runs)",
			 command);
	else if (kind == ELF_KIND_SECURE)
		log_warn("flow record: %s is set-user-ID: nothing is preloaded into it for you, and its own calls are "
			 "not recorded (run it as its owner, or probe it with -p PID --func PATTERN)",
			 command);
	return kind != ELF_KIND_STATIC && kind != ELF_KIND_SECURE;
}

static void on_child(void *context, int signal_number _unused_)
{
	struct run_program *program = context;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == program->pid)
			program->status = status;
	if (pid < 0 && errno == ECHILD)
		run_stop(program->run, 0);
}

static int start_program(struct run_source *source, struct run *run)
{
	struct run_program *program = (struct run_program *)source;
	/* Before the program is there: its end must not be missed. */
	int r = loop_add_signal(run->loop, SIGCHLD, on_child, program);

	if (r < 0)
		return why_set(&run->why, r, "cannot wait for the program: %s", strerror(-r));
	program->loadable = check_program(program->command->argv[0]);
	/* What the program leaves running when it ends becomes ours to wait for. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	program->pid = fork();
	if (program->pid < 0)
		return why_set(&run->why, -errno, "cannot start a process: %s", strerror(errno));
	if (program->pid == 0)
		become(program->command->argv, program->library, program->path);
	return 0;
}

/* The program ends, and that ends the run. Who asks twice is not to wait for it. */
static bool stop_program(struct run_source *source, int signal_number)
{
	struct run_program *program = (struct run_program *)source;

	/* A terminal's interrupt has reached the program already. */
	if (signal_number != SIGINT || program->asked)
		(void)kill(program->pid, program->asked ? SIGKILL : SIGTERM);
	program->asked++;
	return true;
}

int run_program_finish(const char *path, bool loadable, struct run_account *account, struct why *why)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct recording_end end;
	int r = recording_finish(path, &end, why), opened;

	if (end.dropped)
		log_error("flow record: %llu events could not be written: %s", (unsigned long long)end.dropped,
			  end.error == ENOSPC ? "no space (or --max-size reached)" : strerror(end.error));
	opened = flow_trace_open(path, &trace, r < 0 ? NULL : why);
	if (opened < 0)
		return r < 0 ? r : opened;
	if (!trace->calls && trace->events && loadable)
		log_warn("flow record: no call was recorded: was the program built with -finstrument-functions, "
			 "and could its user write the trace and the file beside it?");
	account->events = trace->events;
	account->lost = trace->lost;
	buf_add_format(&account->more, "%zu threads, %.1f MB in %s",
		       trace->summarised ? (size_t)trace->recorded_threads : trace->thread_count,
		       (double)trace->bytes / 1e6, path);
	return r;
}

static int finish_program(struct run_source *source, struct run *run)
{
	struct run_program *program = (struct run_program *)source;
	int status = program->status;

	if (WIFSIGNALED(status))
		log_warn("flow record: the program was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		log_warn("flow record: the program ended with code %d", WEXITSTATUS(status));
	return run_program_finish(program->path, program->loadable, &program->account, &run->why);
}

static void account_program(struct run_source *source, struct run *run _unused_, struct run_account *account)
{
	struct run_program *program = (struct run_program *)source;

	*account = program->account;
	program->account.more = (struct buf){};
}

static const struct run_source_ops program_ops = {
	.open = start_program, .stop = stop_program, .finish = finish_program, .account = account_program};

void run_program_init(struct run_program *program, struct run *run)
{
	program->source.ops = &program_ops;
	program->run = run;
	program->account.more = (struct buf)BUF_INIT(65536);
	run_add_source(run, &program->source);
}

/* --- a process that runs already ------------------------------------------------------------------------------------- */

static int prepare_probe(struct run_source *source, struct run *run)
{
	struct run_probe *probe = (struct run_probe *)source;
	struct function_probe_counts counts;
	int r = function_probe_new(&probe->options, &probe->probe, &run->why);

	if (r < 0)
		return r;
	counts = function_probe_counts(probe->probe);
	if (counts.slow)
		log_warn("flow record: %zu of %zu functions begin with an instruction that must be stepped over: about "
			 "10 us a call instead of 1",
			 counts.slow, counts.functions);
	return 0;
}

static void on_probe_time(void *context, uint64_t expirations _unused_)
{
	struct run_probe *probe = context;

	if (!function_probe_read(probe->probe))
		run_stop(probe->run, 0);
}

static void on_probe_fd(void *context, uint32_t events _unused_)
{
	on_probe_time(context, 1);
}

static int attach_probe(struct run_source *source, struct run *run)
{
	struct run_probe *probe = (struct run_probe *)source;
	int fd, r = function_probe_attach(probe->probe, &fd, &run->why);

	if (r < 0)
		return r;
	if (function_probe_counts(probe->probe).blind)
		log_warn("flow record: this kernel has no tracepoints for system calls: sockets are not seen");
	r = loop_add_fd(run->loop, fd, EPOLLIN, on_probe_fd, probe, NULL);
	if (r == 0)
		r = loop_add_timer(run->loop, PROBE_READ_NS, PROBE_READ_NS, on_probe_time, probe, NULL);
	return r < 0 ? why_set(&run->why, r, "cannot wait for the probes: %s", strerror(-r)) : 0;
}

static int finish_probe(struct run_source *source, struct run *run)
{
	struct run_probe *probe = (struct run_probe *)source;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	int r = function_probe_finish(probe->probe, &run->why);

	if (r == 0)
		r = flow_trace_open(probe->options.output, &trace, &run->why);
	if (r < 0)
		return r;
	probe->events = trace->events;
	probe->threads = trace->thread_count;
	return 0;
}

static void account_probe(struct run_source *source, struct run *run _unused_, struct run_account *account)
{
	const struct run_probe *probe = (struct run_probe *)source;
	struct function_probe_counts counts = function_probe_counts(probe->probe);

	account->events += probe->events;
	account->lost += counts.lost;
	buf_add_format(&account->more, "%zu threads, %zu functions probed", probe->threads, counts.functions);
}

static void close_probe(struct run_source *source)
{
	function_probe_free(((struct run_probe *)source)->probe);
}

static const struct run_source_ops probe_ops = {
	.prepare = prepare_probe,
	.open = attach_probe,
	.finish = finish_probe,
	.account = account_probe,
	.close = close_probe,
};

void run_probe_init(struct run_probe *probe, struct run *run)
{
	probe->source.ops = &probe_ops;
	probe->run = run;
	run_add_source(run, &probe->source);
}
