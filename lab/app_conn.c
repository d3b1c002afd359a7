// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "app_conn.h"
#include "base/alloc.h"

#define RECONNECT_NS    (200 * NS_PER_MS)
#define ACCEPT_RETRY_NS (100 * NS_PER_MS)

static void conn_begin(struct conn *conn);

socklen_t app_sockaddr(const struct addr *addr, uint64_t port, void *ret_storage)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

	if (addr->family == ADDR_V4) {
		memcpy(&v4.sin_addr, addr->bytes + 12, sizeof(v4.sin_addr));
		memcpy(ret_storage, &v4, sizeof(v4));
		return sizeof(v4);
	}
	memcpy(&v6.sin6_addr, addr->bytes, sizeof(v6.sin6_addr));
	memcpy(ret_storage, &v6, sizeof(v6));
	return sizeof(v6);
}

int app_set_buffers(int fd, uint64_t sndbuf, uint64_t rcvbuf)
{
	int snd = (int)sndbuf, rcv = (int)rcvbuf;

	if (sndbuf && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &snd, sizeof(snd)) < 0)
		return -errno;
	if (rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcv, sizeof(rcv)) < 0)
		return -errno;
	return 0;
}

static int set_tcp_options(int fd, bool nodelay, const char *cc)
{
	int on = 1;

	if (nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		return -errno;
	if (*cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) < 0)
		return -errno;
	return 0;
}

static int set_keepalive(int fd, int seconds)
{
	int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds)) < 0)
		return -errno;
	return 0;
}

static struct conn *conn_new(struct app *app, const struct conn_kind *kind)
{
	struct conn *conn = xzalloc(sizeof(*conn) + kind->data_size);

	*conn = (struct conn){.app = app, .kind = kind, .fd = -1, .next = app->conns, .link = &app->conns};
	if (conn->next)
		conn->next->link = &conn->next;
	app->conns = conn;
	return conn;
}

static void conn_shut(struct conn *conn)
{
	loop_remove(conn->app->loop, conn->source);
	loop_remove(conn->app->loop, conn->timer);
	conn->source = NULL;
	conn->timer = NULL;
	conn->want = 0;
	closep(&conn->fd);
	conn->fd = -1;
	if (conn->is_open)
		conn->app->progress.conns--;
	conn->is_open = false;
}

static void conn_free(struct conn *conn)
{
	conn_shut(conn);
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	free(conn);
}

void conn_drop_all(struct app *app)
{
	while (app->conns)
		conn_free(app->conns);
}

static void conn_handle_timer(void *context, uint64_t expirations _unused_)
{
	struct conn *conn = context;

	loop_remove(conn->app->loop, conn->timer);
	conn->timer = NULL;
	if (conn->fd < 0)
		conn_begin(conn);
	else
		conn->kind->timeout(conn);
}

void conn_after(struct conn *conn, uint64_t ns)
{
	int r;

	loop_remove(conn->app->loop, conn->timer);
	conn->timer = NULL;
	r = loop_add_timer(conn->app->loop, ns, 0, conn_handle_timer, conn, &conn->timer);
	/* Out of descriptors: only this connection ends, and through the loop, because callers still use it. */
	if (r == -EMFILE && conn->fd >= 0) {
		app_count_error(conn->app, EMFILE);
		shutdown(conn->fd, SHUT_RDWR);
	} else if (r < 0) {
		loop_stop(conn->app->loop, r);
	}
}

void conn_finish(struct conn *conn)
{
	struct app *app = conn->app;
	bool is_client = conn->client;

	conn_free(conn);
	if (is_client)
		app_finish_one(app);
}

void conn_ended(struct conn *conn)
{
	if (!conn->client || !conn->client->reconnect) {
		conn_finish(conn);
		return;
	}
	conn_shut(conn);
	conn_after(conn, RECONNECT_NS);
}

void conn_lost(struct conn *conn, int error)
{
	app_count_error(conn->app, error);
	conn_ended(conn);
}

static void conn_established(struct conn *conn)
{
	conn->is_open = true;
	conn->app->progress.conns++;
	conn_want(conn, 0);
	conn->kind->opened(conn);
}

static int socket_error(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return errno;
	return error;
}

static void conn_handle_fd(void *context, uint32_t events)
{
	struct conn *conn = context;

	if ((events & EPOLLERR) || !conn->is_open) {
		int error = socket_error(conn->fd);

		if (error) {
			conn_lost(conn, error);
			return;
		}
	}
	if (!conn->is_open)
		conn_established(conn);
	else
		conn->kind->ready(conn, events);
}

void conn_want(struct conn *conn, uint32_t events)
{
	int r;

	if (conn->source && conn->want == events)
		return;
	loop_remove(conn->app->loop, conn->source);
	conn->source = NULL;
	conn->want = events;
	r = loop_add_fd(conn->app->loop, conn->fd, events, conn_handle_fd, conn, &conn->source);
	if (r < 0)
		loop_stop(conn->app->loop, r);
}

static int client_socket(const struct client_config *client)
{
	int family = client->dst.family == ADDR_V4 ? AF_INET : AF_INET6;
	_cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	uint32_t pacing = (uint32_t)client->pacing;
	int r;

	if (fd < 0)
		return -errno;
	r = app_set_buffers(fd, client->sndbuf, client->rcvbuf);
	if (r == 0)
		r = set_tcp_options(fd, client->nodelay, client->cc);
	if (r == 0 && client->keepalive)
		r = set_keepalive(fd, (int)client->keepalive);
	if (r == 0 && pacing && setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pacing, sizeof(pacing)) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&fd);
}

static void conn_begin(struct conn *conn)
{
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&conn->client->dst, conn->client->port, &address);

	memset(conn->data, 0, conn->kind->data_size);
	conn->began_ns = clock_monotonic_ns();
	conn->fd = client_socket(conn->client);
	if (conn->fd < 0) {
		int error = conn->fd;

		conn->fd = -1;
		conn_lost(conn, error);
	} else if (connect(conn->fd, (struct sockaddr *)&address, len) == 0) {
		conn_established(conn);
	} else if (errno == EINPROGRESS) {
		conn_want(conn, EPOLLOUT);
	} else {
		conn_lost(conn, errno);
	}
}

void conn_connect(struct app *app, const struct conn_kind *kind, const struct client_config *client)
{
	static uint64_t numbers;
	struct conn *conn = conn_new(app, kind);

	conn->client = client;
	conn->config = client;
	conn->number = ++numbers;
	app->pending++;
	conn_begin(conn);
}

void conn_connect_all(struct app *app, const struct conn_kind *kind, const struct client_config *client)
{
	/* Held until all are started: one that fails at once must not end the program. */
	app->pending++;
	for (uint64_t i = 0; i < client->conns; i++)
		conn_connect(app, kind, client);
	app_finish_one(app);
}

static bool peer_is_lab(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	struct addr addr = {};

	if (getpeername(fd, (struct sockaddr *)&address, &len) < 0)
		return true; /* already closed by the peer: the first read reports it */
	if (address.ss_family == AF_INET)
		addr = addr_from_v4(&((struct sockaddr_in *)&address)->sin_addr);
	else
		addr = addr_from_v6(&((struct sockaddr_in6 *)&address)->sin6_addr);
	return app_addr_is_lab(&addr);
}

static void server_accept(void *context, uint32_t events);

static void server_resume(void *context, uint64_t expirations _unused_)
{
	struct server *server = context;
	int r;

	loop_remove(server->app->loop, server->timer);
	server->timer = NULL;
	r = loop_add_fd(server->app->loop, server->fd, EPOLLIN, server_accept, server, &server->source);
	if (r < 0)
		loop_stop(server->app->loop, r);
}

/* Uses the tick: a timerfd would need a descriptor, which this process may lack. */
static void server_tick(void *context, uint64_t expirations)
{
	struct server *server = context;

	if (!server->is_full)
		return;
	server->is_full = false;
	server_resume(context, expirations);
}

static void server_pause(struct server *server, uint64_t ns)
{
	int r;

	loop_remove(server->app->loop, server->source);
	server->source = NULL;
	r = loop_add_timer(server->app->loop, ns, 0, server_resume, server, &server->timer);
	if (r < 0)
		loop_stop(server->app->loop, r);
}

static void server_accept(void *context, uint32_t events _unused_)
{
	struct server *server = context;
	struct conn *conn;
	int fd;

	if (!server->config->accept) {
		server_pause(server, ACCEPT_RETRY_NS);
		return;
	}
	fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return;
		/* Likely EMFILE: the connection stays in the accept queue and would wake the loop forever. */
		app_count_error(server->app, errno);
		loop_remove(server->app->loop, server->source);
		server->source = NULL;
		server->is_full = true;
		return;
	}
	if (!peer_is_lab(fd)) {
		app_count_error(server->app, EPERM);
		close(fd);
		return;
	}
	conn = conn_new(server->app, server->kind);
	conn->fd = fd;
	conn->config = server->config;
	conn->number = ++server->accepted;
	conn->began_ns = clock_monotonic_ns();
	if (server->config->accept_delay_ns)
		server_pause(server, server->config->accept_delay_ns);
	conn_established(conn);
}

int server_open(struct server *server, struct why *why)
{
	const struct server_config *config = server->config;
	int family = config->listen.family == ADDR_V4 ? AF_INET : AF_INET6, on = 1, r;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&config->listen, config->port, &address);

	server->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0)
		return why_set(why, -errno, "socket: %m");
	r = app_set_buffers(server->fd, config->sndbuf, config->rcvbuf);
	if (r == 0)
		r = set_tcp_options(server->fd, config->nodelay, config->cc);
	if (r < 0)
		return why_set(why, r, "socket options: %s", strerror(-r));
	(void)setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(server->fd, (struct sockaddr *)&address, len) < 0 || listen(server->fd, (int)config->backlog) < 0)
		return why_set(why, -errno, "port %u: %m", (unsigned int)config->port);
	r = loop_add_fd(server->app->loop, server->fd, EPOLLIN, server_accept, server, &server->source);
	if (r == 0)
		r = loop_add_timer(server->app->loop, ACCEPT_RETRY_NS, ACCEPT_RETRY_NS, server_tick, server, NULL);
	if (r < 0)
		return why_set(why, r, "listening: %s", strerror(-r));
	app_ready(server->app);
	return 0;
}

ssize_t conn_send(struct conn *conn, const void *data, size_t len)
{
	ssize_t n = send(conn->fd, data, len, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	conn->app->progress.bytes += (uint64_t)n;
	return n;
}

ssize_t conn_receive(struct conn *conn, void *data, size_t len)
{
	ssize_t n = recv(conn->fd, data, len, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	conn->app->progress.bytes += (uint64_t)n;
	return n;
}
