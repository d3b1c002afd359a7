/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the servers ask: an upstream that replies after the ms=N of a request. Speaks HTTP (one request per
 * connection; body=N: head at once, body after N ms; size=N; status=N), and to a request in the protocol of Redis +OK.
 * Without hooks, and not recorded.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX (8 * 1024 * 1024)

static char body[BODY_MAX];

static int number_at(const char *text)
{
	int number = 0;

	for (; *text >= '0' && *text <= '9' && number < 100000000; text++)
		number = number * 10 + *text - '0';
	return number;
}

static int number_of(const char *text, const char *name, int fallback)
{
	const char *at = strstr(text, name);

	return at ? number_at(at + strlen(name)) : fallback;
}

static void wait_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static void send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		data += n;
		size -= (size_t)n;
	}
}

static void reply_http(int fd, const char *text)
{
	int size = number_of(text, "size=", 600), later = number_of(text, "body=", 0);
	char head[256];
	int n;

	size = size < BODY_MAX ? size : BODY_MAX;
	n = snprintf(head, sizeof(head), "HTTP/1.1 %d Reply\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		     number_of(text, "status=", 200), size);
	wait_ms(number_of(text, "ms=", 0));
	/* Head and body in one segment unless one has to wait. */
	if (send(fd, head, (size_t)n, MSG_NOSIGNAL | (later ? 0 : MSG_MORE)) < 0)
		return;
	wait_ms(later);
	send_all(fd, body, (size_t)size);
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

	at.sin_port = htons((uint16_t)(argc > 1 ? number_at(argv[1]) : 0));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memset(body, 'u', sizeof(body));
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
