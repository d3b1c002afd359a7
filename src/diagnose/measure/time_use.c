/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/time_use.h"

#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/nameserver.h"
#include "probe/blocking.h"
#include "snapshot/core/delta.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/socket.h"

#define PORT_DNS          53
#define PORT_DNS_OVER_TLS 853
/* A connection that receives this much in a window receives an answer, not news. */
#define STREAM_BYTES (64 << 10)
/* Of a thread that never blocks, this much is the inaccuracy of sampling. */
#define UNKNOWN_MAX 0.05

const char *time_what_name(enum time_what what)
{
	static const char *const names[] = {
		[TIME_CPU] = "cpu",         [TIME_CPU_WAIT] = "cpu-wait", [TIME_ANSWER] = "answer",
		[TIME_NETWORK] = "network", [TIME_CONNECT] = "connect",   [TIME_DNS] = "dns",
		[TIME_IDLE] = "idle",       [TIME_OTHER] = "other",       [TIME_PEER_READING] = "peer-reading",
	};

	return names[what];
}

static bool is_busy(enum time_what what)
{
	return what != TIME_IDLE && what != TIME_OTHER;
}

double time_use_busy(const struct time_use *use)
{
	double busy = 0;

	for (unsigned i = 0; i < use->count; i++)
		busy += is_busy(use->shares[i].what) ? use->shares[i].share : 0;
	return busy;
}

/* --- what was sampled --- */

struct thread_track {
	struct track track;
	bool has_base;
	uint32_t pid;
	uint64_t base_ns, base_run, base_wait;
	uint64_t last_ns, last_run, last_wait;
};

struct row_key {
	uint32_t tid;
	uint8_t what, proto;
	uint16_t lport, rport;
	struct addr raddr;
};

struct row_track {
	struct track track;
	bool has_base, estimate;
	uint64_t base_ns, last_ns, base_count, last_count, p50_ns, max_ns;
};

struct program_track {
	struct track track;
	struct time_history history;
};

struct state {
	struct map heard;    /* cookie -> struct track: connections that received after they sent */
	struct map threads;  /* tid -> struct thread_track */
	struct map rows;     /* struct row_key -> struct row_track */
	struct map programs; /* struct module's id -> struct program_track */
};

static const struct state initial = {
	.heard = MAP_INIT(sizeof(uint64_t), sizeof(struct track), 50000),
	.threads = MAP_INIT(sizeof(uint32_t), sizeof(struct thread_track), 100000),
	.rows = MAP_INIT(sizeof(struct row_key), sizeof(struct row_track), 200000),
	.programs = MAP_INIT(sizeof(uint32_t), sizeof(struct program_track), 10000),
};

static void sample_thread(struct window *window, struct state *state, const struct thread_record *t, uint64_t now_ns)
{
	struct thread_track *track = map_put(&state->threads, &t->tid, NULL);

	if (!track || t->run_ns == UINT64_MAX || t->wait_ns == UINT64_MAX)
		return;
	if (track_see(window, &track->track) && track->has_base && track->pid == t->pid) {
		track->base_ns = track->last_ns;
		track->base_run = track->last_run;
		track->base_wait = track->last_wait;
	}
	if (!track->has_base || track->pid != t->pid) {
		track->has_base = true;
		track->pid = t->pid;
		track->base_ns = now_ns;
		track->base_run = t->run_ns;
		track->base_wait = t->wait_ns;
	}
	track->last_ns = now_ns;
	track->last_run = t->run_ns;
	track->last_wait = t->wait_ns;
}

/* Totals of a row that appears later began at zero after the first sample. */
static void sample_row(struct window *window, struct state *state, const struct blocking_record *b)
{
	bool first_sample = window->number == 0 && window->samples == 1;
	struct row_track *track;
	struct row_key key;

	memset(&key, 0, sizeof(key));
	key.tid = b->tid;
	key.what = b->what;
	key.proto = b->proto;
	key.lport = b->lport;
	key.rport = b->rport;
	key.raddr = b->raddr;
	track = map_put(&state->rows, &key, NULL);
	if (!track)
		return;
	/* The totals of another run begin at zero as well. */
	if (b->wait_ns < track->last_ns)
		track->base_ns = track->base_count = track->last_ns = track->last_count = 0;
	if (track_see(window, &track->track)) {
		track->base_ns = track->has_base ? track->last_ns : first_sample ? b->wait_ns : 0;
		track->base_count = track->has_base ? track->last_count : first_sample ? b->count : 0;
	}
	track->has_base = true;
	track->estimate = b->estimate;
	track->last_ns = b->wait_ns;
	track->last_count = b->count;
	track->p50_ns = b->p50_ns;
	track->max_ns = b->max_ns;
}

/* Within one tick of the kernel's clock the order is not known: then it is not heard. */
static void sample_socket(const struct window *window, struct state *state, const struct socket_record *s,
			  const struct tcp_record *t)
{
	struct track *heard;

	if (t->last_received_ns >= t->last_sent_ns || t->last_sent_ns == UINT64_MAX || t->data_segs_in == 0) {
		(void)map_remove(&state->heard, &s->cookie);
		return;
	}
	heard = map_put(&state->heard, &s->cookie, NULL);
	if (heard)
		(void)track_see(window, heard);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = s->state == SOCKET_ESTABLISHED ? socket_tcp(snapshot, s) : NULL;

		if (t)
			sample_socket(window, state, s, t);
	}
	snapshot_each(snapshot, thread_type, const struct thread_record, t)
		sample_thread(window, state, t, snapshot->begin_boot_ns);
	snapshot_each(snapshot, blocking_type, const struct blocking_record, b)
		sample_row(window, state, b);
}

/* --- what is known about the connections of a program --- */

struct service_key {
	const struct module *app;
	struct addr raddr;
	uint16_t rport, lport;
};

/* All connections of a program to one service; of a server, all of one port, or of one client at it. */
struct service_facts {
	const char *peer; /* id of the module */
	uint64_t received_bytes, sent_bytes;
	double rwnd, busy; /* sums of shares */
	double unsettled;  /* share in which data was unacknowledged, of one that retransmits */
	bool out_of_order; /* segments arrived after a loss */
	bool unreplied;    /* the whole window; of a stream that nothing answers, not */
	bool unheard;      /* of one connection, what was last was sent, not received */
	double reply_wait; /* share of samples */
	double held_back;  /* share of samples with data that may not be sent yet */
	bool connects;
	uint64_t rtt_ns;
};

static uint64_t known(uint64_t value)
{
	return value == UINT64_MAX ? 0 : value;
}

static double real(double value)
{
	return isnan(value) ? 0 : value;
}

static void add_facts(const struct window *window, struct map *facts, const struct service_key *key,
		      const struct module *conn, bool heard)
{
	const struct conn_measures *m = conn->measures.conn;
	const struct exchange_measures *x = conn->measures.exchange;
	struct service_facts *f;
	bool is_new;

	f = map_put(facts, key, &is_new);
	if (!f)
		return;
	if (is_new)
		f->rtt_ns = UINT64_MAX;
	f->peer = conn->related[MODULE_PEER] ? conn->related[MODULE_PEER]->id : NULL;
	f->received_bytes += known(m->received_bytes);
	f->sent_bytes += known(m->sent_bytes);
	f->rwnd += real(m->rwnd_share);
	f->busy += real(m->busy_share);
	if (known(m->retrans_bytes) > 0 || known(m->rto_count) > 0)
		f->unsettled = fmax(f->unsettled, real(m->unacked_share));
	f->out_of_order |= known(m->ooo_count) > 0;
	f->connects |= m->state == SOCKET_SYN_SENT;
	f->held_back = fmax(f->held_back, real(m->notsent_share));
	f->unheard |= !heard;
	if (m->min_rtt_ns > 0)
		f->rtt_ns = min_of(f->rtt_ns, m->min_rtt_ns);
	if (x && !x->serves) {
		f->unreplied |= x->unreplied_ns != UINT64_MAX &&
				(known(m->received_ever_bytes) > 0 || x->unreplied_ns >= window->span_ns);
		f->reply_wait = fmax(f->reply_wait, real(x->reply_wait_share));
	}
}

static struct map find_facts(const struct window *window, const struct state *state, const struct graph *graph)
{
	struct map facts = MAP_INIT(sizeof(struct service_key), sizeof(struct service_facts), 100000);

	vec_each(&graph->modules, at) {
		const struct conn_measures *m = (*at)->measures.conn;
		const struct exchange_measures *x = (*at)->measures.exchange;
		const struct track *heard = m ? map_get(&state->heard, &m->cookie) : NULL;
		bool is_heard = heard && track_is_current(window, heard);
		struct service_key key;

		if (!m || !(*at)->related[MODULE_APP])
			continue;
		memset(&key, 0, sizeof(key));
		key.app = (*at)->related[MODULE_APP];
		if (x && x->serves) {
			key.lport = m->lport;
			add_facts(window, &facts, &key, *at, is_heard);
		} else {
			key.rport = m->rport;
		}
		key.raddr = m->raddr;
		add_facts(window, &facts, &key, *at, is_heard);
	}
	return facts;
}

/* --- one program in one window --- */

struct program {
	const struct module *app;
	const struct map *facts;
	struct time_use sum; /* of threads, weighted */
	double weight;
	struct time_use plain; /* of threads that did nothing, each alike */
	double threads;
};

/* Adds a share; beyond the room for them, to the smallest part of the same kind or else to the last. */
static void add_share(struct time_use *use, const struct time_share *share, double weight)
{
	struct time_share *to = NULL;

	for (unsigned i = 0; i < use->count; i++)
		if (use->shares[i].what == share->what && strcmp(use->shares[i].on, share->on) == 0)
			to = &use->shares[i];
	if (!to && use->count < TIME_SHARES_MAX) {
		to = &use->shares[use->count++];
		*to = *share;
		to->share = 0;
		to->count = to->max_ns = to->most = 0;
		to->p50_ns = UINT64_MAX;
	}
	for (unsigned i = 0; !to && i < use->count; i++)
		if (use->shares[i].what == share->what)
			to = &use->shares[i];
	if (!to)
		to = &use->shares[use->count - 1];
	/* The median of the part with the most waits. */
	if (share->p50_ns != UINT64_MAX && (to->p50_ns == UINT64_MAX || share->count >= to->most)) {
		to->p50_ns = share->p50_ns;
		to->most = share->count;
	}
	to->share += share->share * weight;
	to->count = to->count == UINT64_MAX || share->count == UINT64_MAX ? UINT64_MAX : to->count + share->count;
	to->max_ns = to->max_ns == UINT64_MAX || share->max_ns == UINT64_MAX ? UINT64_MAX
									     : max_of(to->max_ns, share->max_ns);
	to->rtt_ns = min_of(to->rtt_ns, share->rtt_ns);
}

static void add_use(struct time_use *to, const struct time_use *from, double weight)
{
	to->estimate |= from->estimate;
	for (unsigned i = 0; i < from->count; i++)
		add_share(to, &from->shares[i], weight);
}

/* A wait of a thread that is being divided. */
struct wait {
	const struct program *program;
	struct time_use *use;
	const struct row_key *key;
	double share;
	uint64_t count, p50_ns, max_ns;
};

static void put(const struct wait *wait, enum time_what what, const char *on, double part, uint64_t rtt_ns)
{
	struct time_share share = {.what = what,
				   .share = wait->share * part,
				   .count = wait->count,
				   .max_ns = wait->max_ns,
				   .p50_ns = wait->p50_ns,
				   .rtt_ns = rtt_ns};

	if (part <= 0)
		return;
	if (on)
		snprintf(share.on, sizeof(share.on), "%s", on);
	add_share(wait->use, &share, 1);
}

static void peer_id(const struct row_key *key, char id[TIME_ON_MAX])
{
	struct endpoint remote = {key->raddr, key->rport};
	_cleanup_buf_ struct buf text = BUF_INIT(TIME_ON_MAX);

	buf_add_text(&text, "peer:");
	addr_format_endpoint(&remote, &text);
	snprintf(id, TIME_ON_MAX, "%s", buf_text(&text));
}

static const struct service_facts *facts_of(const struct wait *wait)
{
	struct service_key key;

	memset(&key, 0, sizeof(key));
	key.app = wait->program->app;
	key.raddr = wait->key->raddr;
	key.rport = wait->key->rport;
	key.lport = wait->key->lport;
	return map_get(wait->program->facts, &key);
}

static bool asks_names(const struct row_key *key)
{
	return key->rport == PORT_DNS || key->rport == PORT_DNS_OVER_TLS;
}

static void put_dns(const struct wait *wait)
{
	char id[TIME_ON_MAX] = "resolver:";

	addr_format(&wait->key->raddr, id + strlen(id));
	put(wait, TIME_DNS, id, 1, UINT64_MAX);
}

/* A server that reads waits for the next question; so does a client that has nothing to ask. */
static void put_receive(const struct wait *wait)
{
	const struct service_facts *f = facts_of(wait);
	const struct row_key *key = wait->key;
	bool client = key->lport == 0 && key->rport != 0;
	double lossy = f ? (f->out_of_order ? 1 : f->unsettled) : 0;
	struct wait whole = *wait;
	char id[TIME_ON_MAX];

	if (client && asks_names(key)) {
		put_dns(wait);
		return;
	}
	peer_id(key, id);
	if (client && key->what == BLOCKING_MORE && f && f->received_bytes < STREAM_BYTES)
		client = false;
	if (client && f && f->sent_bytes == 0 && f->received_bytes == 0 && !f->unheard && key->proto == 6)
		client = false;
	if (!client) {
		put(wait, TIME_IDLE, NULL, 1 - lossy, UINT64_MAX);
		put(wait, TIME_NETWORK, f ? f->peer : NULL, lossy, UINT64_MAX);
		return;
	}
	/* One answer then comes in many parts, each with a wait. */
	if (f && f->received_bytes >= STREAM_BYTES)
		whole.p50_ns = UINT64_MAX;
	put(&whole, TIME_NETWORK, id, lossy, f ? f->rtt_ns : UINT64_MAX);
	put(&whole, TIME_ANSWER, id, 1 - lossy, f ? f->rtt_ns : UINT64_MAX);
}

/* The kernel times for how long the receive window held a connection back. */
static void put_held_back(const struct wait *wait, const struct service_facts *f, const char *on, double part)
{
	double reading = f && f->busy > 0 ? fmin(1, f->rwnd / f->busy) : 0;

	put(wait, TIME_PEER_READING, on, part * reading, f ? f->rtt_ns : UINT64_MAX);
	put(wait, TIME_NETWORK, on, part * (1 - reading), f ? f->rtt_ns : UINT64_MAX);
}

static void put_send(const struct wait *wait)
{
	const struct service_facts *f = facts_of(wait);
	char id[TIME_ON_MAX];
	const char *on = id;

	peer_id(wait->key, id);
	if (wait->key->lport)
		on = f ? f->peer : NULL;
	put_held_back(wait, f, on, 1);
}

/* What a program that polls asked before the first sample shows in its connections alone. */
static void put_poll(const struct wait *wait, bool estimate)
{
	const struct module *app = wait->program->app, *server = app->related[MODULE_RESOLVER];
	const struct service_facts *open = NULL, *held = NULL;
	double part = 0;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(wait->program->facts, &at, &key, &value)) {
		const struct service_facts *f = value;
		double share = f->connects || f->unreplied ? 1 : estimate ? f->reply_wait : 0;

		if (((const struct service_key *)key)->app != app)
			continue;
		if (share > part) {
			part = share;
			open = f;
		}
		if (f->held_back > (held ? held->held_back : 0))
			held = f;
	}
	if (!open && server && server->measures.resolver && known(server->measures.resolver->dns_pending) > 0) {
		put(wait, TIME_DNS, server->id, 1, UINT64_MAX);
		return;
	}
	if (open)
		put(wait, open->connects ? TIME_CONNECT : TIME_ANSWER, open->peer, part, open->rtt_ns);
	/* It waits until it may write more. */
	if (!open && held) {
		part = held->held_back;
		put_held_back(wait, held, held->peer, part);
	}
	put(wait, TIME_IDLE, NULL, 1 - part, UINT64_MAX);
}

static void put_row(const struct wait *wait, bool estimate)
{
	char id[TIME_ON_MAX];

	switch (wait->key->what) {
	case BLOCKING_RECEIVE:
	case BLOCKING_MORE:
		put_receive(wait);
		return;
	case BLOCKING_SEND:
		put_send(wait);
		return;
	case BLOCKING_CONNECT:
		peer_id(wait->key, id);
		put(wait, TIME_CONNECT, id, 1, UINT64_MAX);
		return;
	case BLOCKING_ACCEPT:
		put(wait, TIME_IDLE, NULL, 1, UINT64_MAX);
		return;
	case BLOCKING_POLL:
		put_poll(wait, estimate);
		return;
	default:
		put(wait, TIME_OTHER, NULL, 1, UINT64_MAX);
	}
}

/* A thread of the window, and the rows of it. */
struct thread_use {
	const struct thread_track *thread;
	VEC(struct wait) waits; /* share in ns */
	double blocked_ns;
	bool estimate;
};

static void put_cpu(struct time_use *use, enum time_what what, double share)
{
	add_share(use, &(struct time_share){.what = what, .share = share, .p50_ns = UINT64_MAX, .rtt_ns = UINT64_MAX},
		  1);
}

/*
 * The scheduler's counters and the span are exact; what was measured of waits is fitted into the rest, because the
 * files of /proc are read a moment apart.
 */
static void add_thread(struct program *program, const struct thread_use *t)
{
	const struct thread_track *thread = t->thread;
	double span = (double)(thread->last_ns - thread->base_ns),
	       run = fmin((double)known(delta_between(thread->base_run, thread->last_run)), span),
	       delay = fmin((double)known(delta_between(thread->base_wait, thread->last_wait)), span - run),
	       rest = span - run - delay;
	struct time_use use = {.estimate = t->estimate};
	double weight;

	/* Where waits were not measured, nothing is known. */
	if (span <= 0 || (t->blocked_ns <= 0 && rest > UNKNOWN_MAX * span))
		return;
	put_cpu(&use, TIME_CPU, run / span);
	put_cpu(&use, TIME_CPU_WAIT, delay / span);
	vec_each(&t->waits, wait) {
		struct wait fitted = *wait;

		fitted.program = program;
		fitted.use = &use;
		fitted.share = wait->share / t->blocked_ns * rest / span;
		put_row(&fitted, t->estimate);
	}
	if (t->blocked_ns <= 0)
		put_cpu(&use, TIME_CPU, rest / span);
	weight = time_use_busy(&use);
	add_use(&program->sum, &use, weight);
	program->weight += weight;
	add_use(&program->plain, &use, 1);
	program->threads++;
}

static int by_share(const void *a, const void *b)
{
	const struct time_share *x = a, *y = b;

	return x->share != y->share ? (x->share < y->share ? 1 : -1) : (int)x->what - (int)y->what;
}

static void drop_empty(struct time_use *use)
{
	unsigned kept = 0;

	qsort(use->shares, use->count, sizeof(*use->shares), by_share);
	for (unsigned i = 0; i < use->count; i++)
		if (use->shares[i].share > 0)
			use->shares[kept++] = use->shares[i];
	use->count = kept;
}

static struct time_use program_use(const struct program *program)
{
	bool worked = program->weight > 0;
	struct time_use use = {};

	add_use(&use, worked ? &program->sum : &program->plain, 1 / (worked ? program->weight : program->threads));
	drop_empty(&use);
	return use;
}

/* --- all programs --- */

static void collect_threads(const struct window *window, const struct state *state, struct map *threads)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->rows, &at, &key, &value)) {
		const struct row_track *row = value;
		const struct row_key *of = key;
		struct thread_use *thread = map_get(threads, &of->tid);
		uint64_t ns = delta_between(row->base_ns, row->last_ns);

		if (!thread || !track_is_current(window, &row->track) || ns == UINT64_MAX || ns == 0)
			continue;
		thread->blocked_ns += (double)ns;
		thread->estimate |= row->estimate;
		vec_push(&thread->waits, (struct wait){.key = of,
						       .share = (double)ns,
						       .count = delta_between(row->base_count, row->last_count),
						       .p50_ns = row->p50_ns,
						       .max_ns = row->max_ns});
	}
}

static void keep(struct window *window, struct state *state, struct module *app, uint32_t pid,
		 const struct time_use *use, struct graph *graph)
{
	struct program_track *track = map_put(&state->programs, &pid, NULL);
	struct time_history *history = track ? &track->history : NULL, *kept;

	if (!track)
		return;
	(void)track_see(window, &track->track);
	memmove(&history->uses[1], &history->uses[0], sizeof(history->uses) - sizeof(history->uses[0]));
	memmove(&history->spans[1], &history->spans[0], sizeof(history->spans) - sizeof(history->spans[0]));
	history->uses[0] = *use;
	history->spans[0] = window->span_ns;
	history->windows = min_of(history->windows + 1, (unsigned)TIME_WINDOWS);
	kept = graph_alloc(graph, sizeof(*kept));
	*kept = *history;
	app->time_history = kept;
}

struct time_use time_history_sum(const struct time_history *history, unsigned windows)
{
	struct time_use sum = {};
	double span = 0;

	windows = min_of(windows, history->windows);
	for (unsigned i = 0; i < windows; i++)
		span += (double)history->spans[i];
	for (unsigned i = 0; span > 0 && i < windows; i++)
		add_use(&sum, &history->uses[i], (double)history->spans[i] / span);
	drop_empty(&sum);
	return sum;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct map threads = MAP_INIT(sizeof(uint32_t), sizeof(struct thread_use), 100000),
		   programs = MAP_INIT(sizeof(uint32_t), sizeof(struct program), 10000), facts;
	struct state *state = data;
	const void *key;
	void *value;
	size_t at = 0;

	facts = find_facts(window, state, graph);
	while (map_next(&state->threads, &at, &key, &value))
		if (track_is_current(window, value))
			((struct thread_use *)map_put(&threads, key, NULL))->thread = value;
	collect_threads(window, state, &threads);
	vec_each(&graph->modules, module) {
		const struct app_measures *m = (*module)->kind == MODULE_APP ? (*module)->measures.app : NULL;
		uint32_t pid = m ? (uint32_t)m->pid : 0;
		struct program *program = m ? map_put(&programs, &pid, NULL) : NULL;

		if (program)
			*program = (struct program){.app = *module, .facts = &facts};
	}
	for (at = 0; map_next(&threads, &at, &key, &value);) {
		struct thread_use *thread = value;
		struct program *program = map_get(&programs, &thread->thread->pid);

		if (program)
			add_thread(program, thread);
		vec_done(&thread->waits);
	}
	for (at = 0; map_next(&programs, &at, &key, &value);) {
		struct program *program = value;
		struct time_use use = program_use(program);

		if (program->threads > 0)
			keep(window, state, (struct module *)program->app, *(const uint32_t *)key, &use, graph);
	}
	map_done(&threads);
	map_done(&programs);
	map_done(&facts);
	track_forget(window, &state->heard, NULL);
	track_forget(window, &state->threads, NULL);
	track_forget(window, &state->rows, NULL);
	track_forget(window, &state->programs, NULL);
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->heard);
	map_done(&state->threads);
	map_done(&state->rows);
	map_done(&state->programs);
}

static const struct measurer time_use_measurer = {
	.name = "time_use",
	.stage = MEASURE_HOST,
	.needs = MEASURER_NEEDS(&socket_type, &tcp_type, &thread_type, &blocking_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(time_use_measurer);
