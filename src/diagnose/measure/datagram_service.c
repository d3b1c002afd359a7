/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP requests by service (probe/datagram.h): how they are answered, and whether a program waits for that. */
#include "diagnose/measure/datagram_service.h"

#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/refusal.h"
#include "probe/datagram.h"
#include "snapshot/core/delta.h"

#define M struct datagram_measures
static const struct field datagram_fields[] = {
	FIELD(M, dgram_requests, COUNT, "UDP requests to it, in this window and the two before, as all of these"),
	FIELD(M, dgram_repeats, COUNT, "datagrams that repeat the request before"),
	FIELD(M, dgram_unheeded, COUNT, "of these, sent although an answer came in between: one to an earlier request"),
	FIELD(M, dgram_answers, COUNT, "answers from it"),
	FIELD(M, dgram_overdue, COUNT, "requests without an answer after 300 ms"),
	FIELD(M, dgram_read, BOOL, "a program reads from the sockets that it sends them from"),
	FIELD(M, dgram_slow_share, RATIO,
	      "share of the answers that came more than 200 ms after the last request or repeat", .unit = "%"),
	FIELD(M, dgram_repeat_share, RATIO, "repeats as a share of all datagrams sent to it", .unit = "%"),
	FIELD(M, dgram_latency_ns, DURATION, "mean time from a request to its answer"),
	FIELD(M, dgram_wait_ns, DURATION, "longest wait for an answer"),
	FIELD(M, dgram_rtts, RATIO,
	      "the longer of these two as a multiple of the minimum RTT of connections to the same host"),
	FIELD(M, dgram_waited_share, RATIO, "share of the samples with a program blocked on the oldest answer",
	      .unit = "%"),
	FIELD(M, dgram_comm, TEXT, "name of the program that waited last"),
	FIELD(M, dgram_pid, ID, "its process", .zero_is_unknown = true),
	FIELD(M, dgram_asks, COUNT, "of a service here: connections on which its program itself waits for a reply"),
};
#undef M
RECORD_TYPE(datagram_measures_type, "measure.datagram", struct datagram_measures, datagram_fields,
	    "UDP requests to a service");

/* Windows that are added up: what one client asks in a second is little. */
#define WINDOWS 3

/* Totals at the begin of a window. */
struct totals {
	uint64_t requests, repeats, unheeded, answers, slow, overdue, answer_ns;
	unsigned samples, waited;
};

struct service_track {
	struct track track;
	struct datagram_record last;
	struct totals now, begin[WINDOWS]; /* newest first */
	uint64_t wait_ns[WINDOWS];         /* the longest of each window, likewise */
	char comm[16];
	uint32_t pid;
};

struct state {
	struct map services; /* struct endpoint -> service_track */
};

static const struct state initial = {MAP_INIT(sizeof(struct endpoint), sizeof(struct service_track), 10000)};

/* Totals of one that is new began at zero. */
static bool see(const struct window *window, struct state *state, const struct datagram_record *d)
{
	struct service_track *s;
	struct endpoint key;

	memset(&key, 0, sizeof(key));
	key.addr = d->raddr;
	key.port = d->serves ? d->lport : d->rport;
	s = map_put(&state->services, &key, NULL);
	if (!s)
		return false;
	if (track_see(window, &s->track)) {
		memmove(&s->begin[1], &s->begin[0], sizeof(s->begin) - sizeof(s->begin[0]));
		s->begin[0] = s->now;
		memmove(&s->wait_ns[1], &s->wait_ns[0], sizeof(s->wait_ns) - sizeof(s->wait_ns[0]));
		s->wait_ns[0] = 0;
	}
	s->wait_ns[0] = max_of(s->wait_ns[0], d->pending ? d->oldest_ns : 0);
	s->last = *d;
	s->now.requests = d->requests;
	s->now.repeats = d->repeats;
	s->now.unheeded = d->unheeded;
	s->now.answers = d->answers;
	s->now.slow = d->slow_answers;
	s->now.overdue = d->overdue;
	s->now.answer_ns = d->answer_ns;
	s->now.samples++;
	s->now.waited += d->pid != 0;
	if (d->pid) {
		s->pid = d->pid;
		memcpy(s->comm, d->comm, sizeof(s->comm));
	}
	return true;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, datagram_type, const struct datagram_record, d)
		if (!see(window, state, d))
			window->lost++;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole > 0 ? fmin(1, (double)part / (double)whole) : NAN;
}

static uint64_t rtt_of(const struct graph *graph, const struct addr *raddr)
{
	uint64_t rtt_ns = UINT64_MAX;

	vec_each(&graph->modules, at) {
		const struct conn_measures *conn = (*at)->kind == MODULE_CONN ? (*at)->measures.conn : NULL;

		if (conn && addr_equal(&conn->raddr, raddr))
			rtt_ns = min_of(rtt_ns, conn->min_rtt_ns);
	}
	return rtt_ns;
}

static struct datagram_measures *measure(const struct service_track *s, struct graph *graph)
{
	const struct totals *a = &s->begin[WINDOWS - 1], *b = &s->now;
	struct datagram_measures *m = graph_alloc(graph, sizeof(*m));
	uint64_t rtt_ns = rtt_of(graph, &s->last.raddr), longest_ns;

	m->dgram_requests = delta_between(a->requests, b->requests);
	m->dgram_repeats = delta_between(a->repeats, b->repeats);
	m->dgram_unheeded = delta_between(a->unheeded, b->unheeded);
	m->dgram_answers = delta_between(a->answers, b->answers);
	m->dgram_overdue = delta_between(a->overdue, b->overdue);
	/* The counts began again: the tap was closed meanwhile. */
	if (m->dgram_requests == UINT64_MAX || m->dgram_answers == UINT64_MAX || m->dgram_overdue == UINT64_MAX ||
	    m->dgram_repeats == UINT64_MAX)
		return NULL;
	m->dgram_slow_share = share(b->slow - a->slow, m->dgram_answers);
	m->dgram_repeat_share = share(m->dgram_repeats, m->dgram_repeats + m->dgram_requests);
	m->dgram_latency_ns = m->dgram_answers ? (b->answer_ns - a->answer_ns) / m->dgram_answers : UINT64_MAX;
	m->dgram_wait_ns = 0;
	for (unsigned i = 0; i < WINDOWS; i++)
		m->dgram_wait_ns = max_of(m->dgram_wait_ns, s->wait_ns[i]);
	longest_ns = max_of(m->dgram_answers ? m->dgram_latency_ns : 0, m->dgram_wait_ns);
	m->dgram_rtts = rtt_ns && rtt_ns != UINT64_MAX ? (double)longest_ns / (double)rtt_ns : NAN;
	m->dgram_waited_share = share(b->waited - a->waited, b->samples - a->samples);
	m->dgram_read = s->last.is_read;
	m->dgram_pid = s->pid;
	memcpy(m->dgram_comm, s->comm, sizeof(m->dgram_comm));
	return m;
}

static uint64_t asks_of(const struct graph *graph, const struct module *app)
{
	uint64_t asks = 0;

	vec_each(&graph->modules, at) {
		const struct exchange_measures *x = (*at)->measures.exchange;

		asks += app && x && (*at)->related[MODULE_APP] == app && !x->serves &&
			(x->reply_wait_share > 0.3 || x->unreplied_ns != UINT64_MAX);
	}
	return asks;
}

/* A service of this host is its socket. */
static void join_socket(const struct service_track *s, struct datagram_measures *m, const struct graph *graph)
{
	vec_each(&graph->modules, at) {
		const struct udp_measures *udp = (*at)->measures.udp;

		if (!udp || udp->lport != s->last.lport)
			continue;
		(*at)->measures.datagram = m;
		m->dgram_asks = asks_of(graph, (*at)->related[MODULE_APP]);
		if (m->dgram_overdue > 0)
			(*at)->activity = ACTIVITY_WAITING;
		return;
	}
}

static void add_module(const struct service_track *s, const struct datagram_measures *m, struct graph *graph)
{
	struct endpoint remote = {s->last.raddr, s->last.rport};
	_cleanup_buf_ struct buf id = BUF_INIT(256);
	char address[ADDR_TEXT_MAX];
	struct module *peer, *path;

	addr_format_endpoint(&remote, &id);
	addr_format(&s->last.raddr, address);
	peer = flow_module_below(graph, MODULE_PEER, buf_text(&id));
	path = flow_module_below(graph, MODULE_PATH, address);
	peer->measures.datagram = m;
	if (!peer->measures.peer)
		peer->measures.peer = refusal_none(graph, &remote);
	peer->related[MODULE_PATH] = path;
	graph_add_edge(path, peer);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	track_each(window, &state->services, const struct service_track, s)
	{
		struct datagram_measures *m = measure(s, graph);

		if (!m || !(m->dgram_overdue > 0 || m->dgram_repeats > 0 || m->dgram_slow_share > 0))
			continue;
		if (s->last.serves)
			join_socket(s, m, graph);
		else
			add_module(s, m, graph);
	}
	track_forget(window, &state->services, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->services);
}

static const struct measurer datagram_measurer = {
	.name = "datagram",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&datagram_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(datagram_measurer);
