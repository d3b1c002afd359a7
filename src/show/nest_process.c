/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include "show/nest_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"

#define READ_BYTES 65536
#define ERRORS_MAX 8192
#define FINISH_NS  (5 * NSEC_PER_SEC)

struct nest_process {
	struct nest_process_request request;
	pid_t pid;
	int fd, error_fd; /* error_fd -1: not apart, or closed */
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

static _noreturn_ void become(char **words, char **environment, int out, int errors)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	/* Ctrl-C at the terminal is its parent's. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(nothing, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)dup2(errors, STDERR_FILENO);
	execve("/proc/self/exe", words, environment);
	_exit(127);
}

static size_t count_words(char *const *words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

static int spawn(const struct nest_process_request *request, int out, int errors)
{
	size_t count = count_words(request->words), kept = 0;
	_cleanup_free_ char **argv = xrealloc_array(NULL, count + 2, sizeof(*argv));
	_cleanup_free_ char **environment = xrealloc_array(NULL, count_words(environ) + 3, sizeof(*environment));
	char columns[32];
	pid_t pid;

	argv[0] = (char *)"nest";
	memcpy(argv + 1, request->words, (count + 1) * sizeof(*argv));
	snprintf(columns, sizeof(columns), "NEST_WIDTH=%u", request->width);
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, "NEST_WIDTH=", 11) != 0)
			environment[kept++] = *variable;
	environment[kept++] = columns;
	environment[kept] = NULL;
	pid = fork();
	if (pid == 0)
		become(argv, environment, out, errors);
	return pid < 0 ? -errno : pid;
}

static void close_errors(struct nest_process *process)
{
	if (process->error_source)
		loop_remove(process->request.loop, take_ptr(process->error_source));
	if (process->error_fd >= 0)
		(void)close(take_fd(&process->error_fd));
}

/* What it has attached goes with it: nothing is pinned. */
static int reap(struct nest_process *process)
{
	int status = 0;

	if (process->source)
		loop_remove(process->request.loop, take_ptr(process->source));
	(void)close(process->fd);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void process_free(struct nest_process *process)
{
	close_errors(process);
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
	/* Its output is closed: it has ended. */
	status = reap(process);
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
	if (r == 0)
		r = spawn(request, out[1], request->apart ? errors[1] : out[1]);
	closep(&out[1]);
	closep(&errors[1]);
	if (r < 0) {
		closep(&out[0]);
		closep(&errors[0]);
		return why_set(why, r, "cannot start a process: %s", strerror(-r));
	}
	process = xzalloc(sizeof(*process));
	*process = (struct nest_process){
		.request = *request, .pid = r, .fd = out[0], .error_fd = errors[0], .errors = BUF_INIT(ERRORS_MAX)};
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
	(void)kill(process->pid, SIGKILL);
	(void)reap(process);
	process_free(process);
}

void nest_process_interrupt(struct nest_process *process)
{
	(void)kill(process->pid, SIGINT);
}

/* Its output is closed when it has ended. */
static bool wait_for_end(const struct nest_process *process)
{
	struct pollfd ready = {.fd = process->fd, .events = POLLIN};
	uint64_t end_ns = clock_monotonic_ns() + FINISH_NS, now_ns;
	char bytes[READ_BYTES];

	while ((now_ns = clock_monotonic_ns()) < end_ns) {
		if (poll(&ready, 1, (int)((end_ns - now_ns) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		if (read(process->fd, bytes, sizeof(bytes)) == 0)
			return true;
	}
	return false;
}

void nest_process_finish(struct nest_process *process)
{
	if (!process)
		return;
	if (!wait_for_end(process))
		(void)kill(process->pid, SIGKILL);
	(void)reap(process);
	process_free(process);
}

const char *nest_process_errors(const struct nest_process *process)
{
	return buf_text(&process->errors);
}
