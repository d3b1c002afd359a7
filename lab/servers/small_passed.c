/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes: one accepts and passes each connection through a socket to the first idle one of several workers. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "small_work.h"

#define WORKERS 16

union passing {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

static void pass_connection(int channel, int fd)
{
	union passing control = {0};
	struct iovec one = {"c", 1};
	struct msghdr message = {
		.msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};

	control.header = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
		.cmsg_len = CMSG_LEN(sizeof(fd)),
	};
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	sendmsg(channel, &message, MSG_NOSIGNAL);
	close(fd);
}

static int receive_connection(int channel)
{
	union passing control;
	char text;
	struct iovec one = {&text, 1};
	struct msghdr message = {
		.msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	int fd = -1;

	if (recvmsg(channel, &message, 0) <= 0)
		exit(0);
	if (CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

static void worker(int channel)
{
	for (;;) {
		int fd = receive_connection(channel);

		if (fd >= 0)
			work_connection(fd);
	}
}

static void start_workers(int listener, int channel[2])
{
	pid_t parent = getpid();

	for (int i = 0; i < WORKERS; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			if (getppid() != parent)
				exit(0);
			close(listener);
			close(channel[0]);
			worker(channel[1]);
		}
	close(channel[1]);
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv), channel[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0)
		return 1;
	start_workers(listener, channel);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			pass_connection(channel[0], fd);
	}
}
