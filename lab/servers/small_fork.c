/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process per connection. */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "small_work.h"

static void serve_child(int listener, int fd)
{
	close(listener);
	work_connection(fd);
	exit(0);
}

static void take_connection(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		return;
	if (fork() == 0)
		serve_child(listener, fd);
	close(fd);
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv);

	signal(SIGCHLD, SIG_IGN);
	for (;;)
		take_connection(listener);
}
