/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event loop in one thread. Steps of a request that wait (upstream, lock) block all of it, as in many servers. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "small_work.h"

#define EVENTS_MAX  64
#define CLIENTS_MAX 1024

struct client {
	int fd;
	bool used, sending;
	size_t fill, sent;
	struct work_answer answer;
	char text[WORK_REQUEST_MAX + 1];
};

static struct client clients[CLIENTS_MAX];
static int poller;

static void client_watch(struct client *client, int change, unsigned events)
{
	struct epoll_event event = {.events = events, .data.ptr = client};

	epoll_ctl(poller, change, client->fd, &event);
}

static void client_close(struct client *client)
{
	close(client->fd);
	client->used = false;
}

/* Bytes sent of head and body: 1 when all, 0 when the client has to read first, -1 when it is gone. */
static int client_send(struct client *client)
{
	struct work_answer *answer = &client->answer;
	size_t total = answer->head_size + answer->body_size;

	while (client->sent < total) {
		size_t head = client->sent < answer->head_size ? answer->head_size - client->sent : 0;
		size_t body = head ? 0 : client->sent - answer->head_size;
		struct iovec parts[2] = {{answer->head + client->sent, head},
					 {(char *)answer->body + body, answer->body_size - body}};
		struct msghdr message = {.msg_iov = head ? parts : parts + 1, .msg_iovlen = head ? 2 : 1};
		ssize_t n = sendmsg(client->fd, &message, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		client->sent += (size_t)n;
	}
	return 1;
}

/* Whether the client is still there. */
static bool client_reply(struct client *client)
{
	int r = client_send(client);

	if (r < 0 || (r > 0 && client->answer.last)) {
		client_close(client);
		return false;
	}
	if (client->sending != (r == 0))
		client_watch(client, EPOLL_CTL_MOD, r == 0 ? EPOLLOUT : EPOLLIN);
	client->sending = r == 0;
	return true;
}

static void handle_requests(struct client *client)
{
	size_t whole;

	while (!client->sending && (whole = work_request_size(client->text, client->fill)) > 0) {
		struct work_request request;

		work_parse(client->text, &request);
		memmove(client->text, client->text + whole, client->fill - whole + 1);
		client->fill -= whole;
		work_serve(&request, &client->answer);
		client->sent = 0;
		if (!client_reply(client))
			return;
	}
}

static void handle_input(struct client *client)
{
	ssize_t n = recv(client->fd, client->text + client->fill, WORK_REQUEST_MAX - client->fill, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		client_close(client);
		return;
	}
	client->fill += (size_t)n;
	client->text[client->fill] = '\0';
	handle_requests(client);
}

static void handle_output(struct client *client)
{
	if (client_reply(client) && !client->sending)
		handle_requests(client);
}

static struct client *client_new(void)
{
	for (int i = 0; i < CLIENTS_MAX; i++)
		if (!clients[i].used)
			return &clients[i];
	return NULL;
}

static void handle_listener(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	struct client *client = fd >= 0 ? client_new() : NULL;

	if (!client)
		return;
	client->fd = fd;
	client->used = true;
	client->sending = false;
	client->fill = 0;
	client_watch(client, EPOLL_CTL_ADD, EPOLLIN);
}

static void turn(int listener)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(poller, events, EVENTS_MAX, -1);

	for (int i = 0; i < n; i++) {
		struct client *client = events[i].data.ptr;

		if (!client)
			handle_listener(listener);
		else if (client->sending)
			handle_output(client);
		else
			handle_input(client);
	}
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv);
	struct epoll_event event = {.events = EPOLLIN};

	poller = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
	for (;;)
		turn(listener);
}
