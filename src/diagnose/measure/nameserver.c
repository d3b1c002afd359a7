/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Name servers that resolv.conf names, as modules: who talks to one leans on it, and it lies behind a path like any other
 * host. What is measured of lookups is another file's.
 */
#include "diagnose/graph/window.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "snapshot/proc/resolver.h"

#define PORT_DNS          53
#define PORT_DNS_OVER_TLS 853

struct state {
	struct addr servers[RESOLVERS_MAX];
	unsigned count;
};

static void sample(struct window *window _unused_, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	state->count = 0;
	snapshot_each(snapshot, resolver_type, const struct resolver_record, r)
		if (state->count < RESOLVERS_MAX)
			state->servers[state->count++] = r->raddr;
}

static const struct addr *asked_server(const struct module *socket)
{
	const void *own = socket->measures.parts[CONN_PART_OWN];
	const struct conn_measures *conn = socket->kind == MODULE_CONN ? own : NULL;
	const struct udp_measures *udp = socket->kind == MODULE_UDP ? own : NULL;
	uint16_t port = conn ? conn->rport : udp ? udp->rport : 0;

	if (port != PORT_DNS && port != PORT_DNS_OVER_TLS)
		return NULL;
	return conn ? &conn->raddr : &udp->raddr;
}

static void join(struct graph *graph, struct module *server, const struct addr *address)
{
	for (size_t i = 0; i < graph->modules.count; i++) {
		struct module *socket = graph->modules.items[i];
		const struct addr *asked = module_is_socket(socket) ? asked_server(socket) : NULL;

		if (!asked || !addr_equal(asked, address))
			continue;
		socket->related[MODULE_RESOLVER] = server;
		if (socket->related[MODULE_APP]) {
			socket->related[MODULE_APP]->related[MODULE_RESOLVER] = server;
			graph_add_edge(socket->related[MODULE_APP], server);
		}
		graph_add_edge(server, socket);
	}
}

static void finish(struct window *window _unused_, void *data, struct graph *graph)
{
	const struct state *state = data;

	for (unsigned i = 0; i < state->count; i++) {
		char id[ADDR_TEXT_MAX + 16] = "resolver:";
		struct module *path, *server;

		addr_format(&state->servers[i], id + strlen("resolver:"));
		server = graph_module(graph, MODULE_RESOLVER, id, id + strlen("resolver:"));
		join(graph, server, &state->servers[i]);
		memcpy(id, "path:", strlen("path:"));
		addr_format(&state->servers[i], id + strlen("path:"));
		path = graph_find(graph, id);
		if (path) {
			server->related[MODULE_PATH] = path;
			graph_add_edge(server, path);
		}
	}
}

static const struct record_type *const needs[] = {&resolver_type, NULL};

static const struct measurer nameserver_measurer = {
	.name = "nameserver",
	.stage = MEASURE_PATH,
	.needs = needs,
	.state_size = sizeof(struct state),
	.sample = sample,
	.finish = finish,
};
MEASURER(nameserver_measurer);
