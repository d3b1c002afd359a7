/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums per minute of the agent: growth of running totals, paths and services, their caps. */
#include "unit.h"

#include <string.h>

#include "agent/flow_minutes.h"
#include "agent/traffic_minutes.h"
#include "base/parse.h"
#include "base/vec.h"

/* --- flows --- */

struct taken {
	VEC(struct flow_minutes_key) keys;
	uint64_t count, bytes, largest, rest;
	unsigned rows;
};

static int take_flow(void *context, const struct flow_minutes_key *key, const struct flow_total *total)
{
	struct taken *taken = context;

	if (taken->rows++ == 0)
		taken->largest = total->count;
	taken->count += total->count;
	taken->bytes += total->bytes;
	if (key->rport == 0)
		taken->rest += total->count;
	return 0;
}

static struct taken take_all(struct flow_minutes *minutes)
{
	struct taken taken = {};

	CHECK_OK(flow_minutes_take(minutes, take_flow, &taken));
	return taken;
}

static struct flow_minutes_key flow(uint16_t port, uint64_t cookie)
{
	return (struct flow_minutes_key){.what = "NO_SOCKET", .netns = 1, .rport = port, .lport = 80, .cookie = cookie};
}

static void read_one(struct flow_minutes *minutes, const struct flow_minutes_key *key, uint64_t count)
{
	flow_minutes_begin(minutes);
	flow_minutes_read(minutes, key, count, count * 100);
	flow_minutes_end(minutes);
}

TEST(totals_become_growth)
{
	struct flow_minutes minutes;
	struct flow_minutes_key key = flow(4000, 7);
	struct taken taken;

	flow_minutes_init(&minutes);
	read_one(&minutes, &key, 5);
	read_one(&minutes, &key, 8);
	taken = take_all(&minutes);
	CHECK_EQ_UINT(taken.rows, 1);
	CHECK_EQ_UINT(taken.count, 8);
	CHECK_EQ_UINT(taken.bytes, 800);
	/* Nothing since. */
	read_one(&minutes, &key, 8);
	CHECK_EQ_UINT(take_all(&minutes).rows, 0);
	read_one(&minutes, &key, 11);
	CHECK_EQ_UINT(take_all(&minutes).count, 3);
	flow_minutes_done(&minutes);
}

TEST(a_total_that_began_again_counts_from_zero)
{
	struct flow_minutes minutes;
	struct flow_minutes_key key = flow(4000, 7), other = flow(4001, 8);

	flow_minutes_init(&minutes);
	read_one(&minutes, &key, 50);
	read_one(&minutes, &key, 4);
	CHECK_EQ_UINT(take_all(&minutes).count, 54);
	/* It disappears, and comes back. */
	read_one(&minutes, &other, 1);
	read_one(&minutes, &key, 6);
	CHECK_EQ_UINT(take_all(&minutes).count, 7);
	flow_minutes_done(&minutes);
}

TEST(sockets_of_one_flow_are_one_row)
{
	struct flow_minutes minutes;
	struct flow_minutes_key first = flow(4000, 7), second = flow(4000, 8);
	struct taken taken;

	flow_minutes_init(&minutes);
	first.flags = 2;
	flow_minutes_begin(&minutes);
	flow_minutes_read(&minutes, &first, 3, 0);
	flow_minutes_read(&minutes, &second, 4, 0);
	flow_minutes_end(&minutes);
	taken = take_all(&minutes);
	CHECK_EQ_UINT(taken.rows, 1);
	CHECK_EQ_UINT(taken.count, 7);
	flow_minutes_done(&minutes);
}

TEST(flows_beyond_the_cap_are_added_up)
{
	struct flow_minutes minutes;
	struct taken taken;
	uint64_t sum = 0;

	flow_minutes_init(&minutes);
	flow_minutes_begin(&minutes);
	for (uint16_t i = 1; i <= FLOW_MINUTES_MAX + 100; i++) {
		struct flow_minutes_key key = flow(i, i);

		flow_minutes_read(&minutes, &key, i, 0);
		sum += i;
	}
	flow_minutes_end(&minutes);
	taken = take_all(&minutes);
	CHECK_EQ_UINT(taken.rows, FLOW_MINUTES_MAX + 1);
	CHECK_EQ_UINT(taken.count, sum);
	CHECK_EQ_UINT(taken.largest, FLOW_MINUTES_MAX + 100);
	/* The hundred smallest. */
	CHECK_EQ_UINT(taken.rest, 100 * 101 / 2);
	flow_minutes_done(&minutes);
}

/* --- paths and services --- */

struct traffic_taken {
	struct path_minute_record paths[TRAFFIC_PATHS_MAX + 1];
	struct service_minute_record services[TRAFFIC_SERVICES_MAX + 1];
	unsigned path_count, service_count;
};

static int take_path(void *context, const struct path_minute_record *row)
{
	struct traffic_taken *taken = context;

	REQUIRE(taken->path_count < ARRAY_SIZE(taken->paths));
	taken->paths[taken->path_count++] = *row;
	return 0;
}

static int take_service(void *context, const struct service_minute_record *row)
{
	struct traffic_taken *taken = context;

	REQUIRE(taken->service_count < ARRAY_SIZE(taken->services));
	taken->services[taken->service_count++] = *row;
	return 0;
}

static void take_traffic(struct traffic_minutes *minutes, struct traffic_taken *taken)
{
	memset(taken, 0, sizeof(*taken));
	CHECK_OK(traffic_minutes_take(minutes, &(struct traffic_sinks){take_path, take_service, taken}));
}

static struct addr address(uint32_t number)
{
	uint8_t bytes[4] = {10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};

	return addr_from_v4(bytes);
}

static struct conn_minute_record conn(uint64_t cookie, uint64_t tx_bytes, uint32_t retrans)
{
	return (struct conn_minute_record){.netns = 1,
					   .cookie = cookie,
					   .raddr = address(1),
					   .lport = 40000,
					   .rport = 443,
					   .tx_bytes = tx_bytes,
					   .rx_bytes = 2 * tx_bytes,
					   .tx_segs = (uint32_t)tx_bytes / 1000,
					   .retrans_segs = retrans,
					   .srtt_ns = 4000000 + 2000000 * retrans,
					   .min_rtt_ns = 3000000};
}

static void sample(struct traffic_minutes *minutes, const struct conn_minute_record *record)
{
	traffic_minutes_begin(minutes);
	traffic_minutes_conn(minutes, record);
}

TEST(counters_of_followed_connections_become_growth)
{
	struct conn_minute_record first = conn(5, 10000, 0), second = conn(5, 30000, 2);
	struct traffic_minutes minutes;
	struct traffic_taken taken;

	traffic_minutes_init(&minutes);
	sample(&minutes, &first);
	sample(&minutes, &second);
	take_traffic(&minutes, &taken);
	REQUIRE(taken.path_count == 1 && taken.service_count == 1);
	CHECK_EQ_UINT(taken.paths[0].f.connections, 1);
	CHECK_EQ_UINT(taken.paths[0].f.tx_bytes, 20000);
	CHECK_EQ_UINT(taken.paths[0].f.rx_bytes, 40000);
	CHECK_EQ_UINT(taken.paths[0].f.tx_segs, 20);
	CHECK_EQ_UINT(taken.paths[0].f.retrans_segs, 2);
	CHECK_EQ_UINT(taken.paths[0].f.srtt_ns, 6000000);
	CHECK_EQ_UINT(taken.paths[0].f.srtt_max_ns, 8000000);
	CHECK_EQ_UINT(taken.paths[0].f.min_rtt_ns, 3000000);
	CHECK_EQ_UINT(taken.services[0].port, 443);
	CHECK_EQ_UINT(taken.services[0].role, TCP_ROLE_CLIENT);
	CHECK_EQ_UINT(taken.services[0].f.tx_bytes, 20000);
	CHECK_EQ_UINT(taken.services[0].answer_ns, UINT64_MAX);
	/* The next minute knows its counters, and counts it again. */
	second.tx_bytes = 31000;
	sample(&minutes, &second);
	take_traffic(&minutes, &taken);
	REQUIRE(taken.path_count == 1);
	CHECK_EQ_UINT(taken.paths[0].f.connections, 1);
	CHECK_EQ_UINT(taken.paths[0].f.tx_bytes, 1000);
	traffic_minutes_done(&minutes);
}

TEST(a_port_that_is_listened_on_is_a_service_of_this_host)
{
	struct conn_minute_record record = conn(5, 10000, 0);
	struct event_head head = {.netns = 1, .cookie = 6, .raddr = address(2), .lport = 22, .rport = 50000};
	struct tcp_close life = {.tx_bytes = 7, .rx_bytes = 9, .retransmits = 1, .error = 104};
	struct traffic_minutes minutes;
	struct traffic_taken taken;

	traffic_minutes_init(&minutes);
	traffic_minutes_begin(&minutes);
	traffic_minutes_listener(&minutes, 1, 22);
	record.lport = 22;
	record.rport = 50001;
	traffic_minutes_conn(&minutes, &record);
	/* Its role is not known: it began before. */
	traffic_minutes_life(&minutes, &head, &life);
	life.error = 0;
	life.role = TCP_ROLE_SERVER;
	traffic_minutes_life(&minutes, &head, &life);
	traffic_minutes_answers(&minutes, 1, true, 22, 3, 100);
	traffic_minutes_answers(&minutes, 1, true, 22, 1, 500);
	take_traffic(&minutes, &taken);
	REQUIRE(taken.service_count == 1);
	CHECK_EQ_UINT(taken.services[0].port, 22);
	CHECK_EQ_UINT(taken.services[0].role, TCP_ROLE_SERVER);
	CHECK_EQ_UINT(taken.services[0].f.closed, 2);
	CHECK_EQ_UINT(taken.services[0].f.failed, 1);
	CHECK_EQ_UINT(taken.services[0].f.closed_tx_bytes, 14);
	CHECK_EQ_UINT(taken.services[0].f.closed_rx_bytes, 18);
	CHECK_EQ_UINT(taken.services[0].f.closed_retransmits, 2);
	CHECK_EQ_UINT(taken.services[0].answers, 4);
	CHECK_EQ_UINT(taken.services[0].answer_ns, 200);
	CHECK_EQ_UINT(taken.path_count, 2);
	traffic_minutes_done(&minutes);
}

TEST(paths_and_services_beyond_the_cap_are_added_up)
{
	struct traffic_minutes minutes;
	struct traffic_taken taken;
	uint64_t closed = 0, rest = 0;

	traffic_minutes_init(&minutes);
	for (uint32_t i = 0; i < 1000; i++) {
		struct event_head head = {.netns = 1, .raddr = address(i), .lport = 40000, .rport = (uint16_t)(i + 1)};
		struct tcp_close life = {.role = TCP_ROLE_CLIENT};

		traffic_minutes_life(&minutes, &head, &life);
	}
	take_traffic(&minutes, &taken);
	CHECK_EQ_UINT(taken.path_count, TRAFFIC_PATHS_MAX + 1);
	CHECK_EQ_UINT(taken.service_count, TRAFFIC_SERVICES_MAX + 1);
	for (unsigned i = 0; i < taken.path_count; i++) {
		closed += taken.paths[i].f.closed;
		if (taken.paths[i].raddr.family == 0)
			rest += taken.paths[i].f.closed;
	}
	CHECK_EQ_UINT(closed, 1000);
	CHECK_EQ_UINT(rest, 1000 - TRAFFIC_PATHS_MAX);
	traffic_minutes_done(&minutes);
}
