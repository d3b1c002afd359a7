// SPDX-License-Identifier: GPL-2.0-or-later
/* A client that alternates bursts and pauses, like a video player or a backup job. */
#include <errno.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "app_conn.h"

/* Poll interval for the acknowledgement of a complete burst. */
#define DRAIN_POLL_NS (2 * NS_PER_MS)

struct burst_config {
	struct client_config client;
	uint64_t bytes;
	uint64_t interval_ns;
};

struct burst_conn {
	uint64_t began_ns;
	uint64_t sent;
	bool is_running;
};

static void burst_send(struct conn *conn)
{
	const struct burst_config *config = conn->config;
	struct burst_conn *c = (struct burst_conn *)conn->data;

	while (c->sent < config->bytes) {
		ssize_t n = conn_send(conn, app_payload(), min_of(config->bytes - c->sent, APP_PAYLOAD_MAX));

		if (n < 0) {
			conn_lost(conn, (int)n);
			return;
		}
		if (n == 0) {
			conn_want(conn, EPOLLIN | EPOLLOUT);
			return;
		}
		c->sent += (uint64_t)n;
	}
	conn_want(conn, EPOLLIN);
	conn_after(conn, DRAIN_POLL_NS);
}

/* The burst ends when the peer's kernel has acknowledged it all. */
static void burst_drain(struct conn *conn)
{
	const struct burst_config *config = conn->config;
	struct burst_conn *c = (struct burst_conn *)conn->data;
	uint64_t spent_ns = clock_monotonic_ns() - c->began_ns;
	int unacknowledged = 0;

	if (ioctl(conn->fd, SIOCOUTQ, &unacknowledged) < 0) {
		conn_lost(conn, errno);
		return;
	}
	if (unacknowledged > 0) {
		conn_after(conn, DRAIN_POLL_NS);
		return;
	}
	app_count_op(conn->app, spent_ns);
	c->is_running = false;
	conn_after(conn, config->interval_ns > spent_ns ? config->interval_ns - spent_ns : 0);
}

static void burst_next(struct conn *conn)
{
	struct burst_conn *c = (struct burst_conn *)conn->data;

	if (c->is_running) {
		burst_drain(conn);
		return;
	}
	*c = (struct burst_conn){.began_ns = clock_monotonic_ns(), .is_running = true};
	burst_send(conn);
}

static void burst_ready(struct conn *conn, uint32_t events)
{
	char unexpected[64];

	if (events & (EPOLLIN | EPOLLHUP)) {
		ssize_t n = recv(conn->fd, unexpected, sizeof(unexpected), 0);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			conn_lost(conn, n == 0 ? EPIPE : errno);
			return;
		}
	}
	if (events & EPOLLOUT)
		burst_send(conn);
}

static const struct conn_kind burst_kind = {
	.data_size = sizeof(struct burst_conn), .opened = burst_next, .ready = burst_ready, .timeout = burst_next};

static int burst_start(struct app *app, void *config, struct why *why _unused_)
{
	app_ready(app);
	conn_connect_all(app, &burst_kind, config);
	return 0;
}

static const struct app_option burst_options[] = {
	CLIENT_OPTIONS,
	{"bytes", OPTION_BYTES, MEMBER(struct burst_config, bytes), "500kB", "size of one burst, bytes", .min = 1,
	 .is_live = true},
	{"interval_ms", OPTION_MS, MEMBER(struct burst_config, interval_ns), "2000", "interval between bursts",
	 .is_live = true},
};

static const struct app_role burst_role = {
	"burst",
	"client of sink that sends periodic bursts; an operation is one burst until acknowledged",
	sizeof(struct burst_config),
	burst_options,
	ARRAY_SIZE(burst_options),
	burst_start};

APP_ROLE(burst_role);
