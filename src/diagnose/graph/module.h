/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host as a graph of modules, each a producer or consumer of traffic: applications over connections over paths,
 * interfaces and queues. A module carries what was measured about it in one window; what those measures mean is in the
 * rules.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/value.h"

/* Kinds of modules; a rule applies to one kind, and a cause accuses one kind. */
enum module_kind {
	MODULE_HOST,
	MODULE_CGROUP,
	MODULE_APP,
	MODULE_CONN, /* a TCP connection together with its socket */
	MODULE_UDP,  /* a UDP socket */
	MODULE_LISTENER,
	MODULE_LINK, /* an interface */
	MODULE_QDISC,
	MODULE_ROUTE,
	MODULE_NEIGH,
	MODULE_TUNNEL,
	MODULE_FILTER, /* firewall and connection tracking */
	MODULE_PATH,   /* everything between this host and one remote host */
	MODULE_PEER,   /* one service on one remote host */
	MODULE_RESOLVER,
	MODULE_THREAD, /* one that waits in a call on a socket */
	MODULE_CPU,
	MODULE_MEMORY,
	MODULE_KINDS,
};

/* What a module did in the window, after McCann and Hicks. */
enum activity {
	ACTIVITY_UNKNOWN,
	ACTIVITY_ACTIVE,
	ACTIVITY_WAITING,          /* it wants to go on and cannot */
	ACTIVITY_IDLE,             /* it wants nothing */
	ACTIVITY_WAITING_ANCESTOR, /* silent, and somebody above it waits */
	ACTIVITY_IGNORED,          /* silent, and nobody above it cares */
};

struct module {
	enum module_kind kind;
	char *id;   /* "conn:10.0.0.1:40000-10.0.0.2:443"; stable between windows */
	char *name; /* for people */
	enum activity activity;
	struct record measures; /* parts as the kind's shape says */
	struct module
		*related[MODULE_KINDS];  /* its application, its path ...; itself at its own kind; NULL = none known */
	struct module *other_end;        /* of a connection, where this host has that as well */
	uint64_t inode;                  /* of a socket, to find its owner; 0 = none */
	bool hidden;                     /* outside of what was asked about (select.h) */
	VEC(struct module *) depends_on; /* the edges down */
	VEC(struct module *) needed_by;  /* the same edges, up */
};

struct graph {
	uint64_t start_ns; /* CLOCK_REALTIME */
	uint64_t window_ns;
	uint64_t netns;
	uint64_t lost; /* records that could not be taken */
	VEC(struct module *) modules;
	struct map by_id;   /* id -> struct module * */
	VEC(void *) memory; /* what the measures point at */
};

const char *module_kind_name(enum module_kind kind);
/* -ENOENT */
int module_kind_find(const char *name, enum module_kind *ret_kind) _must_check_;
const char *activity_name(enum activity activity);

static inline bool module_is_socket(const struct module *module)
{
	return module->kind == MODULE_CONN || module->kind == MODULE_UDP || module->kind == MODULE_LISTENER;
}

/*
 * What is measured of a kind of module, and of what it leans on: the fields a rule about that kind may name. Each part is
 * a record type of its own; a file that computes measures registers the scope.
 */
struct module_scope {
	enum module_kind kind;
	const char *help;
	unsigned count;
	const struct record_type *types[RECORD_PARTS_MAX];
};

REGISTRY(module_scope, struct module_scope);

#define MODULE_SCOPE(object) REGISTER(module_scope, struct module_scope, object)

/* NULL when nothing measures that kind. */
const struct module_scope *module_scope_find(enum module_kind kind);
struct shape module_scope_shape(const struct module_scope *scope);

struct graph *graph_new(void);
void graph_free(struct graph *graph);
static inline void graph_freep(struct graph **graph)
{
	graph_free(*graph);
}

/* The module of that id, made if need be. */
struct module *graph_module(struct graph *graph, enum module_kind kind, const char *id, const char *name);
struct module *graph_find(const struct graph *graph, const char *id);
void graph_add_edge(struct module *above, struct module *below);
/* Zeroed memory that lives as long as the graph. */
void *graph_alloc(struct graph *graph, size_t size);
/* Fills in WAITING_ANCESTOR and IGNORED for the modules whose own state is unknown, from above. */
void graph_propagate(struct graph *graph);
