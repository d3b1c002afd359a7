/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include "show/nest_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/helper.h"
#include "run/starter.h"

#define READ_BYTES 65536
#define ERRORS_MAX 8192
#define FINISH_NS  (5 * NSEC_PER_SEC)

struct nest_process {
	struct nest_process_request request;
	int fd, error_fd; /* error_fd -1: not apart, or closed */
	int control_fd;   /* status of its end, and signals (starter.h) */
	struct loop_source *source, *error_source;
	struct buf errors;
};

static void take_word(struct nest_words *words, char *word)
{
	if (words->count < NEST_WORDS_MAX)
		words->words[words->count++] = word;
	else
		free(word);
}

void nest_words_add(struct nest_words *words, const char *word)
{
	take_word(words, xstrdup(word));
}

void nest_words_option(struct nest_words *words, const char *name, const char *value)
{
	if (value && *value)
		take_word(words, xasprintf("--%s=%s", name, value));
}

void nest_words_copy(struct nest_words *words, const struct nest_words *from)
{
	for (unsigned i = 0; i < from->count; i++)
		nest_words_add(words, from->words[i]);
}

void nest_words_done(struct nest_words *words)
{
	for (unsigned i = 0; i < words->count; i++)
		free(words->words[i]);
	*words = (struct nest_words){};
}

static void close_errors(struct nest_process *process)
{
	if (process->error_source)
		loop_remove(process->request.loop, take_ptr(process->error_source));
	if (process->error_fd >= 0)
		(void)close(take_fd(&process->error_fd));
}

static void close_output(struct nest_process *process)
{
	if (process->source)
		loop_remove(process->request.loop, take_ptr(process->source));
	(void)close(process->fd);
}

/* Its output is closed: it has ended, or is about to. */
static int read_status(const struct nest_process *process)
{
	int status;

	/* Without a status: killed, and its parent as well. */
	return helper_read(process->control_fd, &status, sizeof(status)) == 0 ? status : SIGKILL;
}

static void process_free(struct nest_process *process)
{
	close_errors(process);
	(void)close(process->control_fd);
	buf_done(&process->errors);
	free(process);
}

/* Keeps the end of what is said. */
static bool read_errors(struct nest_process *process)
{
	char bytes[1024];
	ssize_t n = read(process->error_fd, bytes, sizeof(bytes));

	if (n <= 0)
		return n < 0 && errno == EAGAIN ? false : (close_errors(process), false);
	if (process->errors.len + (size_t)n > ERRORS_MAX / 2)
		buf_clear(&process->errors);
	buf_add(&process->errors, bytes, (size_t)n);
	return true;
}

static void on_errors(void *context, uint32_t events _unused_)
{
	(void)read_errors(context);
}

static void on_output(void *context, uint32_t events _unused_)
{
	struct nest_process *process = context;
	const struct nest_process_request *request = &process->request;
	char bytes[READ_BYTES];
	ssize_t n = read(process->fd, bytes, sizeof(bytes));
	int status;

	if (n > 0) {
		request->output(request->context, bytes, (size_t)n);
		return;
	}
	if (n < 0 && errno == EAGAIN)
		return;
	close_output(process);
	status = read_status(process);
	while (process->error_fd >= 0 && read_errors(process))
		;
	request->ended(request->context, status);
	process_free(process);
}

static int watch(struct nest_process *process)
{
	struct loop *loop = process->request.loop;
	int r;

	(void)fcntl(process->fd, F_SETFL, O_NONBLOCK);
	r = loop_add_fd(loop, process->fd, EPOLLIN, on_output, process, &process->source);
	if (r == 0 && process->error_fd >= 0) {
		(void)fcntl(process->error_fd, F_SETFL, O_NONBLOCK);
		r = loop_add_fd(loop, process->error_fd, EPOLLIN, on_errors, process, &process->error_source);
	}
	return r;
}

int nest_process_start(const struct nest_process_request *request, struct nest_process **ret_process, struct why *why)
{
	int out[2] = {-1, -1}, errors[2] = {-1, -1}, r = 0;
	struct nest_process *process;

	if (pipe2(out, O_CLOEXEC) < 0 || (request->apart && pipe2(errors, O_CLOEXEC) < 0))
		r = -errno;
	if (r < 0)
		(void)why_set(why, r, "cannot make a pipe: %s", strerror(-r));
	else
		r = starter_start(&(struct starter_order){.words = request->words,
							  .width = request->width,
							  .out = out[1],
							  .errors = request->apart ? errors[1] : out[1]},
				  why);
	closep(&out[1]);
	closep(&errors[1]);
	if (r < 0) {
		closep(&out[0]);
		closep(&errors[0]);
		return r;
	}
	process = xzalloc(sizeof(*process));
	*process = (struct nest_process){.request = *request,
					 .fd = out[0],
					 .error_fd = errors[0],
					 .control_fd = r,
					 .errors = BUF_INIT(ERRORS_MAX)};
	process->request.words = NULL;
	r = watch(process);
	if (r < 0) {
		nest_process_stop(process);
		return why_set(why, r, "cannot wait for its output: %s", strerror(-r));
	}
	*ret_process = process;
	return 0;
}

void nest_process_stop(struct nest_process *process)
{
	if (!process)
		return;
	/* Nobody reads its status: it is killed, and what it has attached goes with it. */
	close_output(process);
	process_free(process);
}

void nest_process_interrupt(struct nest_process *process)
{
	starter_interrupt(process->control_fd);
}

/* Its output is closed when it has ended. */
static void wait_for_end(const struct nest_process *process)
{
	struct pollfd ready = {.fd = process->fd, .events = POLLIN};
	uint64_t end_ns = clock_monotonic_ns() + FINISH_NS, now_ns;
	char bytes[READ_BYTES];

	while ((now_ns = clock_monotonic_ns()) < end_ns) {
		if (poll(&ready, 1, (int)((end_ns - now_ns) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		if (read(process->fd, bytes, sizeof(bytes)) == 0)
			return;
	}
}

void nest_process_finish(struct nest_process *process)
{
	if (!process)
		return;
	wait_for_end(process);
	nest_process_stop(process);
}

const char *nest_process_errors(const struct nest_process *process)
{
	return buf_text(&process->errors);
}
