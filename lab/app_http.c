// SPDX-License-Identifier: GPL-2.0-or-later
/* A web server that responds to every request with the same document, after a pause: the upstream of a real proxy. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "app_conn.h"

#define REQUEST_MAX 8192u
#define END         "\r\n\r\n"
#define END_LEN     4u

struct httpd_config {
	struct server_config server;
	uint64_t think_ns;
	uint64_t resp;
};

struct httpd_conn {
	char request[REQUEST_MAX];
	size_t got;
	uint64_t answered;
	bool is_answering;
};

static void httpd_done(struct conn *conn)
{
	struct httpd_conn *c = (struct httpd_conn *)conn->data;

	c->got = 0;
	c->is_answering = false;
	app_count_op(conn->app, LAT_UNKNOWN);
	conn_want(conn, EPOLLIN);
}

static void httpd_send_body(struct conn *conn)
{
	const struct httpd_config *config = conn->config;
	struct httpd_conn *c = (struct httpd_conn *)conn->data;

	while (c->answered < config->resp) {
		ssize_t n = conn_send(conn, app_payload(), min_of(config->resp - c->answered, APP_PAYLOAD_MAX));

		if (n < 0) {
			conn_lost(conn, (int)n);
			return;
		}
		if (n == 0) {
			conn_want(conn, EPOLLOUT);
			return;
		}
		c->answered += (uint64_t)n;
	}
	httpd_done(conn);
}

/* The head is short and goes into an empty send buffer as a whole. */
static void httpd_answer(struct conn *conn)
{
	const struct httpd_config *config = conn->config;
	struct httpd_conn *c = (struct httpd_conn *)conn->data;
	char head[128];
	int len = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %llu" END,
			   (unsigned long long)config->resp);

	c->answered = 0;
	c->is_answering = true;
	if (conn_send(conn, head, (size_t)len) == len)
		httpd_send_body(conn);
	else
		conn_lost(conn, EPIPE);
}

static void httpd_think(struct conn *conn)
{
	const struct httpd_config *config = conn->config;

	if (!config->think_ns) {
		httpd_answer(conn);
		return;
	}
	conn_want(conn, 0);
	conn_after(conn, config->think_ns);
}

static void httpd_ready(struct conn *conn, uint32_t events _unused_)
{
	struct httpd_conn *c = (struct httpd_conn *)conn->data;
	ssize_t n;

	if (c->is_answering) {
		httpd_send_body(conn);
		return;
	}
	n = conn_receive(conn, c->request + c->got, sizeof(c->request) - c->got);
	if (n == -EPIPE && c->got == 0) {
		conn_ended(conn);
		return;
	}
	if (n < 0) {
		conn_lost(conn, (int)n);
		return;
	}
	c->got += (size_t)n;
	if (memmem(c->request, c->got, END, END_LEN))
		httpd_think(conn);
	else if (c->got == sizeof(c->request))
		conn_lost(conn, EMSGSIZE);
}

static void httpd_opened(struct conn *conn)
{
	conn_want(conn, EPOLLIN);
}

static const struct conn_kind httpd_kind = {
	.data_size = sizeof(struct httpd_conn), .opened = httpd_opened, .ready = httpd_ready, .timeout = httpd_answer};

static int httpd_start(struct app *app, void *config, struct why *why)
{
	static struct server server;

	server = (struct server){.app = app, .kind = &httpd_kind, .config = config};
	return server_open(&server, why);
}

static const struct app_option httpd_options[] = {
	SERVER_OPTIONS,
	{"think_ms", OPTION_MS, MEMBER(struct httpd_config, think_ns), "0", "pause before every response",
	 .is_live = true},
	{"resp", OPTION_BYTES, MEMBER(struct httpd_config, resp), "2000", "length of the document, bytes",
	 .max = 1 << 30},
};

static const struct app_role httpd_role = {"httpd",
					   "web server with one document; an operation is one response",
					   sizeof(struct httpd_config),
					   httpd_options,
					   ARRAY_SIZE(httpd_options),
					   httpd_start};

APP_ROLE(httpd_role);
