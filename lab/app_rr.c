// SPDX-License-Identifier: GPL-2.0-or-later
/* Request and response: rr and chat are clients, rrd is their server. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>

#include "app_rr.h"

struct rr_config {
	struct client_config client;
	uint64_t size;
	uint64_t resp;
	uint64_t interval_ns;
	uint64_t timeout_ns;
	uint64_t write2;
	uint64_t cork;
};

struct chat_config {
	struct client_config client;
	uint64_t interval_ns;
	uint64_t size_min;
	uint64_t size_max;
};

struct rrd_config {
	struct server_config server;
	uint64_t think_ns;
	uint64_t think_from_ns;
	uint64_t think_every;
	uint64_t think_conn;
	uint64_t mute;
	uint64_t write2;
	uint64_t greet;
	uint64_t greet_ns;
};

struct rrd_conn {
	uint8_t header[RR_HEADER_LEN];
	uint32_t got;
	uint32_t size;
	uint32_t resp;
	uint32_t answered;
	bool is_answering;
};

void exchange_begin(struct exchange *x, uint64_t size, uint64_t resp)
{
	bool in_two = x->in_two;

	*x = (struct exchange){.size = (uint32_t)size, .resp = (uint32_t)resp, .in_two = in_two};
	x->began_ns = clock_monotonic_ns();
	x->is_running = true;
}

/* Lengths first, then payload; two writes split the request in the middle. */
static ssize_t exchange_write(struct conn *conn, struct exchange *x)
{
	uint8_t first[RR_HEADER_LEN + 4096];
	uint32_t lengths[2] = {htonl(x->size), htonl(x->resp)}, end = x->size, len;
	ssize_t n;

	if (x->in_two && x->sent < x->size / 2)
		end = max_of(x->size / 2, 1u);
	if (x->sent >= RR_HEADER_LEN) {
		len = min_of(end - x->sent, (uint32_t)APP_PAYLOAD_MAX);
		n = conn_send(conn, app_payload(), len);
	} else {
		memcpy(first, app_payload(), sizeof(first));
		memcpy(first, lengths, sizeof(lengths));
		len = min_of(end, (uint32_t)sizeof(first)) - x->sent;
		n = conn_send(conn, first + x->sent, len);
	}
	if (n > 0)
		x->sent += (uint32_t)n;
	return n;
}

static ssize_t discard(struct conn *conn, uint32_t len)
{
	static uint8_t scratch[APP_PAYLOAD_MAX];

	return conn_receive(conn, scratch, min_of(len, (uint32_t)sizeof(scratch)));
}

int exchange_run(struct conn *conn, struct exchange *x)
{
	ssize_t n;

	while (x->greet > 0) {
		conn_want(conn, EPOLLIN);
		n = discard(conn, x->greet);
		if (n <= 0)
			return (int)n;
		x->greet -= (uint32_t)n;
	}
	while (x->sent < x->size) {
		n = exchange_write(conn, x);
		if (n < 0)
			return (int)n;
		if (n == 0) {
			conn_want(conn, EPOLLIN | EPOLLOUT);
			return 0;
		}
	}
	conn_want(conn, EPOLLIN);
	while (x->got < x->resp) {
		n = discard(conn, x->resp - x->got);
		if (n <= 0)
			return (int)n;
		x->got += (uint32_t)n;
	}
	x->is_running = false;
	app_count_op(conn->app, clock_monotonic_ns() - x->began_ns);
	return 1;
}

/* Between exchanges the server sends nothing: readable means closed. */
static void idle_ready(struct conn *conn)
{
	ssize_t n = discard(conn, 1);

	if (n < 0)
		conn_lost(conn, (int)n);
	else if (n > 0)
		conn_lost(conn, EPROTO);
}

static void set_cork(struct conn *conn, struct exchange *x, bool wanted)
{
	int on = wanted;

	if (x->is_corked != wanted && setsockopt(conn->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)) == 0)
		x->is_corked = wanted;
}

static void rr_next(struct conn *conn)
{
	const struct rr_config *config = conn->config;
	struct exchange *x = (struct exchange *)conn->data;
	int r;

	x->in_two = config->write2;
	set_cork(conn, x, config->cork);
	/* Without an interval the next starts at once, but through the loop. */
	for (unsigned int turn = 0; turn < 16; turn++) {
		uint64_t spent_ns;

		if (!x->is_running) {
			exchange_begin(x, config->size, config->resp);
			if (config->timeout_ns)
				conn_after(conn, config->timeout_ns);
		}
		r = exchange_run(conn, x);
		if (r < 0)
			conn_lost(conn, r);
		if (r <= 0)
			return;
		spent_ns = clock_monotonic_ns() - x->began_ns;
		if (config->interval_ns) {
			conn_after(conn, config->interval_ns > spent_ns ? config->interval_ns - spent_ns : 0);
			return;
		}
	}
	conn_after(conn, 0);
}

static void rr_ready(struct conn *conn, uint32_t events _unused_)
{
	if (((struct exchange *)conn->data)->is_running)
		rr_next(conn);
	else
		idle_ready(conn);
}

/* The pause is over, or the patience. */
static void rr_timeout(struct conn *conn)
{
	if (((struct exchange *)conn->data)->is_running)
		conn_lost(conn, ETIMEDOUT);
	else
		rr_next(conn);
}

static void chat_next(struct conn *conn)
{
	const struct chat_config *config = conn->config;
	struct exchange *x = (struct exchange *)conn->data;
	struct rng *rng = &conn->app->rng;
	uint64_t width = config->size_max - min_of(config->size_min, config->size_max) + 1;
	int r;

	if (!x->is_running)
		exchange_begin(x, max_of(config->size_min, RR_HEADER_LEN) + rng_below(rng, width),
			       config->size_min + rng_below(rng, width));
	r = exchange_run(conn, x);
	if (r < 0)
		conn_lost(conn, r);
	else if (r > 0)
		conn_after(conn, config->interval_ns / 2 + rng_below(rng, config->interval_ns + 1));
}

static void chat_ready(struct conn *conn, uint32_t events _unused_)
{
	if (((struct exchange *)conn->data)->is_running)
		chat_next(conn);
	else
		idle_ready(conn);
}

static void rrd_answer(struct conn *conn)
{
	const struct rrd_config *config = conn->config;
	struct rrd_conn *c = (struct rrd_conn *)conn->data;

	c->is_answering = true;
	while (c->answered < c->resp) {
		uint32_t end = config->write2 && c->answered < c->resp / 2 ? c->resp / 2 : c->resp;
		ssize_t n = conn_send(conn, app_payload(), min_of(end - c->answered, (uint32_t)APP_PAYLOAD_MAX));

		if (n < 0) {
			conn_lost(conn, (int)n);
			return;
		}
		if (n == 0) {
			conn_want(conn, EPOLLOUT);
			return;
		}
		c->answered += (uint32_t)n;
	}
	memset(c, 0, sizeof(*c));
	app_count_op(conn->app, LAT_UNKNOWN);
	conn_want(conn, EPOLLIN);
}

static bool rrd_is_slow(const struct conn *conn)
{
	const struct rrd_config *config = conn->config;
	static uint64_t requests;

	requests++;
	return config->think_ns && clock_monotonic_ns() - conn->app->start_ns >= config->think_from_ns &&
	       requests % config->think_every == 0 && (!config->think_conn || conn->number == config->think_conn);
}

static void rrd_think(struct conn *conn)
{
	const struct rrd_config *config = conn->config;

	if (config->mute) {
		struct rrd_conn *c = (struct rrd_conn *)conn->data;

		memset(c, 0, sizeof(*c));
		return;
	}
	if (!rrd_is_slow(conn)) {
		rrd_answer(conn);
		return;
	}
	conn_want(conn, 0);
	conn_after(conn, config->think_ns);
}

static ssize_t rrd_read(struct conn *conn, struct rrd_conn *c)
{
	uint32_t lengths[2];
	ssize_t n;

	if (c->got >= RR_HEADER_LEN)
		return discard(conn, c->size - c->got);
	n = conn_receive(conn, c->header + c->got, RR_HEADER_LEN - c->got);
	if (n <= 0 || c->got + (uint32_t)n < RR_HEADER_LEN)
		return n;
	memcpy(lengths, c->header, sizeof(lengths));
	c->size = ntohl(lengths[0]);
	c->resp = ntohl(lengths[1]);
	return c->size < RR_HEADER_LEN || c->size > RR_LEN_MAX || c->resp > RR_LEN_MAX ? -EPROTO : n;
}

static void rrd_ready(struct conn *conn, uint32_t events _unused_)
{
	struct rrd_conn *c = (struct rrd_conn *)conn->data;

	if (c->is_answering) {
		rrd_answer(conn);
		return;
	}
	do {
		ssize_t n = rrd_read(conn, c);

		if (n == -EPIPE && c->got == 0)
			conn_ended(conn);
		else if (n < 0)
			conn_lost(conn, (int)n);
		if (n <= 0)
			return;
		c->got += (uint32_t)n;
	} while (c->got < RR_HEADER_LEN || c->got < c->size);
	rrd_think(conn);
}

/* A greeting is sent like a response. */
static void rrd_opened(struct conn *conn)
{
	const struct rrd_config *config = conn->config;
	struct rrd_conn *c = (struct rrd_conn *)conn->data;

	c->resp = (uint32_t)config->greet;
	if (c->resp == 0)
		conn_want(conn, EPOLLIN);
	else if (config->greet_ns)
		conn_after(conn, config->greet_ns);
	else
		rrd_answer(conn);
}

static const struct conn_kind rr_kind = {
	.data_size = sizeof(struct exchange), .opened = rr_next, .ready = rr_ready, .timeout = rr_timeout};
static const struct conn_kind chat_kind = {
	.data_size = sizeof(struct exchange), .opened = chat_next, .ready = chat_ready, .timeout = chat_next};
static const struct conn_kind rrd_kind = {
	.data_size = sizeof(struct rrd_conn), .opened = rrd_opened, .ready = rrd_ready, .timeout = rrd_answer};

static int rr_start(struct app *app, void *config, struct why *why _unused_)
{
	app_ready(app);
	conn_connect_all(app, &rr_kind, config);
	return 0;
}

static int chat_start(struct app *app, void *config, struct why *why _unused_)
{
	app_ready(app);
	conn_connect_all(app, &chat_kind, config);
	return 0;
}

static int rrd_start(struct app *app, void *config, struct why *why)
{
	static struct server server;

	server = (struct server){.app = app, .kind = &rrd_kind, .config = config};
	return server_open(&server, why);
}

static const struct app_option rr_options[] = {
	CLIENT_OPTIONS,
	{"size", OPTION_BYTES, MEMBER(struct rr_config, size), "100", "length of a request, bytes",
	 .min = RR_HEADER_LEN, .max = RR_LEN_MAX},
	{"resp", OPTION_BYTES, MEMBER(struct rr_config, resp), "100", "length of a response, bytes", .max = RR_LEN_MAX},
	{"interval_ms", OPTION_MS, MEMBER(struct rr_config, interval_ns), "0",
	 "interval between requests (0: no pause)", .is_live = true},
	{"timeout_ms", OPTION_MS, MEMBER(struct rr_config, timeout_ns), "0",
	 "close and reconnect if a response takes longer (0: wait)", .is_live = true},
	{"cork", OPTION_FLAG, MEMBER(struct rr_config, cork), "0", "hold back partial segments (TCP_CORK)",
	 .is_live = true},
	{"write2", OPTION_FLAG, MEMBER(struct rr_config, write2), "0", "send each request in two writes",
	 .is_live = true},
};

static const struct app_option chat_options[] = {
	CLIENT_OPTIONS,
	{"interval_ms", OPTION_MS, MEMBER(struct chat_config, interval_ns), "1000",
	 "mean pause between messages; each is 50 to 150 % of it", .is_live = true},
	{"size_min", OPTION_BYTES, MEMBER(struct chat_config, size_min), "20", "shortest message, bytes", .max = 65536},
	{"size_max", OPTION_BYTES, MEMBER(struct chat_config, size_max), "200", "longest message, bytes", .max = 65536},
};

static const struct app_option rrd_options[] = {
	SERVER_OPTIONS,
	{"think_ms", OPTION_MS, MEMBER(struct rrd_config, think_ns), "0", "pause before every response",
	 .is_live = true},
	{"think_from_ms", OPTION_MS, MEMBER(struct rrd_config, think_from_ns), "0",
	 "pause only from this time on, since the start"},
	{"think_every", OPTION_COUNT, MEMBER(struct rrd_config, think_every), "1",
	 "pause only before every Nth response of the server", .min = 1, .is_live = true},
	{"think_conn", OPTION_COUNT, MEMBER(struct rrd_config, think_conn), "0",
	 "pause only on connection number K (0: on all)", .is_live = true},
	{"mute", OPTION_FLAG, MEMBER(struct rrd_config, mute), "0", "1: read requests and never respond",
	 .is_live = true},
	{"write2", OPTION_FLAG, MEMBER(struct rrd_config, write2), "0", "send each response in two writes",
	 .is_live = true},
	{"greet", OPTION_BYTES, MEMBER(struct rrd_config, greet), "0",
	 "length of a greeting sent before the first request, bytes (0: none)", .max = RR_LEN_MAX},
	{"greet_ms", OPTION_MS, MEMBER(struct rrd_config, greet_ns), "0", "pause before the greeting", .is_live = true},
};

static const struct app_role rr_role = {"rr",
					"client of rrd: request, response; an operation is one exchange",
					sizeof(struct rr_config),
					rr_options,
					ARRAY_SIZE(rr_options),
					rr_start};
static const struct app_role chat_role = {"chat",
					  "client of rrd: small messages both ways at typing speed",
					  sizeof(struct chat_config),
					  chat_options,
					  ARRAY_SIZE(chat_options),
					  chat_start};
static const struct app_role rrd_role = {"rrd",
					 "server of rr, chat and churn; an operation is one response",
					 sizeof(struct rrd_config),
					 rrd_options,
					 ARRAY_SIZE(rrd_options),
					 rrd_start};

APP_ROLE(rr_role);
APP_ROLE(chat_role);
APP_ROLE(rrd_role);
