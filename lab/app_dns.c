// SPDX-License-Identifier: GPL-2.0-or-later
/* A name server that replies late, refuses or does not reply, and a client that repeats a lookup. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "app_conn.h"

#define DNS_HEADER_LEN  12u
#define DNS_MESSAGE_MAX 512u
#define DNS_TYPE_A      1u
#define DNS_CLASS_IN    1u
#define DNS_NXDOMAIN    3u
#define DNS_REFUSED     5u
#define DNS_NAME_MAX    255u
#define LABEL_MAX       63u
#define ANSWER_LEN      16u
#define TTL_SECONDS     60u
#define WAITING_MAX     1024u

enum dns_answer { ANSWER_OK, ANSWER_REFUSE, ANSWER_SILENT, ANSWER_NXDOMAIN };

struct dns_config {
	struct common_config common;
	struct addr listen;
	struct addr addr;
	uint64_t port;
	uint64_t delay_ns;
	uint64_t delay_every;
	uint64_t answer; /* enum dns_answer */
	uint64_t drop_every;
};

struct dnsq_config {
	struct common_config common;
	struct addr dst;
	uint64_t port;
	const char *name;
	uint64_t interval_ns;
	uint64_t timeout_ns;
};

struct dns {
	struct app *app;
	const struct dns_config *config;
	int fd;
	uint64_t queries;
};

/* A delayed reply; a slot without a timer is free. */
static struct dns_late {
	struct dns *dns;
	struct loop_source *timer;
	struct sockaddr_storage peer;
	socklen_t peer_len;
	size_t len;
	uint8_t message[DNS_MESSAGE_MAX];
} waiting[WAITING_MAX];

struct dnsq {
	struct app *app;
	const struct dnsq_config *config;
	int fd;
	uint16_t id;
	bool is_waiting;
	uint64_t began_ns;
	struct loop_source *timer;
	size_t len;
	uint8_t message[DNS_MESSAGE_MAX];
};

static uint16_t get_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void put_be16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* End of the question section; 0: not a message with exactly one question. */
static size_t question_end(const uint8_t *message, size_t len)
{
	size_t at = DNS_HEADER_LEN;

	if (len < DNS_HEADER_LEN || get_be16(message + 4) != 1)
		return 0;
	while (at < len && message[at] != 0) {
		if (message[at] > LABEL_MAX)
			return 0;
		at += message[at] + 1u;
	}
	return at + 5 <= len ? at + 5 : 0;
}

static uint8_t dns_code(uint64_t answer)
{
	switch (answer) {
	case ANSWER_REFUSE:
		return DNS_REFUSED;
	case ANSWER_NXDOMAIN:
		return DNS_NXDOMAIN;
	default:
		return 0;
	}
}

/* Turns a query into its reply, in place; 0: no reply. */
static size_t dns_answer(const struct dns_config *config, uint8_t *message, size_t len)
{
	size_t end = question_end(message, len);
	bool wants_v4;

	if (end == 0 || (message[2] & 0x80) || end + ANSWER_LEN > DNS_MESSAGE_MAX)
		return 0;
	wants_v4 = get_be16(message + end - 4) == DNS_TYPE_A && get_be16(message + end - 2) == DNS_CLASS_IN;
	message[2] |= 0x80;
	message[3] = 0x80 | dns_code(config->answer);
	memset(message + 6, 0, 6); /* no answer, authority or additional records */
	if (config->answer != ANSWER_OK || !wants_v4)
		return end;
	put_be16(message + 6, 1);
	put_be16(message + end, 0xc000 | DNS_HEADER_LEN);
	put_be16(message + end + 2, DNS_TYPE_A);
	put_be16(message + end + 4, DNS_CLASS_IN);
	put_be16(message + end + 6, 0);
	put_be16(message + end + 8, TTL_SECONDS);
	put_be16(message + end + 10, 4);
	memcpy(message + end + 12, config->addr.bytes + 12, 4);
	return end + ANSWER_LEN;
}

static void dns_send(struct dns_late *late)
{
	struct dns *dns = late->dns;
	ssize_t n =
		sendto(dns->fd, late->message, late->len, MSG_DONTWAIT, (struct sockaddr *)&late->peer, late->peer_len);

	if (n < 0) {
		app_count_error(dns->app, errno);
		return;
	}
	dns->app->progress.bytes += (uint64_t)n;
	app_count_op(dns->app, LAT_UNKNOWN);
}

static void dns_late_send(void *context, uint64_t expirations _unused_)
{
	struct dns_late *late = context;

	dns_send(late);
	loop_remove(late->dns->app->loop, late->timer);
	late->timer = NULL;
}

static void dns_delay(const struct dns_late *answer)
{
	struct dns *dns = answer->dns;
	struct dns_late *late = waiting;
	int r = -ENOBUFS;

	while (late < waiting + WAITING_MAX && late->timer)
		late++;
	if (late < waiting + WAITING_MAX) {
		*late = *answer;
		r = loop_add_timer(dns->app->loop, dns->config->delay_ns, 0, dns_late_send, late, &late->timer);
	}
	if (r < 0)
		app_count_error(dns->app, r);
}

static void dns_read(void *context, uint32_t events _unused_)
{
	struct dns *dns = context;
	struct dns_late answer = {.dns = dns, .peer_len = sizeof(answer.peer)};
	ssize_t n = recvfrom(dns->fd, answer.message, sizeof(answer.message), MSG_DONTWAIT,
			     (struct sockaddr *)&answer.peer, &answer.peer_len);

	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			app_count_error(dns->app, errno);
		return;
	}
	dns->app->progress.bytes += (uint64_t)n;
	dns->queries++;
	if (dns->config->answer == ANSWER_SILENT ||
	    (dns->config->drop_every && dns->queries % dns->config->drop_every == 0))
		return;
	answer.len = dns_answer(dns->config, answer.message, (size_t)n);
	if (answer.len == 0)
		app_count_error(dns->app, EBADMSG);
	else if (dns->config->delay_ns && dns->queries % dns->config->delay_every == 0)
		dns_delay(&answer);
	else
		dns_send(&answer);
}

static int dns_start(struct app *app, void *config, struct why *why)
{
	static struct dns dns;
	const struct dns_config *c = config;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&c->listen, c->port, &address);
	int r;

	if (c->addr.family != ADDR_V4)
		return why_set(why, -EAFNOSUPPORT, "addr must be IPv4");
	dns = (struct dns){.app = app, .config = c};
	dns.fd = socket(((struct sockaddr *)&address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (dns.fd < 0 || bind(dns.fd, (struct sockaddr *)&address, len) < 0)
		return why_set(why, -errno, "port %u: %m", (unsigned int)c->port);
	r = loop_add_fd(app->loop, dns.fd, EPOLLIN, dns_read, &dns, NULL);
	if (r < 0)
		return why_set(why, r, "waiting: %s", strerror(-r));
	app_ready(app);
	return 0;
}

static int query_build(struct dnsq *q, const char *name)
{
	size_t at = DNS_HEADER_LEN;

	if (strlen(name) > DNS_NAME_MAX - 2)
		return -EINVAL;
	memset(q->message, 0, sizeof(q->message));
	q->message[2] = 0x01; /* recursion desired */
	put_be16(q->message + 4, 1);
	while (*name) {
		size_t label = strcspn(name, ".");

		if (label == 0 || label > LABEL_MAX)
			return -EINVAL;
		q->message[at] = (uint8_t)label;
		memcpy(q->message + at + 1, name, label);
		at += label + 1;
		name += label + (name[label] == '.');
	}
	put_be16(q->message + at + 1, DNS_TYPE_A);
	put_be16(q->message + at + 3, DNS_CLASS_IN);
	q->len = at + 5;
	return 0;
}

static void dnsq_wake(void *context, uint64_t expirations);

static void dnsq_after(struct dnsq *q, uint64_t ns)
{
	int r;

	loop_remove(q->app->loop, q->timer);
	q->timer = NULL;
	r = loop_add_timer(q->app->loop, ns, 0, dnsq_wake, q, &q->timer);
	if (r < 0)
		loop_stop(q->app->loop, r);
}

/* A lookup ended; the next starts one interval after this one started. */
static void dnsq_over(struct dnsq *q, int error)
{
	uint64_t spent_ns = clock_monotonic_ns() - q->began_ns;

	q->is_waiting = false;
	if (error)
		app_count_error(q->app, error);
	else
		app_count_op(q->app, spent_ns);
	dnsq_after(q, q->config->interval_ns > spent_ns ? q->config->interval_ns - spent_ns : 0);
}

static void dnsq_wake(void *context, uint64_t expirations _unused_)
{
	struct dnsq *q = context;
	ssize_t n;

	if (q->is_waiting) {
		dnsq_over(q, ETIMEDOUT);
		return;
	}
	put_be16(q->message, ++q->id);
	q->began_ns = clock_monotonic_ns();
	q->is_waiting = true;
	n = send(q->fd, q->message, q->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0) {
		dnsq_over(q, errno);
		return;
	}
	q->app->progress.bytes += (uint64_t)n;
	dnsq_after(q, q->config->timeout_ns);
}

static void dnsq_read(void *context, uint32_t events _unused_)
{
	struct dnsq *q = context;
	uint8_t message[DNS_MESSAGE_MAX];
	ssize_t n = recv(q->fd, message, sizeof(message), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		/* Ignore errors of a query that timed out. */
		if (q->is_waiting)
			dnsq_over(q, errno);
		return;
	}
	q->app->progress.bytes += (uint64_t)n;
	if (!q->is_waiting || n < (ssize_t)DNS_HEADER_LEN || get_be16(message) != q->id)
		return;
	dnsq_over(q, (message[3] & 0x0f) || get_be16(message + 6) == 0 ? EPROTO : 0);
}

static int dnsq_start(struct app *app, void *config, struct why *why)
{
	static struct dnsq q;
	const struct dnsq_config *c = config;
	struct sockaddr_storage address;
	socklen_t len = app_sockaddr(&c->dst, c->port, &address);
	int r;

	q = (struct dnsq){.app = app, .config = c, .id = (uint16_t)rng_next(&app->rng)};
	if (query_build(&q, c->name) < 0)
		return why_set(why, -EINVAL, "name=%s: not a host name", c->name);
	q.fd = socket(((struct sockaddr *)&address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (q.fd < 0 || connect(q.fd, (struct sockaddr *)&address, len) < 0)
		return why_set(why, -errno, "socket: %m");
	r = loop_add_fd(app->loop, q.fd, EPOLLIN, dnsq_read, &q, NULL);
	if (r < 0)
		return why_set(why, r, "waiting: %s", strerror(-r));
	app_ready(app);
	dnsq_after(&q, 0);
	return 0;
}

static const struct app_option dns_options[] = {
	{"listen", OPTION_LISTEN, MEMBER(struct dns_config, listen), "0.0.0.0", "address to listen on (:: for both)"},
	{"port", OPTION_PORT, MEMBER(struct dns_config, port), "53", "port to listen on"},
	{"delay_ms", OPTION_MS, MEMBER(struct dns_config, delay_ns), "0", "pause before every reply", .is_live = true},
	{"delay_every", OPTION_COUNT, MEMBER(struct dns_config, delay_every), "1", "pause only before every Nth reply",
	 .min = 1, .is_live = true},
	{"answer", OPTION_CHOICE, MEMBER(struct dns_config, answer), "ok", "kind of reply",
	 .choices = "ok|refuse|silent|nxdomain", .is_live = true},
	{"drop_every", OPTION_COUNT, MEMBER(struct dns_config, drop_every), "0",
	 "do not reply to every Nth query (0: reply to all)", .is_live = true},
	{"addr", OPTION_TARGET, MEMBER(struct dns_config, addr), "10.77.0.1", "IPv4 address of every name"},
};

static const struct app_option dnsq_options[] = {
	{"dst", OPTION_TARGET, MEMBER(struct dnsq_config, dst), NULL, "address of the name server"},
	{"port", OPTION_PORT, MEMBER(struct dnsq_config, port), "53", "port of the name server"},
	{"name", OPTION_TEXT, MEMBER(struct dnsq_config, name), "server.lab.test", "name to look up"},
	{"interval_ms", OPTION_MS, MEMBER(struct dnsq_config, interval_ns), "200", "interval between lookups",
	 .is_live = true},
	{"timeout_ms", OPTION_MS, MEMBER(struct dnsq_config, timeout_ns), "2000", "query timeout", .is_live = true},
};

static const struct app_role dns_role = {"dns",
					 "name server with configurable faults; an operation is one reply",
					 sizeof(struct dns_config),
					 dns_options,
					 ARRAY_SIZE(dns_options),
					 dns_start};
static const struct app_role dnsq_role = {"dnsq",
					  "client that repeats a lookup; an operation is one successful reply",
					  sizeof(struct dnsq_config),
					  dnsq_options,
					  ARRAY_SIZE(dnsq_options),
					  dnsq_start};

APP_ROLE(dns_role);
APP_ROLE(dnsq_role);
