/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/out.h"
#include "base/parse.h"
#include "kernel/capability.h"
#include "kernel/symbols.h"
#include "run/command_confine.h"
#include "run/output_exit.h"
#include "run/run.h"
#include "snapshot/core/netns.h"

/* How often a recording is given the chance to end its batch, and a namespace to be gone. */
#define STORE_TICK_NS (NSEC_PER_SEC / 4)
#define NETNS_LOOK_NS (NSEC_PER_SEC / 10)

/* Operations are optional. */
#define call(object, op, ...) ((object)->ops->op ? (object)->ops->op((object), __VA_ARGS__) : 0)

void run_add_source(struct run *run, struct run_source *source)
{
	vec_push(&run->sources, source);
}

void run_add_sink(struct run *run, struct run_source *source, struct run_sink *sink)
{
	vec_push(&run->sinks, sink);
	if (source)
		vec_push(&source->sinks, sink);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

void run_report_account(uint64_t events, uint64_t lost, const char *more)
{
	log_write(lost ? LOG_LEVEL_INFO : LOG_LEVEL_STATUS, "%" PRIu64 " events, %" PRIu64 " lost%s%s", events, lost,
		  more && *more ? "; " : "", more ?: "");
}

int run_refuse(const char *name, const struct why *why)
{
	return command_refuse(name, why);
}

/* Exit code for what writing the output came to. */
static int fail(const struct run *run, int r, int code)
{
	log_error("%s: %s", run->options.name, run->why.text[0] ? run->why.text : strerror(-r));
	return code;
}

/* --- for sources and sinks ---------------------------------------------------------------------------------------- */

void run_stop(struct run *run, int result)
{
	run->stopped = true;
	if (run->result == 0)
		run->result = result;
	if (run->loop)
		loop_stop(run->loop, 0);
}

static void stop_at(struct run *run, int r)
{
	if (r < 0)
		run_stop(run, r);
}

/* The first error that writing met. */
static int written(const struct run_sink *sink)
{
	const struct out *out = sink->output ? output_out(sink->output) : sink->out;

	return out ? out->error : 0;
}

void run_hand_out(struct run *run, struct run_source *source, const void *item)
{
	vec_each(&source->sinks, sink) {
		int r = call(*sink, take, run, item);

		/* A reader that has gone needs no more. */
		if (r != 0 || written(*sink) < 0)
			run_stop(run, min_of(r, 0));
	}
}

int run_follow(struct run *run, child_follow_fn *follow, void *context)
{
	int r = 0;

	if (run->child.pid > 0)
		r = follow(context, (uint32_t)run->child.pid);
	else if (run->options.children)
		r = child_follow_tree((uint32_t)run->options.pid, follow, context);
	return r < 0 ? why_set(&run->why, r, "cannot follow the process: %s", strerror(-r)) : 0;
}

void run_needs(struct run *run, unsigned may, uint64_t keep)
{
	run->may |= may;
	run->keep |= keep;
}

int run_stored(struct run *run, int r)
{
	return r < 0 ? why_set(&run->why, r, "%s", store_why(run->store)) : r;
}

int run_open_out(struct run *run, struct run_sink *sink, struct out *out, const char *path)
{
	int r = out_open(out, path);

	if (r == 0)
		sink->out = out;
	return r < 0 ? why_set(&run->why, -EIO, "cannot write %s: %s", path, new_file_error(r)) : 0;
}

/* --- what ends it ------------------------------------------------------------------------------------------------- */

static void ask_to_end(struct run *run, int signal_number)
{
	bool later = false;

	vec_each(&run->sources, source)
		later |= call(*source, stop, signal_number);
	if (!later)
		run_stop(run, 0);
}

static void on_signal(void *context, int signal_number)
{
	struct run *run = context;

	run->ended_by = signal_number;
	ask_to_end(run, signal_number);
}

static void on_time_over(void *context, uint64_t expirations _unused_)
{
	ask_to_end(context, 0);
}

static void on_child_end(void *context, uint32_t events _unused_)
{
	run_stop(context, 0);
}

/* The kernel reuses the inode number of a namespace that is gone: later events may belong to another one. */
static void on_netns_look(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;
	struct stat found;

	if (stat(run->netns_path, &found) == 0 && found.st_ino == run->netns_inum)
		return;
	log_warn("%s: the network namespace of -N is gone: stopping", run->options.name);
	run_stop(run, 0);
}

/* What a command does is its own wherever it does it, and the end of a process is not that of its namespace. */
static int watch_netns(struct run *run)
{
	const char *spec = run->options.netns;
	struct stat found;
	uint64_t pid;

	if (!spec || !*spec || strcmp(spec, "all") == 0 || run->options.command.argc ||
	    parse_u64(spec, 1, INT32_MAX, &pid) == 0)
		return 0;
	run->netns_path = netns_path(spec);
	run->netns_inum = stat(run->netns_path, &found) == 0 ? found.st_ino : 0;
	return loop_add_timer(run->loop, NETNS_LOOK_NS, NETNS_LOOK_NS, on_netns_look, run, NULL);
}

/* What is observed live can be followed while it is written; the rest replaces a file when it is whole. */
static int flush_out(const struct run *run, struct out *out)
{
	int r = out_flush(out);

	return r == 0 && run->loop ? out_publish(out) : r;
}

static void flush(struct run *run)
{
	vec_each(&run->sinks, sink)
		if (((*sink)->output &&
		     (output_flush((*sink)->output) < 0 || flush_out(run, output_out((*sink)->output)) < 0)) ||
		    ((*sink)->out && flush_out(run, (*sink)->out) < 0))
			run_stop(run, 0);
}

static void on_idle(void *context)
{
	flush(context);
}

/* --- intervals ---------------------------------------------------------------------------------------------------- */

static void show_interval(struct run *run, uint64_t now_ns)
{
	vec_each(&run->sinks, sink)
		if ((*sink)->ops->interval)
			(*sink)->ops->interval(*sink, run, now_ns);
}

static void end_interval(struct run *run, uint64_t now_ns)
{
	show_interval(run, now_ns);
	flush(run);
	if (++run->intervals == run->options.count)
		run_stop(run, 0);
}

static void on_interval(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;

	vec_each(&run->sources, source)
		stop_at(run, call(*source, collect, run));
	if (!run->stopped)
		end_interval(run, clock_real_ns());
}

/* --- before it begins --------------------------------------------------------------------------------------------- */

static int check_options(struct run *run)
{
	const struct run_options *options = &run->options;
	uint64_t number;

	if (options->children && !options->pid)
		return why_set(&run->why, -EINVAL, "--children needs -p");
	if (options->pid && options->command.argc)
		return why_set(&run->why, -EINVAL, "only one of -p and a command");
	if (options->max_loss && parse_decimal(options->max_loss, 0, UINT64_MAX, &number) < 0)
		return why_set(&run->why, -EINVAL, "--max-loss needs a whole number");
	if (options->input.other && !options->both_ends)
		return why_set(&run->why, -EINVAL, "only one -f: nest diagnose reads the recordings of both ends");
	if (options->input.file && (options->save || options->command.argc || options->children))
		return why_set(&run->why, -EINVAL, "-f excludes --save, --children and a command");
	if (!options->input.file && (options->input.from || options->input.to))
		return why_set(&run->why, -EINVAL, "--from and --to need -f");
	return 0;
}

static int refuse(const struct run *run, int r, int code)
{
	/* --show help: the list was all. */
	if (r == -ECANCELED)
		return EXIT_DONE;
	return r == -EINVAL ? run_refuse(run->options.name, &run->why) : fail(run, r, r == -ENOENT ? EXIT_USAGE : code);
}

/* False with an exit code if there is nothing to run; whatever is wrong has been said. */
static bool prepare(struct run *run, int *ret_code)
{
	int r = check_options(run), code = EXIT_USAGE;

	if (r == 0)
		code = EXIT_CANNOT_OBSERVE;
	vec_each(&run->sources, source)
		if (r == 0)
			r = call(*source, prepare, run);
	if (r == 0)
		code = EXIT_IO;
	vec_each(&run->sinks, sink)
		if (r == 0)
			r = call(*sink, prepare, run);
	if (r < 0)
		*ret_code = refuse(run, r, code);
	return r == 0;
}

/* --- live --------------------------------------------------------------------------------------------------------- */

static int open_loop(struct run *run)
{
	int r = loop_new(&run->loop);

	if (r == 0)
		r = loop_add_end_signals(run->loop, on_signal, run);
	if (r < 0)
		return why_set(&run->why, r, "cannot wait for events: %s", strerror(-r));
	loop_on_idle(run->loop, on_idle, run);
	return run->options.command.argc ? child_prepare(&run->child, &run->options.command, &run->why) : 0;
}

/* A recording that fails ends the run. */
static void on_store_tick(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;

	stop_at(run, run_stored(run, store_tick(run->store)));
}

static int open_file(struct run *run)
{
	bool resumed;

	if (!run->options.save)
		return 0;
	if (run->options.resume)
		return store_resume(run->options.save, run->options.name, &run->store, &resumed, &run->why);
	return store_create(run->options.save, run->options.name, &run->store, &run->why);
}

static int open_store(struct run *run)
{
	int r = open_file(run);

	if (r < 0 || !run->store || !run->loop)
		return r;
	r = loop_add_timer(run->loop, STORE_TICK_NS, STORE_TICK_NS, on_store_tick, run, NULL);
	return r < 0 ? why_set(&run->why, r, "cannot record: %s", strerror(-r)) : 0;
}

/* The kernel verifies programs for seconds. Nothing is left behind by a process that ends meanwhile. */
static bool may_be_killed(const struct run *run)
{
	return run->loop && !run->recording && !run->store && run->child.pid <= 0 && !run->options.writes_a_file;
}

static int open_sources(struct run *run)
{
	bool killable = may_be_killed(run);
	int r = 0;

	if (killable)
		loop_hold_end_signals(false);
	vec_each(&run->sources, source)
		if (r == 0)
			r = run->recording ? call(*source, open_recorded, run) : call(*source, open, run);
	if (killable)
		loop_hold_end_signals(true);
	vec_each(&run->sinks, sink)
		if (r == 0)
			r = call(*sink, begin, run);
	return r;
}

/* The clock starts, and so does the command. */
static int start(struct run *run)
{
	const struct run_options *options = &run->options;
	int r = 0;

	if (options->interval_ns)
		r = loop_add_timer(run->loop, options->interval_ns, options->interval_ns, on_interval, run, NULL);
	if (r == 0)
		r = watch_netns(run);
	if (r == 0 && options->duration_ns)
		r = loop_add_timer(run->loop, options->duration_ns, 0, on_time_over, run, NULL);
	if (r == 0 && run->child.pid > 0)
		r = child_start(&run->child, run->loop, on_child_end, run);
	return r < 0 ? why_set(&run->why, r, "cannot start: %s", strerror(-r)) : 0;
}

static void watch(struct run *run)
{
	int r = start(run);

	stop_at(run, r < 0 || run->stopped ? r : loop_run(run->loop));
	vec_each(&run->sources, source)
		stop_at(run, call(*source, finish, run));
	if (run->store)
		on_store_tick(run, 1);
}

/* Everything is attached, and what is needed later is known. */
static int give_up_privilege(struct run *run)
{
	if (run->options.input.file)
		return 0;
	/* Opened now, with what the process holds; read when the first name is wanted. */
	kernel_symbols_hold();
	if (run->child.pid > 0)
		run_needs(run, MAY_SIGNAL, 0);
	if (run->may & MAY_USE_MAPS && confine_maps_need_privilege())
		run_needs(run, 0, CAP_BIT(CAP_BPF));
	return command_confine_live(run->may | MAY_READ_PROC, run->keep, &run->why);
}

static int start_sinks(struct run *run)
{
	int r = 0;

	vec_each(&run->sinks, sink)
		if (r == 0)
			r = call(*sink, start, run);
	return r;
}

/* --- item by item ------------------------------------------------------------------------------------------------- */

static int advance(struct run *run, struct run_source *source)
{
	int r = source->ops->next(source, run, &source->next_ns);

	if (r <= 0)
		source->next_ns = UINT64_MAX;
	return min_of(r, 0);
}

/* The source whose item is the oldest; NULL: there are no more. */
static struct run_source *oldest(struct run *run)
{
	struct run_source *found = NULL;

	vec_each(&run->sources, source)
		if ((*source)->next_ns != UINT64_MAX && (!found || (*source)->next_ns < found->next_ns))
			found = *source;
	return found;
}

uint64_t run_next_ns(const struct run *run)
{
	uint64_t next_ns = UINT64_MAX;

	vec_each(&run->sources, source)
		next_ns = min_of(next_ns, (*source)->next_ns);
	return next_ns;
}

int run_step(struct run *run)
{
	struct run_source *source = oldest(run);
	int r = 0;

	if (!source)
		return 0;
	run->last_ns = source->next_ns;
	r = source->ops->give(source, run);
	return r == 0 && !run->stopped ? advance(run, source) : r;
}

int run_restep(struct run *run)
{
	int r = 0;

	vec_each(&run->sources, source)
		if (r == 0)
			r = advance(run, *source);
	return r;
}

/* Duration and intervals are those of the items' own time, from the first one on. */
static int read_items(struct run *run)
{
	const struct run_options *options = &run->options;
	struct run_source *source;
	uint64_t begin_ns, interval_ns;
	int r = 0;

	vec_each(&run->sources, any)
		if (r == 0)
			r = advance(run, *any);
	/* Of the live host the one item is there: nothing else will be read from it. */
	run->may = 0;
	run->keep = 0;
	if (r == 0)
		r = give_up_privilege(run);
	if (r == 0)
		r = start_sinks(run);
	source = oldest(run);
	begin_ns = source ? source->next_ns : 0;
	interval_ns = begin_ns + options->interval_ns;
	run->began = r == 0;
	while (r == 0 && !run->stopped && (source = oldest(run))) {
		if (options->duration_ns && source->next_ns > begin_ns + options->duration_ns)
			break;
		while (options->interval_ns && source->next_ns >= interval_ns && !run->stopped) {
			end_interval(run, interval_ns);
			interval_ns += options->interval_ns;
		}
		if (run->stopped)
			break;
		run->last_ns = source->next_ns;
		r = source->ops->give(source, run);
		if (r == 0 && !run->stopped)
			r = advance(run, source);
	}
	return r;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void end_sinks(struct run *run)
{
	/* An interval that has just been shown is not shown again, unless it was not a whole one. */
	if (run->intervals == 0 || run->intervals != run->options.count)
		show_interval(run, run->last_ns ?: clock_real_ns());
	vec_each(&run->sinks, sink) {
		stop_at(run, call(*sink, end, run));
		if ((*sink)->output)
			(void)output_end((*sink)->output);
	}
	flush(run);
}

/* The line that ends every run, and what it means for the exit code. */
static int report_account(struct run *run)
{
	struct run_account account = {.more = BUF_INIT(4096)};
	uint64_t allowed;

	vec_each(&run->sinks, sink) {
		account.events += (*sink)->shown;
		if ((*sink)->ops->account)
			(*sink)->ops->account(*sink, run, &account);
	}
	vec_each(&run->sources, source)
		if ((*source)->ops->account)
			(*source)->ops->account(*source, run, &account);
	run_report_account(account.events, account.lost, buf_text(&account.more));
	buf_done(&account.more);
	if (!run->options.max_loss || parse_decimal(run->options.max_loss, 0, UINT64_MAX, &allowed) < 0)
		return EXIT_DONE;
	return account.lost > allowed ? EXIT_LOSS : EXIT_DONE;
}

static int close_sink(const struct run *run, struct run_sink *sink)
{
	int r = 0;

	if (sink->output && !run->began)
		output_drop(sink->output);
	else if (sink->out && !run->began)
		out_drop(sink->out);
	if (sink->output)
		r = output_close(sink->output);
	else if (sink->out)
		r = out_done(sink->out);
	if (sink->ops->close)
		sink->ops->close(sink);
	return r;
}

/* Closes sinks and sources; what writing came to. */
static int close_all(struct run *run)
{
	int first = 0;

	vec_each(&run->sinks, sink) {
		int r = close_sink(run, *sink);

		first = first < 0 ? first : r;
	}
	vec_each(&run->sources, source) {
		if ((*source)->ops->close)
			(*source)->ops->close(*source);
		vec_done(&(*source)->sinks);
	}
	vec_done(&run->sources);
	vec_done(&run->sinks);
	recording_close(run->recording);
	return first;
}

static int code_of_error(const struct run *run)
{
	const struct run_options *options = &run->options;
	bool files = run->file_failed || (!run->cannot_observe && (options->input.file || options->save ||
								   (options->writes_a_file && run->began)));

	/* recording_check_interface; a time that --from or --to cannot mean (input_open) */
	if ((run->recording && run->result == -ENODEV) ||
	    (!run->recording && options->input.file && run->result == -EINVAL))
		return fail(run, run->result, EXIT_USAGE);
	return fail(run, run->result, files ? EXIT_IO : EXIT_CANNOT_OBSERVE);
}

/* Ctrl-C is how a person ends what has no end. */
static int code_of_end(const struct run *run)
{
	bool asked = (run->ended_by == SIGINT || run->ended_by == SIGTERM) && !run->options.ends_itself;

	if (child_error(&run->child) < 0)
		return EXIT_USAGE;
	return run->ended_by && !asked ? EXIT_SIGNAL + run->ended_by : EXIT_DONE;
}

static int observe(struct run *run)
{
	const struct run_options *options = &run->options;
	bool waits = (!options->input.file || options->paced) && !options->once;
	int r = waits ? open_loop(run) : 0;

	if (r == 0)
		r = options->input.file ? input_open(&options->input, &run->recording, &run->range, &run->why)
					: open_store(run);
	if (r == 0) {
		r = open_sources(run);
		run->cannot_observe = r < 0 && !options->input.file;
	}
	if (r == 0 && run->recording && waits)
		r = run_restep(run);
	if (r == 0 && waits)
		r = give_up_privilege(run);
	if (r == 0 && waits)
		r = start_sinks(run);
	if (r < 0 || !waits)
		return r < 0 ? r : read_items(run);
	run->began = true;
	if (options->attaches)
		log_status("ready");
	watch(run);
	return 0;
}

int run_open_inside(struct run *run)
{
	int r = check_options(run);

	run->child = CHILD_INIT;
	vec_each(&run->sources, source)
		if (r == 0)
			r = call(*source, prepare, run);
	vec_each(&run->sinks, sink)
		if (r == 0)
			r = call(*sink, prepare, run);
	if (r == 0)
		r = input_open(&run->options.input, &run->recording, &run->range, &run->why);
	if (r == 0)
		r = open_sources(run);
	if (r == 0)
		r = run_restep(run);
	return r;
}

void run_close_inside(struct run *run)
{
	(void)close_all(run);
	child_done(&run->child);
}

int run_carry_out(struct run *run)
{
	int code = EXIT_DONE, end, written, closed, r;

	run->child = CHILD_INIT;
	if (!prepare(run, &code)) {
		(void)close_all(run);
		return code;
	}
	r = observe(run);
	if (r < 0)
		run_stop(run, r);
	if (run->began)
		end_sinks(run);
	if (run->result < 0)
		code = code_of_error(run);
	if (run->began) {
		r = report_account(run);
		code = code ?: r;
	}
	closed = store_close(run->store, run->result < 0 ? NULL : &run->why);
	end = code_of_end(run);
	/* A recording of nothing would be in the way of the next one; one that goes on holds the past. */
	if (run->options.save && (run->cannot_observe || end == EXIT_USAGE) && !run->options.resume)
		(void)unlink(run->options.save);
	if (closed < 0 && run->result == 0)
		code = fail(run, closed, EXIT_IO);
	written = output_exit_code(run->options.name, close_all(run));
	child_done(&run->child);
	loop_free(run->loop);
	free(run->netns_path);
	if (run->result < 0 || closed < 0)
		return code;
	return written ?: end ?: code;
}
