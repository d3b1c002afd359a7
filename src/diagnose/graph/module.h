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
	MODULE_FLOW, /* traffic without a socket here, such as forwarded traffic */
	MODULE_KINDS,
};

/* What a module did in the window, after McCann and Hicks. */
enum activity {
	ACTIVITY_UNKNOWN,
	ACTIVITY_ACTIVE,
	ACTIVITY_WAITING,          /* it has work and cannot proceed */
	ACTIVITY_IDLE,             /* it has no work */
	ACTIVITY_WAITING_ANCESTOR, /* silent, and a module above it waits */
	ACTIVITY_IGNORED,          /* silent, and all modules above it are idle */
};

/*
 * The measures of a module and of what it depends on; NULL where there are none. Each is a record type,
 * declared where it is measured: member x is a struct x_measures of type x_measures_type.
 */
struct module_measures {
	const struct conn_measures *conn;
	const struct udp_measures *udp;
	const struct listener_measures *listener;
	const struct half_open_measures *half_open; /* of a listener: its SYN queue */
	const struct use_measures *use;             /* of a socket, by its owner */
	const struct app_measures *app;             /* of an application, or the owner of a socket */
	const struct thread_measures *thread;
	const struct path_measures *path;         /* of a connection, as are the next five */
	const struct egress_measures *egress;     /* route, neighbour, interface and queue */
	const struct stall_measures *stall;       /* what this host dropped while it stalled */
	const struct exchange_measures *exchange; /* requests and replies */
	const struct interruption_measures *interruption;
	const struct spell_measures *spell;
	const struct hole_measures *hole;
	const struct retransmission_measures *retransmission;
	const struct usual_measures *usual;     /* against what is usual */
	const struct far_end_measures *far_end; /* of a connection that was recorded at both ends */
	const struct peer_measures *peer;
	const struct attempted_measures *attempted; /* of a remote service, as is the next one */
	const struct datagram_measures *datagram;
	const struct acquaintance_measures *acquaintance; /* of one that does not accept, or of the connect */
	const struct resolver_measures *resolver;
	const struct dropped_measures *dropped; /* of a socket or flow: its packets that this host dropped */
	const struct flow_measures *flow;
	const struct forwarding_measures *forwarding;   /* of a flow: what passes, and where to */
	const struct shaper_measures *shaper;           /* of a qdisc that keeps a rate */
	const struct bucket_measures *bucket;           /* of a qdisc with a small token bucket */
	const struct link_flap_measures *link_flap;     /* of an interface */
	const struct link_ports_measures *link_ports;   /* of one that others are ports of */
	const struct icmp_filter_measures *icmp_filter; /* of the firewall */
	const struct host_measures *host;               /* the same for all modules */
	const struct cpu_measures *cpu;
	const struct memory_measures *memory;
};

/* A network namespace beside that of the graph: a container's. */
struct module_place {
	uint64_t netns;
	const char *name;   /* NULL: it has none */
	const char *option; /* what -N of commands names; NULL: nothing does */
	const char *port;   /* interface of the graph's namespace that leads there; NULL: unknown */
};

struct module {
	enum module_kind kind;
	char *id;         /* "conn:10.0.0.1:40000-10.0.0.2:443"; stable between windows */
	size_t id_length; /* of it without the namespace that follows where it is another ("link:eth0@4026532500") */
	char *name;       /* for people */
	enum activity activity;
	struct module_measures measures;
	struct module
		*related[MODULE_KINDS];   /* its application, its path ...; itself at its own kind; NULL = none known */
	struct module *other_end;         /* of a connection, where this host has that as well */
	struct module *carries;           /* of a flow: the connection of a container that it is part of; NULL: none */
	const struct module_place *place; /* NULL: the namespace of the graph */
	const struct module_place *leads_to;     /* of an interface or its queue: the container behind it */
	uint64_t inode;                          /* of a socket, to find its owner; 0 = none */
	bool hidden;                             /* outside of the selection (selection.h) */
	bool quiet;                              /* a connection on which nothing moved and nobody waits for anything */
	const struct time_history *time_history; /* of an application (time_use.h); NULL = unknown */
	VEC(struct module *) depends_on;         /* the edges down */
	VEC(struct module *) needed_by;          /* the same edges, up */
};

struct graph {
	uint64_t start_ns; /* CLOCK_REALTIME */
	uint64_t window_ns;
	uint64_t netns;
	uint64_t lost;      /* records that could not be taken */
	bool has_places;    /* modules of other namespaces were taken over */
	bool coarse;        /* of one sample: what it suggests is confirmed by windows of more; quiet modules are not
			       judged */
	struct list unseen; /* unseen_record (unseen.h): what could not be looked at */
	VEC(struct module *) modules;
	struct map by_id;   /* id -> struct module * */
	VEC(void *) memory; /* what the measures point at */
};

const char *module_kind_name(enum module_kind kind);
/* -ENOENT */
int module_kind_find(const char *name, enum module_kind *ret_kind) _must_check_;
const char *activity_name(enum activity activity);

/* Waits for its packets to get through: what a cause may affect. */
static inline bool module_is_traffic(const struct module *module)
{
	return module->kind == MODULE_CONN || module->kind == MODULE_UDP || module->kind == MODULE_FLOW;
}

static inline bool module_is_socket(const struct module *module)
{
	return module->kind == MODULE_CONN || module->kind == MODULE_UDP || module->kind == MODULE_LISTENER;
}

/* Which measures a rule about a kind of module may name. */
struct module_scope {
	enum module_kind kind;
	struct {
		const struct record_type *type; /* NULL: the last one was before */
		size_t member;                  /* of struct module_measures */
	} parts[RECORD_PARTS_MAX];
};

#define MODULE_PART(name)                                                                                              \
	{                                                                                                              \
		&name##_measures_type, offsetof(struct module_measures, name)                                          \
	}

REGISTRY(module_scope, struct module_scope);

#define MODULE_SCOPE(object) REGISTER(module_scope, struct module_scope, object)

/* NULL when nothing measures that kind. */
const struct module_scope *module_scope_find(enum module_kind kind);
/* The measures of a module as a record of that shape. */
struct shape module_scope_shape(const struct module_scope *scope);
struct record module_scope_record(const struct module_scope *scope, const struct module *module);

/* Outside of all namespaces of a host, or the host itself: the same whichever of them saw it. */
bool module_is_shared(const struct module *module);
/* An idle connection that turns out to wait, and its program with it. */
void module_set_waiting(struct module *conn);
/* The same for all modules that stand for one connection in the namespaces of this host. */
const struct module *module_traffic(const struct module *module);

/*
 * Whether the packets of a container's connection pass this interface, queue or route of its host, or its peer is this
 * listener in another namespace.
 */
bool module_is_passed_by(const struct module *dev, const struct module *conn);
/* Whether the packets of two connections of this host, or of its containers, leave it by one interface. */
bool module_leaves_with(const struct module *one, const struct module *other);

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
/*
 * Takes the modules of another namespace over, the other graph with them. Those of cgroups and CPUs are the same in all
 * namespaces, and become one.
 */
void graph_absorb(struct graph *graph, struct graph *other, const struct module_place *place);
/* Zeroed memory that lives as long as the graph. */
void *graph_alloc(struct graph *graph, size_t size);
/* Fills in WAITING_ANCESTOR and IGNORED for the modules whose own state is unknown, from above. */
void graph_propagate(struct graph *graph);
