/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and replies. A connection that has become quiet may be out of work or wait for a reply, and the ages of
 * the last data sent and received do not show which: the kernel's clock is too coarse for an exchange of less than a
 * tick. ACKs without data do. A host that replies at once acknowledges the request with
 * the reply; one that computes first sends a delayed ACK after some 40 ms. So an ACK that came later
 * than the last data means that the peer owes a reply; and where data came later than this host last sent, this host
 * owes one.
 */
#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/service.h"
#include "probe/asking.h"
#include "probe/keepalive.h"
#include "probe/unanswered_tally.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/socket.h"

#define E struct exchange_measures
static const struct field exchange_fields[] = {
	FIELD(E, serves, BOOL, "this end is the server: a program here listens on its port"),
	FIELD(E, reply_wait_share, RATIO, "samples in which the peer had acknowledged a request and not replied",
	      .unit = "%"),
	FIELD(E, reply_wait_ns, DURATION, "time since that request, at the end"),
	FIELD(E, unreplied_ns, DURATION,
	      "time since the first request that was acknowledged and not replied to "
	      "included"),
	FIELD(E, bare_acks_share, RATIO, "pure ACKs received per data segment sent", .unit = "%"),
	FIELD(E, bare_acks_base, RATIO, "the fewest of these in an earlier window with ten or more", .unit = "%"),
	FIELD(E, answers_base, COUNT, "the most segments with data received in an earlier window"),
	FIELD(E, answers_share, RATIO, "segments with data received, of that", .unit = "%"),
	FIELD(E, owed_share, RATIO, "samples in which the program had read a request and not replied", .unit = "%"),
	FIELD(E, owed_ns, DURATION, "time since that request was read, at the end"),
	FIELD(E, given_base, COUNT, "the most segments with data sent in an earlier window"),
	FIELD(E, given_share, RATIO, "segments with data sent, of that", .unit = "%"),
	FIELD(E, app_asks, COUNT,
	      "other connections on which its program waits: for a reply, for a service that pauses or does not read, "
	      "for an acknowledgement of anything, or to be connected"),
	FIELD(E, app_asks_share, RATIO, "that, as a share of the threads of the program", .unit = "%"),
	FIELD(E, app_asks_others, COUNT, "these, but for those to the same service"),
	FIELD(E, app_clients_wait, COUNT,
	      "connections of clients on which its program owes a reply, or has not read for 0.5 s"),
	FIELD(E, app_unread, COUNT,
	      "connections on which its program has left a request unread for a second, and sent nothing since"),
	FIELD(E, app_unread_longest_ns, DURATION,
	      "longest time in the last three windows for which its program left a request unread"),
	FIELD(E, app_overdue, COUNT,
	      "clients of its program with a request outstanding in every sample of this run, for a hundred times the "
	      "mean exchange before"),
	FIELD(E, app_oldest_ns, DURATION, "time since the oldest of these requests"),
	FIELD(E, app_asks_late, COUNT,
	      "connections on which its program waits for a service that answered late 3 times or more in this run"),
	FIELD(E, app_asks_first, COUNT,
	      "connections of its program to the same service that began in this run and wait for a first reply"),
	FIELD(E, app_delayed, COUNT,
	      "clients of its program with a request outstanding in every sample of this run, for 2 s and ten times "
	      "the "
	      "mean exchange before"),
	FIELD(E, app_delayed_share, RATIO, "that, of all clients of its program", .unit = "%"),
	FIELD(E, app_delayed_since_ns, DURATION, "time since the oldest of these requests"),
	FIELD(E, peer_is_here, BOOL, "its other end is also on this host"),
	FIELD(E, peer_is_hidden, BOOL, "it is, and belongs to a program that is not known (without privilege)"),
	FIELD(E, fell_silent, BOOL,
	      "received data in every earlier window without a long pause, and has received none for half a second"),
	FIELD(E, unread_ns, DURATION, "time for which its program has not read received data, at the end"),
	FIELD(E, sent_since, BOOL, "data was sent later than any was received"),
	FIELD(E, unread_recent_ns, DURATION, "the longest such time in the last three windows"),
	FIELD(E, unread_recent_fill, RATIO, "share of the receive buffer in use, at its end", .unit = "%"),
	FIELD(E, unaccepted, BOOL, "no program has accepted it yet"),
	FIELD(E, service_base, COUNT,
	      "the most answers of its service, on all connections to it, in an earlier window with ten or more"),
	FIELD(E, service_share, RATIO, "answers of its service in this window, of that", .unit = "%"),
	FIELD(E, service_wait_base_ns, DURATION,
	      "longest wait for that service, in the earlier window where it was "
	      "shortest"),
	FIELD(E, asking_share, RATIO, "samples of this run with an outstanding request", .unit = "%"),
	FIELD(E, quick, COUNT, "replies on it within 0.5 s in this run"),
	FIELD(E, slow, COUNT, "replies on it after 0.5 to 4.5 s and 10 minimum RTTs or more in this run"),
	FIELD(E, late, COUNT, "replies on it after 0.2 s and 10 minimum RTTs or more in this run"),
	FIELD(E, late_wait_ns, DURATION, "mean of these"),
	FIELD(E, past_exchange_ns, DURATION,
	      "mean time of a request and its reply before the run, at most: the age of the program divided by their "
	      "number"),
	FIELD(E, past_exchanges, COUNT, "requests and replies before the run"),
	FIELD(E, late_times, RATIO, "late_wait_ns as a multiple of past_exchange_ns"),
	FIELD(E, run_exchange_ns, DURATION,
	      "mean time for which a request was outstanding in this run, of five or more"),
	FIELD(E, run_times, RATIO, "that, as a multiple of past_exchange_ns"),
	FIELD(E, open_wait_ns, DURATION, "time since a request that has been outstanding in every sample of this run"),
	FIELD(E, open_times, RATIO, "that, as a multiple of past_exchange_ns"),
	FIELD(E, answers_timed, COUNT, "replies of the last three windows whose time is known"),
	FIELD(E, answer_ns, DURATION, "mean time from request to reply of these"),
	FIELD(E, service_quick, COUNT, "replies of its service, on all connections to it, within 0.5 s in this run"),
	FIELD(E, service_slow, COUNT, "waits of 0.5 to 4.5 s for a reply of its service that ended in this run"),
	FIELD(E, service_slow_wait_ns, DURATION, "mean of these"),
	FIELD(E, service_late, COUNT, "waits of 0.2 to 4.5 s for a reply of its service that ended in this run"),
	FIELD(E, service_late_wait_ns, DURATION, "mean of these"),
	FIELD(E, as_ever, BOOL, "the exchanges before the run fill the life of the program at this pace"),
	FIELD(E, service_waits, COUNT, "these, and the connections to its service that wait for a reply at the end"),
	FIELD(E, service_asked_share, RATIO,
	      "samples of this run in which a connection to its service waits for a reply", .unit = "%"),
	FIELD(E, service_lengthy, COUNT, "waits of more than 4.5 s for its service that ended in this run"),
	FIELD(E, service_unanswered, COUNT,
	      "requests to its service that ended without a reply after 0.3 s or more in this run"),
	FIELD(E, service_unanswered_wait_ns, DURATION, "mean wait of these"),
	FIELD(E, service_pauses, COUNT,
	      "samples of this run in which two or more connections had waited for its service for 0.1 s or more, and "
	      "none had had a reply for as long"),
	FIELD(E, service_pause_ns, DURATION, "longest time without a reply in these"),
	FIELD(E, pause_times, RATIO, "that, as a multiple of the mean time of any exchange before the run"),
	FIELD(E, service_fast_share, RATIO,
	      "replies of its service in this run within 50 ms, or one of several between two samples", .unit = "%"),
	FIELD(E, service_prompt, COUNT,
	      "connections to its service with data in both directions within 0.5 s of the handshake"),
	FIELD(E, service_greeted, COUNT,
	      "samples in which a connection to its service exchanged its first data, or ended, 0.5 to 5 s after the "
	      "handshake"),
	FIELD(E, service_greeted_wait_ns, DURATION, "mean time from the handshake until then"),
	FIELD(E, asked, COUNT, "keep-alive probes sent to its silent peer"),
	FIELD(E, unanswered, COUNT, "of these, unanswered"),
	FIELD(E, forbidden, COUNT, "of these, dropped by a filter of this host"),
	FIELD(E, is_there, BOOL, "its peer answered a keep-alive probe"),
	FIELD(E, missing_bytes, BYTES, "by that answer, data that it sent and that has not arrived"),
};
#undef E
RECORD_TYPE(exchange_measures_type, "measure.exchange", struct exchange_measures, exchange_fields,
	    "requests and replies on a connection");

/* A connection that received more slowly, or with longer pauses, may have nothing to receive. */
#define STREAM_RATE    50000
#define STREAM_GAP_NS  (500 * NSEC_PER_MSEC)
#define STREAM_WINDOWS 2

/* The kernel's times are in ticks: a request that seems to begin this much later is the same. */
#define SAME_REQUEST_NS (50 * NSEC_PER_MSEC)
/* A delayed ACK comes within this time and an RTT, with any system. */
#define ACK_LATEST_NS (500 * NSEC_PER_MSEC)
/* A reply that took fewer RTTs is the path's. */
#define SLOW_RTTS 10
/* Exchanges of a run that have a mean. */
#define RUN_ENOUGH 5
/* Windows in which a pause of the reader is remembered. */
#define UNREAD_WINDOWS 3
/* Windows over which the time of replies is averaged. */
#define TIMED_WINDOWS 3
/* Within a tick or two, the order of two things is unknown. */
#define TICKS_NS (2 * NSEC_PER_MSEC)
/* A wait that is this many times the mean before the run is no long request of a kind that comes now and then. */
#define OVERDUE_TIMES 100
/* Where all clients of a program wait at once, less will do. */
#define DELAYED_TIMES 10
#define DELAYED_NS    (2 * NSEC_PER_SEC)
/* Late replies that make a service late. */
#define LATE_ENOUGH 3
/* With fewer exchanges before the run there is no mean. */
#define PAST_ENOUGH 5

/* The longest time for which a program did not read, and what its buffer held then. */
struct unread {
	uint64_t ns;
	double fill;
};

/* As much as is needed of a connection, of which there may be very many. */
struct counts {
	uint32_t segs_in, segs_out, data_segs_in, data_segs_out;
	uint64_t last_sent_ns, last_received_ns;
};

/* Replies whose time is known. */
struct timed {
	uint64_t count, sum_ns;
};

struct exchange_track {
	struct track track;
	bool has_base, serves, began; /* began: in this run */
	bool waits, owes, settled;    /* as of the last sample; settled: and no ACK of data was to come */
	bool acknowledged;            /* the last that was sent, by an acknowledgement alone */
	unsigned samples, reply_wait, unreplied, owed;
	struct counts base, last;
	uint64_t read_bytes, read_ns; /* up to where the program has read, and since when it has left the rest; or 0 */
	uint64_t unread_ns, wait_ns;  /* of the last sample */
	struct unread unread[UNREAD_WINDOWS]; /* of the last windows, newest first */
	struct timed timed[TIMED_WINDOWS];    /* likewise */
	uint64_t open_ns; /* age of what was sent last (received last, by a server), if it is; of the last sample */
	struct service service;
	uint64_t sample;            /* the last one it was seen in */
	uint64_t now_ns;            /* of this sample */
	uint64_t seen_ns, asked_ns; /* its time, and that of the request that waited then; 0: none */
	uint64_t least_ns;          /* that is slow for its RTT */
	uint64_t mute_ns;           /* when its handshake ended, if nothing has been sent by this end since; or 0 */
	uint64_t greeting_ns;       /* how long after that nothing had come either */
	/* Of the whole look. */
	uint64_t exchanges, slow, late, late_sum_ns, samples_ever, asking, open;
	uint64_t first_ns, before; /* when it was first seen, or when the request was sent that waited then; exchanges
				      until then */
	/* Of earlier windows. */
	uint64_t answers_base, given_base;
	double bare_acks_base;
};

struct state {
	struct map tracks; /* cookie -> struct exchange_track */
	struct map ports;  /* port -> nothing: a program listens there */
	struct map asked;  /* cookie -> struct keepalive_record, of the last sample */
	struct map asking; /* cookie -> struct asking_record, of this sample */
	struct map births; /* pid -> uint64_t: start of the process, since boot */
	struct services services;
	uint64_t sample;
};

static const struct state initial = {
	.tracks = MAP_INIT(sizeof(uint64_t), sizeof(struct exchange_track), 1000000),
	.ports = MAP_INIT(sizeof(uint16_t), sizeof(uint8_t), 65536),
	.asked = MAP_INIT(sizeof(uint64_t), sizeof(struct keepalive_record), 10000),
	.births = MAP_INIT(sizeof(uint32_t), sizeof(uint64_t), 1000000),
	.asking = MAP_INIT(sizeof(uint64_t), sizeof(struct asking_record), 100000),
};

static void note_listeners(struct state *state, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, socket_type, struct socket_record, s)
		if (s->proto == 6 && s->state == SOCKET_LISTEN)
			(void)map_put(&state->ports, &s->lport, NULL);
}

/*
 * The order of two things in one tick is unknown. A program that gets the next request as soon as it has replied still
 * owes a reply; this host's kernel then acknowledges the request by itself.
 */
static bool is_owed(struct exchange_track *x, const struct tcp_record *t, const struct asking_record *asking)
{
	uint64_t data = delta_between32(x->last.data_segs_out, t->data_segs_out);
	uint64_t all = delta_between32(x->last.segs_out, t->segs_out);

	if (t->last_sent_ns < t->last_received_ns)
		x->acknowledged = false;
	else if (all != UINT64_MAX && all > data)
		x->acknowledged = true;
	else if (data > 0)
		x->acknowledged = false;
	if (asking && t->last_received_ns == t->last_sent_ns)
		return !asking->sent_last;
	return t->last_received_ns < t->last_sent_ns || (t->last_received_ns == t->last_sent_ns && x->acknowledged);
}

static struct counts counts_of(const struct tcp_record *t)
{
	return (struct counts){t->segs_in,       t->segs_out,     t->data_segs_in,
			       t->data_segs_out, t->last_sent_ns, t->last_received_ns};
}

/*
 * How long the program has left unread what was received; 0: it has read everything. Where it has read since the last
 * sample, or a single segment has arrived since, what came last and is still there tells.
 */
static uint64_t find_unread(struct exchange_track *x, const struct socket_record *s, const struct tcp_record *t,
			    uint64_t now_ns)
{
	bool known = t->bytes_received != UINT64_MAX && s->recvq_bytes != UINT32_MAX;
	uint64_t read = known && t->bytes_received > s->recvq_bytes ? t->bytes_received - s->recvq_bytes : 0;
	uint64_t since_ns = x->samples_ever && t->last_received_ns != UINT64_MAX ? now_ns - x->now_ns : 0;
	bool single = delta_between32(x->last.data_segs_in, t->data_segs_in) <= 1;

	if (!known || s->recvq_bytes == 0)
		x->read_ns = 0;
	else if (read != x->read_bytes || (x->read_ns == 0 && single))
		x->read_ns = now_ns - min_of(t->last_received_ns, since_ns);
	else if (x->read_ns == 0)
		x->read_ns = now_ns - since_ns;
	x->read_bytes = read;
	return x->read_ns ? now_ns - x->read_ns : 0;
}

static void note_unread(struct exchange_track *x, const struct socket_record *s)
{
	bool known = s->rmem_bytes != UINT32_MAX && s->rcvbuf != UINT32_MAX && s->rcvbuf > 0;

	if (x->unread_ns > x->unread[0].ns)
		x->unread[0] = (struct unread){x->unread_ns, known ? (double)s->rmem_bytes / s->rcvbuf : NAN};
}

/*
 * A request is outstanding for as long as nothing has come after it, whatever was acknowledged since: keep-alive
 * probes are as well. Of a connection that has always carried requests and replies. In one tick, the order is that of
 * its wait.
 */
static uint64_t find_open(const struct exchange_track *x, const struct socket_record *s, const struct tcp_record *t)
{
	uint64_t last = x->serves ? t->last_received_ns : t->last_sent_ns,
		 before = x->serves ? t->last_sent_ns : t->last_received_ns;
	bool after = last + TICKS_NS < before || (last == before && !x->serves && x->waits);
	bool both = t->data_segs_in != UINT32_MAX && t->data_segs_in > 0 && t->data_segs_out != UINT32_MAX &&
		    t->data_segs_out > 0;

	return both && s->sendq_bytes == 0 && s->recvq_bytes == 0 && before != UINT64_MAX && after ? last : 0;
}

/* The wait that its service is judged by: of this host for an answer, or of the peer for one of this host. */
static uint64_t wait_of(const struct exchange_track *x, const struct tcp_record *t, bool unreplied, bool owed)
{
	if (!x->serves)
		return unreplied ? t->last_sent_ns : 0;
	return max_of(x->unread_ns, owed ? t->last_received_ns : 0);
}

static uint64_t answers_of(const struct exchange_track *x, const struct counts *before)
{
	uint64_t answers = x->serves ? delta_between32(before->data_segs_out, x->last.data_segs_out)
				     : delta_between32(before->data_segs_in, x->last.data_segs_in);

	return answers == UINT64_MAX ? 0 : answers;
}

static struct service service_of(const struct exchange_track *x, const struct addr *raddr, uint16_t lport,
				 uint16_t rport)
{
	struct service service;

	memset(&service, 0, sizeof(service));
	service.serves = x->serves;
	service.port = x->serves ? lport : rport;
	if (!x->serves)
		service.addr = *raddr;
	return service;
}

/*
 * The ACK of a request comes soon after it: with the reply, or a delayed ACK. A later one answers a keep-alive probe,
 * which says nothing about a reply; on a connection at rest, nothing without data does.
 */
static bool is_acknowledged(const struct tcp_record *t)
{
	return t->last_ack_ns < t->last_received_ns &&
	       t->last_sent_ns - min_of(t->last_sent_ns, t->last_ack_ns) < ACK_LATEST_NS + 2 * t->srtt_ns;
}

static void count_sample(struct exchange_track *x, const struct socket_record *s, const struct tcp_record *t,
			 const struct asking_record *asking)
{
	bool empty = s->sendq_bytes == 0 && s->recvq_bytes == 0;
	bool at_rest = empty && t->last_received_ns != UINT64_MAX;
	bool owed = is_owed(x, t, asking);
	bool sent_last = t->last_sent_ns <= t->last_received_ns;
	bool waits = at_rest && sent_last && (asking ? asking->sent_last : is_acknowledged(t));
	bool known = t->data_segs_in != UINT32_MAX && t->data_segs_out != UINT32_MAX;
	bool first_sent = empty && known && t->data_segs_in == 0 && t->data_segs_out > 0;
	bool first_read = empty && known && t->data_segs_out == 0 && t->data_segs_in > 0;
	bool nothing_new = at_rest && x->settled && known && t->data_segs_in == x->last.data_segs_in &&
			   t->data_segs_out == x->last.data_segs_out;

	if (nothing_new) {
		waits = x->waits;
		owed = x->owes;
	}
	x->waits = waits;
	x->owes = owed;
	x->settled = at_rest && min_of(t->last_sent_ns, t->last_received_ns) > ACK_LATEST_NS;
	x->reply_wait += waits;
	x->unreplied += waits || first_sent;
	x->owed += at_rest && owed;
	x->wait_ns = wait_of(x, t, waits || first_sent, at_rest && (owed || first_read));
	x->samples++;
	x->last = counts_of(t);
}

/* What it has said and heard before it was first seen, after the look began, is of that time too. */
static struct counts counts_before(const struct window *window, const struct exchange_track *x)
{
	return x->has_base || window->number == 0 ? x->last : (struct counts){};
}

/* Both directions change once per exchange, however many segments each has. */
static uint64_t exchanges_since(const struct exchange_track *x, const struct counts *before)
{
	uint64_t in = delta_between32(before->data_segs_in, x->last.data_segs_in);
	uint64_t out = delta_between32(before->data_segs_out, x->last.data_segs_out);

	return in == UINT64_MAX || out == UINT64_MAX ? 0 : min_of(in, out);
}

/*
 * How long a request waited that was seen to wait in the last sample and has been answered since; 0: none. After
 * several exchanges, as when this program got no CPU between two samples, the last answer is another request's.
 */
static uint64_t ended_wait(const struct exchange_track *x, const struct tcp_record *t, const struct service_sample *now,
			   uint64_t asked_ns)
{
	uint64_t answered_ago = x->serves ? t->last_sent_ns : t->last_received_ns, waited = 0, seen;

	if (!x->asked_ns || now->answers == 0 || (asked_ns && asked_ns < x->asked_ns + SAME_REQUEST_NS))
		return 0;
	seen = x->seen_ns - x->asked_ns;
	if (now->exchanges < 2 && answered_ago < x->now_ns - x->asked_ns)
		waited = x->now_ns - answered_ago - x->asked_ns;
	waited = max_of(waited, seen);
	return waited >= x->least_ns ? waited : 0;
}

/*
 * Where the server speaks first, its client has sent nothing while it waits. Nobody sees who spoke first when both have
 * between two samples, and perhaps have ended; a pool of connections that are opened ahead looks the same, but is used
 * or closed at the same time.
 */
static void note_beginning(const struct window *window, struct exchange_track *x, const struct tcp_record *t,
			   struct service_sample *sample)
{
	bool known = t->data_segs_in != UINT32_MAX && t->data_segs_out != UINT32_MAX && !x->serves;
	bool talks = known && t->data_segs_in > 0 && t->data_segs_out > 0;

	if (!known || (t->data_segs_out > 0 && t->data_segs_in == 0)) {
		x->mute_ns = 0;
	} else if (t->data_segs_out == 0 && x->samples_ever == 0 && t->last_ack_ns < x->now_ns) {
		x->mute_ns = x->now_ns - t->last_ack_ns;
	} else if (talks && (x->mute_ns || (x->samples_ever == 0 && window->number > 0))) {
		sample->began = true;
		sample->mute_ns = x->mute_ns && x->greeting_ns >= x->least_ns ? x->greeting_ns : 0;
		x->mute_ns = 0;
	}
	if (x->mute_ns && t->data_segs_in == 0)
		x->greeting_ns = x->now_ns - x->mute_ns;
}

/*
 * Where nothing was asked since, the ages of what was sent and received last are as far apart as the request and its
 * reply; in ticks, so that less than one is one. Else the mean of several, or the one that was seen to wait.
 */
static uint64_t time_answer(const struct exchange_track *x, const struct tcp_record *t,
			    const struct service_sample *sample)
{
	uint64_t asked = x->serves ? t->last_received_ns : t->last_sent_ns,
		 answered = x->serves ? t->last_sent_ns : t->last_received_ns;

	if (sample->answers == 0 || x->samples_ever == 0 || asked == UINT64_MAX)
		return 0;
	if (answered <= asked)
		return max_of(asked - answered, NSEC_PER_MSEC);
	return sample->exchanges > 1 ? (x->now_ns - x->seen_ns) / sample->exchanges : sample->ended_ns;
}

static void note_answer(struct exchange_track *x, uint64_t answer_ns)
{
	x->timed[0].count += answer_ns > 0;
	x->timed[0].sum_ns += answer_ns;
}

/* Age of the last reply on it. */
static uint64_t quiet_of(const struct exchange_track *x, const struct tcp_record *t)
{
	bool known = t->data_segs_in != UINT32_MAX && t->data_segs_out != UINT32_MAX;

	if (!known || (x->serves ? t->data_segs_out : t->data_segs_in) == 0)
		return UINT64_MAX;
	return x->serves ? t->last_sent_ns : t->last_received_ns;
}

static void note_sample(struct state *state, struct window *window, struct exchange_track *x,
			const struct tcp_record *t, const struct counts *before)
{
	uint64_t asked_ns = x->wait_ns > 0 && x->wait_ns < x->now_ns ? x->now_ns - x->wait_ns : 0;
	struct service_sample sample = {.answers = answers_of(x, before),
					.wait_ns = x->wait_ns,
					.quiet_ns = quiet_of(x, t),
					.number = state->sample};

	if (t->min_rtt_ns != UINT64_MAX)
		x->least_ns = t->min_rtt_ns * SLOW_RTTS;
	/* Not what it did before the run. */
	sample.exchanges = x->samples_ever == 0 && window->number == 0 ? 0 : exchanges_since(x, before);
	sample.ended_ns = ended_wait(x, t, &sample, asked_ns);
	note_beginning(window, x, t, &sample);
	sample.least_ns = x->least_ns;
	sample.answer_ns = time_answer(x, t, &sample);
	note_answer(x, sample.answer_ns);
	x->exchanges += sample.exchanges;
	x->slow += sample.ended_ns >= SERVICE_SLOW_NS && sample.ended_ns <= SERVICE_LONG_NS;
	if (sample.ended_ns >= SERVICE_LATE_NS) {
		x->late++;
		x->late_sum_ns += sample.ended_ns;
	}
	if (x->samples_ever == 0) {
		x->began = window->number > 0 || window->samples > 1;
		x->first_ns = x->now_ns - min_of(max_of(x->open_ns, x->wait_ns), x->now_ns);
		x->before = exchanges_since(x, &(struct counts){});
	}
	x->samples_ever++;
	x->open += x->open_ns > 0;
	x->asking += asked_ns != 0;
	x->sample = state->sample;
	x->seen_ns = x->now_ns;
	x->asked_ns = asked_ns;
	services_note(&state->services, window, &x->service, &sample);
}

/* A request that waited when its connection was last seen has ended: with a reply, or because its client gave up. */
static void end_waits_of_gone(struct state *state, struct window *window)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->tracks, &at, &key, &value)) {
		struct exchange_track *x = value;
		struct service_sample sample = {.quiet_ns = UINT64_MAX, .number = state->sample};
		uint64_t least_ns = max_of(x->least_ns, SERVICE_SLOW_NS);
		uint64_t late_ns = max_of(x->least_ns, SERVICE_LATE_NS);

		if (x->sample + 1 != state->sample)
			continue;
		if (x->asked_ns && x->seen_ns - x->asked_ns >= late_ns)
			sample.ended_ns = x->seen_ns - x->asked_ns;
		if (x->mute_ns && x->greeting_ns >= least_ns) {
			sample.began = true;
			sample.mute_ns = x->greeting_ns;
		}
		x->asked_ns = x->mute_ns = 0;
		if (sample.ended_ns || sample.began)
			services_note(&state->services, window, &x->service, &sample);
	}
}

static void note_unanswered(struct state *state, const struct snapshot *snapshot)
{
	services_begin_unanswered(&state->services);
	snapshot_each(snapshot, unanswered_type, struct unanswered_record, record) {
		struct service service;

		if (record->serves)
			continue;
		memset(&service, 0, sizeof(service));
		service.addr = record->service;
		service.port = record->service_port;
		services_note_unanswered(&state->services, &service, record->requests, record->mean_ns);
	}
}

static void note_births(struct state *state, const struct snapshot *snapshot)
{
	map_done(&state->births);
	snapshot_each(snapshot, process_type, struct process_record, process) {
		uint64_t *start_ns = map_put(&state->births, &process->pid, NULL);

		if (start_ns)
			*start_ns = process->start_ns;
	}
}

static void note_asking(struct state *state, const struct snapshot *snapshot)
{
	map_done(&state->asking);
	snapshot_each(snapshot, asking_type, struct asking_record, record) {
		struct asking_record *asking = map_put(&state->asking, &record->cookie, NULL);

		if (asking)
			*asking = *record;
	}
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	uint64_t now_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;
	struct state *state = data;

	state->sample++;
	map_done(&state->asked);
	snapshot_each(snapshot, keepalive_type, struct keepalive_record, record) {
		struct keepalive_record *asked = map_put(&state->asked, &record->cookie, NULL);

		if (asked)
			*asked = *record;
	}
	note_asking(state, snapshot);
	note_births(state, snapshot);
	note_listeners(state, snapshot);
	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		struct exchange_track *x;
		struct counts before;

		if (s->proto != 6 || s->state != SOCKET_ESTABLISHED || s->cookie == UINT64_MAX || !t)
			continue;
		x = map_put(&state->tracks, &s->cookie, NULL);
		if (!x) {
			window->lost++;
			continue;
		}
		before = counts_before(window, x);
		if (track_see(window, &x->track)) {
			if (!x->has_base) {
				x->last = counts_of(t);
				x->bare_acks_base = NAN;
			}
			x->base = x->last;
			x->has_base = true;
			x->samples = x->reply_wait = x->unreplied = x->owed = 0;
			memmove(&x->unread[1], &x->unread[0], sizeof(x->unread) - sizeof(x->unread[0]));
			x->unread[0] = (struct unread){};
			memmove(&x->timed[1], &x->timed[0], sizeof(x->timed) - sizeof(x->timed[0]));
			x->timed[0] = (struct timed){};
		}
		/* It stays so when the listener is gone. */
		x->serves |= map_get(&state->ports, &s->lport) != NULL;
		x->unread_ns = find_unread(x, s, t, now_ns);
		note_unread(x, s);
		x->now_ns = now_ns;
		count_sample(x, s, t, map_get(&state->asking, &s->cookie));
		x->open_ns = find_open(x, s, t);
		x->service = service_of(x, &s->raddr, s->lport, s->rport);
		note_sample(state, window, x, t, &before);
	}
	end_waits_of_gone(state, window);
	note_unanswered(state, snapshot);
}

static double share_of(uint64_t value, uint64_t base)
{
	return value == UINT64_MAX || base == 0 ? NAN : (double)value / (double)base;
}

/* What it received came without a pause, and then nothing. */
static bool has_fallen_silent(const struct conn_measures *own)
{
	return own->steady_windows >= STREAM_WINDOWS && own->received_bytes == 0 &&
	       own->best_receive_rate != UINT64_MAX && own->best_receive_rate > STREAM_RATE &&
	       own->receive_gap_ns != UINT64_MAX && own->receive_gap_ns > STREAM_GAP_NS &&
	       own->receive_gap_base_ns < STREAM_GAP_NS;
}

/*
 * A connection is not older than its program. What counts as several exchanges in this run (long messages) counts so
 * before.
 */
static void measure_past(const struct state *state, const struct exchange_track *x, const struct module *app,
			 struct exchange_measures *m)
{
	const uint64_t *start_ns = app && app->measures.app ? map_get(&state->births, &app->measures.app->pid) : NULL;
	uint64_t each = x->late ? max_of(x->exchanges / x->late, UINT64_C(1)) : 1;
	bool known = start_ns && *start_ns < x->first_ns;

	m->past_exchanges = x->before / each;
	m->past_exchange_ns = known && m->past_exchanges ? (x->first_ns - *start_ns) / m->past_exchanges : UINT64_MAX;
	m->pause_times = known && x->before && m->service_pause_ns != UINT64_MAX
				 ? (double)m->service_pause_ns * (double)x->before / (double)(x->first_ns - *start_ns)
				 : NAN;
}

static double times_past(uint64_t wait_ns, const struct exchange_measures *m)
{
	return wait_ns == UINT64_MAX || m->past_exchange_ns == UINT64_MAX
		       ? NAN
		       : (double)wait_ns / (double)max_of(m->past_exchange_ns, UINT64_C(1));
}

/*
 * Waits as long as the mean exchange before, or not much longer. With fewer of them there is no mean: a service that
 * was slow from the start is slow. A wait that is much longer is that of a connection younger than its program.
 */
static bool is_as_ever(double times, uint64_t exchanges)
{
	return exchanges >= PAST_ENOUGH && times >= 0.5 && times < (exchanges == PAST_ENOUGH ? 2 : 1.2);
}

static void measure_late(const struct state *state, const struct exchange_track *x, const struct module *conn,
			 struct exchange_measures *m)
{
	m->asking_share = (double)x->asking / (double)x->samples_ever;
	m->quick = x->exchanges - min_of(x->slow, x->exchanges);
	m->slow = x->slow;
	m->late = x->late;
	m->late_wait_ns = x->late ? x->late_sum_ns / x->late : UINT64_MAX;
	measure_past(state, x, conn->related[MODULE_APP], m);
	m->late_times = times_past(m->late_wait_ns, m);
	m->run_exchange_ns = x->exchanges < RUN_ENOUGH
				     ? UINT64_MAX
				     : (uint64_t)((double)(x->now_ns - x->first_ns) * m->asking_share) / x->exchanges;
	m->run_times = times_past(m->run_exchange_ns, m);
	m->as_ever = is_as_ever(times_past(m->service_slow_wait_ns, m), m->past_exchanges);
	m->open_wait_ns = x->open == x->samples_ever && x->exchanges == 0 ? x->open_ns : UINT64_MAX;
	m->open_times = times_past(m->open_wait_ns, m);
	m->waits_first = x->began && x->exchanges == 0 && x->last.data_segs_in == 0;
}

static void measure_timed(const struct exchange_track *x, struct exchange_measures *m)
{
	uint64_t sum_ns = 0;

	for (unsigned i = 0; i < TIMED_WINDOWS; i++) {
		m->answers_timed += x->timed[i].count;
		sum_ns += x->timed[i].sum_ns;
	}
	m->answer_ns = m->answers_timed ? sum_ns / m->answers_timed : UINT64_MAX;
	m->timed_now = (unsigned)x->timed[0].count;
	m->timed_now_ns = m->timed_now ? x->timed[0].sum_ns / m->timed_now : 0;
}

static void measure_unread(const struct exchange_track *x, struct exchange_measures *m)
{
	m->unread_ns = x->unread_ns;
	m->sent_since = x->last.last_sent_ns + TICKS_NS < x->last.last_received_ns;
	m->unread_recent_fill = NAN;
	for (unsigned i = 0; i < UNREAD_WINDOWS; i++) {
		if (x->unread[i].ns <= m->unread_recent_ns)
			continue;
		m->unread_recent_ns = x->unread[i].ns;
		m->unread_recent_fill = x->unread[i].fill;
	}
}

static void measure(struct exchange_track *x, struct exchange_measures *m)
{
	uint64_t segs_in = delta_between32(x->base.segs_in, x->last.segs_in);
	uint64_t answers = delta_between32(x->base.data_segs_in, x->last.data_segs_in);
	uint64_t given = delta_between32(x->base.data_segs_out, x->last.data_segs_out);

	m->serves = x->serves;
	m->reply_wait_share = (double)x->reply_wait / x->samples;
	m->reply_wait_ns = x->reply_wait == x->samples ? x->last.last_sent_ns : UINT64_MAX;
	m->unreplied_ns = x->unreplied == x->samples ? x->last.last_sent_ns : UINT64_MAX;
	m->bare_acks_base = x->bare_acks_base;
	m->bare_acks_share = segs_in == UINT64_MAX || answers == UINT64_MAX
				     ? NAN
				     : share_of(segs_in - min_of(answers, segs_in), given);
	if (given >= EXCHANGES_ENOUGH && given != UINT64_MAX)
		x->bare_acks_base = fmin(x->bare_acks_base, m->bare_acks_share);
	m->answers_base = x->answers_base;
	m->answers_share = share_of(answers, x->answers_base);
	m->owed_share = (double)x->owed / x->samples;
	m->owed_ns = x->owed == x->samples ? x->last.last_received_ns : UINT64_MAX;
	m->given_base = x->given_base;
	m->given_share = share_of(given, x->given_base);
	if (answers != UINT64_MAX)
		x->answers_base = max_of(x->answers_base, answers);
	if (given != UINT64_MAX)
		x->given_base = max_of(x->given_base, given);
}

/* One connection of this window. */
struct exchange {
	struct module *conn;
	struct exchange_measures *measures; /* NULL: it is not connected yet */
};

static void measure_asked(const struct state *state, uint64_t cookie, struct exchange_measures *m)
{
	const struct keepalive_record *asked = map_get(&state->asked, &cookie);

	m->missing_bytes = !asked || asked->missing_bytes == UINT32_MAX ? UINT64_MAX : asked->missing_bytes;
	if (!asked)
		return;
	m->asked = asked->asked;
	m->unanswered = asked->unanswered;
	m->forbidden = asked->forbidden;
	m->is_there = asked->answered;
}

/* What is counted over all connections of a program. */
struct of_app {
	uint64_t asks, unread, unread_ns, overdue, overdue_ns, clients_wait;
	uint64_t asks_late, clients, delayed, delayed_ns;
};

/* The connections of a program to one service. */
struct app_service {
	const struct module *app, *peer;
};

struct of_service {
	uint64_t asks, asks_first;
};

#define UNREAD_NS      NSEC_PER_SEC
#define CLIENT_WAIT_NS (500 * NSEC_PER_MSEC)

static uint64_t threads_of(const struct module *app)
{
	return app->measures.app && app->measures.app->app_threads != UINT64_MAX ? app->measures.app->app_threads : 0;
}

/* For a reply, for a service that pauses, for one that does not read, or for anything to pass. */
static bool waits_for_peer(const struct conn_measures *own, const struct exchange_measures *m)
{
	return own->stuck || m->open_times >= OVERDUE_TIMES || m->reply_wait_share > 0.3 ||
	       m->unreplied_ns != UINT64_MAX || (m->service_pauses != UINT64_MAX && m->service_pauses > 0) ||
	       own->rwnd_share > 0.4;
}

static bool is_overdue(const struct exchange_measures *m)
{
	return m->serves && m->open_times >= OVERDUE_TIMES && m->past_exchanges >= PAST_ENOUGH;
}

static bool is_delayed(const struct exchange_measures *m)
{
	return m->serves && m->open_wait_ns != UINT64_MAX && m->open_wait_ns >= DELAYED_NS &&
	       m->open_times >= DELAYED_TIMES && m->past_exchanges >= PAST_ENOUGH;
}

/* What of a connection counts for all of its program. */
static void add_to_app(struct of_app *all, const struct exchange_measures *m, bool asks)
{
	all->clients_wait += m->serves && (m->owed_share > 0.5 || m->unread_ns >= CLIENT_WAIT_NS);
	all->unread += m->serves && m->unread_ns >= UNREAD_NS && !m->sent_since;
	all->unread_ns = max_of(all->unread_ns, m->serves ? m->unread_recent_ns : 0);
	all->overdue += is_overdue(m);
	all->overdue_ns = max_of(all->overdue_ns, is_overdue(m) ? m->open_wait_ns : 0);
	all->asks_late += asks && m->service_late != UINT64_MAX && m->service_late >= LATE_ENOUGH;
	all->clients += m->serves;
	all->delayed += is_delayed(m);
	all->delayed_ns = max_of(all->delayed_ns, is_delayed(m) ? m->open_wait_ns : 0);
}

/*
 * A program that waits for an answer cannot give one; one that leaves several questions unread does not look; and what
 * it asks while its own clients wait, they wait for.
 */
static void count_for_apps(const struct exchange *exchanges, size_t count)
{
	struct map apps = MAP_INIT(sizeof(struct module *), sizeof(struct of_app), 1000000);
	struct map services = MAP_INIT(sizeof(struct app_service), sizeof(struct of_service), 1000000);

	for (unsigned pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < count; i++) {
			struct exchange_measures *m = exchanges[i].measures;
			bool asks = !m || (!m->serves && waits_for_peer(exchanges[i].conn->measures.conn, m));
			struct module *app = exchanges[i].conn->related[MODULE_APP];
			struct of_app *all = app ? map_put(&apps, &app, NULL) : NULL;
			struct app_service service = {app, exchanges[i].conn->related[MODULE_PEER]};
			struct of_service *same = app ? map_put(&services, &service, NULL) : NULL;

			if (!all || !same)
				continue;
			if (pass == 0) {
				all->asks += asks;
				same->asks += asks;
				same->asks_first += asks && m && m->waits_first;
				if (m)
					add_to_app(all, m, asks);
			} else if (m) {
				m->app_asks = all->asks - asks;
				m->app_asks_share = share_of(m->app_asks, threads_of(app));
				m->app_asks_others = all->asks - same->asks;
				m->app_asks_first = same->asks_first;
				m->app_clients_wait = all->clients_wait;
				m->app_unread = all->unread;
				m->app_unread_longest_ns = all->unread_ns;
				m->app_overdue = all->overdue;
				m->app_oldest_ns = all->overdue ? all->overdue_ns : UINT64_MAX;
				m->app_asks_late = all->asks_late;
				m->app_delayed = all->delayed;
				m->app_delayed_share = share_of(all->delayed, all->clients);
				m->app_delayed_since_ns = all->delayed ? all->delayed_ns : UINT64_MAX;
			}
		}
	}
	map_done(&apps);
	map_done(&services);
}

struct ends {
	struct addr from, to;
	uint16_t from_port, to_port;
};

static struct ends ends_of(const struct conn_measures *conn, bool reversed)
{
	struct ends ends;

	memset(&ends, 0, sizeof(ends));
	ends.from = reversed ? conn->raddr : conn->laddr;
	ends.to = reversed ? conn->laddr : conn->raddr;
	ends.from_port = reversed ? conn->rport : conn->lport;
	ends.to_port = reversed ? conn->lport : conn->rport;
	return ends;
}

void exchange_set_other_end(struct exchange_measures *m, const struct module *other)
{
	m->peer_is_here = other != NULL;
	/* One that no program has accepted has no owner either, and its listener is judged. */
	m->peer_is_hidden = other && !other->related[MODULE_APP] && other->inode != 0;
}

static void find_other_ends(const struct exchange *exchanges, size_t count)
{
	struct map all = MAP_INIT(sizeof(struct ends), sizeof(struct module *), 1000000);

	for (size_t i = 0; i < count; i++) {
		struct ends ends = ends_of(exchanges[i].conn->measures.conn, false);
		struct module **slot = map_put(&all, &ends, NULL);

		if (slot)
			*slot = exchanges[i].conn;
	}
	for (size_t i = 0; i < count; i++) {
		struct ends ends = ends_of(exchanges[i].conn->measures.conn, true);
		struct module *const *slot = map_get(&all, &ends);

		exchanges[i].conn->other_end = slot ? *slot : NULL;
		if (exchanges[i].measures)
			exchange_set_other_end(exchanges[i].measures, slot ? *slot : NULL);
	}
	map_done(&all);
}

/* Idle, and it is not its turn to be answered. */
static bool is_quiet(const struct module *conn, const struct exchange_measures *m)
{
	bool waits = m->serves ? m->owed_share > 0 : m->reply_wait_share > 0 || m->unreplied_ns != UINT64_MAX;

	return conn->activity == ACTIVITY_IDLE && !waits && m->unread_ns == 0;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	VEC(struct exchange) exchanges = {};

	vec_each(&graph->modules, module) {
		const struct conn_measures *own = (*module)->measures.conn;
		struct exchange_track *x = own ? map_get(&state->tracks, &own->cookie) : NULL;
		struct exchange_measures *m;

		if (own && own->state == SOCKET_SYN_SENT)
			vec_push(&exchanges, ((struct exchange){*module, NULL}));
		if (!x || !track_is_current(window, &x->track))
			continue;
		m = graph_alloc(graph, sizeof(*m));
		measure(x, m);
		m->fell_silent = has_fallen_silent(own);
		measure_unread(x, m);
		measure_timed(x, m);
		m->unaccepted = x->serves && (*module)->inode == 0;
		services_measure(&state->services, &x->service, m);
		measure_late(state, x, *module, m);
		m->app_unread_longest_ns = m->app_oldest_ns = m->app_delayed_since_ns = UINT64_MAX;
		m->app_delayed_share = NAN;
		measure_asked(state, own->cookie, m);
		(*module)->measures.exchange = m;
		/* Only a keep-alive probe shows that nothing will come; its owner was judged before. */
		if (m->unanswered > 0 || m->forbidden > 0 || (m->missing_bytes != UINT64_MAX && m->missing_bytes > 0))
			module_set_waiting(*module);
		(*module)->quiet = is_quiet(*module, m);
		vec_push(&exchanges, ((struct exchange){*module, m}));
	}
	count_for_apps(exchanges.items, exchanges.count);
	find_other_ends(exchanges.items, exchanges.count);
	vec_done(&exchanges);
	map_done(&state->ports);
	services_end_window(&state->services, window);
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->tracks);
	map_done(&((struct state *)data)->ports);
	map_done(&((struct state *)data)->asked);
	map_done(&((struct state *)data)->asking);
	map_done(&((struct state *)data)->births);
	services_done(&((struct state *)data)->services);
}

static const struct measurer exchange_measurer = {
	.name = "exchange",
	.stage = MEASURE_PATH,
	.needs =
		MEASURER_NEEDS(&socket_type, &tcp_type, &keepalive_type, &asking_type, &unanswered_type, &process_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(exchange_measurer);
