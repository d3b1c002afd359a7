/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the servers ask: an upstream that replies after the ms=N of a request. Speaks HTTP (one request per
 * connection; body=N: head at once, body after N ms; size=N; status=N), to a request in the protocol of Redis +OK, and
 * DNS over TCP: the first label of the name has the same words (code=N: the response code; bogus=N: address
 * 10.9.9.9; fail=N: after N ms the connection is closed, unless it comes from 127.0.0.1). Without hooks, and not
 * recorded.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX         (8 * 1024 * 1024)
#define DNS_HEADER       12
#define DNS_QUESTION_MAX 512

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

/* Whether a whole message of DNS was read: two bytes of length, then the rest. */
static bool read_dns(int fd, unsigned char *text, size_t fill, size_t room)
{
	while (fill < 2 || fill < 2U + (text[0] << 8 | text[1])) {
		ssize_t n = recv(fd, text + fill, room - fill, 0);

		if (n <= 0)
			return false;
		fill += (size_t)n;
	}
	return true;
}

/* Where the question ends; 0: it has none that fits. */
static size_t dns_question_end(const unsigned char *message, size_t size)
{
	size_t at = DNS_HEADER;

	while (at < size && message[at])
		at += message[at] + 1U;
	return at + 5 <= size ? at + 5 : 0;
}

/* The reply to a question that ends at END, with its two bytes of length; returns its size. */
static size_t make_dns_reply(const unsigned char *message, size_t end, const char *label, unsigned char *reply)
{
	int code = number_of(label, "code=", 0);
	unsigned char last = number_of(label, "bogus=", 0) ? 9 : 1;
	unsigned char flags[10] = {0x81, (unsigned char)(0x80 | code), 0, 1, 0, !code};
	unsigned char address[16] = {0xc0, DNS_HEADER, 0, 1, 0, 1, 0, 0, 2, 0, 0, 4, 10, last, last, last};
	size_t size = code ? end : end + sizeof(address);

	reply[0] = (unsigned char)(size >> 8);
	reply[1] = (unsigned char)size;
	memcpy(reply + 2, message, end);
	memcpy(reply + 4, flags, sizeof(flags));
	memcpy(reply + 2 + end, address, sizeof(address));
	return 2 + size;
}

static bool comes_from_first_address(int fd)
{
	struct sockaddr_in from = {0};
	socklen_t size = sizeof(from);

	return getpeername(fd, (struct sockaddr *)&from, &size) == 0 && from.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

/* Whether the connection stays. */
static bool reply_dns_once(int fd, const unsigned char *message, size_t size)
{
	size_t end = dns_question_end(message, size), n, head = 0;
	unsigned char reply[DNS_QUESTION_MAX + 32];
	char label[64] = "";
	int failing, later;

	if (!end || end > DNS_QUESTION_MAX)
		return false;
	memcpy(label, message + DNS_HEADER + 1, message[DNS_HEADER] & 63);
	failing = number_of(label, "fail=", -1);
	if (failing >= 0 && !comes_from_first_address(fd)) {
		wait_ms(failing);
		return false;
	}
	n = make_dns_reply(message, end, label, reply);
	wait_ms(number_of(label, "ms=", 0));
	later = number_of(label, "body=", 0);
	if (later) {
		head = 2 + DNS_HEADER;
		send_all(fd, (char *)reply, head);
		wait_ms(later);
	}
	send_all(fd, (char *)reply + head, n - head);
	return true;
}

/* One query at a time, as many as the connection has. */
static void reply_dns(int fd, unsigned char *text, size_t fill, size_t room)
{
	for (; read_dns(fd, text, fill, room); fill = 0)
		if (!reply_dns_once(fd, text + 2, (size_t)text[0] << 8 | text[1]))
			return;
}

static void *serve(void *arg)
{
	char text[16384];
	int fd = (int)(intptr_t)arg;
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n > 0) {
		text[n] = '\0';
		if (text[0] == 0)
			reply_dns(fd, (unsigned char *)text, (size_t)n, sizeof(text));
		else if (text[0] == '*')
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
