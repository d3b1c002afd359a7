/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define WAIT_MS      500
#define WAIT_BUSY_MS 100

union rights {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(HELPER_FDS * sizeof(int))];
};

/* Signals of the terminal and of a supervisor are those of the process that starts it. */
static void block_signals(sigset_t *ret_before)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &set, ret_before);
}

static _noreturn_ void become(const char *name, pid_t parent, int fd, void (*run)(int fd, void *context), void *context)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_NAME, name);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have ended before the line above. */
	if (getppid() != parent)
		_exit(1);
	/* A reader of the output must see its end. */
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
		_exit(1);
	run(fd, context);
	_exit(0);
}

int helper_start(struct helper *helper, const char *name, void (*run)(int fd, void *context), void *context,
		 struct why *why)
{
	pid_t parent = getpid();
	sigset_t before;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return why_set(why, -errno, "cannot start a process: socketpair: %s", strerror(errno));
	block_signals(&before);
	helper->pid = fork();
	if (helper->pid == 0) {
		(void)close(ends[0]);
		become(name, parent, ends[1], run, context);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(ends[1]);
	helper->fd = ends[0];
	if (helper->pid > 0)
		return 0;
	helper->pid = 0;
	(void)close(ends[0]);
	return why_set(why, -errno, "cannot start a process: %s", strerror(errno));
}

void helper_stop(struct helper *helper, bool busy)
{
	_cleanup_close_ int ended = -1;
	struct pollfd wait;

	if (!helper->pid)
		return;
	(void)close(helper->fd);
	ended = pidfd_open(helper->pid, 0);
	wait = (struct pollfd){.fd = ended, .events = POLLIN};
	while (ended >= 0 && poll(&wait, 1, busy ? WAIT_BUSY_MS : WAIT_MS) < 0 && errno == EINTR)
		;
	(void)waitpid(helper->pid, NULL, WNOHANG);
	helper->pid = 0;
}

int helper_read(int fd, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	while (size > 0) {
		ssize_t n = read(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int helper_write(int fd, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int helper_send(int fd, const void *bytes, size_t size, const int fds[HELPER_FDS])
{
	union rights rights = {};
	struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof(rights)};
	ssize_t n;

	rights.head = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(HELPER_FDS * sizeof(int))};
	memcpy(CMSG_DATA(&rights.head), fds, HELPER_FDS * sizeof(int));
	do
		n = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return helper_write(fd, (const uint8_t *)bytes + n, size - (size_t)n);
}

/* Also when there are fewer than expected: none of them may stay open. */
static unsigned take_fds(struct msghdr *message, int fds[HELPER_FDS])
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(message);
	size_t size;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return 0;
	size = min_of(head->cmsg_len - CMSG_LEN(0), HELPER_FDS * sizeof(int));
	memcpy(fds, CMSG_DATA(head), size);
	return (unsigned)(size / sizeof(int));
}

int helper_receive(int fd, void *bytes, size_t size, int ret_fds[HELPER_FDS])
{
	union rights rights = {};
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof(rights)};
	int fds[HELPER_FDS], r = -EBADMSG;
	unsigned count;
	ssize_t n;

	do
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
	count = take_fds(&message, fds);
	if (count == HELPER_FDS && !(message.msg_flags & MSG_CTRUNC))
		r = helper_read(fd, (uint8_t *)bytes + n, size - (size_t)n);
	for (unsigned i = 0; i < count; i++)
		if (r < 0)
			(void)close(fds[i]);
		else
			ret_fds[i] = fds[i];
	return r;
}
