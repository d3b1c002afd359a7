/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who occupies the SYN queue of a listener. A flood comes from anywhere. Clients that no SYN-ACK reaches retry from the
 * same address, and none of their connections is established: then the path back to them is cut.
 */
#include <math.h>

#include "base/addr.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/half_open.h"
#include "snapshot/socket/socket.h"

#define M struct half_open_measures
static const struct field half_open_fields[] = {
	FIELD(M, half_open, COUNT, "connections in the SYN queue whose SYN-ACK was retransmitted, in the last sample"),
	FIELD(M, half_open_raddr, ADDR, "host with the most of them"),
	FIELD(M, half_open_host, COUNT, "those of that host"),
	FIELD(M, half_open_share, RATIO, "share of that host", .unit = "%"),
	FIELD(M, half_open_others, COUNT, "connections of that host to the listener that are open and not stuck"),
};
#undef M
RECORD_TYPE(half_open_measures_type, "measure.half_open", struct half_open_measures, half_open_fields,
	    "connections in the SYN queue of a listener");

/* A client host of a port; the key of a map, so no byte of it may be undefined. */
struct caller {
	struct addr raddr;
	uint16_t lport;
	uint8_t unused[2];
};

struct state {
	struct map callers; /* struct caller -> number of its connections that wait for an ACK, in the last sample */
};

static const struct state initial = {MAP_INIT(sizeof(struct caller), sizeof(unsigned), 100000)};

static struct caller caller_of(const struct addr *raddr, uint16_t lport)
{
	struct caller caller;

	memset(&caller, 0, sizeof(caller));
	caller.raddr = *raddr;
	caller.lport = lport;
	return caller;
}

/* The first SYN-ACK may still be on its way. */
static bool is_half_open(const struct socket_record *s)
{
	return s->proto == 6 && (s->state == SOCKET_SYN_RECV || s->state == SOCKET_NEW_SYN_RECV) &&
	       socket_timeouts(s) >= 1;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	(void)window;
	map_done(&state->callers);
	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		struct caller caller = caller_of(&s->raddr, s->lport);
		unsigned *count = is_half_open(s) ? map_put(&state->callers, &caller, NULL) : NULL;

		if (count)
			(*count)++;
	}
}

/* Connections that are open and not stuck: the path to their hosts is fine. */
static void count_open(const struct graph *graph, struct map *open)
{
	vec_each(&graph->modules, module) {
		const struct conn_measures *m = (*module)->kind == MODULE_CONN ? (*module)->measures.conn : NULL;
		struct caller caller;
		unsigned *count;

		if (!m || m->stuck)
			continue;
		caller = caller_of(&m->raddr, m->lport);
		count = map_put(open, &caller, NULL);
		if (count)
			(*count)++;
	}
}

static void find_most(const struct state *state, uint16_t lport, struct half_open_measures *m, struct caller *most)
{
	const void *key;
	void *value;

	for (size_t at = 0; map_next(&state->callers, &at, &key, &value);) {
		const struct caller *caller = key;
		unsigned count = *(const unsigned *)value;

		if (caller->lport != lport)
			continue;
		m->half_open += count;
		if (count > m->half_open_host) {
			m->half_open_host = count;
			*most = *caller;
		}
	}
}

static void measure(const struct state *state, const struct map *open, struct module *listener, struct graph *graph)
{
	struct half_open_measures *m = graph_alloc(graph, sizeof(*m));
	struct caller most = {0};
	const unsigned *others;
	char text[ADDR_TEXT_MAX];

	*m = (struct half_open_measures){.half_open_share = NAN};
	listener->measures.half_open = m;
	find_most(state, listener->measures.listener->lport, m, &most);
	if (m->half_open == 0)
		return;
	others = map_get(open, &most);
	m->half_open_raddr = most.raddr;
	m->half_open_others = others ? *others : 0;
	m->half_open_share = (double)m->half_open_host / (double)m->half_open;
	addr_format(&most.raddr, text);
	if (!listener->related[MODULE_PATH])
		listener->related[MODULE_PATH] = flow_module_below(graph, MODULE_PATH, text);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	struct map open = MAP_INIT(sizeof(struct caller), sizeof(unsigned), 100000);

	(void)window;
	if (state->callers.count > 0)
		count_open(graph, &open);
	for (size_t i = 0, count = graph->modules.count; i < count; i++)
		if (graph->modules.items[i]->kind == MODULE_LISTENER && graph->modules.items[i]->measures.listener)
			measure(state, &open, graph->modules.items[i], graph);
	map_done(&open);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->callers);
}

static const struct measurer half_open_measurer = {
	.name = "half-open",
	.stage = MEASURE_PATH,
	.needs = MEASURER_NEEDS(&socket_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(half_open_measurer);
