/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the servers ask: an upstream that replies after the ms=N of a request. Speaks HTTP (one request per
 * connection; body=N: head at once, body after N ms; status=N), and to a request in the protocol of Redis +OK.
 * Without hooks, and not recorded.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_BYTES 600

static int number_of(const char *text, const char *name, int fallback)
{
	const char *at = strstr(text, name);

	return at ? atoi(at + strlen(name)) : fallback;
}

static void wait_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static void reply_http(int fd, const char *text)
{
	char reply[1024];
	int head = snprintf(reply, sizeof(reply),
			    "HTTP/1.1 %d Reply\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
			    number_of(text, "status=", 200), BODY_BYTES);
	int later = number_of(text, "body=", 0), first = later ? head : head + BODY_BYTES;

	memset(reply + head, 'u', BODY_BYTES);
	wait_ms(number_of(text, "ms=", 0));
	if (send(fd, reply, (size_t)first, MSG_NOSIGNAL) < 0 || !later)
		return;
	wait_ms(later);
	send(fd, reply + head, BODY_BYTES, MSG_NOSIGNAL);
}

/* Redis sends several commands at once: SELECT, then the one that moves a key. */
static void reply_redis(int fd, char *text, size_t room)
{
	for (;;) {
		ssize_t n;

		wait_ms(number_of(text, "ms=", 0));
		for (const char *at = text; (at = strchr(at, '*')); at++)
			if ((at == text || at[-1] == '\n') && send(fd, "+OK\r\n", 5, MSG_NOSIGNAL) < 0)
				return;
		n = recv(fd, text, room - 1, 0);
		if (n <= 0)
			return;
		text[n] = '\0';
	}
}

static void *serve(void *arg)
{
	char text[16384];
	int fd = (int)(intptr_t)arg;
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		if (text[0] == '*')
			reply_redis(fd, text, sizeof(text));
		else
			reply_http(fd, text);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	at.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 0));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	signal(SIGPIPE, SIG_IGN);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 512) < 0) {
		perror("small_upstream");
		return 1;
	}
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		pthread_t thread;

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0)
			pthread_detach(thread);
	}
}
