/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server that reads what its clients send, and after a while does something else for good: the guest of
 * tests/live/flow-stall.t. Standard input is the socket that listens; the argument says what it does then: sleep,
 * or wait for another descriptor.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READS 200

static void sleep_on_disk(void)
{
	for (;;)
		sleep(1000);
}

static void await_other(void)
{
	int ends[2];

	if (pipe(ends) == 0)
		for (;;)
			poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 100000);
}

static void do_instead(const char *what)
{
	if (strcmp(what, "sleep") == 0)
		sleep_on_disk();
	else
		await_other();
}

static int take_data(int fd)
{
	static char data[65536];

	return recv(fd, data, sizeof(data), 0) > 0;
}

static void serve(int fd, const char *what)
{
	for (int i = 0; take_data(fd); i++)
		if (i == READS) {
			puts("stalls");
			fflush(stdout);
			do_instead(what);
		}
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? accept(STDIN_FILENO, NULL, NULL) : -1;

	if (fd < 0)
		return 2;
	serve(fd, argv[1]);
	return 0;
}
