/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "layers.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/egress.h"

struct layers *layers_new(void)
{
	return xzalloc(sizeof(struct layers));
}

void layers_free(struct layers *layers)
{
	if (!layers)
		return;
	vec_each(&layers->nodes, node) {
		vec_done(&(*node)->below);
		vec_done(&(*node)->above);
		free(*node);
	}
	vec_done(&layers->nodes);
	free(layers);
}

struct layer_node *layers_add(struct layers *layers, enum layer_kind layer, struct module *module)
{
	struct layer_node *node = xzalloc(sizeof(*node));

	node->layer = layer;
	node->module = module;
	node->place = layers->nodes.count;
	vec_push(&layers->nodes, node);
	return node;
}

void layers_add_edge(struct layer_node *above, struct layer_node *below)
{
	vec_push(&above->below, below);
	vec_push(&below->above, above);
}

/* --- from measures to the four figures --- */

static bool some(uint64_t figure)
{
	return figure != UINT64_MAX && figure > 0;
}

/*
 * What the application took out of the socket shows in what arrived and does not lie in the queue. The first of the
 * five samples of a window comes one interval after its base: a queue that only grows does so by five fourths of what
 * its samples show.
 */
static bool was_read(const struct conn_measures *m)
{
	uint64_t grown = m->recvq_max_bytes - m->recvq_min_bytes;

	if (!some(m->received_bytes))
		return grown > 0;
	return m->received_bytes > grown + grown / 4 + grown / 8;
}

static bool was_written(const struct conn_measures *m)
{
	return some(m->acked_bytes) || m->sendq_max_bytes > m->sendq_min_bytes;
}

/* What a stopped program was doing when it was stopped is no waiting. */
static const struct use_measures *use_of(const struct module *conn)
{
	const struct app_measures *app = conn->measures.app;

	return app && app->app_stopped_share > 0.5 ? NULL : conn->measures.use;
}

static struct layer_traffic socket_in(const struct conn_measures *m, const struct use_measures *use)
{
	return (struct layer_traffic){
		.moved = was_read(m),
		.waited = use && (use->app_reading_share > 0 || use->app_polling_share > 0),
		.was_used = some(m->best_receive_rate) || some(m->received_bytes),
	};
}

/* Who polls waits for room only where there is none: a queue that was never empty. */
static struct layer_traffic socket_out(const struct conn_measures *m, const struct use_measures *use)
{
	bool full = m->sendq_share >= 1 || m->syn_wait_ns != UINT64_MAX;

	return (struct layer_traffic){
		.moved = was_written(m),
		.waited = use && (use->app_writing_share > 0 || use->app_connecting_share > 0 ||
				  (use->app_polling_share > 0 && full)),
		.was_used = some(m->acked_bytes) || m->sendq_max_bytes > 0 || m->syn_wait_ns != UINT64_MAX ||
			    m->best_rate > m->best_receive_rate,
	};
}

static struct layer_traffic tcp_in(const struct conn_measures *m)
{
	return (struct layer_traffic){
		.moved = some(m->received_bytes),
		.buffered = m->recvq_min_bytes > 0,
		.was_used = some(m->best_receive_rate) || some(m->received_bytes),
	};
}

/* Sending the same once more is no progress. */
static struct layer_traffic tcp_out(const struct conn_measures *m)
{
	return (struct layer_traffic){
		.moved = some(m->acked_bytes) || (some(m->sent_bytes) && m->retrans_bytes < m->sent_bytes),
		.buffered = m->sendq_min_bytes > 0,
		.has_errors = some(m->retrans_bytes) || some(m->rto_count),
		.was_used = some(m->acked_bytes) || m->sendq_max_bytes > 0 || m->best_rate > m->best_receive_rate,
	};
}

static void add_traffic(struct layer_traffic *sum, const struct layer_traffic *one)
{
	sum->moved |= one->moved;
	sum->waited |= one->waited;
	sum->was_used |= one->was_used;
}

/* One node a module, found again. */
static struct layer_node *node_of(struct layers *layers, struct map *nodes, enum layer_kind layer,
				  struct module *module)
{
	struct layer_node **slot = map_put(nodes, &module, NULL);

	if (!*slot)
		*slot = layers_add(layers, layer, module);
	return *slot;
}

/* What lies behind an interface; a connection whose route is not known leans on nothing. */
static void add_network(struct layers *layers, struct map *nodes, struct layer_node *tcp)
{
	const struct egress_measures *egress = tcp->module->measures.egress;
	struct module *link = tcp->module->related[MODULE_LINK];
	struct layer_node *network;

	if (!link || !egress)
		return;
	network = node_of(layers, nodes, LAYER_NETWORK, link);
	network->traffic[LAYER_IN] = (struct layer_traffic){
		.moved = some(egress->link_rx_packets),
		.has_errors = some(egress->link_rx_errors) || some(egress->link_rx_dropped),
		.was_used = true,
	};
	network->traffic[LAYER_OUT] = (struct layer_traffic){
		.moved = some(egress->link_tx_packets),
		.has_errors = some(egress->link_tx_errors) || some(egress->link_tx_dropped),
		.was_used = true,
	};
	layers_add_edge(tcp, network);
}

static void add_connection(struct layers *layers, struct map *nodes, struct module *conn)
{
	const struct use_measures *use = use_of(conn);
	const struct conn_measures *m = conn->measures.conn;
	struct layer_node *socket, *tcp;

	socket = layers_add(layers, LAYER_SOCKET, conn);
	tcp = layers_add(layers, LAYER_TCP, conn);
	socket->traffic[LAYER_IN] = socket_in(m, use);
	socket->traffic[LAYER_OUT] = socket_out(m, use);
	tcp->traffic[LAYER_IN] = tcp_in(m);
	tcp->traffic[LAYER_OUT] = tcp_out(m);
	if (conn->related[MODULE_APP]) {
		struct layer_node *app = node_of(layers, nodes, LAYER_APP, conn->related[MODULE_APP]);

		for (unsigned d = 0; d < LAYER_DIRECTIONS; d++)
			add_traffic(&app->traffic[d], &socket->traffic[d]);
		layers_add_edge(app, socket);
	}
	layers_add_edge(socket, tcp);
	add_network(layers, nodes, tcp);
}

static int by_layer(const void *a, const void *b)
{
	return (int)(*(struct layer_node *const *)a)->layer - (int)(*(struct layer_node *const *)b)->layer;
}

struct layers *layers_of_graph(const struct graph *graph)
{
	struct map nodes = MAP_INIT(sizeof(struct module *), sizeof(struct layer_node *), 0);
	struct layers *layers = layers_new();

	vec_each(&graph->modules, module)
		if ((*module)->measures.conn)
			add_connection(layers, &nodes, *module);
	map_done(&nodes);
	vec_sort(&layers->nodes, by_layer);
	for (size_t i = 0; i < layers->nodes.count; i++)
		layers->nodes.items[i]->place = i;
	return layers;
}
