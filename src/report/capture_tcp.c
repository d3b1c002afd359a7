/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP analysis of captured packets: retransmissions, reordering, RTT, zero windows. The definitions are those of
 * Wireshark, so that figures can be compared.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/capture.h"
#include "view/format.h"

#define CONNS_MAX 1000000
/* A segment late by less than the first RTT is reordered, not retransmitted; this applies when the RTT is unknown. */
#define OVERTAKEN_NS (3 * NSEC_PER_SEC / 1000)
/* Segments in flight before the oldest is forgotten. */
#define FLIGHT_MAX 65536
/* A zero window at least this long is reported. */
#define CLOSED_NS    (NSEC_PER_SEC / 5)
#define REPEATS_LOST 3 /* retransmissions of one segment: nothing gets through */

struct flight {
	uint32_t end;
	uint64_t time_ns;
	bool repeated;
};

/* One direction. */
struct half {
	bool seen;     /* a sequence number is known */
	uint32_t next; /* after the highest byte seen */
	uint64_t next_ns;
	uint32_t acked; /* acknowledged by the other side */
	bool has_ack;
	uint64_t ack_ns;
	unsigned repeated_acks;
	uint16_t window;
	bool has_window;
	uint64_t bytes, repeated_bytes;
	uint32_t repeats, spurious, overtaken, zero_windows;
	uint64_t closed_since_ns; /* start of the zero window; 0: open */
	uint64_t closed_longest_ns, closed_at_ns;
	unsigned again; /* retransmissions in a row of the same segment */
	uint32_t again_seq;
	unsigned again_most;
	VEC(struct flight) flights;
	size_t first_flight;
};

struct conn {
	struct endpoint client, server;
	struct half halves[2]; /* client's, server's */
	uint64_t begin_ns, end_ns;
	uint64_t syn_ns, last_syn_ns;
	uint64_t first_rtt_ns; /* of the whole handshake; 0: not seen */
	uint32_t syns;
	bool answered, refused, reset, has_data;
	VEC(uint64_t) rtts;
};

struct conn_key {
	struct endpoint low, high;
};

struct capture_tcp {
	struct report *report;
	struct map conns; /* struct conn_key -> struct conn * */
	struct report_point point;
	VEC(uint64_t) rtts; /* of the current second */
	uint64_t second_ns;
	uint64_t first_ns;
};

struct capture_tcp *capture_tcp_new(struct report *report)
{
	struct capture_tcp *c = xzalloc(sizeof(*c));

	c->report = report;
	c->conns = MAP_INIT(sizeof(struct conn_key), sizeof(struct conn *), CONNS_MAX);
	return c;
}

static void conn_free(struct conn *conn)
{
	vec_done(&conn->halves[0].flights);
	vec_done(&conn->halves[1].flights);
	vec_done(&conn->rtts);
	free(conn);
}

void capture_tcp_free(struct capture_tcp *c)
{
	const void *key;
	size_t at = 0;
	void *value;

	if (!c)
		return;
	while (map_next(&c->conns, &at, &key, &value))
		conn_free(*(struct conn **)value);
	map_done(&c->conns);
	vec_done(&c->rtts);
	free(c);
}

/* --- finding the connection --- */

static int compare_endpoints(const struct endpoint *a, const struct endpoint *b)
{
	int order = addr_compare(&a->addr, &b->addr);

	return order ? order : (int)a->port - (int)b->port;
}

static void make_key(struct conn_key *key, const struct capture_segment *s)
{
	bool swap = compare_endpoints(&s->from, &s->to) > 0;
	const struct endpoint *low = swap ? &s->to : &s->from, *high = swap ? &s->from : &s->to;

	/* Padding is part of the key. */
	memset(key, 0, sizeof(*key));
	memcpy(key->low.addr.bytes, low->addr.bytes, sizeof(low->addr.bytes));
	key->low.addr.family = low->addr.family;
	key->low.port = low->port;
	memcpy(key->high.addr.bytes, high->addr.bytes, sizeof(high->addr.bytes));
	key->high.addr.family = high->addr.family;
	key->high.port = high->port;
}

/* The sender of the SYN; without a handshake, the higher port is the client's. */
static bool is_from_client(const struct capture_segment *s)
{
	if (s->flags & TCP_SYN)
		return !(s->flags & TCP_ACK);
	return s->from.port > s->to.port;
}

static struct conn *find_conn(struct capture_tcp *c, const struct capture_segment *s)
{
	struct conn **at;
	struct conn_key key;
	bool is_new;

	make_key(&key, s);
	at = map_put(&c->conns, &key, &is_new);
	if (!at)
		return NULL;
	if (is_new) {
		*at = xzalloc(sizeof(**at));
		(*at)->client = is_from_client(s) ? s->from : s->to;
		(*at)->server = is_from_client(s) ? s->to : s->from;
		(*at)->begin_ns = s->time_ns;
	}
	return *at;
}

/* --- one segment --- */

static bool seq_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static void add_flight(struct half *half, uint32_t end, uint64_t time_ns)
{
	if (half->flights.count - half->first_flight >= FLIGHT_MAX)
		half->first_flight++;
	/* Acknowledged segments are removed in bulk. */
	if (half->first_flight > FLIGHT_MAX) {
		half->flights.count -= half->first_flight;
		memmove(half->flights.items, half->flights.items + half->first_flight,
			half->flights.count * sizeof(*half->flights.items));
		half->first_flight = 0;
	}
	vec_push(&half->flights, (struct flight){.end = end, .time_ns = time_ns});
}

static void mark_repeated(struct half *half, uint32_t seq, uint32_t end)
{
	for (size_t i = half->first_flight; i < half->flights.count; i++)
		if (!seq_before(half->flights.items[i].end, seq + 1) && !seq_before(end, half->flights.items[i].end))
			half->flights.items[i].repeated = true;
}

static void see_repetition(struct capture_tcp *c, const struct conn *conn, struct half *half, const struct half *other,
			   const struct capture_segment *s)
{
	uint32_t length = s->bytes + !!(s->flags & TCP_SYN) + !!(s->flags & TCP_FIN);
	uint64_t late_ns = conn->first_rtt_ns ?: OVERTAKEN_NS;
	uint32_t end = s->seq + length;
	bool fast = other->repeated_acks >= 2 && other->has_ack && half->acked == s->seq &&
		    s->time_ns - half->ack_ns < 20 * NSEC_PER_SEC / 1000;

	if (half->has_ack && s->bytes && !seq_before(half->acked, end)) {
		half->spurious++;
	} else if (!fast && s->time_ns - half->next_ns < late_ns && end != half->next) {
		half->overtaken++;
		return;
	}
	half->repeats++;
	half->repeated_bytes += s->bytes;
	c->point.retrans_rate++;
	half->again = half->again_seq == s->seq ? half->again + 1 : 1;
	half->again_seq = s->seq;
	half->again_most = max_of(half->again_most, half->again);
	mark_repeated(half, s->seq, end);
}

static void see_data(struct capture_tcp *c, const struct conn *conn, struct half *half, const struct half *other,
		     const struct capture_segment *s)
{
	uint32_t length = s->bytes + !!(s->flags & TCP_SYN) + !!(s->flags & TCP_FIN), end = s->seq + length;
	/* Keep-alive: an acknowledged byte. */
	bool alive =
		half->seen && s->bytes <= 1 && s->seq == half->next - 1 && !(s->flags & (TCP_SYN | TCP_FIN | TCP_RST));
	/* Window probe: one byte beyond a zero window. */
	bool probe = half->seen && s->bytes == 1 && s->seq == half->next && other->has_window && other->window == 0;

	if (length == 0 || alive || probe || (s->flags & TCP_RST))
		return;
	half->bytes += s->bytes;
	if (half->seen && seq_before(s->seq, half->next)) {
		see_repetition(c, conn, half, other, s);
		/* Part of the segment may be new. */
		if (!seq_before(half->next, end))
			return;
	}
	half->seen = true;
	half->next = end;
	half->next_ns = s->time_ns;
	add_flight(half, end, s->time_ns);
}

static void see_ack(struct capture_tcp *c, struct conn *conn, struct half *sender, struct half *acker,
		    const struct capture_segment *s)
{
	uint64_t rtt = UINT64_MAX;

	if (!(s->flags & TCP_ACK))
		return;
	acker->repeated_acks = sender->has_ack && s->ack == sender->acked && s->bytes == 0 &&
					       s->window == acker->window && !(s->flags & (TCP_SYN | TCP_FIN | TCP_RST))
				       ? acker->repeated_acks + 1
				       : 0;
	if (sender->has_ack && seq_before(s->ack, sender->acked))
		return;
	if (!sender->has_ack || s->ack != sender->acked)
		sender->ack_ns = s->time_ns;
	sender->acked = s->ack;
	sender->has_ack = true;
	while (sender->first_flight < sender->flights.count &&
	       !seq_before(s->ack, sender->flights.items[sender->first_flight].end)) {
		const struct flight *flight = &sender->flights.items[sender->first_flight++];

		/* Karn: the ACK of a retransmitted segment is ambiguous. */
		if (flight->end == s->ack && !flight->repeated)
			rtt = s->time_ns - flight->time_ns;
	}
	if (rtt == UINT64_MAX)
		return;
	vec_push(&conn->rtts, rtt);
	vec_push(&c->rtts, rtt);
	report_add_latency(c->report, "TCP RTT, from the capture point", rtt);
}

static void see_window(struct half *half, const struct capture_segment *s)
{
	bool plain = !(s->flags & (TCP_SYN | TCP_FIN | TCP_RST));

	if (plain && s->window == 0) {
		half->zero_windows++;
		if (!half->closed_since_ns)
			half->closed_since_ns = s->time_ns;
	} else if (plain && half->closed_since_ns) {
		uint64_t closed = s->time_ns - half->closed_since_ns;

		if (closed > half->closed_longest_ns) {
			half->closed_longest_ns = closed;
			half->closed_at_ns = half->closed_since_ns;
		}
		half->closed_since_ns = 0;
	}
	half->window = s->window;
	half->has_window = true;
}

static void see_state(struct capture_tcp *c, struct conn *conn, const struct capture_segment *s, bool from_client)
{
	if ((s->flags & TCP_SYN) && from_client) {
		if (conn->syns++ == 0)
			conn->syn_ns = s->time_ns;
		conn->last_syn_ns = s->time_ns;
	}
	if ((s->flags & TCP_SYN) && !from_client) {
		if (!conn->answered && conn->syns == 1)
			report_add_latency(c->report, "TCP handshake, SYN to SYN-ACK", s->time_ns - conn->syn_ns);
		conn->answered = true;
	}
	if (conn->answered && !conn->first_rtt_ns && from_client && conn->syns && !(s->flags & TCP_SYN))
		conn->first_rtt_ns = s->time_ns - conn->last_syn_ns;
	if (s->flags & TCP_RST) {
		conn->refused = conn->refused || (conn->syns && !conn->answered && !from_client && !conn->has_data);
		conn->reset = true;
	}
	conn->has_data = conn->has_data || s->bytes > 0;
	conn->answered = conn->answered || (!from_client && s->bytes > 0);
	conn->end_ns = max_of(conn->end_ns, s->time_ns);
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void end_second(struct capture_tcp *c, uint64_t now_ns)
{
	c->point.srtt_ns = UINT64_MAX;
	if (c->rtts.count) {
		vec_sort(&c->rtts, by_number);
		c->point.srtt_ns = c->rtts.items[(c->rtts.count - 1) / 2];
	}
	c->point.connections = (uint32_t)c->conns.count;
	/* A capture does not show drops. */
	c->point.drop_rate = NAN;
	report_add_point(c->report, &c->point);
	c->rtts.count = 0;
	/* Seconds without a packet are part of the timeline, but a clock jump must not fill the memory. */
	c->second_ns = now_ns - c->second_ns > 3600 * NSEC_PER_SEC ? now_ns : c->second_ns + NSEC_PER_SEC;
	c->point = (struct report_point){.time_ns = c->second_ns};
}

void capture_tcp_add(struct capture_tcp *c, const struct capture_segment *s)
{
	struct conn *conn = find_conn(c, s);
	struct half *from, *to;
	bool from_client;

	if (!conn)
		return;
	if (!c->first_ns) {
		c->first_ns = c->second_ns = s->time_ns;
		c->point.time_ns = s->time_ns;
	}
	while (s->time_ns >= c->second_ns + NSEC_PER_SEC)
		end_second(c, s->time_ns);
	from_client = compare_endpoints(&s->from, &conn->client) == 0;
	from = &conn->halves[!from_client];
	to = &conn->halves[from_client];
	see_state(c, conn, s, from_client);
	see_data(c, conn, from, to, s);
	see_ack(c, conn, to, from, s);
	see_window(from, s);
	if (from_client)
		c->point.tx_rate += s->bytes;
	else
		c->point.rx_rate += s->bytes;
}

/* --- verdicts --- */

static void add_stall(struct capture_tcp *c, const struct conn *conn, const char *cause, const char *layer,
		      const char *because)
{
	_cleanup_buf_ struct buf module = BUF_INIT(256);

	buf_add_format(&module, "%s:", strcmp(layer, "path") == 0 ? "path" : "peer");
	addr_format_endpoint(&conn->server, &module);
	report_add_stall(c->report,
			 &(struct report_stall){.begin_ns = conn->begin_ns,
						.end_ns = conn->end_ns,
						.span_ns = conn->end_ns - conn->begin_ns,
						.cause = cause,
						.module = report_text(c->report, buf_text(&module)),
						.layer = layer,
						/* One capture point without host counters does not justify more. */
						.certainty = 0.6,
						.because = report_text(c->report, because)});
}

static void judge_loss(struct capture_tcp *c, const struct conn *conn)
{
	uint32_t repeats = conn->halves[0].repeats + conn->halves[1].repeats;
	uint64_t bytes = conn->halves[0].bytes + conn->halves[1].bytes,
		 repeated = conn->halves[0].repeated_bytes + conn->halves[1].repeated_bytes;
	_cleanup_free_ char *because = NULL;

	if (max_of(conn->halves[0].again_most, conn->halves[1].again_most) >= REPEATS_LOST) {
		because = xasprintf("one segment retransmitted %u times in a row",
				    max_of(conn->halves[0].again_most, conn->halves[1].again_most));
		add_stall(c, conn, "path-blackhole", "path", because);
	} else if (repeats >= 5 && bytes && (double)repeated / (double)bytes > 0.01) {
		_cleanup_buf_ struct buf share = BUF_INIT(32);

		format_add_share(&share, (double)repeated / (double)bytes);
		because = xasprintf("%u segment%s retransmitted, %s of the bytes", repeats, text_plural(repeats),
				    buf_text(&share));
		add_stall(c, conn, "path-loss", "path", because);
	}
}

static void judge_windows(struct capture_tcp *c, const struct conn *conn)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct half *half = &conn->halves[side];
		uint64_t open_ns = half->closed_since_ns ? conn->end_ns - half->closed_since_ns : 0,
			 longest = max_of(half->closed_longest_ns, open_ns);
		_cleanup_buf_ struct buf who = BUF_INIT(128), span = BUF_INIT(32), times = BUF_INIT(32);
		_cleanup_free_ char *because = NULL;

		if (longest < CLOSED_NS)
			continue;
		addr_format_endpoint(side ? &conn->server : &conn->client, &who);
		format_add_duration(&span, (int64_t)longest);
		format_add_plural(&times, half->zero_windows, "time");
		because = xasprintf("%s advertised a zero window for %s, %s in total", buf_text(&who), buf_text(&span),
				    buf_text(&times));
		add_stall(c, conn, side ? "peer-not-reading" : "app-not-reading", "peer", because);
	}
}

static void judge(struct capture_tcp *c, const struct conn *conn)
{
	if (conn->refused)
		add_stall(c, conn, "peer-refused", "peer", "the reply to the SYN was a reset");
	else if (conn->syns > 1 && !conn->answered)
		add_stall(c, conn, "connect-dropped", "peer", "the SYN was retransmitted, no reply");
	else if (conn->reset && conn->has_data)
		add_stall(c, conn, "peer-reset", "peer", "the connection was reset after data transfer");
	judge_windows(c, conn);
	if (conn->answered)
		judge_loss(c, conn);
}

/* --- summary --- */

struct talker_key {
	struct endpoint server;
	struct addr client;
};

static struct report_talker sum_of(struct conn *conn)
{
	const struct half *out = &conn->halves[0], *in = &conn->halves[1];
	struct report_talker talker = {
		.way = "to",
		.raddr = conn->server.addr,
		.port = conn->server.port,
		.connections = 1,
		.tx_bytes = out->bytes,
		.rx_bytes = in->bytes,
		.retrans = out->repeats + in->repeats,
		.retrans_bytes = out->repeated_bytes + in->repeated_bytes,
		.retrans_share = NAN,
		.srtt_ns = UINT64_MAX,
		.min_rtt_ns = UINT64_MAX,
		.resets = conn->reset,
		.zero_windows = out->zero_windows + in->zero_windows,
	};

	if (out->bytes + in->bytes)
		talker.retrans_share = (double)talker.retrans_bytes / (double)(out->bytes + in->bytes);
	if (conn->rtts.count) {
		vec_sort(&conn->rtts, by_number);
		talker.srtt_ns = conn->rtts.items[(conn->rtts.count - 1) / 2];
		talker.min_rtt_ns = conn->rtts.items[0];
	}
	return talker;
}

static int by_begin(const void *a, const void *b)
{
	const struct conn *x = *(struct conn *const *)a, *y = *(struct conn *const *)b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return compare_endpoints(&x->client, &y->client);
}

void capture_tcp_finish(struct capture_tcp *c)
{
	VEC(struct conn *) conns = {};
	const void *key;
	size_t at = 0;
	void *value;

	while (map_next(&c->conns, &at, &key, &value))
		vec_push(&conns, *(struct conn **)value);
	vec_sort(&conns, by_begin);
	if (c->first_ns)
		end_second(c, c->second_ns);
	vec_each(&conns, conn) {
		struct report_talker talker = sum_of(*conn);
		char client[ADDR_TEXT_MAX];

		addr_format(&(*conn)->client.addr, client);
		talker.comm = report_text(c->report, client);
		report_add_talker(c->report, &talker);
		judge(c, *conn);
	}
	vec_done(&conns);
}
