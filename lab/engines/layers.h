/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host as the NeST paper and FlowDiagnoser saw it, made from a window's graph: applications over sockets over TCP
 * connections over "the network" behind an interface, each seen in two directions, each known by four figures only
 * (messages, waiting, errors, what is buffered). The two engines of that time work on this.
 */
#pragma once

#include "diagnose/graph/module.h"

enum layer_kind { LAYER_APP, LAYER_SOCKET, LAYER_TCP, LAYER_NETWORK, LAYER_KINDS };
enum layer_direction { LAYER_IN, LAYER_OUT, LAYER_DIRECTIONS };

/* What one direction of a module did in the window. */
struct layer_traffic {
	bool moved;      /* messages passed */
	bool waited;     /* time was spent blocked; only modules that export it */
	bool buffered;   /* something lies in its queue */
	bool has_errors; /* errors were counted */
	bool was_used;   /* this direction carried something before, or does now */
};

struct layer_node {
	size_t place; /* in the list of all */
	enum layer_kind layer;
	struct module *module; /* of the graph: application, connection (of both its layers), interface */
	struct layer_traffic traffic[LAYER_DIRECTIONS];
	VEC(struct layer_node *) below;
	VEC(struct layer_node *) above;
};

struct layers {
	VEC(struct layer_node *) nodes; /* from the applications down */
};

struct layers *layers_new(void);
/* The layers of a window. */
struct layers *layers_of_graph(const struct graph *graph);
void layers_free(struct layers *layers);
static inline void layers_freep(struct layers **layers)
{
	layers_free(*layers);
}

struct layer_node *layers_add(struct layers *layers, enum layer_kind layer, struct module *module);
void layers_add_edge(struct layer_node *above, struct layer_node *below);

/* Sockets and applications say how long they were blocked; what is below them does not. */
static inline bool layer_exports_wait(enum layer_kind layer)
{
	return layer == LAYER_APP || layer == LAYER_SOCKET;
}
