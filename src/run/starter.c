/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/confine.h"
#include "base/helper.h"
#include "base/vec.h"
#include "run/command.h"
#include "run/command_confine.h"

#define WORDS_MAX 256
#define BYTES_MAX ((size_t)64 << 10)

/* The words follow, each with its NUL. */
struct message {
	uint32_t width;
	uint32_t bytes;
};

/* The descriptors of a message. */
enum {
	FD_OUT,
	FD_ERRORS,
	FD_CONTROL,
};

/* One for the process. */
static struct helper starter;

/* --- the command --- */

static _noreturn_ void become(char **argv, unsigned width, bool privileged, const int *fds, pid_t minder)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct why why = {};
	char columns[16];
	sigset_t none;

	/* Ctrl-C at the terminal is not for it. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have ended before the line above. */
	if (getppid() != minder)
		_exit(126);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)dup2(nothing, STDIN_FILENO);
	(void)dup2(fds[FD_OUT], STDOUT_FILENO);
	(void)dup2(fds[FD_ERRORS], STDERR_FILENO);
	snprintf(columns, sizeof(columns), "%u", width);
	if (setenv("NEST_WIDTH", columns, 1) < 0 || (!privileged && confine_drop_capabilities(0, &why) < 0))
		_exit(126);
	execve("/proc/self/exe", argv, environ);
	_exit(127);
}

/* --- the process that waits for it --- */

static void wait_for_end(pid_t pid, int ended_fd, int control_fd)
{
	struct pollfd fds[] = {{.fd = ended_fd, .events = POLLIN}, {.fd = control_fd, .events = POLLIN}};
	int status = 0;
	char byte;

	while (!(fds[0].revents & POLLIN)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 || !fds[1].revents)
			continue;
		if (read(control_fd, &byte, 1) == 1) {
			(void)kill(pid, SIGINT);
			continue;
		}
		/* Nobody waits for the status: nobody wants the command. */
		(void)kill(pid, SIGKILL);
		break;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)!write(control_fd, &status, sizeof(status));
}

static _noreturn_ void mind(char **argv, unsigned width, bool privileged, const int *fds)
{
	struct why why = {};
	pid_t minder = getpid(), pid;
	int ended_fd;

	(void)prctl(PR_SET_NAME, "nest-minder");
	/* The process that waits for orders does not wait for their ends. */
	(void)signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid == 0)
		become(argv, width, privileged, fds, minder);
	(void)close(fds[FD_OUT]);
	(void)close(fds[FD_ERRORS]);
	ended_fd = pid > 0 ? pidfd_open(pid, 0) : -1;
	if (ended_fd < 0 || (command_confines() && confine_apply(&(struct confine){.may = MAY_SIGNAL}, &why) < 0))
		_exit(1);
	wait_for_end(pid, ended_fd, fds[FD_CONTROL]);
	_exit(0);
}

/* --- the process that waits for orders --- */

/* The words in the bytes; false: not words. */
static bool split(char *bytes, size_t size, char **argv)
{
	size_t count = 0;

	argv[count++] = (char *)"nest";
	if (size == 0 || bytes[size - 1] != '\0')
		return false;
	for (char *word = bytes; word < bytes + size; word += strlen(word) + 1) {
		if (count > WORDS_MAX)
			return false;
		argv[count++] = word;
	}
	argv[count] = NULL;
	return true;
}

struct orders {
	bool privileged;
	const char *directory;
};

static bool is_privileged(const struct orders *orders, char **argv)
{
	int count = 0;

	while (argv[count + 1])
		count++;
	return orders->privileged && command_only_looks(count, argv + 1, orders->directory);
}

static int take_order(int fd, const struct orders *orders)
{
	_cleanup_free_ char *bytes = NULL;
	char *argv[WORDS_MAX + 2];
	struct message message;
	int fds[HELPER_FDS], r;
	bool privileged;
	pid_t pid;

	r = helper_receive(fd, &message, sizeof(message), fds);
	if (r < 0)
		return r;
	if (message.bytes > BYTES_MAX)
		return -EBADMSG;
	bytes = xmalloc(message.bytes + 1);
	r = helper_read(fd, bytes, message.bytes);
	if (r == 0 && split(bytes, message.bytes, argv)) {
		privileged = is_privileged(orders, argv);
		pid = fork();
		if (pid == 0) {
			(void)close(fd);
			mind(argv, message.width, privileged, fds);
		}
	}
	for (unsigned i = 0; i < HELPER_FDS; i++)
		(void)close(fds[i]);
	return r;
}

static void serve(int fd, void *context)
{
	const struct orders *orders = context;
	struct why why = {};

	(void)signal(SIGCHLD, SIG_IGN);
	if (!orders->privileged && confine_drop_capabilities(0, &why) < 0)
		return;
	while (take_order(fd, orders) == 0)
		;
}

/* --- the process that orders --- */

int starter_begin(bool privileged, const char *directory, struct why *why)
{
	struct orders orders = {.privileged = privileged, .directory = directory};

	return starter.pid ? 0 : helper_start(&starter, "nest-starter", serve, &orders, why);
}

void starter_end(void)
{
	helper_stop(&starter, false);
}

static int send_order(const struct starter_order *order, int control_fd)
{
	_cleanup_buf_ struct buf words = BUF_INIT(BYTES_MAX);
	struct message message = {.width = order->width};
	int fds[HELPER_FDS] = {[FD_OUT] = order->out, [FD_ERRORS] = order->errors, [FD_CONTROL] = control_fd};
	unsigned count = 0;
	int r;

	for (char *const *word = order->words; *word; word++, count++)
		buf_add(&words, *word, strlen(*word) + 1);
	if (words.over || count > WORDS_MAX)
		return -E2BIG;
	message.bytes = (uint32_t)words.len;
	r = helper_send(starter.fd, &message, sizeof(message), fds);
	return r == 0 ? helper_write(starter.fd, words.data, words.len) : r;
}

int starter_start(const struct starter_order *order, struct why *why)
{
	int control[2], r;

	if (!starter.pid)
		return why_set(why, -ENOTSUP, "cannot start a process: nothing was prepared for it");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) < 0)
		return why_set(why, -errno, "cannot start a process: socketpair: %s", strerror(errno));
	r = send_order(order, control[1]);
	(void)close(control[1]);
	if (r == 0)
		return control[0];
	(void)close(control[0]);
	return why_set(why, r, "cannot start a process: %s", strerror(-r));
}

void starter_interrupt(int fd)
{
	/* One that has ended is not there to be asked. */
	(void)!helper_write(fd, "", 1);
}
