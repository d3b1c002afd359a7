/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The graph: activity as it travels down, and the modules that measurers add around sockets. */
#include "unit.h"

#include <math.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/surroundings.h"
#include "diagnose/measure/thread.h"
#include "snapshot/proc/cgroup.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/pressure.h"
#include "snapshot/proc/process.h"
#include "snapshot/proc/resolver.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

/* --- activity --- */

static struct module *add(struct graph *graph, enum module_kind kind, const char *id, enum activity activity)
{
	struct module *module = graph_module(graph, kind, id, id);

	module->activity = activity;
	return module;
}

TEST(what_is_below_somebody_who_waits)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct module *waiting = add(g, MODULE_CONN, "a", ACTIVITY_WAITING),
		      *idle = add(g, MODULE_CONN, "b", ACTIVITY_IDLE),
		      *link = add(g, MODULE_LINK, "link", ACTIVITY_UNKNOWN),
		      *path = add(g, MODULE_PATH, "path", ACTIVITY_UNKNOWN),
		      *peer = add(g, MODULE_PEER, "peer", ACTIVITY_ACTIVE);

	graph_add_edge(waiting, link);
	graph_add_edge(idle, link);
	graph_add_edge(link, path);
	graph_add_edge(path, peer);
	graph_propagate(g);
	/* One that waits is enough, however many others do not care; and it goes on down. */
	CHECK_EQ_INT(link->activity, ACTIVITY_WAITING_ANCESTOR);
	CHECK_EQ_INT(path->activity, ACTIVITY_WAITING_ANCESTOR);
	/* What was seen to move moves, whoever waits. */
	CHECK_EQ_INT(peer->activity, ACTIVITY_ACTIVE);
	CHECK_EQ_INT(idle->activity, ACTIVITY_IDLE);
}

TEST(what_nobody_cares_for)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct module *one = add(g, MODULE_CONN, "a", ACTIVITY_IDLE), *two = add(g, MODULE_CONN, "b", ACTIVITY_IDLE),
		      *link = add(g, MODULE_LINK, "link", ACTIVITY_UNKNOWN),
		      *path = add(g, MODULE_PATH, "path", ACTIVITY_UNKNOWN),
		      *alone = add(g, MODULE_LINK, "alone", ACTIVITY_UNKNOWN);

	graph_add_edge(one, link);
	graph_add_edge(two, link);
	graph_add_edge(link, path);
	graph_propagate(g);
	CHECK_EQ_INT(link->activity, ACTIVITY_IGNORED);
	CHECK_EQ_INT(path->activity, ACTIVITY_IGNORED);
	/* Nobody above: nothing follows. */
	CHECK_EQ_INT(alone->activity, ACTIVITY_UNKNOWN);
}

TEST(below_somebody_active_nothing_follows)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct module *active = add(g, MODULE_CONN, "a", ACTIVITY_ACTIVE),
		      *idle = add(g, MODULE_CONN, "b", ACTIVITY_IDLE),
		      *link = add(g, MODULE_LINK, "link", ACTIVITY_UNKNOWN);

	graph_add_edge(active, link);
	graph_add_edge(idle, link);
	graph_propagate(g);
	CHECK_EQ_INT(link->activity, ACTIVITY_UNKNOWN);
}

TEST(a_circle_ends)
{
	_cleanup_(graph_freep) struct graph *g = graph_new();
	struct module *a = add(g, MODULE_LINK, "a", ACTIVITY_UNKNOWN), *b = add(g, MODULE_PATH, "b", ACTIVITY_UNKNOWN),
		      *top = add(g, MODULE_CONN, "top", ACTIVITY_WAITING);

	graph_add_edge(a, b);
	graph_add_edge(b, a);
	graph_add_edge(top, a);
	graph_propagate(g);
	CHECK_EQ_INT(a->activity, ACTIVITY_WAITING_ANCESTOR);
	CHECK_EQ_INT(b->activity, ACTIVITY_WAITING_ANCESTOR);
}

#define MS UINT64_C(1000000)

/* --- modules around a socket --- */

static void add_rows(struct snapshot *snapshot, unsigned sample)
{
	struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	struct process_record *process = snapshot_table_add(snapshot_table(snapshot, &process_type));
	struct thread_record *thread = snapshot_table_add(snapshot_table(snapshot, &thread_type));
	struct owner_record *owner = snapshot_table_add(snapshot_table(snapshot, &owner_type));
	struct cgroup_record *cgroup = snapshot_table_add(snapshot_table(snapshot, &cgroup_type));
	struct cgroup_member_record *member = snapshot_table_add(snapshot_table(snapshot, &cgroup_member_type));
	uint64_t recvfrom;

	REQUIRE(enum_value_find(&syscall_names, "recvfrom", &recvfrom) == 0);
	socket->proto = 6;
	socket->state = SOCKET_ESTABLISHED;
	socket->cookie = 1;
	socket->inode = 77;
	socket->lport = 40000;
	socket->rport = 53;
	socket->tcp = 0;
	REQUIRE(addr_parse("10.0.0.1", &socket->laddr) == 0 && addr_parse("10.0.0.53", &socket->raddr) == 0);
	tcp->tcp_cookie = 1;
	process->pid = thread->pid = member->pid = 5;
	process->process_state = thread->thread_state = 'S';
	memcpy(process->comm, "dig", 4);
	memcpy(thread->comm, "worker", 7);
	/* In four of five samples it waits for what it asked for. */
	thread->tid = 6;
	thread->syscall = sample == 2 ? UINT16_MAX : (uint16_t)recvfrom;
	thread->syscall_fd = sample == 2 ? UINT32_MAX : 3;
	*owner = (struct owner_record){.inode = 77, .pid = 5, .fd = 3};
	cgroup->cgroup = "/web";
	member->group = 0;
}

static void add_host(struct snapshot *snapshot, unsigned sample)
{
	struct resolver_record *resolver = snapshot_table_add(snapshot_table(snapshot, &resolver_type));
	struct memory_record *memory = snapshot_table_add(snapshot_table(snapshot, &memory_type));
	struct pressure_record *pressure = snapshot_table_add(snapshot_table(snapshot, &pressure_type));

	REQUIRE(addr_parse("10.0.0.53", &resolver->raddr) == 0);
	memory->tcp_bytes = 250;
	memory->tcp_max_bytes = 1000;
	memcpy(pressure->resource, "cpu", 4);
	pressure->full = false;
	pressure->total_ns = sample * 50 * MS;
	/* One processor at rest, one that works half of the time, all of that for the network. */
	for (unsigned i = 0; i < 2; i++) {
		struct cpu_record *cpu = snapshot_table_add(snapshot_table(snapshot, &cpu_type));

		cpu->user_ns = cpu->nice_ns = cpu->system_ns = cpu->iowait_ns = cpu->irq_ns = cpu->steal_ns = 0;
		cpu->softirq_ns = i * sample * 100 * MS;
		cpu->idle_ns = sample * (200 - i * 100) * MS;
	}
}

static struct graph *look(void)
{
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	for (unsigned sample = 0; sample < 5; sample++) {
		snapshot_clear(snapshot);
		snapshot->begin_boot_ns = (sample + 1) * 200 * MS;
		add_rows(snapshot, sample);
		add_host(snapshot, sample);
		window_add(window, snapshot);
	}
	return window_finish(window);
}

/* The ids that a module leans on, in their order, joined by blanks. */
static const char *leans_on(const struct graph *graph, const char *id)
{
	static char text[512];
	const struct module *module = graph_find(graph, id);

	text[0] = '\0';
	REQUIRE(module != NULL);
	vec_each(&module->depends_on, below)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? " " : "", (*below)->id);
	return text;
}

#define CONN "conn:10.0.0.1:40000-10.0.0.53:53"

TEST(a_blocked_thread_stands_between_its_program_and_the_socket)
{
	_cleanup_(graph_freep) struct graph *graph = look();
	const struct module *thread = graph_find(graph, "thread:5/6");
	const struct thread_measures *m = thread ? thread->measures.thread : NULL;

	REQUIRE(m != NULL);
	CHECK_EQ_TEXT(thread->name, "worker (6)");
	CHECK_NEAR(m->thread_blocked_share, 0.8, 1e-9);
	CHECK_EQ_INT(thread->activity, ACTIVITY_WAITING);
	CHECK_EQ_TEXT(leans_on(graph, "thread:5/6"), CONN);
	CHECK_HAS_TEXT(leans_on(graph, "app:5"), "thread:5/6");
	/* And back up. */
	REQUIRE(thread->needed_by.count == 1);
	CHECK_EQ_TEXT(thread->needed_by.items[0]->id, "app:5");
	CHECK(graph_find(graph, CONN)->related[MODULE_THREAD] == thread);
}

TEST(processors_and_memory_carry_everything)
{
	_cleanup_(graph_freep) struct graph *graph = look();
	const struct module *cpu = graph_find(graph, "cpu"), *memory = graph_find(graph, "memory");
	const struct cpu_measures *c = cpu ? cpu->measures.cpu : NULL;
	const struct memory_measures *m = memory ? memory->measures.memory : NULL;

	REQUIRE(c != NULL && m != NULL);
	CHECK_HAS_TEXT(leans_on(graph, "app:5"), "cpu");
	CHECK_EQ_TEXT(leans_on(graph, "cgroup:/web"), "cpu");
	CHECK_HAS_TEXT(leans_on(graph, CONN), "memory");
	CHECK_EQ_UINT(c->cpus, 2);
	CHECK_NEAR(c->cpu_busy_share, 0.25, 1e-9);
	CHECK_NEAR(c->cpu_softirq_max_share, 0.5, 1e-9);
	CHECK_NEAR(c->cpu_pressure_share, 0.25, 1e-9);
	CHECK_NEAR(m->memory_tcp_share, 0.25, 1e-9);
	/* Nobody said anything about pressure of memory. */
	CHECK(isnan(m->memory_pressure_share));
	CHECK_EQ_INT(cpu->activity, ACTIVITY_ACTIVE);
}

TEST(a_name_server_is_leaned_on_by_who_asks_it)
{
	_cleanup_(graph_freep) struct graph *graph = look();

	CHECK_HAS_TEXT(leans_on(graph, "app:5"), "resolver:10.0.0.53");
	CHECK_EQ_TEXT(leans_on(graph, "resolver:10.0.0.53"), CONN " path:10.0.0.53");
	CHECK(graph_find(graph, CONN)->related[MODULE_RESOLVER] == graph_find(graph, "resolver:10.0.0.53"));
}

TEST(resolv_conf_says_whom_to_ask)
{
	struct resolver_config config;
	char text[ADDR_TEXT_MAX];

	resolver_parse("# nameserver 1.1.1.1\nsearch example.org\nnameserver 10.0.0.53\n  nameserver fe80::1%eth0 \n"
		       "nameserver not-an-address\noptions ndots:5 timeout:2 attempts:9 rotate\nnameserver ::1\n"
		       "nameserver 10.0.0.54\n",
		       &config);
	CHECK_EQ_UINT(config.count, 3);
	addr_format(&config.servers[1], text);
	CHECK_EQ_TEXT(text, "fe80::1");
	addr_format(&config.servers[2], text);
	CHECK_EQ_TEXT(text, "::1");
	CHECK_EQ_UINT(config.timeout_ns, 2 * NSEC_PER_SEC);
	CHECK_EQ_UINT(config.attempts, 5);
	/* An empty file: this host, five seconds, twice. */
	resolver_parse("", &config);
	CHECK_EQ_UINT(config.count, 1);
	addr_format(&config.servers[0], text);
	CHECK_EQ_TEXT(text, "127.0.0.1");
	CHECK_EQ_UINT(config.timeout_ns, 5 * NSEC_PER_SEC);
	CHECK_EQ_UINT(config.attempts, 2);
}
