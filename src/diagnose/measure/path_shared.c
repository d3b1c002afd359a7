/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What connections have in common. One stuck connection may be its own fault, the path's or the peer's; several stuck
 * over one path while the rest of the host makes progress are the path's; all of them over one interface are beyond the
 * interface. The counts stand here, what they mean stands in the rules.
 */
#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/path_shared.h"
#include "snapshot/socket/socket.h"

#define M struct path_measures
static const struct field path_fields[] = {
	FIELD(M, path_conns, COUNT, "connections to this remote host"),
	FIELD(M, path_stuck, COUNT, "of these, with data to send and nothing acknowledged"),
	FIELD(M, path_moving, COUNT, "of these, with data acknowledged or received"),
	FIELD(M, path_connecting, COUNT, "of these, waiting to be established"),
	FIELD(M, path_lossy, COUNT, "of these, with at least 0.5 % of what they sent lost"),
	FIELD(M, path_clean, COUNT, "of these, with 20 segments or more sent and none lost"),
	FIELD(M, path_min_rtt_ns, DURATION, "minimum RTT of any of them"),
	FIELD(M, path_rtt_excess_ns, DURATION, "largest RTT above its minimum of any of them that sends"),
	FIELD(M, path_slow_rtt, COUNT, "of these, with an RTT far above its minimum"),
	FIELD(M, path_delayed, COUNT,
	      "of these, sending little, with an RTT of more than 60 ms above and four times its minimum"),
	FIELD(M, path_filling, COUNT,
	      "of these, moving more than 200 kB/s or as much as their congestion window allows"),
	FIELD(M, path_send_use, RATIO, "what they send together, as a share of the fastest earlier window",
	      .unit = "%"),
	FIELD(M, path_receive_use, RATIO, "the same of what they receive", .unit = "%"),
	FIELD(M, path_large, COUNT, "of these, moving with segments of nearly full size, either way"),
	FIELD(M, path_small, COUNT, "of these, moving with smaller segments only"),
	FIELD(M, others_conns, COUNT, "connections to other hosts"),
	FIELD(M, others_stuck, COUNT, "of these, stuck"),
	FIELD(M, others_moving, COUNT, "of these, moving"),
	FIELD(M, others_connecting, COUNT, "of these, waiting to be established"),
	FIELD(M, peer_conns, COUNT, "connections to this service on this host"),
	FIELD(M, peer_stuck, COUNT, "of these, stuck"),
	FIELD(M, peer_moving, COUNT, "of these, moving"),
	FIELD(M, peer_connecting, COUNT, "of these, waiting to be established"),
	FIELD(M, peer_repeating_share, RATIO, "share of these whose SYN was retransmitted twice or more", .unit = "%"),
	FIELD(M, peer_established, COUNT, "of these, established from the same local address"),
	FIELD(M, app_tried, COUNT,
	      "services that its program has tried to connect to in the last ten windows, while they did not answer"),
	FIELD(M, app_tried_again, COUNT, "of these, more than once"),
	FIELD(M, app_walks, BOOL,
	      "its program has tried four or more, each of them once, and others make progress: a list"),
	FIELD(M, syn_unanswered, BOOL,
	      "its SYN was retransmitted, or has waited for far longer than the remote host takes to answer"),
};
#undef M
RECORD_TYPE(path_measures_type, "measure.path", struct path_measures, path_fields, "connections that share a path");

struct tally {
	uint64_t conns, stuck, moving, connecting, repeating, late, lossy, clean, slow_rtt, delayed, filling,
		established, large, small, min_rtt_ns, excess_ns;
	double send_rate, receive_rate;
};

/* What is known of a host from earlier windows. */
struct past {
	struct track track;
	double send_rate, receive_rate; /* the most in one window */
	uint64_t min_rtt_ns;            /* 0: unknown */
	bool in_vain;                   /* a connect lasted long, and nothing was established */
};

static bool is_bulk(uint64_t rate)
{
	return rate != UINT64_MAX && rate > 200000;
}

/* More than a delayed ACK adds, on a connection that makes no queue itself. */
static bool is_delayed(const struct conn_measures *m)
{
	return m->rtt_excess_ns != UINT64_MAX && m->rtt_excess_ns > 60 * NSEC_PER_MSEC && m->rtt_ratio > 4 &&
	       m->acked_bytes != UINT64_MAX && m->acked_bytes > 0 && m->send_rate < 100000 &&
	       m->receive_rate < 100000 && m->cwnd_share == 0 && m->nagle_share < 0.3;
}

/* Whether segments of nearly full size got through, in either direction. */
static bool passes_large(const struct conn_measures *m)
{
	uint64_t full = (uint64_t)m->mss - m->mss / 8;
	/* A request whose small head was acknowledged, and nothing of its body, has not passed. */
	bool sent = m->acked_bytes != UINT64_MAX && m->acked_bytes > 0 && m->acked_bytes >= full &&
		    m->segment_bytes != UINT64_MAX && m->segment_bytes >= full;
	bool received = m->received_bytes != UINT64_MAX && m->data_segs_in != UINT64_MAX && m->data_segs_in > 0 &&
			m->received_bytes / m->data_segs_in >= full;

	/* The mean of an answer in two segments is less than a full one, but one of them was full. */
	received = received || (m->received_bytes != UINT64_MAX && m->data_segs_in != UINT64_MAX &&
				m->data_segs_in > 0 && m->received_bytes / m->data_segs_in > full / 2 + 100);
	return sent || received;
}

/*
 * Programs give up before the kernel sends the first SYN again, which takes it a second. They are believed when the
 * host has answered within a fifth of that time before, or when nothing was established in the window before either.
 */
#define SYN_LATE_NS (300 * NSEC_PER_MSEC)

static bool is_unanswered(const struct past *past, const struct conn_measures *m)
{
	if (m->syn_wait_ns == UINT64_MAX || m->syn_retrans > 0)
		return m->syn_wait_ns != UINT64_MAX;
	return m->syn_wait_ns > SYN_LATE_NS &&
	       (past->in_vain || (past->min_rtt_ns > 0 && past->min_rtt_ns < m->syn_wait_ns / 5));
}

static bool is_established(const struct conn_measures *m)
{
	return m->state == SOCKET_ESTABLISHED;
}

/* Independent losses rarely hit the same SYN three times. */
#define REPEATING 2

static void count_conn(struct tally *t, const struct conn_measures *m, bool unanswered)
{
	/* The window of the peer is closed, or something here refuses what is sent: nothing is lost on the path. */
	bool stuck = m->stuck && m->backoff >= 1 && m->timer != SOCKET_TIMER_PERSIST;
	bool moving = !stuck && conn_is_moving(m);

	t->conns++;
	t->stuck += stuck;
	t->moving += moving;
	t->send_rate += m->send_rate == UINT64_MAX ? 0 : (double)m->send_rate;
	t->receive_rate += m->receive_rate == UINT64_MAX ? 0 : (double)m->receive_rate;
	t->large += moving && passes_large(m);
	t->small += moving && !passes_large(m);
	t->connecting += unanswered;
	t->repeating += unanswered && m->syn_retrans != UINT32_MAX && m->syn_retrans >= REPEATING;
	t->late += m->syn_wait_ns != UINT64_MAX && m->syn_wait_ns > SYN_LATE_NS;
	t->lossy += m->loss_share >= 0.005;
	t->clean += m->loss_share == 0 && m->segs_out != UINT64_MAX && m->segs_out >= 20;
	t->filling += m->cwnd_share > 0.5 || is_bulk(m->send_rate) || is_bulk(m->receive_rate);
	t->established += is_established(m);
	t->delayed += is_delayed(m);
	t->slow_rtt += m->rtt_ratio > 3 && m->rtt_excess_ns > 20000000;
	/* Without something acknowledged the figure is old. */
	if (m->rtt_excess_ns != UINT64_MAX && m->acked_bytes != UINT64_MAX && m->acked_bytes > 0 &&
	    m->nagle_share < 0.3)
		t->excess_ns = max_of(t->excess_ns, m->rtt_excess_ns);
	if (m->min_rtt_ns != UINT64_MAX)
		t->min_rtt_ns = t->min_rtt_ns ? min_of(t->min_rtt_ns, m->min_rtt_ns) : m->min_rtt_ns;
}

static struct tally *tally_of(struct map *tallies, const struct module *module)
{
	return map_put(tallies, &module, NULL);
}

/* A service that answers one address of this host and not another is reached: the replies get lost. */
struct reach {
	const struct module *peer;
	struct addr laddr;
};

static uint64_t *established_of(struct map *reached, const struct module *conn)
{
	struct reach reach;

	memset(&reach, 0, sizeof(reach));
	reach.peer = conn->related[MODULE_PEER];
	reach.laddr = conn->measures.conn->laddr;
	return map_put(reached, &reach, NULL);
}

/* A service that a program tries to connect to: who needs it tries again, who walks down a list does not. */
struct target {
	struct addr raddr;
	uint32_t pid;
	uint16_t rport;
	uint8_t unused[2];
};

#define WALK_MIN 4

/* Windows for which a try is remembered: longer than a program waits before it tries again. */
#define TRY_WINDOWS 10

struct attempt {
	uint64_t cookie; /* of the first one */
	uint64_t window; /* the last one it was seen in */
	bool again;
};

/* The program of a connection that is not established. */
struct owner {
	uint64_t window;
	uint32_t pid;
};

struct tries {
	uint64_t targets, again;
};

struct state {
	struct map past;    /* address -> struct past */
	struct map targets; /* struct target -> struct attempt */
	struct map tries;   /* pid -> struct tries, of the targets */
	struct map owners;  /* cookie -> struct owner */
};

static const struct state initial = {
	.past = MAP_INIT(sizeof(struct addr), sizeof(struct past), 100000),
	.targets = MAP_INIT(sizeof(struct target), sizeof(struct attempt), 20000),
	.tries = MAP_INIT(sizeof(uint32_t), sizeof(struct tries), 10000),
	.owners = MAP_INIT(sizeof(uint64_t), sizeof(struct owner), 20000),
};

/* A socket that was closed stays a while, without an owner. */
static uint32_t pid_of(const struct window *window, struct state *state, const struct module *conn)
{
	const struct module *app = conn->related[MODULE_APP];
	uint64_t cookie = conn->measures.conn->cookie;
	uint32_t pid = app && app->measures.app ? app->measures.app->pid : 0;
	struct owner *owner;

	if (conn->measures.conn->state != SOCKET_SYN_SENT)
		return pid;
	owner = pid ? map_put(&state->owners, &cookie, NULL) : map_get(&state->owners, &cookie);
	if (!owner)
		return pid;
	owner->pid = pid ?: owner->pid;
	owner->window = window->number;
	return owner->pid;
}

static void note_try(const struct window *window, struct state *state, const struct module *conn)
{
	const struct conn_measures *m = conn->measures.conn;
	uint32_t pid = pid_of(window, state, conn);
	struct attempt *attempt;
	struct target target;
	bool is_new;

	if (pid == 0 || m->state != SOCKET_SYN_SENT)
		return;
	memset(&target, 0, sizeof(target));
	target.raddr = m->raddr;
	target.rport = m->rport;
	target.pid = pid;
	attempt = map_put(&state->targets, &target, &is_new);
	if (!attempt)
		return;
	if (is_new)
		attempt->cookie = m->cookie;
	attempt->window = window->number;
	attempt->again |= attempt->cookie != m->cookie;
}

/* Adds up what is remembered, and forgets the rest. */
static void count_tries(const struct window *window, struct state *state)
{
	VEC(const struct target *) old = {};
	VEC(const uint64_t *) gone = {};
	const void *key;
	void *value;
	size_t at = 0;

	map_done(&state->tries);
	while (map_next(&state->targets, &at, &key, &value)) {
		const struct attempt *attempt = value;
		const struct target *target = key;
		struct tries *tries;

		if (attempt->window + TRY_WINDOWS < window->number) {
			vec_push(&old, target);
			continue;
		}
		tries = map_put(&state->tries, &target->pid, NULL);
		if (!tries)
			continue;
		tries->targets++;
		tries->again += attempt->again;
	}
	for (at = 0; map_next(&state->owners, &at, &key, &value);)
		if (((const struct owner *)value)->window + TRY_WINDOWS < window->number)
			vec_push(&gone, key);
	vec_each(&old, target)
		(void)map_remove(&state->targets, *target);
	vec_each(&gone, cookie)
		(void)map_remove(&state->owners, *cookie);
	vec_done(&old);
	vec_done(&gone);
}

static double use_of(double rate, double best)
{
	return best > 0 ? rate / best : NAN;
}

static void remember(struct past *past, const struct tally *path)
{
	past->send_rate = fmax(past->send_rate, path->send_rate);
	past->receive_rate = fmax(past->receive_rate, path->receive_rate);
	if (path->min_rtt_ns > 0)
		past->min_rtt_ns = past->min_rtt_ns ? min_of(past->min_rtt_ns, path->min_rtt_ns) : path->min_rtt_ns;
	past->in_vain = path->late > 0 && path->established == 0 && path->moving == 0;
}

/* Where there is no room to remember, nothing is known. */
static struct past *past_of(struct state *state, const struct addr *raddr)
{
	static struct past none;
	struct past *past = map_put(&state->past, raddr, NULL);

	none = (struct past){};
	return past ?: &none;
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	struct map tallies = MAP_INIT(sizeof(struct module *), sizeof(struct tally), 0);
	struct map reached = MAP_INIT(sizeof(struct reach), sizeof(uint64_t), 0);
	struct tally all = {};

	vec_each(&graph->modules, at) {
		const struct conn_measures *m = (*at)->measures.conn;
		struct past *past;
		bool unanswered;

		if (!m)
			continue;
		past = past_of(state, &m->raddr);
		(void)track_see(window, &past->track);
		unanswered = is_unanswered(past, m);
		count_conn(&all, m, unanswered);
		count_conn(tally_of(&tallies, (*at)->related[MODULE_PATH]), m, unanswered);
		count_conn(tally_of(&tallies, (*at)->related[MODULE_PEER]), m, unanswered);
		*established_of(&reached, *at) += is_established(m);
		note_try(window, state, *at);
	}
	count_tries(window, state);
	vec_each(&graph->modules, at) {
		struct path_measures *m;
		const struct tally *path, *peer;
		const struct tries *tries;
		const struct past *past;
		uint32_t pid;

		if ((*at)->kind != MODULE_CONN)
			continue;
		past = past_of(state, &(*at)->measures.conn->raddr);
		path = tally_of(&tallies, (*at)->related[MODULE_PATH]);
		peer = tally_of(&tallies, (*at)->related[MODULE_PEER]);
		pid = pid_of(window, state, *at);
		tries = map_get(&state->tries, &pid);
		m = graph_alloc(graph, sizeof(*m));
		*m = (struct path_measures){
			.app_tried = tries ? tries->targets : 0,
			.app_tried_again = tries ? tries->again : 0,
			.path_conns = path->conns,
			.path_stuck = path->stuck,
			.path_moving = path->moving,
			.path_connecting = path->connecting,
			.path_lossy = path->lossy,
			.path_clean = path->clean,
			.path_slow_rtt = path->slow_rtt,
			.path_delayed = path->delayed,
			.path_rtt_excess_ns = path->excess_ns,
			.path_large = path->large,
			.path_small = path->small,
			.path_filling = path->filling,
			.path_min_rtt_ns = path->min_rtt_ns ? path->min_rtt_ns : UINT64_MAX,
			.others_conns = all.conns - path->conns,
			.others_stuck = all.stuck - path->stuck,
			.others_moving = all.moving - path->moving,
			.others_connecting = all.connecting - path->connecting,
			.peer_conns = peer->conns,
			.peer_stuck = peer->stuck,
			.peer_moving = peer->moving,
			.peer_connecting = peer->connecting,
			.peer_repeating_share =
				peer->connecting ? (double)peer->repeating / (double)peer->connecting : NAN,
			.peer_established = *established_of(&reached, *at),
			.path_send_use = use_of(path->send_rate, past->send_rate),
			.path_receive_use = use_of(path->receive_rate, past->receive_rate),
			.syn_unanswered = is_unanswered(past, (*at)->measures.conn),
		};
		m->app_walks = m->app_tried >= WALK_MIN && m->app_tried_again == 0 && m->others_moving > 0 &&
			       m->peer_established == 0;
		(*at)->measures.path = m;
	}
	vec_each(&graph->modules, at)
		if ((*at)->kind == MODULE_CONN)
			remember(past_of(state, &(*at)->measures.conn->raddr),
				 tally_of(&tallies, (*at)->related[MODULE_PATH]));
	track_forget(window, &state->past, NULL);
	map_done(&tallies);
	map_done(&reached);
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->past);
	map_done(&state->targets);
	map_done(&state->tries);
	map_done(&state->owners);
}

static const struct measurer path_measurer = {
	.name = "path",
	.stage = MEASURE_PATH,
	.state_size = sizeof(struct state),
	.initial = &initial,
	.finish = finish,
	.release = release,
};
MEASURER(path_measurer);
