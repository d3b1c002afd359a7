/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects that fail without an answer (probe/attempt.h): before a packet is sent, or because they are given up. */
#include "diagnose/measure/attempted.h"

#include "diagnose/graph/window.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/refusal.h"
#include "probe/attempt.h"
#include "record/net_names.h"
#include "snapshot/core/delta.h"

#define M struct attempted_measures
static const struct field attempted_fields[] = {
	FIELD(M, unsent_connects, COUNT,
	      "connects to it in the last three windows that failed before a packet was sent"),
	FIELD(M, portless_connects, COUNT,
	      "connects to it in the same time that found no free local port (EADDRNOTAVAIL)"),
	FIELD(M, given_up_connects, COUNT, "connects to it in the same time that were given up without an answer"),
	FIELD(M, given_up_wait_ns, DURATION, "mean wait of all that were given up in this run"),
	FIELD(M, answered_connects, COUNT, "connects that it answered in this run"),
	FIELD(M, unsent_comm, TEXT, "name of the program that tried last"),
	FIELD(M, unsent_pid, ID, "its process", .zero_is_unknown = true),
	FIELD(M, unsent_error, ENUM, "error of a route lookup for them; unknown if there is a route",
	      .names = &errno_names, .zero_is_unknown = true),
};
#undef M
RECORD_TYPE(attempted_measures_type, "measure.attempted", struct attempted_measures, attempted_fields,
	    "connects to a service that fail without an answer");

/* Windows that attempts are added up over: programs wait before they try again. */
#define RECENT 3

struct attempted_track {
	struct track track;
	struct attempt_record last;
	struct attempt_record begin[RECENT]; /* totals at the begin of the last windows, newest first */
};

struct state {
	struct map tracks; /* struct endpoint -> attempted_track */
};

static const struct state initial = {MAP_INIT(sizeof(struct endpoint), sizeof(struct attempted_track), 10000)};

/* Totals of one that is new began at zero. */
static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	snapshot_each(snapshot, attempt_type, const struct attempt_record, attempt) {
		struct attempted_track *t;
		struct endpoint key;

		memset(&key, 0, sizeof(key));
		key.addr = attempt->raddr;
		key.port = attempt->rport;
		t = map_put(&state->tracks, &key, NULL);
		if (!t) {
			window->lost++;
			continue;
		}
		if (track_see(window, &t->track)) {
			memmove(&t->begin[1], &t->begin[0], sizeof(t->begin) - sizeof(t->begin[0]));
			t->begin[0] = t->last;
		}
		t->last = *attempt;
	}
}

/* Of the last windows. */
struct attempts {
	uint64_t unsent, portless, given_up;
};

static void add_module(const struct attempted_track *t, const struct attempts *recent, struct graph *graph)
{
	struct endpoint remote = {t->last.raddr, t->last.rport};
	struct attempted_measures *m = graph_alloc(graph, sizeof(*m));
	_cleanup_buf_ struct buf id = BUF_INIT(256);
	char address[ADDR_TEXT_MAX];
	struct module *peer, *route;

	*m = (struct attempted_measures){.unsent_connects = recent->unsent,
					 .portless_connects = recent->portless,
					 .unsent_pid = t->last.pid,
					 .unsent_error = t->last.error,
					 .given_up_connects = recent->given_up,
					 .given_up_wait_ns = t->last.given_up_wait_ns,
					 .answered_connects = t->last.answered};
	memcpy(m->unsent_comm, t->last.comm, sizeof(m->unsent_comm));
	buf_add_text(&id, "peer:");
	addr_format_endpoint(&remote, &id);
	addr_format(&t->last.raddr, address);
	peer = graph_module(graph, MODULE_PEER, buf_text(&id), buf_text(&id) + strlen("peer:"));
	peer->measures.attempted = m;
	if (!peer->measures.peer)
		peer->measures.peer = refusal_none(graph, &remote);
	if (recent->unsent == 0 || !m->unsent_error)
		return;
	route = flow_module_below(graph, MODULE_ROUTE, address);
	peer->related[MODULE_ROUTE] = route;
	graph_add_edge(peer, route);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	track_each(window, &state->tracks, const struct attempted_track, t)
	{
		const struct attempt_record *begin = &t->begin[RECENT - 1];
		struct attempts recent = {delta_between(begin->attempts, t->last.attempts),
					  delta_between(begin->portless, t->last.portless),
					  delta_between(begin->given_up, t->last.given_up)};

		if (recent.unsent != UINT64_MAX && recent.portless != UINT64_MAX && recent.given_up != UINT64_MAX &&
		    recent.unsent + recent.portless + recent.given_up > 0)
			add_module(t, &recent, graph);
	}
	track_forget(window, &state->tracks, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->tracks);
}

static const struct measurer attempted_measurer = {
	.name = "attempted",
	.stage = MEASURE_PATH,
	.needs = MEASURER_NEEDS(&attempt_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(attempted_measurer);
