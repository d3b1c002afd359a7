/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which part of a graph is told of; and one namespace cut out of a snapshot of two. */
#include "unit.h"

#include "diagnose/infer/selection.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "snapshot/core/slice.h"
#include "snapshot/proc/other_netns.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/socket.h"

/* Two applications, a connection each over one path and different interfaces, and a listener of the second. */
static struct graph *draw(void)
{
	static const struct {
		const char *app, *conn, *link, *cgroup;
		uint32_t pid;
		uint16_t port;
	} parts[] = {{"app:1", "conn:1", "eth0", "/web/a", 1, 443}, {"app:2", "conn:2", "eth1", "/website", 2, 80}};
	struct graph *graph = graph_new();
	struct module *path = graph_module(graph, MODULE_PATH, "path:x", "x"), *listener;
	struct listener_measures *l = graph_alloc(graph, sizeof(*l));

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct module *app = graph_module(graph, MODULE_APP, parts[i].app, "a"),
			      *conn = graph_module(graph, MODULE_CONN, parts[i].conn, "c"),
			      *link = graph_module(graph, MODULE_LINK, parts[i].link, parts[i].link);
		struct conn_measures *m = graph_alloc(graph, sizeof(*m));
		struct app_measures *a = graph_alloc(graph, sizeof(*a));

		m->lport = 40000;
		m->rport = parts[i].port;
		a->pid = parts[i].pid;
		a->cgroup = parts[i].cgroup;
		conn->measures.conn = m;
		app->measures.app = a;
		conn->related[MODULE_APP] = app;
		conn->related[MODULE_LINK] = link;
		conn->related[MODULE_PATH] = path;
	}
	l->lport = 8080;
	listener = graph_module(graph, MODULE_LISTENER, "listener:1", "l");
	listener->measures.listener = l;
	listener->related[MODULE_APP] = graph_find(graph, "app:2");
	return graph;
}

/* The ids that are shown, joined by blanks. */
static const char *shown(const struct selection *selection)
{
	static char text[256];
	_cleanup_(graph_freep) struct graph *graph = draw();

	selection_apply(graph, selection);
	text[0] = '\0';
	vec_each(&graph->modules, module)
		if (!(*module)->hidden)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? " " : "",
				 (*module)->id);
	return text;
}

TEST(what_a_choice_shows)
{
	CHECK_EQ_TEXT(shown(&(struct selection){.pid = 1}), "path:x app:1 conn:1 eth0");
	CHECK_EQ_TEXT(shown(&(struct selection){.pid = 2}), "path:x app:2 conn:2 eth1 listener:1");
	CHECK_EQ_TEXT(shown(&(struct selection){.pid = 3}), "");
	/* A group and those below it, not those whose name begins alike. */
	CHECK_EQ_TEXT(shown(&(struct selection){.cgroup = "/web"}), "path:x app:1 conn:1 eth0");
	CHECK_EQ_TEXT(shown(&(struct selection){.dev = "eth1"}), "path:x app:2 conn:2 eth1");
	CHECK_EQ_TEXT(shown(&(struct selection){.ports = {2, {8080, 443}}}),
		      "path:x app:1 conn:1 eth0 app:2 listener:1");
	CHECK_EQ_TEXT(shown(&(struct selection){.pid = 1, .ports = {1, {80}}}), "");
}

TEST(nothing_chosen_is_everything)
{
	CHECK(selection_is_empty(&(struct selection){}));
	CHECK(!selection_is_empty(&(struct selection){.ports = {1, {80}}}));
}

static void put_socket(struct snapshot *snapshot, uint32_t netns, uint64_t cookie, uint32_t tcp)
{
	struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));

	socket->netns = netns;
	socket->cookie = cookie;
	socket->tcp = tcp;
}

TEST(a_slice_holds_one_namespace_and_what_belongs_to_none)
{
	_cleanup_snapshot_ struct snapshot *whole = snapshot_new();
	struct snapshot_slice *slice = snapshot_slice_new();
	const struct snapshot *one;
	const struct socket_record *sockets;
	struct other_netns_record *other;

	for (unsigned i = 0; i < 3; i++) {
		struct tcp_record *tcp = snapshot_table_add(snapshot_table(whole, &tcp_type));

		tcp->tcp_cookie = 10 + i;
		put_socket(whole, i == 1 ? 7 : 8, 10 + i, i);
	}
	REQUIRE(snapshot_table_add(snapshot_table(whole, &process_type)) != NULL);
	REQUIRE(snapshot_table_add(snapshot_table(whole, &gap_type)) != NULL);
	other = snapshot_table_add(snapshot_table(whole, &other_netns_type));
	other->netns = 9;
	snapshot_slice_divide(slice, whole);
	one = snapshot_slice_cut(slice, 8);
	CHECK_EQ_UINT(snapshot_table(one, &socket_type)->count, 2);
	CHECK_EQ_UINT(snapshot_table(one, &process_type)->count, 1);
	/* Of no namespace, and about another one: not seen from here. */
	CHECK_EQ_UINT(snapshot_table(one, &gap_type)->count, 1);
	CHECK_EQ_UINT(snapshot_table(one, &other_netns_type)->count, 1);
	sockets = snapshot_first(one, &socket_type);
	CHECK_EQ_UINT(sockets[1].cookie, 12);
	/* What it refers to is still where it was. */
	REQUIRE(socket_tcp(one, &sockets[1]) != NULL);
	CHECK_EQ_UINT(socket_tcp(one, &sockets[1])->tcp_cookie, 12);
	one = snapshot_slice_cut(slice, 7);
	CHECK_EQ_UINT(snapshot_table(one, &socket_type)->count, 1);
	one = snapshot_slice_cut(slice, 9);
	CHECK_EQ_UINT(snapshot_table(one, &socket_type)->count, 0);
	snapshot_slice_free(slice);
}
