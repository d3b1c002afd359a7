/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends of a connection: loss as a difference, and clocks from the exchange, on samples made by hand. */
#include <math.h>

#include "unit.h"

#include "diagnose/measure/conn_minute.h"
#include "diagnose/measure/end_delay.h"
#include "diagnose/measure/end_track.h"
#include "snapshot/netlink/translation.h"
#include "snapshot/socket/socket.h"

#define MS         1000000
#define SEGMENT    1000
#define A_SECOND   500 /* segments */
#define ONE_WAY_NS (20 * MS)
#define CLOCK_NS   INT64_C(5000000000) /* the other end's clock is ahead by this */
#define START_NS   UINT64_C(1700000000000000000)

static uint64_t segments_by(uint64_t ns)
{
	return ns * A_SECOND / 1000000000;
}

/* One connection in a sample. */
static void show(struct snapshot *snapshot, enum end_side side, uint64_t time_ns, const struct tcp_record *values)
{
	struct socket_record *s;
	struct tcp_record *t;

	snapshot_clear(snapshot);
	snapshot->begin_time_ns = time_ns;
	snapshot->begin_boot_ns = snapshot->sockets_boot_ns = time_ns - START_NS + 1000000000;
	s = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	t = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	*t = *values;
	s->proto = 6;
	s->state = SOCKET_ESTABLISHED;
	REQUIRE(addr_parse("10.0.0.1", side == END_HERE ? &s->laddr : &s->raddr) == 0);
	REQUIRE(addr_parse("10.0.0.2", side == END_HERE ? &s->raddr : &s->laddr) == 0);
	s->lport = side == END_HERE ? 40000 : 80;
	s->rport = side == END_HERE ? 80 : 40000;
	s->cookie = side == END_HERE ? 7 : 8;
	s->tcp = 0;
}

static struct tcp_record blank_tcp(void)
{
	struct tcp_record t = {};

	t.last_sent_ns = t.last_received_ns = t.last_ack_ns = UINT64_MAX;
	t.bytes_acked = 1;
	return t;
}

/* Sends without a pause for ten seconds; of each 50 segments the path drops one, which is sent a second time. */
static void send_stream(struct end_pairs *pairs, unsigned lost_of)
{
	struct snapshot *snapshot = snapshot_new();

	for (uint64_t ns = 0; ns < UINT64_C(10000000000); ns += 200 * MS) {
		uint64_t sent = segments_by(ns);
		uint64_t acked = ns < 2 * ONE_WAY_NS ? 0 : segments_by(ns - 2 * ONE_WAY_NS);
		struct tcp_record here = blank_tcp();

		here.total_retrans = lost_of ? (uint32_t)(sent / lost_of) : 0;
		here.data_segs_out = (uint32_t)sent + here.total_retrans;
		here.bytes_retrans = (uint64_t)here.total_retrans * SEGMENT;
		here.bytes_sent = sent * SEGMENT + here.bytes_retrans;
		here.bytes_acked = acked * SEGMENT + 1;
		show(snapshot, END_HERE, START_NS + ns, &here);
		end_pairs_add(pairs, END_HERE, snapshot);
	}
	for (uint64_t ns = 70 * MS; ns < UINT64_C(10000000000); ns += 200 * MS) {
		uint64_t arrived = segments_by(ns - ONE_WAY_NS);
		struct tcp_record there = blank_tcp();

		there.data_segs_in = (uint32_t)arrived;
		there.bytes_received = arrived * SEGMENT;
		show(snapshot, END_THERE, (uint64_t)((int64_t)(START_NS + ns) + CLOCK_NS), &there);
		end_pairs_add(pairs, END_THERE, snapshot);
	}
	snapshot_free(snapshot);
}

static struct end_pair *the_pair(const struct end_pairs *pairs)
{
	struct addr here, there;
	struct end_key key;
	struct end_pair *pair;

	REQUIRE(addr_parse("10.0.0.1", &here) == 0 && addr_parse("10.0.0.2", &there) == 0);
	key = end_key_make(&here, 40000, &there, 80);
	pair = end_pairs_find(pairs, &key);
	REQUIRE(pair != NULL);
	return pair;
}

TEST(loss_is_the_difference_of_two_counters)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct end_loss loss = {};
	uint64_t begin, end;

	send_stream(&pairs, 50);
	CHECK_EQ_UINT(end_pairs_match(&pairs), 1);
	begin = end_pair_position(the_pair(&pairs), END_HERE, START_NS + UINT64_C(2000000000));
	end = end_pair_position(the_pair(&pairs), END_HERE, START_NS + UINT64_C(8000000000));
	CHECK_EQ_UINT(end - begin, 3000 * SEGMENT);
	REQUIRE(end_pair_loss(the_pair(&pairs), END_HERE, begin, end, &loss));
	CHECK_EQ_UINT(loss.sent_segs, 3060);
	CHECK_EQ_UINT(loss.arrived_segs, 3000);
	/* Nothing was sent in the other direction. */
	CHECK(!end_pair_loss(the_pair(&pairs), END_THERE, 0, 0, &loss));
	end_pairs_done(&pairs);
}

TEST(nothing_is_lost_where_everything_arrives)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct end_loss loss = {};

	send_stream(&pairs, 0);
	REQUIRE(end_pairs_match(&pairs) == 1);
	REQUIRE(end_pair_loss(the_pair(&pairs), END_HERE, 100 * SEGMENT, 4000 * SEGMENT, &loss));
	CHECK_EQ_UINT(loss.sent_segs, 3900);
	CHECK_EQ_UINT(loss.arrived_segs, 3900);
	end_pairs_done(&pairs);
}

TEST(the_exchange_bounds_the_clocks)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct clock_bound bound;
	uint64_t error_ns;
	int64_t offset;

	send_stream(&pairs, 50);
	REQUIRE(end_pairs_match(&pairs) == 1);
	bound = end_pairs_align(&pairs);
	offset = clock_bound_offset(&bound, &error_ns);
	CHECK(bound.has_low && bound.has_high);
	CHECK(bound.low_ns <= CLOCK_NS && CLOCK_NS <= bound.high_ns);
	/* Samples are 200 ms apart. */
	CHECK(error_ns <= 120 * MS);
	CHECK(offset - CLOCK_NS <= (int64_t)error_ns && CLOCK_NS - offset <= (int64_t)error_ns);
	end_pairs_done(&pairs);
}

/* Both rest at the same position: the moments of the last segment and of its ACK say more than the samples. */
TEST(moments_narrow_the_bound)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct snapshot *snapshot = snapshot_new();
	struct tcp_record here = blank_tcp(), there = blank_tcp();
	struct clock_bound bound;
	uint64_t error_ns;

	here.bytes_sent = 5000;
	here.bytes_acked = 5001;
	here.data_segs_out = 5;
	here.last_sent_ns = 150 * MS;
	here.last_ack_ns = 110 * MS; /* 40 ms later */
	show(snapshot, END_HERE, START_NS, &here);
	end_pairs_add(&pairs, END_HERE, snapshot);
	there.bytes_received = 5000;
	there.data_segs_in = 5;
	there.last_received_ns = 100 * MS; /* 130 ms before START: 20 ms after it was sent */
	show(snapshot, END_THERE, (uint64_t)((int64_t)START_NS + CLOCK_NS) - 30 * MS, &there);
	end_pairs_add(&pairs, END_THERE, snapshot);
	REQUIRE(end_pairs_match(&pairs) == 1);
	bound = end_pairs_align(&pairs);
	(void)clock_bound_offset(&bound, &error_ns);
	CHECK(bound.low_ns <= CLOCK_NS && CLOCK_NS <= bound.high_ns);
	/* Half an RTT and a tick on either side. */
	CHECK_EQ_UINT(error_ns, 30 * MS);
	end_pairs_done(&pairs);
	snapshot_free(snapshot);
}

/* Most hosts synchronize their clocks: no offset where the exchange allows that. */
TEST(no_offset_where_none_is_possible)
{
	static const struct {
		int64_t low, high, offset;
		uint64_t error;
	} cases[] = {
		{-100, 300, 0, 300}, {-300, 100, 0, 300}, {0, 10, 0, 10}, {100, 300, 200, 100}, {-300, -100, -200, 100},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct clock_bound bound = {cases[i].low, cases[i].high, true, true};
		uint64_t error_ns;

		unit_note("case %zu", i);
		CHECK_EQ_INT(clock_bound_offset(&bound, &error_ns), cases[i].offset);
		CHECK_EQ_UINT(error_ns, cases[i].error);
	}
}

/* What the receiver had already is not loss. */
TEST(needed_retransmissions_of_a_time)
{
	static const struct end_sample samples[] = {
		{.time_ns = 10, .sent_segs = 100, .retrans_segs = 5, .twice_segs = 1},
		{.time_ns = 20, .sent_segs = 200, .retrans_segs = 15, .twice_segs = 3},
		{.time_ns = 30, .sent_segs = 200, .retrans_segs = 15, .twice_segs = 3},
		{.time_ns = 40, .sent_segs = 300, .retrans_segs = 17, .twice_segs = 9},
	};
	struct end_history history = {.cookie = 1};

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		vec_push(&history.samples, samples[i]);
	CHECK_NEAR(end_history_repeated(&history, 10, 25), 0.08, 1e-9);
	CHECK_NEAR(end_history_repeated(&history, 30, 40), 0, 1e-9);
	CHECK(isnan(end_history_repeated(&history, 20, 30))); /* nothing was sent */
	CHECK(isnan(end_history_repeated(&history, 5, 20)));  /* not yet seen */
	vec_done(&history.samples);
}

TEST(what_only_one_end_has_is_forgotten)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct snapshot *snapshot = snapshot_new();
	struct tcp_record here = blank_tcp();

	show(snapshot, END_HERE, START_NS, &here);
	end_pairs_add(&pairs, END_HERE, snapshot);
	CHECK_EQ_UINT(end_pairs_match(&pairs), 0);
	end_pairs_done(&pairs);
	snapshot_free(snapshot);
}

TEST(a_port_that_was_used_again_is_not_compared)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct snapshot *snapshot = snapshot_new();
	struct tcp_record here = blank_tcp();
	struct socket_record *s;
	struct end_loss loss;

	send_stream(&pairs, 0);
	show(snapshot, END_HERE, START_NS + UINT64_C(11000000000), &here);
	s = snapshot_first(snapshot, &socket_type);
	s->cookie = 9;
	end_pairs_add(&pairs, END_HERE, snapshot);
	REQUIRE(end_pairs_match(&pairs) == 1);
	CHECK(!end_pair_loss(the_pair(&pairs), END_HERE, 100 * SEGMENT, 4000 * SEGMENT, &loss));
	CHECK(!end_pairs_align(&pairs).has_low);
	end_pairs_done(&pairs);
	snapshot_free(snapshot);
}

/* --- NAT --- */

static struct end_key key_of(const char *laddr, uint16_t lport, const char *raddr, uint16_t rport)
{
	struct addr here, there;

	REQUIRE(addr_parse(laddr, &here) == 0 && addr_parse(raddr, &there) == 0);
	return end_key_make(&here, lport, &there, rport);
}

static void translate(struct end_pairs *pairs, const struct end_key *client, const struct end_key *server_sees)
{
	struct snapshot *snapshot = snapshot_new();
	struct translation_record *t = snapshot_table_add(snapshot_table(snapshot, &translation_type));

	*t = (struct translation_record){.laddr = client->laddr,
					 .lport = client->lport,
					 .raddr = client->raddr,
					 .rport = client->rport,
					 .nat_laddr = server_sees->laddr,
					 .nat_lport = server_sees->lport,
					 .nat_raddr = server_sees->raddr,
					 .nat_rport = server_sees->rport};
	end_pairs_translate(pairs, snapshot);
	snapshot_free(snapshot);
}

/* What END_HERE has, made by a sample of it. */
static void have(struct end_pairs *pairs, const struct end_key *key)
{
	struct snapshot *snapshot = snapshot_new();
	struct tcp_record values = blank_tcp();
	struct socket_record *s;

	show(snapshot, END_HERE, START_NS, &values);
	s = snapshot_first(snapshot, &socket_type);
	s->laddr = key->laddr;
	s->raddr = key->raddr;
	s->lport = key->lport;
	s->rport = key->rport;
	end_pairs_add(pairs, END_HERE, snapshot);
	snapshot_free(snapshot);
}

static bool is_named(const struct end_pairs *pairs, const struct end_key *there, const struct end_key *here)
{
	struct end_key name = end_pairs_name(pairs, &there->laddr, there->lport, &there->raddr, there->rport);

	return memcmp(&name, here, sizeof(name)) == 0;
}

TEST(two_nats_in_a_row_are_followed_from_either_end)
{
	struct end_key client = key_of("10.0.0.1", 40000, "192.0.2.1", 80);
	struct end_key between = key_of("198.51.100.7", 61000, "192.0.2.1", 80);
	struct end_key inside = key_of("198.51.100.7", 61000, "10.9.0.1", 8080);
	struct end_key server = key_of("10.9.0.1", 8080, "198.51.100.7", 61000);
	struct end_pairs from_client = END_PAIRS_INIT, from_server = END_PAIRS_INIT;

	have(&from_client, &client);
	CHECK(!is_named(&from_client, &server, &client));
	translate(&from_client, &client, &between);
	translate(&from_client, &between, &inside);
	CHECK(is_named(&from_client, &server, &client));
	have(&from_server, &server);
	translate(&from_server, &client, &between);
	translate(&from_server, &between, &inside);
	CHECK(is_named(&from_server, &client, &server));
	end_pairs_done(&from_client);
	end_pairs_done(&from_server);
}

TEST(a_translation_that_changed_matches_nothing)
{
	struct end_key one = key_of("10.0.0.1", 40000, "192.0.2.1", 80),
		       two = key_of("10.0.0.2", 40000, "192.0.2.1", 80);
	struct end_key outside = key_of("198.51.100.7", 61000, "192.0.2.1", 80);
	struct end_key server = key_of("192.0.2.1", 80, "198.51.100.7", 61000);
	struct end_pairs pairs = END_PAIRS_INIT;

	have(&pairs, &one);
	translate(&pairs, &one, &outside);
	CHECK(is_named(&pairs, &server, &one));
	translate(&pairs, &two, &outside);
	CHECK(!is_named(&pairs, &server, &one));
	end_pairs_done(&pairs);
}

TEST(translations_in_a_circle_end)
{
	struct end_key a = key_of("10.0.0.1", 1, "10.0.0.2", 2), b = key_of("10.0.0.3", 3, "10.0.0.4", 4);
	struct end_key there = key_of("10.0.0.2", 2, "10.0.0.1", 1);
	struct end_pairs pairs = END_PAIRS_INIT;

	translate(&pairs, &a, &b);
	translate(&pairs, &b, &a);
	CHECK(is_named(&pairs, &there, &a));
	end_pairs_done(&pairs);
}

/* --- one-way delay --- */

/* A message each 300 ms for ten seconds; from the fifth on the way there takes 80 ms longer. */
static void send_messages(struct end_pairs *pairs)
{
	struct snapshot *snapshot = snapshot_new();

	for (uint64_t ns = 0; ns < UINT64_C(10000000000); ns += 200 * MS) {
		uint64_t sent = ns / (300 * MS) + 1;
		struct tcp_record here = blank_tcp();

		here.data_segs_out = (uint32_t)sent;
		here.bytes_sent = sent * SEGMENT;
		here.last_sent_ns = ns % (300 * MS);
		show(snapshot, END_HERE, START_NS + ns, &here);
		end_pairs_add(pairs, END_HERE, snapshot);
	}
	for (uint64_t ns = 70 * MS; ns < UINT64_C(10000000000); ns += 200 * MS) {
		uint64_t delay_ns = ns > UINT64_C(5000000000) ? ONE_WAY_NS + 80 * MS : ONE_WAY_NS;
		uint64_t arrived = (ns - min_of(delay_ns, ns)) / (300 * MS) + 1;
		struct tcp_record there = blank_tcp();

		there.data_segs_in = (uint32_t)arrived;
		there.bytes_received = arrived * SEGMENT;
		there.last_received_ns = (ns - delay_ns) % (300 * MS);
		show(snapshot, END_THERE, (uint64_t)((int64_t)(START_NS + ns) + CLOCK_NS), &there);
		end_pairs_add(pairs, END_THERE, snapshot);
	}
	snapshot_free(snapshot);
}

static bool delay_between(const struct end_pairs *pairs, uint64_t from_s, uint64_t to_s, struct end_delay *ret_delay)
{
	return end_pair_delay(the_pair(pairs), END_HERE, END_DELAY_DATA, START_NS + CLOCK_NS + from_s * 1000 * MS,
			      START_NS + CLOCK_NS + to_s * 1000 * MS, ret_delay);
}

TEST(one_way_delay_changes_without_clocks)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct end_delay_base base = {};
	struct end_delay_change change;
	struct end_delay delay;

	send_messages(&pairs);
	REQUIRE(end_pairs_match(&pairs) == 1);
	REQUIRE(delay_between(&pairs, 1, 4, &delay));
	CHECK(!end_delay_base_note(&base, END_DELAY_DATA, &delay, START_NS, &change));
	REQUIRE(delay_between(&pairs, 6, 9, &delay));
	REQUIRE(end_delay_base_note(&base, END_DELAY_DATA, &delay, START_NS + 5000 * (uint64_t)MS, &change));
	CHECK_EQ_INT(change.change_ns, 80 * MS);
	/* A tick at either end, before and after. */
	CHECK_EQ_UINT(change.error_ns, 20 * MS);
	/* Back again: no change against the lowest. */
	REQUIRE(delay_between(&pairs, 1, 4, &delay));
	REQUIRE(end_delay_base_note(&base, END_DELAY_DATA, &delay, START_NS + 6000 * (uint64_t)MS, &change));
	CHECK_EQ_INT(change.change_ns, 0);
	/* Nothing came back, and nothing arrived after the end. */
	CHECK(!end_pair_delay(the_pair(&pairs), END_THERE, END_DELAY_DATA, START_NS, START_NS + 9000 * (uint64_t)MS,
			      &delay));
	CHECK(!delay_between(&pairs, 20, 30, &delay));
	end_pairs_done(&pairs);
}

/* A stream without a pause: positions lie between samples, and the bound is as wide as those are apart. */
TEST(one_way_delay_of_a_stream_has_a_wider_bound)
{
	struct end_pairs pairs = END_PAIRS_INIT;
	struct end_delay delay;

	send_stream(&pairs, 0);
	REQUIRE(end_pairs_match(&pairs) == 1);
	REQUIRE(delay_between(&pairs, 2, 8, &delay));
	CHECK(delay.low <= CLOCK_NS + ONE_WAY_NS && CLOCK_NS + ONE_WAY_NS <= delay.high);
	CHECK(delay.high - delay.low <= 410.0 * MS);
	/* The mean of the ACKs of it is bounded as well. */
	REQUIRE(end_pair_delay(the_pair(&pairs), END_THERE, END_DELAY_ACK, START_NS + 2000 * (uint64_t)MS,
			       START_NS + 8000 * (uint64_t)MS, &delay));
	CHECK(delay.low <= ONE_WAY_NS - CLOCK_NS && ONE_WAY_NS - CLOCK_NS <= delay.high);
	end_pairs_done(&pairs);
}

/* --- rows of the fleet --- */

TEST(a_row_per_minute_stands_for_the_sample)
{
	struct snapshot *snapshot = snapshot_new(), *again = snapshot_new();
	struct tcp_record values = blank_tcp();
	struct conn_minute_record minute;
	const struct socket_record *s;
	const struct tcp_record *t;

	values.bytes_sent = 5000;
	values.bytes_retrans = 1000;
	values.bytes_acked = 3001;
	values.bytes_received = 700;
	values.data_segs_out = 5;
	values.data_segs_in = 7;
	values.total_retrans = 1;
	values.last_sent_ns = 20 * MS;
	show(snapshot, END_HERE, START_NS, &values);
	REQUIRE(conn_minute_fill(snapshot, snapshot_first(snapshot, &socket_type), &minute));
	CHECK_EQ_UINT(minute.tx_bytes, 4000);
	CHECK_EQ_UINT(minute.acked_bytes, 3000);
	CHECK_EQ_UINT(minute.sent_time_ns, START_NS - 20 * MS);
	CHECK_EQ_UINT(minute.received_time_ns, 0);
	conn_minute_show(&minute, again);
	s = snapshot_first(again, &socket_type);
	t = socket_tcp(again, s);
	REQUIRE(t != NULL);
	CHECK_EQ_UINT(s->lport, 40000);
	CHECK_EQ_UINT(t->bytes_sent, 5000);
	CHECK_EQ_UINT(t->bytes_acked, 3001);
	CHECK_EQ_UINT(t->bytes_received, 700);
	CHECK_EQ_UINT(t->data_segs_out, 5);
	CHECK_EQ_UINT(t->data_segs_in, 7);
	CHECK_EQ_UINT(t->last_sent_ns, 20 * MS);
	CHECK_EQ_UINT(t->last_received_ns, UINT64_MAX);
	/* A kernel that does not count bytes gives no row. */
	values.bytes_sent = UINT64_MAX;
	show(snapshot, END_HERE, START_NS, &values);
	CHECK(!conn_minute_fill(snapshot, snapshot_first(snapshot, &socket_type), &minute));
	snapshot_free(snapshot);
	snapshot_free(again);
}
