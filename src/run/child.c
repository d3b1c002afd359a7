/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/vec.h"
#include "run/child.h"
#include "snapshot/proc/process.h"

/* In the new process: waits for the gate, then becomes the command, or reports through error_fd why not. */
static _noreturn_ void become(int gate_fd, int error_fd, char **argv)
{
	sigset_t none;
	char nothing;
	int error;

	while (read(gate_fd, &nothing, 1) < 0 && errno == EINTR)
		;
	(void)close(gate_fd);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	error = errno;
	log_error("cannot run %s: %s", argv[0], strerror(error));
	(void)!write(error_fd, &error, sizeof(error));
	_exit(127);
}

int child_prepare(struct child *child, const struct command_line *command, struct why *why)
{
	int gate[2], error[2];

	if (pipe2(gate, O_CLOEXEC) < 0)
		return why_set(why, -errno, "cannot make a pipe: %s", strerror(errno));
	child->gate_fd = gate[1];
	if (pipe2(error, O_CLOEXEC | O_NONBLOCK) < 0) {
		(void)close(gate[0]);
		return why_set(why, -errno, "cannot make a pipe: %s", strerror(errno));
	}
	child->error_fd = error[0];
	child->pid = fork();
	if (child->pid == 0) {
		(void)close(gate[1]);
		become(gate[0], error[1], command->argv);
	}
	(void)close(gate[0]);
	(void)close(error[1]);
	if (child->pid < 0) {
		child->pid = 0;
		return why_set(why, -errno, "cannot start a process: %s", strerror(errno));
	}
	child->ended_fd = pidfd_open(child->pid, 0);
	return child->ended_fd < 0 ? why_set(why, -errno, "cannot watch a process: %s", strerror(errno)) : 0;
}

int child_start(struct child *child, struct loop *loop, loop_fd_fn *on_end, void *context)
{
	int r = loop_add_fd(loop, child->ended_fd, EPOLLIN, on_end, context, NULL);

	if (r < 0)
		return r;
	closep(&child->gate_fd);
	child->gate_fd = -1;
	return 0;
}

int child_error(const struct child *child)
{
	int error;

	if (child->error_fd < 0 || read(child->error_fd, &error, sizeof(error)) != (ssize_t)sizeof(error))
		return 0;
	return -error;
}

void child_done(struct child *child)
{
	/* A command still waiting at the gate would run unobserved. */
	if (child->gate_fd >= 0 && child->pid > 0)
		(void)kill(child->pid, SIGKILL);
	closep(&child->gate_fd);
	closep(&child->ended_fd);
	closep(&child->error_fd);
	if (child->pid > 0)
		(void)waitpid(child->pid, NULL, WNOHANG);
}

/* --- children that are there already --- */

struct parent {
	uint32_t pid, ppid;
};

static void read_parent(const char *name, struct parent *ret_parent)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	_cleanup_free_ char *path = xasprintf("/proc/%s/stat", name);
	struct task_stat stat;

	*ret_parent = (struct parent){};
	if (buf_read_file(&text, path) == 0 && process_parse_stat(buf_text(&text), &stat) == 0)
		*ret_parent = (struct parent){stat.pid, stat.ppid};
}

int child_follow_tree(uint32_t pid, child_follow_fn *follow, void *context)
{
	VEC(struct parent) all = {};
	VEC(uint32_t) found = {};
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint64_t number;
	int r = 0;

	while (proc && (entry = readdir(proc)))
		if (parse_decimal(entry->d_name, 1, UINT32_MAX, &number) == 0)
			read_parent(entry->d_name, vec_add(&all));
	if (proc)
		(void)closedir(proc);
	vec_push(&found, pid);
	/* Those found are searched for children of theirs in turn. */
	for (size_t i = 0; r == 0 && i < found.count; i++) {
		r = follow(context, found.items[i]);
		vec_each(&all, one)
			if (one->pid && one->ppid == found.items[i] && found.count < all.count + 1)
				vec_push(&found, one->pid);
	}
	vec_done(&all);
	vec_done(&found);
	return r;
}
