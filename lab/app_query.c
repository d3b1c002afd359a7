// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Request and response in datagrams, as in RADIUS, SNMP or QUIC: query repeats a request until its reply arrives,
 * queryd is the server. A request starts with its number and the length of the response.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "app_conn.h"

#define QUERY_HEADER_LEN 8u
#define QUERY_LEN_MAX    65507u
#define QUERY_CONNS_MAX  1000u
#define READ_TURN        64u
#define LATE_MAX         4096u

struct query_config {
	struct common_config common;
	struct addr dst;
	uint64_t port;
	uint64_t size;
	uint64_t resp;
	uint64_t conns;
	uint64_t interval_ns;
	uint64_t timeout_ns;
	uint64_t tries;
};

struct queryd_config {
	struct common_config common;
	struct addr listen;
	uint64_t port;
	uint64_t rcvbuf;
	uint64_t think_ns;
	uint64_t mute;
};

/* One socket of the client: one request at a time. */
struct asker {
	struct app *app;
	const struct query_config *config;
	int fd;
	uint32_t number;
	uint64_t tries; /* of the current request */
	uint64_t began_ns;
	bool is_waiting;
	struct loop_source *timer;
};

struct queryd {
	struct app *app;
	const struct queryd_config *config;
	int fd;
};

/* A delayed reply; a slot without a timer is free. */
static struct late_reply {
	struct queryd *queryd;
	struct loop_source *timer;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	uint32_t number;
	uint32_t len;
} late_replies[LATE_MAX];

static void asker_wake(void *context, uint64_t expirations);

static void asker_after(struct asker *asker, uint64_t ns)
{
	int r;

	loop_remove(asker->app->loop, asker->timer);
	asker->timer = NULL;
	r = loop_add_timer(asker->app->loop, ns, 0, asker_wake, asker, &asker->timer);
	if (r < 0)
		loop_stop(asker->app->loop, r);
}

/* A request ended; the next starts one interval after this one started. */
static void asker_over(struct asker *asker, int error)
{
	uint64_t spent_ns = clock_monotonic_ns() - asker->began_ns;

	asker->is_waiting = false;
	if (error)
		app_count_error(asker->app, error);
	else
		app_count_op(asker->app, spent_ns);
	asker_after(asker, asker->config->interval_ns > spent_ns ? asker->config->interval_ns - spent_ns : 0);
}

static void asker_send(struct asker *asker)
{
	uint8_t datagram[QUERY_LEN_MAX];
	uint32_t header[2] = {htonl(asker->number), htonl((uint32_t)asker->config->resp)};
	ssize_t n;

	memcpy(datagram, app_payload(), asker->config->size);
	memcpy(datagram, header, sizeof(header));
	asker->tries++;
	n = send(asker->fd, datagram, asker->config->size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0) {
		asker_over(asker, errno);
		return;
	}
	asker->app->progress.bytes += (uint64_t)n;
	asker_after(asker, asker->config->timeout_ns);
}

/* The pause is over, or the patience. */
static void asker_wake(void *context, uint64_t expirations _unused_)
{
	struct asker *asker = context;

	if (asker->is_waiting && asker->tries >= asker->config->tries) {
		asker_over(asker, ETIMEDOUT);
		return;
	}
	if (!asker->is_waiting) {
		asker->number++;
		asker->tries = 0;
		asker->began_ns = clock_monotonic_ns();
		asker->is_waiting = true;
	}
	asker_send(asker);
}

static void asker_read(void *context, uint32_t events _unused_)
{
	static uint8_t datagram[QUERY_LEN_MAX];
	struct asker *asker = context;
	ssize_t n = recv(asker->fd, datagram, sizeof(datagram), MSG_DONTWAIT);
	uint32_t number;

	if (n < 0) {
		/* Ignore errors of a request that is over. */
		if (errno != EAGAIN && errno != EINTR && asker->is_waiting)
			asker_over(asker, errno);
		return;
	}
	asker->app->progress.bytes += (uint64_t)n;
	if (!asker->is_waiting || n < (ssize_t)QUERY_HEADER_LEN)
		return;
	memcpy(&number, datagram, sizeof(number));
	if (ntohl(number) == asker->number)
		asker_over(asker, 0);
}

static int asker_open(struct asker *asker, struct why *why)
{
	const struct query_config *c = asker->config;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&c->dst, c->port, &address);
	int r;

	asker->fd = socket(((struct sockaddr *)&address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (asker->fd < 0 || connect(asker->fd, (struct sockaddr *)&address, len) < 0)
		return why_set(why, -errno, "socket: %m");
	r = loop_add_fd(asker->app->loop, asker->fd, EPOLLIN, asker_read, asker, NULL);
	return r < 0 ? why_set(why, r, "waiting: %s", strerror(-r)) : 0;
}

static int query_start(struct app *app, void *config, struct why *why)
{
	static struct asker askers[QUERY_CONNS_MAX];
	const struct query_config *c = config;

	for (uint64_t i = 0; i < c->conns; i++) {
		int r;

		askers[i] = (struct asker){.app = app, .config = c};
		r = asker_open(&askers[i], why);
		if (r < 0)
			return r;
	}
	app_ready(app);
	/* Spread over the interval: sockets do not ask in step. */
	for (uint64_t i = 0; i < c->conns; i++)
		asker_after(&askers[i], c->interval_ns * i / c->conns);
	return 0;
}

static void reply_send(const struct late_reply *reply)
{
	uint8_t datagram[QUERY_LEN_MAX];
	struct queryd *queryd = reply->queryd;
	uint32_t number = htonl(reply->number);
	ssize_t n;

	memcpy(datagram, app_payload(), reply->len);
	memcpy(datagram, &number, sizeof(number));
	n = sendto(queryd->fd, datagram, reply->len, MSG_DONTWAIT, (const struct sockaddr *)&reply->peer,
		   reply->peer_len);
	if (n < 0) {
		app_count_error(queryd->app, errno);
		return;
	}
	queryd->app->progress.bytes += (uint64_t)n;
	app_count_op(queryd->app, LAT_UNKNOWN);
}

static void reply_due(void *context, uint64_t expirations _unused_)
{
	struct late_reply *reply = context;

	reply_send(reply);
	loop_remove(reply->queryd->app->loop, reply->timer);
	reply->timer = NULL;
}

static void reply_delay(const struct late_reply *reply)
{
	struct queryd *queryd = reply->queryd;
	struct late_reply *late = late_replies;
	int r = -ENOBUFS;

	while (late < late_replies + LATE_MAX && late->timer)
		late++;
	if (late < late_replies + LATE_MAX) {
		*late = *reply;
		r = loop_add_timer(queryd->app->loop, queryd->config->think_ns, 0, reply_due, late, &late->timer);
	}
	if (r < 0)
		app_count_error(queryd->app, r);
}

/* True: there may be more to read. */
static bool queryd_read_one(struct queryd *queryd)
{
	static uint8_t datagram[QUERY_LEN_MAX];
	struct late_reply reply = {.queryd = queryd, .peer_len = sizeof(reply.peer)};
	uint32_t header[2];
	ssize_t n = recvfrom(queryd->fd, datagram, sizeof(datagram), MSG_DONTWAIT, (struct sockaddr *)&reply.peer,
			     &reply.peer_len);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			app_count_error(queryd->app, errno);
		return false;
	}
	queryd->app->progress.bytes += (uint64_t)n;
	if (n < (ssize_t)QUERY_HEADER_LEN) {
		app_count_error(queryd->app, EBADMSG);
		return true;
	}
	memcpy(header, datagram, sizeof(header));
	reply.number = ntohl(header[0]);
	reply.len = min_of(max_of(ntohl(header[1]), QUERY_HEADER_LEN), QUERY_LEN_MAX);
	if (queryd->config->mute)
		return true;
	if (queryd->config->think_ns)
		reply_delay(&reply);
	else
		reply_send(&reply);
	return true;
}

static void queryd_read(void *context, uint32_t events _unused_)
{
	for (unsigned int turn = 0; turn < READ_TURN; turn++)
		if (!queryd_read_one(context))
			return;
}

static int queryd_start(struct app *app, void *config, struct why *why)
{
	static struct queryd queryd;
	const struct queryd_config *c = config;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&c->listen, c->port, &address);
	int r;

	queryd = (struct queryd){.app = app, .config = c};
	queryd.fd = socket(((struct sockaddr *)&address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (queryd.fd < 0 || bind(queryd.fd, (struct sockaddr *)&address, len) < 0)
		return why_set(why, -errno, "port %u: %m", (unsigned int)c->port);
	r = app_set_buffers(queryd.fd, 0, c->rcvbuf);
	if (r == 0)
		r = loop_add_fd(app->loop, queryd.fd, EPOLLIN, queryd_read, &queryd, NULL);
	if (r < 0)
		return why_set(why, r, "cannot receive: %s", strerror(-r));
	app_ready(app);
	return 0;
}

static const struct app_option query_options[] = {
	{"dst", OPTION_TARGET, MEMBER(struct query_config, dst), NULL, "address of the server"},
	{"port", OPTION_PORT, MEMBER(struct query_config, port), NULL, "port of the server"},
	{"size", OPTION_BYTES, MEMBER(struct query_config, size), "100", "length of a request, bytes",
	 .min = QUERY_HEADER_LEN, .max = QUERY_LEN_MAX, .is_live = true},
	{"resp", OPTION_BYTES, MEMBER(struct query_config, resp), "200", "length of a response, bytes",
	 .min = QUERY_HEADER_LEN, .max = QUERY_LEN_MAX, .is_live = true},
	{"conns", OPTION_COUNT, MEMBER(struct query_config, conns), "1", "sockets, each with one request at a time",
	 .min = 1, .max = QUERY_CONNS_MAX},
	{"interval_ms", OPTION_MS, MEMBER(struct query_config, interval_ns), "200",
	 "interval between requests of a socket", .is_live = true},
	{"timeout_ms", OPTION_MS, MEMBER(struct query_config, timeout_ns), "1000", "send again after this time",
	 .is_live = true},
	{"tries", OPTION_COUNT, MEMBER(struct query_config, tries), "3", "give up after N sends", .min = 1,
	 .max = 1000},
};

static const struct app_option queryd_options[] = {
	{"listen", OPTION_LISTEN, MEMBER(struct queryd_config, listen), "0.0.0.0",
	 "address to listen on (:: for both)"},
	{"port", OPTION_PORT, MEMBER(struct queryd_config, port), NULL, "port to listen on"},
	{"rcvbuf", OPTION_BYTES, MEMBER(struct queryd_config, rcvbuf), "0", "SO_RCVBUF, bytes (0: the default)",
	 .max = 1 << 30},
	{"think_ms", OPTION_MS, MEMBER(struct queryd_config, think_ns), "0", "pause before every response",
	 .is_live = true},
	{"mute", OPTION_FLAG, MEMBER(struct queryd_config, mute), "0", "1: read requests and never respond",
	 .is_live = true},
};

static const struct app_role query_role = {
	"query",
	"client of queryd: a datagram, repeated until its reply; an operation is one exchange",
	sizeof(struct query_config),
	query_options,
	ARRAY_SIZE(query_options),
	query_start};
static const struct app_role queryd_role = {"queryd",
					    "server of query; an operation is one response",
					    sizeof(struct queryd_config),
					    queryd_options,
					    ARRAY_SIZE(queryd_options),
					    queryd_start};

APP_ROLE(query_role);
APP_ROLE(queryd_role);
