// SPDX-License-Identifier: GPL-2.0-or-later
/* Connection clients: churn opens and closes connections, connectonly opens and holds them. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "app_rr.h"

/* After a stall, catch up at most this many. */
#define CATCH_UP_MAX 100u

struct churn_config {
	struct client_config client; /* conns: limit of open connections */
	uint64_t rate;
	uint64_t burst;
	uint64_t count;
	uint64_t hold_ns;
	uint64_t timeout_ns;
	uint64_t size;
	uint64_t resp;
	uint64_t greet;
};

struct hold_config {
	struct client_config client;
	uint64_t rate;
};

/* Opens connections at a steady rate. */
struct opener {
	struct app *app;
	const struct conn_kind *kind;
	const struct client_config *client;
	uint64_t rate;
	uint64_t burst; /* opened at once */
	uint64_t left;  /* UINT64_MAX: no end */
	struct loop_source *timer;
};

static void opener_run(void *context, uint64_t expirations)
{
	struct opener *opener = context;

	expirations = min_of(expirations, CATCH_UP_MAX);
	for (uint64_t n = expirations * opener->burst; n > 0 && opener->left > 0; n--) {
		if (opener->app->pending > opener->client->conns)
			return;
		if (opener->left != UINT64_MAX)
			opener->left--;
		conn_connect(opener->app, opener->kind, opener->client);
	}
	if (opener->left == 0) {
		loop_remove(opener->app->loop, opener->timer);
		app_finish_one(opener->app);
	}
}

static int opener_start(struct opener *opener, struct why *why)
{
	int r;

	app_ready(opener->app);
	opener->app->pending++;
	r = loop_add_timer(opener->app->loop, 0, opener->burst * NS_PER_S / opener->rate, opener_run, opener,
			   &opener->timer);
	return r < 0 ? why_set(why, r, "timer: %s", strerror(-r)) : 0;
}

static void churn_run(struct conn *conn)
{
	const struct churn_config *config = conn->config;
	int r = exchange_run(conn, (struct exchange *)conn->data);

	if (r < 0)
		conn_lost(conn, r);
	else if (r > 0)
		conn_after(conn, config->hold_ns);
}

static void churn_opened(struct conn *conn)
{
	const struct churn_config *config = conn->config;
	struct exchange *x = (struct exchange *)conn->data;

	exchange_begin(x, config->size, config->resp);
	x->greet = (uint32_t)config->greet;
	/* Latency includes the handshake. */
	x->began_ns = conn->began_ns;
	if (config->timeout_ns)
		conn_after(conn, config->timeout_ns);
	churn_run(conn);
}

/* The pause before the close is over, or the patience. */
static void churn_timeout(struct conn *conn)
{
	if (((struct exchange *)conn->data)->is_running)
		conn_lost(conn, ETIMEDOUT);
	else
		conn_finish(conn);
}

static void churn_ready(struct conn *conn, uint32_t events _unused_)
{
	if (((struct exchange *)conn->data)->is_running)
		churn_run(conn);
	else
		conn_finish(conn);
}

static const struct conn_kind churn_kind = {
	.data_size = sizeof(struct exchange), .opened = churn_opened, .ready = churn_ready, .timeout = churn_timeout};

static int churn_start(struct app *app, void *config, struct why *why)
{
	static struct opener opener;
	const struct churn_config *churn = config;

	opener = (struct opener){.app = app, .kind = &churn_kind, .client = &churn->client};
	opener.rate = churn->rate;
	opener.burst = churn->burst;
	opener.left = churn->count ? churn->count : UINT64_MAX;
	return opener_start(&opener, why);
}

static void hold_opened(struct conn *conn)
{
	app_count_op(conn->app, clock_monotonic_ns() - conn->began_ns);
	conn_want(conn, EPOLLIN);
}

static void hold_ready(struct conn *conn, uint32_t events _unused_)
{
	char scratch[4096];
	ssize_t n = conn_receive(conn, scratch, sizeof(scratch));

	if (n < 0)
		conn_lost(conn, (int)n);
}

static const struct conn_kind hold_kind = {.opened = hold_opened, .ready = hold_ready, .timeout = hold_opened};

static int hold_start(struct app *app, void *config, struct why *why)
{
	static struct opener opener;
	const struct hold_config *hold = config;

	if (hold->rate) {
		opener = (struct opener){.app = app, .kind = &hold_kind, .client = &hold->client};
		opener.rate = hold->rate;
		opener.burst = 1;
		opener.left = hold->client.conns;
		return opener_start(&opener, why);
	}
	app_ready(app);
	conn_connect_all(app, &hold_kind, &hold->client);
	return 0;
}

static const struct app_option churn_options[] = {
	CLIENT_SOCKET_OPTIONS,
	{"conns", OPTION_COUNT, MEMBER(struct client_config, conns), "1000", "limit of open connections", .min = 1,
	 .max = 20000},
	{"rate", OPTION_COUNT, MEMBER(struct churn_config, rate), "10", "connections per second", .min = 1,
	 .max = 20000},
	{"burst", OPTION_COUNT, MEMBER(struct churn_config, burst), "1",
	 "open N at once, with longer pauses to keep the rate", .min = 1, .max = 1000},
	{"count", OPTION_COUNT, MEMBER(struct churn_config, count), "0", "exit after N connections (0: never)"},
	{"hold_ms", OPTION_MS, MEMBER(struct churn_config, hold_ns), "0", "pause between response and close",
	 .is_live = true},
	{"timeout_ms", OPTION_MS, MEMBER(struct churn_config, timeout_ns), "0",
	 "close if a response takes longer (0: wait)", .is_live = true},
	{"size", OPTION_BYTES, MEMBER(struct churn_config, size), "100", "length of the request, bytes",
	 .min = RR_HEADER_LEN, .max = RR_LEN_MAX},
	{"resp", OPTION_BYTES, MEMBER(struct churn_config, resp), "1000", "length of the response, bytes",
	 .max = RR_LEN_MAX},
	{"greet", OPTION_BYTES, MEMBER(struct churn_config, greet), "0",
	 "length of the server's greeting to wait for before the request, bytes", .max = RR_LEN_MAX},
};

static const struct app_option hold_options[] = {
	CLIENT_OPTIONS,
	{"rate", OPTION_COUNT, MEMBER(struct hold_config, rate), "0", "connections per second (0: all at once)",
	 .max = 20000},
};

static const struct app_role churn_role = {"churn",
					   "client of rrd: connect, one exchange, close; an operation is all of it",
					   sizeof(struct churn_config),
					   churn_options,
					   ARRAY_SIZE(churn_options),
					   churn_start};
static const struct app_role hold_role = {"connectonly",
					  "opens connections and holds them; an operation is a handshake",
					  sizeof(struct hold_config),
					  hold_options,
					  ARRAY_SIZE(hold_options),
					  hold_start};

APP_ROLE(churn_role);
APP_ROLE(hold_role);
