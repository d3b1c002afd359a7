/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/traffic_minutes.h"

#include <string.h>

/* Connections whose counters are known; those that were not sampled for this many samples are forgotten. */
#define CONNS_MAX      16384
#define FORGET_SAMPLES 120
#define LISTENERS_MAX  10000

/* Keys are compared as bytes: no holes. */
struct path_key {
	uint32_t netns;
	struct addr raddr;
	uint8_t zero[3];
};
_Static_assert(sizeof(struct path_key) == 24, "no holes");

struct service_key {
	uint32_t netns;
	uint16_t port;
	uint8_t role, zero;
};
_Static_assert(sizeof(struct service_key) == 8, "no holes");

struct conn_key {
	uint64_t cookie;
	uint32_t netns, zero;
};

struct traffic {
	struct traffic_figures f;
	uint64_t srtt_sum_ns, srtt_count;
	uint64_t answers, answers_sum_ns;
};

struct conn_counters {
	uint64_t tx_bytes, rx_bytes;
	uint32_t tx_segs, retrans_segs;
	uint64_t sample;   /* last seen */
	bool path_counted; /* in this minute */
	bool service_counted;
};

static struct map new_paths(void)
{
	return MAP_INIT(sizeof(struct path_key), sizeof(struct traffic), TRAFFIC_PATHS_MAX + 1);
}

static struct map new_services(void)
{
	return MAP_INIT(sizeof(struct service_key), sizeof(struct traffic), TRAFFIC_SERVICES_MAX + 1);
}

void traffic_minutes_init(struct traffic_minutes *minutes)
{
	*minutes = (struct traffic_minutes){
		.paths = new_paths(),
		.services = new_services(),
		.conns = MAP_INIT(sizeof(struct conn_key), sizeof(struct conn_counters), CONNS_MAX),
		.listeners = MAP_INIT(sizeof(struct service_key), sizeof(uint64_t), LISTENERS_MAX),
	};
}

void traffic_minutes_done(struct traffic_minutes *minutes)
{
	map_done(&minutes->paths);
	map_done(&minutes->services);
	map_done(&minutes->conns);
	map_done(&minutes->listeners);
}

/* --- keys --- */

/* The last room is for the rest, of all namespaces. */
static struct traffic *put(struct map *sums, const void *key, const void *rest, size_t max)
{
	struct traffic *sum = map_get(sums, key);
	bool is_new = false;

	if (!sum)
		sum = map_put(sums, sums->count < max ? key : rest, &is_new);
	if (sum && is_new)
		sum->f.min_rtt_ns = UINT64_MAX;
	return sum;
}

static struct traffic *path_of(struct traffic_minutes *minutes, uint32_t netns, const struct addr *raddr)
{
	struct path_key key = {.netns = netns, .raddr = *raddr}, rest = {};

	return put(&minutes->paths, &key, &rest, TRAFFIC_PATHS_MAX);
}

static struct traffic *service_of(struct traffic_minutes *minutes, uint32_t netns, enum tcp_role role, uint16_t port)
{
	struct service_key key = {.netns = netns, .port = port, .role = (uint8_t)role}, rest = {};

	return put(&minutes->services, &key, &rest, TRAFFIC_SERVICES_MAX);
}

static enum tcp_role role_of(const struct traffic_minutes *minutes, uint32_t netns, uint16_t lport)
{
	struct service_key key = {.netns = netns, .port = lport};

	return map_get(&minutes->listeners, &key) ? TCP_ROLE_SERVER : TCP_ROLE_CLIENT;
}

/* --- samples --- */

static void forget_listeners(struct traffic_minutes *minutes)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&minutes->listeners, &at, &key, &value))
		if (minutes->samples - *(const uint64_t *)value > FORGET_SAMPLES)
			(void)map_remove(&minutes->listeners, key);
}

static void forget_conns(struct traffic_minutes *minutes)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&minutes->conns, &at, &key, &value))
		if (minutes->samples - ((const struct conn_counters *)value)->sample > FORGET_SAMPLES)
			(void)map_remove(&minutes->conns, key);
}

void traffic_minutes_begin(struct traffic_minutes *minutes)
{
	minutes->samples++;
}

void traffic_minutes_listener(struct traffic_minutes *minutes, uint32_t netns, uint16_t port)
{
	struct service_key key = {.netns = netns, .port = port};
	uint64_t *seen = map_put(&minutes->listeners, &key, NULL);

	if (seen)
		*seen = minutes->samples;
}

static uint64_t grown(uint64_t before, uint64_t now)
{
	return before == UINT64_MAX || now == UINT64_MAX || now < before ? 0 : now - before;
}

static uint64_t grown32(uint32_t before, uint32_t now)
{
	return before == UINT32_MAX || now == UINT32_MAX || now < before ? 0 : now - before;
}

static void add_sample(struct traffic *sum, const struct conn_counters *before, const struct conn_minute_record *conn,
		       bool *counted)
{
	if (!sum)
		return;
	sum->f.connections += !*counted;
	*counted = true;
	sum->f.tx_bytes += grown(before->tx_bytes, conn->tx_bytes);
	sum->f.rx_bytes += grown(before->rx_bytes, conn->rx_bytes);
	sum->f.tx_segs += grown32(before->tx_segs, conn->tx_segs);
	sum->f.retrans_segs += grown32(before->retrans_segs, conn->retrans_segs);
	if (conn->srtt_ns != UINT64_MAX && conn->srtt_ns > 0) {
		sum->srtt_sum_ns += conn->srtt_ns;
		sum->srtt_count++;
		sum->f.srtt_max_ns = max_of(sum->f.srtt_max_ns, conn->srtt_ns);
	}
	if (conn->min_rtt_ns > 0)
		sum->f.min_rtt_ns = min_of(sum->f.min_rtt_ns, conn->min_rtt_ns);
}

void traffic_minutes_conn(struct traffic_minutes *minutes, const struct conn_minute_record *conn)
{
	struct conn_key key = {.cookie = conn->cookie, .netns = conn->netns};
	enum tcp_role role = role_of(minutes, conn->netns, conn->lport);
	struct conn_counters *known, before;
	bool is_new;

	known = map_put(&minutes->conns, &key, &is_new);
	if (!known)
		return;
	before = *known;
	/* What it carried before it was followed is not of this minute. */
	if (is_new)
		before = (struct conn_counters){conn->tx_bytes, conn->rx_bytes, conn->tx_segs, conn->retrans_segs,
						.sample = minutes->samples};
	*known = before;
	add_sample(path_of(minutes, conn->netns, &conn->raddr), &before, conn, &known->path_counted);
	add_sample(service_of(minutes, conn->netns, role, role == TCP_ROLE_SERVER ? conn->lport : conn->rport), &before,
		   conn, &known->service_counted);
	known->tx_bytes = conn->tx_bytes;
	known->rx_bytes = conn->rx_bytes;
	known->tx_segs = conn->tx_segs;
	known->retrans_segs = conn->retrans_segs;
	known->sample = minutes->samples;
}

/* --- lives and answers --- */

static void add_life(struct traffic *sum, const struct tcp_close *close)
{
	if (!sum)
		return;
	sum->f.closed++;
	sum->f.failed += close->error || close->state == SOCKET_SYN_SENT;
	sum->f.closed_tx_bytes += close->tx_bytes;
	sum->f.closed_rx_bytes += close->rx_bytes;
	sum->f.closed_retransmits += close->retransmits;
}

void traffic_minutes_life(struct traffic_minutes *minutes, const struct event_head *head, const struct tcp_close *close)
{
	struct conn_key key = {.cookie = head->cookie, .netns = head->netns};
	enum tcp_role role = close->role ?: role_of(minutes, head->netns, head->lport);

	minutes->lives++;
	(void)map_remove(&minutes->conns, &key);
	add_life(path_of(minutes, head->netns, &head->raddr), close);
	add_life(service_of(minutes, head->netns, role, role == TCP_ROLE_SERVER ? head->lport : head->rport), close);
}

void traffic_minutes_answers(struct traffic_minutes *minutes, uint32_t netns, bool serves, uint16_t port,
			     uint64_t count, uint64_t mean_ns)
{
	struct traffic *sum = service_of(minutes, netns, serves ? TCP_ROLE_SERVER : TCP_ROLE_CLIENT, port);

	if (!sum)
		return;
	sum->answers += count;
	sum->answers_sum_ns += count * mean_ns;
}

/* --- rows --- */

/* What was not measured is unknown, not zero. */
static struct traffic_figures figures_of(const struct traffic *sum)
{
	struct traffic_figures f = sum->f;

	f.srtt_ns = sum->srtt_count ? sum->srtt_sum_ns / sum->srtt_count : UINT64_MAX;
	if (!sum->srtt_count)
		f.srtt_max_ns = UINT64_MAX;
	return f;
}

static int take_paths(struct map *paths, const struct traffic_sinks *sinks)
{
	const void *key;
	void *value;
	size_t at = 0;
	int r = 0;

	while (r == 0 && map_next(paths, &at, &key, &value)) {
		const struct path_key *path = key;
		struct path_minute_record row = {.netns = path->netns, .raddr = path->raddr, .f = figures_of(value)};

		r = sinks->path(sinks->context, &row);
	}
	return r;
}

static int take_services(struct map *services, const struct traffic_sinks *sinks)
{
	const void *key;
	void *value;
	size_t at = 0;
	int r = 0;

	while (r == 0 && map_next(services, &at, &key, &value)) {
		const struct service_key *service = key;
		const struct traffic *sum = value;
		struct service_minute_record row = {.netns = service->netns,
						    .role = service->role,
						    .port = service->port,
						    .f = figures_of(sum),
						    .answers = sum->answers,
						    .answer_ns = sum->answers ? sum->answers_sum_ns / sum->answers
									      : UINT64_MAX};

		r = sinks->service(sinks->context, &row);
	}
	return r;
}

static void begin_minute(struct traffic_minutes *minutes)
{
	const void *key;
	void *value;
	size_t at = 0;

	map_done(&minutes->paths);
	map_done(&minutes->services);
	minutes->paths = new_paths();
	minutes->services = new_services();
	while (map_next(&minutes->conns, &at, &key, &value)) {
		struct conn_counters *conn = value;

		conn->path_counted = conn->service_counted = false;
	}
}

int traffic_minutes_take(struct traffic_minutes *minutes, const struct traffic_sinks *sinks)
{
	int r = take_paths(&minutes->paths, sinks);

	if (r == 0)
		r = take_services(&minutes->services, sinks);
	begin_minute(minutes);
	forget_conns(minutes);
	forget_listeners(minutes);
	return r;
}
