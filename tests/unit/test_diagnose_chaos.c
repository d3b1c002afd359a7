/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host in disorder: a thousand snapshots in which sockets and processes come and go, counters jump and run backwards,
 * owners are missing and fields are unknown. Nobody knows the right verdict; what must hold is that every engine
 * gives one that makes sense by itself.
 * timeout: 120
 */
#include "unit.h"

#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/infer/diagnosis.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

#define SNAPSHOTS 1000
#define SOCKETS   40
#define PROCESSES 12

static uint64_t below(uint64_t *state, uint64_t limit)
{
	return unit_random(state) % limit;
}

/* Any field of the record: left as it is, unknown, small, or anything at all. */
static void scramble(const struct record_type *type, void *data, uint64_t *state)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct field *field = &type->fields[i];
		uint8_t *at = (uint8_t *)data + field->offset;
		uint64_t small = below(state, 1000), any = unit_random(state), kind = below(state, 8);

		if (field->store == STORE_BOOL)
			*at = kind & 1;
		else if (field->store > STORE_NONE && field->store <= STORE_I64)
			memcpy(at, kind == 0 ? &any : &small, field->size);
		if (kind == 1)
			value_set_unknown(field, data);
	}
}

static void add_socket(struct snapshot *snapshot, uint64_t cookie, uint64_t *state)
{
	struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	struct owner_record *owner = below(state, 4) ? snapshot_table_add(snapshot_table(snapshot, &owner_type)) : NULL;
	char remote[32];

	scramble(&socket_type, socket, state);
	scramble(&tcp_type, tcp, state);
	snprintf(remote, sizeof(remote), "10.0.0.%u", (unsigned)(cookie % 5));
	REQUIRE(addr_parse("10.0.0.99", &socket->laddr) == 0 && addr_parse(remote, &socket->raddr) == 0);
	socket->cookie = cookie;
	socket->inode = (uint32_t)(1000 + cookie);
	socket->proto = cookie % 4 ? 6 : 17;
	socket->state = (uint8_t)(1 + below(state, SOCKET_STATES - 1));
	socket->lport = (uint16_t)(1 + cookie);
	socket->tcp = (uint32_t)(snapshot_table(snapshot, &tcp_type)->count - 1);
	if (owner)
		*owner = (struct owner_record){
			.inode = socket->inode, .pid = (uint32_t)(1 + below(state, PROCESSES)), .fd = (uint32_t)cookie};
}

static void add_process(struct snapshot *snapshot, uint32_t pid, uint64_t *state)
{
	struct process_record *process = snapshot_table_add(snapshot_table(snapshot, &process_type));
	struct thread_record *thread = snapshot_table_add(snapshot_table(snapshot, &thread_type));

	scramble(&process_type, process, state);
	scramble(&thread_type, thread, state);
	process->pid = thread->pid = pid;
	thread->tid = (uint32_t)(pid + 100 * below(state, 2));
	process->process_state = thread->thread_state = (uint8_t) "RSDTZX"[below(state, 6)];
}

static void add_way(struct snapshot *snapshot, uint64_t *state)
{
	struct link_record *link = snapshot_table_add(snapshot_table(snapshot, &link_type));
	struct qdisc_record *qdisc = snapshot_table_add(snapshot_table(snapshot, &qdisc_type));
	struct destination_record *way = snapshot_table_add(snapshot_table(snapshot, &destination_type));

	scramble(&link_type, link, state);
	scramble(&qdisc_type, qdisc, state);
	scramble(&destination_type, way, state);
	memcpy(link->dev, "eth0", 5);
	memcpy(qdisc->parent, "root", 5);
	link->ifindex = qdisc->ifindex = way->ifindex = 2;
	REQUIRE(addr_parse("10.0.0.1", &way->raddr) == 0);
	way->error = below(state, 3) ? 0 : 101;
}

static void fill(struct snapshot *snapshot, unsigned number, uint64_t *state)
{
	snapshot_clear(snapshot);
	snapshot->begin_boot_ns = (uint64_t)(number + 1) * 200000000;
	snapshot->begin_time_ns = UINT64_C(1763172787000000000) + snapshot->begin_boot_ns;
	for (uint64_t cookie = 0; cookie < SOCKETS; cookie++)
		if (below(state, 3))
			add_socket(snapshot, cookie, state);
	for (uint32_t pid = 1; pid <= PROCESSES; pid++)
		if (below(state, 4))
			add_process(snapshot, pid, state);
	if (below(state, 5))
		add_way(snapshot, state);
}

static bool is_share(double x)
{
	return isnan(x) || (x >= 0 && x <= 1);
}

static void check_graph(const struct graph *graph)
{
	bool sound = true;

	vec_each(&graph->modules, at) {
		const struct module *module = *at;
		const struct limit_record *limits = conn_limits(module);

		sound = sound && graph_find(graph, module->id) == module && module->related[module->kind] == module;
		vec_each(&module->depends_on, below)
			sound = sound && graph_find(graph, (*below)->id) == *below;
		if (limits)
			sound = sound && is_share(limits->application) && is_share(limits->send_buffer) &&
				is_share(limits->receiver_window) && is_share(limits->congestion_window) &&
				is_share(limits->local_queue) && is_share(limits->nobody);
	}
	CHECK(sound);
}

static void check_record(const struct diagnosis_record *record)
{
	const struct finding_record *findings = record->findings.items;

	CHECK_EQ_INT(record->healthy, record->findings.count == 0);
	for (uint32_t i = 0; i < record->findings.count; i++) {
		CHECK(findings[i].certainty >= INFER_THRESHOLD && findings[i].certainty <= 1);
		CHECK(findings[i].for_evidence.count > 0 && findings[i].because && *findings[i].because);
		CHECK(i == 0 || findings[i].certainty <= findings[i - 1].certainty);
	}
}

static void live_through(const char *engine_name)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(diagnosis_freep) struct diagnosis *diagnosis = NULL;
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct engine *engine = NULL;
	uint64_t state = 4711, findings = 0;
	struct why why = {};

	REQUIRE(knowledge_load(&knowledge, &why) == 0 && engine_find(engine_name, &engine, &why) == 0);
	diagnosis = diagnosis_new(knowledge);
	diagnosis_set_engine(diagnosis, engine);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		fill(snapshot, i, &state);
		window_add(window, snapshot);
		if (i % 5 != 4)
			continue;
		diagnosis_add_window(diagnosis, window_finish(window));
		check_graph(diagnosis_graph(diagnosis));
		check_record(diagnosis_get(diagnosis));
		findings += diagnosis_get(diagnosis)->findings.count;
	}
	/* Disorder is not health: a verdict that never comes would make the checks above pass without looking. */
	unit_note("%s", engine_name);
	CHECK(findings > 0);
}

TEST(rules_survive_disorder)
{
	live_through("rules");
}

TEST(the_tables_of_2011_survive_disorder)
{
	live_through("nest2011");
}

TEST(the_crisp_rules_survive_disorder)
{
	live_through("flowdiagnoser");
}
