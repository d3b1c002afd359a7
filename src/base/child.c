/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/child.h"

#define END_WAIT_MS 1000

struct child {
	pid_t pid;
	int pidfd;
	int gate;   /* closed to let it run */
	int failed; /* says why it could not */
	struct loop *loop;
	struct loop_source *source;
	void (*fn)(void *context, int status);
	void *context;
	bool ended;
	int error;
};

static _noreturn_ void run_child(const struct command_line *command, int gate, int failed)
{
	sigset_t none;
	char byte;
	int error;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	/* Nothing comes: the other end is closed when it is time, or when nobody is left who could be waited for. */
	if (read(gate, &byte, 1) != 0)
		_exit(127);
	(void)execvp(command->argv[0], command->argv);
	error = errno;
	(void)!write(failed, &error, sizeof(error));
	_exit(127);
}

int child_start(const struct command_line *command, struct child **ret_child, struct why *why)
{
	int gate[2] = {-1, -1}, failed[2] = {-1, -1};
	struct child *child;
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0)
		return why_set(why, -errno, "cannot start %s: %s", command->argv[0], strerror(errno));
	pid = fork();
	if (pid == 0) {
		(void)close(gate[1]);
		run_child(command, gate[0], failed[1]);
	}
	(void)close(gate[0]);
	(void)close(failed[1]);
	if (pid < 0) {
		int error = errno;

		(void)close(gate[1]);
		(void)close(failed[0]);
		return why_set(why, -error, "cannot start %s: %s", command->argv[0], strerror(error));
	}
	child = xzalloc(sizeof(*child));
	*child = (struct child){.pid = pid, .gate = gate[1], .failed = failed[0]};
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	*ret_child = child;
	return 0;
}

pid_t child_pid(const struct child *child)
{
	return child->pid;
}

void child_release(struct child *child)
{
	if (child->gate >= 0)
		(void)close(child->gate);
	child->gate = -1;
}

static void on_end(void *context, uint32_t events _unused_)
{
	struct child *child = context;
	int status = 0;

	if (waitpid(child->pid, &status, WNOHANG) != child->pid)
		return;
	child->ended = true;
	loop_remove(child->loop, child->source);
	child->fn(child->context, status);
}

int child_watch(struct child *child, struct loop *loop, void (*fn)(void *context, int status), void *context)
{
	if (child->pidfd < 0)
		return -ENOSYS;
	child->loop = loop;
	child->fn = fn;
	child->context = context;
	return loop_add_fd(loop, child->pidfd, EPOLLIN, on_end, child, &child->source);
}

int child_error(struct child *child)
{
	if (child->ended && !child->error &&
	    read(child->failed, &child->error, sizeof(child->error)) != sizeof(child->error))
		child->error = 0;
	return child->error;
}

void child_free(struct child *child)
{
	struct pollfd wait;

	if (!child)
		return;
	wait = (struct pollfd){.fd = child->pidfd, .events = POLLIN};
	if (!child->ended) {
		/* One that never ran has not unblocked anything it should tidy up. */
		(void)kill(child->pid, child->gate >= 0 ? SIGKILL : SIGTERM);
		if (child->pidfd < 0 || poll(&wait, 1, END_WAIT_MS) <= 0)
			(void)kill(child->pid, SIGKILL);
		(void)waitpid(child->pid, NULL, 0);
	}
	child_release(child);
	(void)close(child->failed);
	if (child->pidfd >= 0)
		(void)close(child->pidfd);
	free(child);
}
