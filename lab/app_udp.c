// SPDX-License-Identifier: GPL-2.0-or-later
/* One-way datagrams: udpsend to udpsink. Each carries its send time; all namespaces share the clock. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "app_conn.h"

#define TICK_MIN_NS   NS_PER_MS
#define READ_TURN     64u
#define STAMP_LEN     16u
#define STAMP_AGE_MAX (60 * NS_PER_S)
#define CATCH_UP_MAX  10000u

struct udpsend_config {
	struct common_config common;
	struct addr dst;
	uint64_t port;
	uint64_t size;
	uint64_t rate;
	uint64_t burst;
	uint64_t sndbuf;
};

struct udpsink_config {
	struct common_config common;
	struct addr listen;
	uint64_t port;
	uint64_t rcvbuf;
	uint64_t read_delay_ns;
};

struct udpsend {
	struct app *app;
	const struct udpsend_config *config;
	int fd;
	uint64_t next_ns; /* when the next burst is due */
	uint64_t number;
};

struct udpsink {
	struct app *app;
	const struct udpsink_config *config;
	int fd;
	struct loop_source *source;
	struct loop_source *timer;
};

static void udpsend_one(struct udpsend *sender)
{
	uint8_t datagram[65536];
	uint64_t stamp[2] = {clock_monotonic_ns(), sender->number++};
	ssize_t n;

	memcpy(datagram, app_payload(), sender->config->size);
	memcpy(datagram, stamp, sizeof(stamp));
	n = send(sender->fd, datagram, sender->config->size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0) {
		app_count_error(sender->app, errno);
		return;
	}
	sender->app->progress.bytes += (uint64_t)n;
	app_count_op(sender->app, LAT_UNKNOWN);
}

static void udpsend_tick(void *context, uint64_t expirations _unused_)
{
	struct udpsend *sender = context;
	uint64_t now_ns = clock_monotonic_ns(), gap_ns = sender->config->burst * NS_PER_S / sender->config->rate;
	unsigned int budget = CATCH_UP_MAX;

	while (sender->next_ns <= now_ns && budget > 0) {
		for (uint64_t i = 0; i < sender->config->burst && budget > 0; i++, budget--)
			udpsend_one(sender);
		sender->next_ns += gap_ns;
	}
	/* Skip what could not be sent in time: no catch-up burst. */
	if (budget == 0)
		sender->next_ns = now_ns + gap_ns;
}

static int udpsend_start(struct app *app, void *config, struct why *why)
{
	static struct udpsend sender;
	const struct udpsend_config *c = config;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&c->dst, c->port, &address);
	uint64_t gap_ns = c->burst * NS_PER_S / c->rate;
	int r;

	sender = (struct udpsend){.app = app, .config = c};
	sender.fd = socket(((struct sockaddr *)&address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sender.fd < 0 || connect(sender.fd, (struct sockaddr *)&address, len) < 0)
		return why_set(why, -errno, "socket: %m");
	r = app_set_buffers(sender.fd, c->sndbuf, 0);
	if (r == 0)
		r = loop_add_timer(app->loop, 0, max_of(gap_ns, TICK_MIN_NS), udpsend_tick, &sender, NULL);
	if (r < 0)
		return why_set(why, r, "cannot send: %s", strerror(-r));
	app_ready(app);
	sender.next_ns = app->start_ns;
	return 0;
}

static void udpsink_read(void *context, uint32_t events);

static void udpsink_resume(void *context, uint64_t expirations _unused_)
{
	struct udpsink *sink = context;
	int r;

	loop_remove(sink->app->loop, sink->timer);
	sink->timer = NULL;
	r = loop_add_fd(sink->app->loop, sink->fd, EPOLLIN, udpsink_read, sink, &sink->source);
	if (r < 0)
		loop_stop(sink->app->loop, r);
}

static void udpsink_pause(struct udpsink *sink)
{
	int r;

	loop_remove(sink->app->loop, sink->source);
	sink->source = NULL;
	r = loop_add_timer(sink->app->loop, sink->config->read_delay_ns, 0, udpsink_resume, sink, &sink->timer);
	if (r < 0)
		loop_stop(sink->app->loop, r);
}

static void udpsink_count(struct udpsink *sink, const uint8_t *datagram, size_t len)
{
	uint64_t sent_ns, now_ns = clock_monotonic_ns();

	sink->app->progress.bytes += len;
	if (len < STAMP_LEN) {
		app_count_op(sink->app, LAT_UNKNOWN);
		return;
	}
	memcpy(&sent_ns, datagram, sizeof(sent_ns));
	/* Any sender may send here: ignore an implausible timestamp. */
	app_count_op(sink->app, sent_ns <= now_ns && now_ns - sent_ns < STAMP_AGE_MAX ? now_ns - sent_ns : LAT_UNKNOWN);
}

static void udpsink_read(void *context, uint32_t events _unused_)
{
	static uint8_t datagram[65536];
	struct udpsink *sink = context;

	for (unsigned int turn = 0; turn < READ_TURN; turn++) {
		ssize_t n = recv(sink->fd, datagram, sizeof(datagram), MSG_DONTWAIT);

		if (n < 0) {
			if (errno != EAGAIN && errno != EINTR)
				app_count_error(sink->app, errno);
			return;
		}
		udpsink_count(sink, datagram, (size_t)n);
		if (sink->config->read_delay_ns) {
			udpsink_pause(sink);
			return;
		}
	}
}

static int udpsink_start(struct app *app, void *config, struct why *why)
{
	static struct udpsink sink;
	const struct udpsink_config *c = config;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&c->listen, c->port, &address);
	int r;

	sink = (struct udpsink){.app = app, .config = c};
	sink.fd = socket(((struct sockaddr *)&address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sink.fd < 0 || bind(sink.fd, (struct sockaddr *)&address, len) < 0)
		return why_set(why, -errno, "port %u: %m", (unsigned int)c->port);
	r = app_set_buffers(sink.fd, 0, c->rcvbuf);
	if (r == 0)
		r = loop_add_fd(app->loop, sink.fd, EPOLLIN, udpsink_read, &sink, &sink.source);
	if (r < 0)
		return why_set(why, r, "cannot receive: %s", strerror(-r));
	app_ready(app);
	return 0;
}

static const struct app_option udpsend_options[] = {
	{"dst", OPTION_TARGET, MEMBER(struct udpsend_config, dst), NULL, "address to send to"},
	{"port", OPTION_PORT, MEMBER(struct udpsend_config, port), NULL, "port to send to"},
	{"size", OPTION_BYTES, MEMBER(struct udpsend_config, size), "200", "length of a datagram, bytes",
	 .min = STAMP_LEN, .max = 65507, .is_live = true},
	{"rate", OPTION_COUNT, MEMBER(struct udpsend_config, rate), "10", "datagrams per second", .min = 1,
	 .max = 1000000},
	{"burst", OPTION_COUNT, MEMBER(struct udpsend_config, burst), "1",
	 "send N datagrams at once, with longer pauses to keep the rate", .min = 1, .max = CATCH_UP_MAX},
	{"sndbuf", OPTION_BYTES, MEMBER(struct udpsend_config, sndbuf), "0", "SO_SNDBUF, bytes (0: the default)",
	 .max = 1 << 30},
};

static const struct app_option udpsink_options[] = {
	{"listen", OPTION_LISTEN, MEMBER(struct udpsink_config, listen), "0.0.0.0",
	 "address to listen on (:: for both)"},
	{"port", OPTION_PORT, MEMBER(struct udpsink_config, port), NULL, "port to listen on"},
	{"rcvbuf", OPTION_BYTES, MEMBER(struct udpsink_config, rcvbuf), "0", "SO_RCVBUF, bytes (0: the default)",
	 .max = 1 << 30},
	{"read_delay_ms", OPTION_MS, MEMBER(struct udpsink_config, read_delay_ns), "0", "pause after every datagram",
	 .is_live = true},
};

static const struct app_role udpsend_role = {"udpsend",
					     "sends datagrams at a steady rate; an operation is one datagram",
					     sizeof(struct udpsend_config),
					     udpsend_options,
					     ARRAY_SIZE(udpsend_options),
					     udpsend_start};
static const struct app_role udpsink_role = {
	"udpsink",
	"receives datagrams; an operation is one datagram, with its one-way latency",
	sizeof(struct udpsink_config),
	udpsink_options,
	ARRAY_SIZE(udpsink_options),
	udpsink_start};

APP_ROLE(udpsend_role);
APP_ROLE(udpsink_role);
