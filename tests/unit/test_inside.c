/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graphs of a host and its containers as one, and how explanations of both compete. */
#include "unit.h"

#include <netinet/in.h>

#include "diagnose/infer/diagnosis.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/endpoint.h"
#include "diagnose/measure/exchange.h"
#include "diagnose/measure/inside.h"
#include "diagnose/measure/nameserver.h"
#include "diagnose/measure/refusal.h"
#include "diagnose/measure/unseen.h"

static const struct module_place web = {.netns = 4026532500, .name = "web", .option = "web"};
static const struct module_place nameless = {.netns = 4026532600, .option = "4711"};

static struct addr address(uint8_t net, uint8_t last)
{
	return addr_from_v4((const uint8_t[]){10, 0, net, last});
}

static struct module *add_conn(struct graph *graph, const char *id, struct addr laddr, uint16_t lport,
			       struct addr raddr, uint16_t rport)
{
	struct module *conn = graph_module(graph, MODULE_CONN, id, id);
	struct conn_measures *m = graph_alloc(graph, sizeof(*m));
	struct exchange_measures *x = graph_alloc(graph, sizeof(*x));

	m->laddr = laddr;
	m->lport = lport;
	m->raddr = raddr;
	m->rport = rport;
	conn->measures.conn = m;
	conn->measures.exchange = x;
	conn->activity = ACTIVITY_WAITING;
	return conn;
}

static struct module *add_flow(struct graph *graph, const char *id, struct addr from, uint16_t sport, struct addr to,
			       uint16_t dport)
{
	struct module *flow = graph_module(graph, MODULE_FLOW, id, id);
	struct flow_measures *m = graph_alloc(graph, sizeof(*m));

	*m = (struct flow_measures){.flow_proto = IPPROTO_TCP,
				    .flow_source = from,
				    .flow_sport = sport,
				    .flow_target = to,
				    .flow_dport = dport};
	flow->measures.flow = m;
	return flow;
}

TEST(modules_of_a_container_keep_their_identity)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new(), *more = graph_new();
	struct module *host_link = graph_module(g, MODULE_LINK, "link:eth0", "eth0"),
		      *host_app = graph_module(g, MODULE_APP, "app:1", "init"), *link, *app;

	link = graph_module(inside, MODULE_LINK, "link:eth0", "eth0");
	app = graph_module(inside, MODULE_APP, "app:2", "nginx");
	graph_add_edge(app, link);
	(void)graph_module(more, MODULE_APP, "app:1", "init");
	inside_add(g, inside, &web);
	inside_add(g, more, &nameless);
	CHECK(graph_find(g, "link:eth0") == host_link && !host_link->place);
	CHECK(graph_find(g, "link:eth0@4026532500") == link);
	CHECK_EQ_TEXT(link->place->name, "web");
	CHECK(graph_find(g, "app:1") == host_app);
	CHECK(graph_find(g, "app:2") == app && app->depends_on.items[0] == link);
	CHECK_EQ_TEXT(graph_find(g, "app:1@4026532600")->place->option, "4711");
}

TEST(a_cgroup_is_one_in_all_namespaces)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct module *cgroup = graph_module(g, MODULE_CGROUP, "cgroup:/web", "/web"),
		      *other = graph_module(inside, MODULE_CGROUP, "cgroup:/web", "/web"),
		      *alone = graph_module(inside, MODULE_CGROUP, "cgroup:/db", "/db"),
		      *app = graph_module(inside, MODULE_APP, "app:2", "nginx");

	app->related[MODULE_CGROUP] = other;
	graph_add_edge(app, other);
	inside_add(g, inside, &web);
	CHECK(app->related[MODULE_CGROUP] == cgroup && app->depends_on.items[0] == cgroup);
	CHECK(cgroup->needed_by.count == 1 && cgroup->needed_by.items[0] == app);
	CHECK(graph_find(g, "cgroup:/db") == alone);
	CHECK_EQ_INT(g->modules.count, 3);
}

TEST(what_was_not_seen_inside_is_said_once)
{
	static const struct unseen_record both = {"firewall", "no privilege", "rules"};
	static const struct unseen_record inner[] = {{"firewall", "no privilege", "rules"}, {"tap", "refused", "DNS"}};
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	const struct unseen_record *items;

	g->unseen = (struct list){&both, 1};
	inside->unseen = (struct list){inner, 2};
	inside_add(g, inside, &web);
	items = g->unseen.items;
	CHECK_EQ_INT(g->unseen.count, 2);
	CHECK_EQ_TEXT(items[0].lost, "rules");
	CHECK_EQ_TEXT(items[1].lost, "DNS in web");
}

TEST(both_ends_of_a_connection_find_each_other)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct addr loopback = addr_from_v4((const uint8_t[]){127, 0, 0, 1});
	struct module *client = add_conn(g, "c", address(1, 1), 40000, address(1, 2), 80),
		      *server = add_conn(inside, "s", address(1, 2), 80, address(1, 1), 40000),
		      *here = add_conn(g, "lo", loopback, 50000, loopback, 90),
		      *there = add_conn(inside, "lo", loopback, 90, loopback, 50000);

	inside_add(g, inside, &web);
	inside_link(g);
	CHECK(client->other_end == server && server->other_end == client);
	CHECK(client->measures.exchange->peer_is_here && server->measures.exchange->peer_is_here);
	CHECK(!client->measures.exchange->peer_is_hidden);
	CHECK(module_traffic(client) == module_traffic(server));
	CHECK(!here->other_end && !there->other_end && !here->measures.exchange->peer_is_here);
	CHECK(module_traffic(here) != module_traffic(there));
}

/* The host forwards by its own route to the destination, whatever the container's is. */
TEST(packets_of_a_container_pass_a_route_of_the_host)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct module *route = graph_module(g, MODULE_ROUTE, "route:10.0.3.2", "10.0.3.2"),
		      *other = graph_module(g, MODULE_ROUTE, "route:10.0.3.3", "10.0.3.3"),
		      *conn = add_conn(inside, "c", address(1, 1), 40000, address(3, 2), 80);

	conn->related[MODULE_ROUTE] = graph_module(inside, MODULE_ROUTE, "route:10.0.3.2", "10.0.3.2");
	inside_add(g, inside, &web);
	CHECK(module_is_passed_by(route, conn) && !module_is_passed_by(other, conn));
	/* The container's own, and a connection that ends on this host. */
	CHECK(!module_is_passed_by(conn->related[MODULE_ROUTE], conn));
	conn->other_end = add_conn(g, "d", address(3, 2), 80, address(1, 1), 40000);
	CHECK(!module_is_passed_by(route, conn));
}

/* All connections to that peer end there, those as well that its host has not accepted yet. */
TEST(a_peer_may_be_a_listener_of_this_host)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct module *listener = graph_module(inside, MODULE_LISTENER, "listener:80", "80"),
		      *other = graph_module(inside, MODULE_LISTENER, "listener:81", "81"),
		      *peer = graph_module(g, MODULE_PEER, "peer:10.0.1.2:80", "10.0.1.2:80"),
		      *served = add_conn(g, "a", address(1, 1), 40000, address(1, 2), 80),
		      *waiting = add_conn(g, "b", address(1, 1), 40001, address(1, 2), 80),
		      *away = add_conn(g, "c", address(1, 1), 40002, address(2, 2), 80);
	struct listener_measures *m = graph_alloc(inside, 2 * sizeof(*m));

	m[0].lport = 80;
	m[1].lport = 81;
	listener->measures.listener = &m[0];
	other->measures.listener = &m[1];
	served->related[MODULE_PEER] = waiting->related[MODULE_PEER] = peer;
	(void)add_conn(inside, "s", address(1, 2), 80, address(1, 1), 40000);
	inside_add(g, inside, &web);
	inside_link(g);
	CHECK(module_is_passed_by(listener, served) && module_is_passed_by(listener, waiting));
	CHECK(!module_is_passed_by(other, served) && !module_is_passed_by(listener, away));
}

TEST(an_end_of_an_unknown_program_is_hidden)
{
	struct module app = {}, other = {.inode = 4711};
	struct exchange_measures m = {};

	exchange_set_other_end(&m, &other);
	CHECK(m.peer_is_here && m.peer_is_hidden);
	/* Not accepted yet: no program has it. */
	other.inode = 0;
	exchange_set_other_end(&m, &other);
	CHECK(m.peer_is_here && !m.peer_is_hidden);
	other = (struct module){.inode = 4711, .related[MODULE_APP] = &app};
	exchange_set_other_end(&m, &other);
	CHECK(m.peer_is_here && !m.peer_is_hidden);
	exchange_set_other_end(&m, NULL);
	CHECK(!m.peer_is_here && !m.peer_is_hidden);
}

TEST(forwarded_flows_are_part_of_a_connection)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct addr host = address(9, 1), far = address(2, 2), own = address(1, 2);
	struct module *conn = add_conn(inside, "s", own, 6001, far, 40000),
		      *in = add_flow(g, "in", far, 40000, own, 6001),
		      *out = add_flow(g, "out", host, 6001, far, 40000),                 /* translated */
			      *service = add_flow(g, "service", host, 6002, far, 40000), /* and port, too */
				      *other = add_flow(g, "other", host, 6001, far, 40001);

	inside_add(g, inside, &web);
	inside_link(g);
	CHECK(in->carries == conn && out->carries == conn && service->carries == conn);
	CHECK(!other->carries);
	CHECK(module_traffic(out) == conn);
}

TEST(a_flow_leads_to_the_service_that_a_container_uses)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct peer_measures *m = graph_alloc(inside, sizeof(*m)), *own = graph_alloc(g, sizeof(*own));
	struct module *service = graph_module(inside, MODULE_PEER, "peer:10.0.2.2:1812", "s"),
		      *other = graph_module(g, MODULE_PEER, "peer:10.0.2.3:1812", "o"),
		      *there = add_flow(g, "there", address(1, 2), 40000, address(2, 2), 1812),
		      *port = add_flow(g, "port", address(1, 2), 40000, address(2, 2), 1813),
		      *host = add_flow(g, "host", address(1, 2), 40000, address(2, 3), 1812);

	*m = (struct peer_measures){.raddr = address(2, 2), .rport = 1812};
	*own = (struct peer_measures){.raddr = address(2, 3), .rport = 1812};
	service->measures.peer = m;
	other->measures.peer = own;
	inside_add(g, inside, &web);
	inside_link(g);
	CHECK(there->related[MODULE_PEER] == service);
	CHECK(!port->related[MODULE_PEER]);
	CHECK(!host->related[MODULE_PEER]);
}

TEST(connections_that_leave_by_one_interface)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new(), *second = graph_new();
	struct module *eth0 = graph_module(g, MODULE_LINK, "link:eth0", "eth0"),
		      *eth1 = graph_module(g, MODULE_LINK, "link:eth1", "eth1"),
		      *a = add_conn(g, "a", address(1, 1), 1, address(2, 2), 80),
		      *b = add_conn(g, "b", address(1, 1), 2, address(2, 3), 80),
		      *c = add_conn(g, "c", address(1, 1), 3, address(3, 3), 80),
		      *lost = add_conn(g, "lost", address(1, 1), 4, address(3, 3), 80),
		      *k = add_conn(inside, "k", address(4, 2), 5, address(2, 2), 80),
		      *l = add_conn(second, "l", address(4, 3), 6, address(2, 3), 80),
		      *near = add_conn(second, "near", address(4, 3), 7, address(4, 2), 80);

	a->related[MODULE_LINK] = b->related[MODULE_LINK] = eth0;
	c->related[MODULE_LINK] = eth1;
	inside_add(g, inside, &web);
	inside_add(g, second, &nameless);
	near->other_end = k;
	CHECK(module_leaves_with(a, b) && !module_leaves_with(a, c) && !module_leaves_with(lost, lost));
	CHECK(module_leaves_with(a, k) && module_leaves_with(k, a) && module_leaves_with(k, l));
	CHECK(!module_leaves_with(lost, k) && !module_leaves_with(k, near) && !module_leaves_with(near, a));
}

/* --- the competition --- */

static const struct cause causes[] = {{.name = (char *)"path-loss", .accuses = MODULE_PATH},
				      {.name = (char *)"firewall-drop", .accuses = MODULE_FILTER},
				      {.name = (char *)"peer-refused", .accuses = MODULE_PEER}};

static struct hypothesis *suggest(struct verdict *v, const struct cause *cause, struct module *accused,
				  struct module *affected, double certainty)
{
	struct hypothesis *h = verdict_add(v, cause, accused);

	hypothesis_add_evidence(
		h, &(struct evidence){
			   .name = "r", .family = "f", .factor = certainty, .seen_at = accused, .text = xstrdup("t")});
	hypothesis_add_affected(h, affected);
	return h;
}

/* A container's path and the firewall of its host explain the same connection; returns what is left. */
static const char *compete(double path_certainty, double filter_certainty, bool same)
{
	static char left[64];
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = NULL;
	struct graph *inside = graph_new();
	struct module *conn = add_conn(inside, "s", address(1, 2), 6001, address(2, 2), 40000),
		      *path = graph_module(inside, MODULE_PATH, "path:10.0.2.2", "10.0.2.2"),
		      *filter = graph_module(g, MODULE_FILTER, "filter:netfilter", "f"),
		      *flow = add_flow(g, "f", address(2, 2), same ? 40000 : 40001, address(1, 2), 6001);

	inside_add(g, inside, &web);
	inside_link(g);
	v = verdict_new(g);
	suggest(v, &causes[0], path, conn, path_certainty);
	suggest(v, &causes[1], filter, flow, filter_certainty);
	verdict_weigh(v);
	verdict_merge_views(v);
	verdict_compete(v, NULL, NULL);
	left[0] = '\0';
	vec_each(&v->hypotheses, h) {
		size_t length = strlen(left);

		snprintf(left + length, sizeof(left) - length, "%s%s", length ? " " : "", (*h)->cause->name);
	}
	return left;
}

TEST(what_is_seen_nearer_wins)
{
	CHECK_EQ_TEXT(compete(0.9, 0.8, true), "firewall-drop");
	CHECK_EQ_TEXT(compete(0.9, 0.8, false), "path-loss firewall-drop");
	/* Not where it is much less certain. */
	CHECK_EQ_TEXT(compete(0.9, 0.6, true), "path-loss");
}

/* A queue of the host: at the port of the container, at that of another, or on the way out. */
static size_t explained_by(const char *dev)
{
	static const struct module_place first = {.netns = 1, .port = "veth1"}, second = {.netns = 2, .port = "veth2"};
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = verdict_new(g);
	struct graph *inside = graph_new();
	struct module *conn = add_conn(inside, "s", address(1, 2), 6001, address(2, 2), 40000),
		      *path = graph_module(inside, MODULE_PATH, "path:10.0.2.2", "10.0.2.2"),
		      *qdisc = graph_module(g, MODULE_QDISC, "qdisc", dev);

	inside_add(g, inside, &first);
	inside_add(g, graph_new(), &second);
	inside_link(g);
	suggest(v, &causes[0], path, conn, 0.8);
	hypothesis_add_evidence(verdict_add(v, &causes[1], qdisc),
				&(struct evidence){.name = "r", .family = "f", .factor = 0.8, .text = xstrdup("t")});
	verdict_weigh(v);
	verdict_compete(v, NULL, NULL);
	return 2 - v->hypotheses.count;
}

TEST(a_queue_of_the_host_explains_what_passes_it)
{
	CHECK_EQ_INT(explained_by("veth1"), 1);
	CHECK_EQ_INT(explained_by("veth2"), 0);
	CHECK_EQ_INT(explained_by("eth0"), 1);
}

static size_t count_merged(const char *id)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	_cleanup_(verdict_freep) struct verdict *v = verdict_new(g);
	struct graph *inside = graph_new();
	struct module *own = graph_module(g, MODULE_PEER, id, id), *other = graph_module(inside, MODULE_PEER, id, id),
		      *a = add_conn(g, "a", address(1, 1), 1, address(2, 2), 80),
		      *b = add_conn(inside, "b", address(1, 2), 2, address(2, 2), 80);

	inside_add(g, inside, &web);
	suggest(v, &causes[2], own, a, 0.6);
	suggest(v, &causes[2], other, b, 0.8);
	verdict_weigh(v);
	verdict_merge_views(v);
	CHECK(v->hypotheses.count == 2 ||
	      (v->hypotheses.items[0]->accused == own && v->hypotheses.items[0]->affects.count == 2));
	return v->hypotheses.count;
}

TEST(the_same_peer_is_accused_once)
{
	CHECK_EQ_INT(count_merged("peer:10.0.2.2:80"), 1);
	/* Each namespace has a loopback of its own. */
	CHECK_EQ_INT(count_merged("peer:127.0.0.1:80"), 2);
	CHECK_EQ_INT(count_merged("peer:[::1]:80"), 2);
}

static struct module *add_resolver(struct graph *graph, const char *id, struct addr raddr)
{
	struct module *resolver = graph_module(graph, MODULE_RESOLVER, id, id);
	struct resolver_measures *m = graph_alloc(graph, sizeof(*m));

	m->raddr = raddr;
	resolver->measures.resolver = m;
	return resolver;
}

/* The host drops queries; the program that waits for their answers, and knows their server, is in a container. */
TEST(dropped_queries_belong_to_the_resolver_of_a_container)
{
	static const struct dropped_measures dropped = {.drop_firewall = 2};
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct graph *inside = graph_new();
	struct module *filter = graph_module(g, MODULE_FILTER, "filter:netfilter", "the firewall of this host"),
		      *query = add_flow(g, "query", address(4, 2), 50000, address(3, 2), 53),
		      *other = add_flow(g, "other", address(4, 2), 50000, address(3, 9), 5353),
		      *own = add_resolver(g, "own", address(3, 2)), *resolver, *elsewhere, *unused;

	((struct flow_measures *)query->measures.flow)->flow_proto = IPPROTO_UDP;
	((struct flow_measures *)other->measures.flow)->flow_proto = IPPROTO_UDP;
	query->measures.dropped = other->measures.dropped = &dropped;
	query->related[MODULE_FILTER] = other->related[MODULE_FILTER] = filter;
	resolver = add_resolver(inside, "near", address(3, 2));
	elsewhere = add_resolver(inside, "far", address(3, 3));
	unused = add_resolver(inside, "other", address(3, 9));
	inside_add(g, inside, &web);
	inside_link(g);
	CHECK(resolver->measures.dropped == &dropped && resolver->related[MODULE_FILTER] == filter);
	CHECK(resolver->depends_on.count == 1 && resolver->depends_on.items[0] == filter);
	/* Another server, another port, and the host's own: whose queries they are is known by their socket. */
	CHECK(!elsewhere->measures.dropped && !unused->measures.dropped && !own->measures.dropped);
}
