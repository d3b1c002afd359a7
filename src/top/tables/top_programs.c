/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs, and the services that they belong to: connections added up by process, by unit or container. */
#include <math.h>
#include <string.h>

#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "top/model/top_table.h"
#include "top/tables/move.h"

static const struct record_type *const types[] = {&socket_type, &tcp_type, &owner_type, &process_type, NULL};

struct program {
	uint32_t pid;
	char comm[16];
	const char *service;
	uint64_t programs;
	uint64_t conns, listeners;
	double rx_rate, tx_rate, traffic, retrans_rate;
	double cpu;
	uint64_t recvq_bytes, sendq_bytes;
	double share;
	const char *what;
	const char *on;
	uint64_t max_ns;
	uint64_t rss_bytes;
	uint64_t threads;
	const char *container;
	const char *unit;
	const char *cgroup;
};

#define P struct program
static const struct field program_fields[] = {
	FIELD(P, pid, ID, "process", .zero_is_unknown = true),
	FIELD(P, comm, TEXT, "its name"),
	FIELD(P, conns, COUNT, "TCP and UDP sockets that do not listen"),
	FIELD(P, listeners, COUNT, "listening sockets"),
	FIELD(P, rx_rate, RATIO, "TCP: bytes received per second", .unit = "B/s"),
	FIELD(P, tx_rate, RATIO, "TCP: bytes sent and acknowledged per second", .unit = "B/s"),
	FIELD(P, traffic, RATIO, "TCP: bytes received and sent per second", .unit = "B/s", .hidden = true),
	FIELD(P, retrans_rate, RATIO, "TCP: segments retransmitted per second", .unit = "/s"),
	FIELD(P, cpu, RATIO, "share of one CPU", .unit = "%"),
	FIELD(P, share, RATIO, "share of its time that it spends on this", .unit = "%"),
	FIELD(P, what, TEXT, "what it spends most of its time on: cpu, cpu-wait, answer, network, connect, dns ..."),
	FIELD(P, on, TEXT, "module that it waits for"),
	FIELD(P, max_ns, DURATION, "longest of these waits", .hidden = true),
	FIELD(P, recvq_bytes, BYTES, "data in receive queues"),
	FIELD(P, sendq_bytes, BYTES, "data in send queues"),
	FIELD(P, rss_bytes, BYTES, "resident memory", .hidden = true),
	FIELD(P, threads, COUNT, "threads", .hidden = true),
	FIELD(P, container, TEXT, "container", .hidden = true),
	FIELD(P, unit, TEXT, "systemd unit", .hidden = true),
	FIELD(P, cgroup, TEXT, "control group", .hidden = true),
};
static RECORD_TYPE(program_type, "top_program", P, program_fields, "a process that holds sockets, with its traffic");

static const struct field service_fields[] = {
	FIELD(P, service, TEXT, "container, systemd unit or control group"),
	FIELD(P, programs, COUNT, "processes that hold sockets"),
	FIELD(P, conns, COUNT, "TCP and UDP sockets that do not listen"),
	FIELD(P, listeners, COUNT, "listening sockets"),
	FIELD(P, rx_rate, RATIO, "TCP: bytes received per second", .unit = "B/s"),
	FIELD(P, tx_rate, RATIO, "TCP: bytes sent and acknowledged per second", .unit = "B/s"),
	FIELD(P, traffic, RATIO, "TCP: bytes received and sent per second", .unit = "B/s", .hidden = true),
	FIELD(P, retrans_rate, RATIO, "TCP: segments retransmitted per second", .unit = "/s"),
	FIELD(P, cpu, RATIO, "share of one CPU", .unit = "%"),
	FIELD(P, recvq_bytes, BYTES, "data in receive queues"),
	FIELD(P, sendq_bytes, BYTES, "data in send queues"),
	FIELD(P, rss_bytes, BYTES, "resident memory", .hidden = true),
	FIELD(P, container, TEXT, "container", .hidden = true),
	FIELD(P, unit, TEXT, "systemd unit", .hidden = true),
};
static RECORD_TYPE(service_type, "top_service", P, service_fields, "a container or unit, with its traffic");
#undef P

struct state {
	struct moves conns;
	struct moves cpus;
};

typedef VEC(struct program) programs;

static void add_known(double *sum, double value)
{
	if (!isnan(value))
		*sum = isnan(*sum) ? value : *sum + value;
}

static void set_process(struct program *program, const struct process_record *process, struct state *state)
{
	double cpu;

	if (!process)
		return;
	moves_take(&state->cpus, &program->pid, (uint64_t[]){process->user_ns + process->system_ns}, 1, &cpu);
	program->cpu = cpu / 1e9;
	memcpy(program->comm, process->comm, sizeof(program->comm));
	program->rss_bytes = process->rss_bytes;
	program->threads = process->threads;
	program->container = process->container;
	program->unit = process->unit;
	program->cgroup = process->cgroup;
}

static void set_time(struct program *program, const struct findings *findings)
{
	const struct share_record *share = findings ? findings_time(findings, program->pid) : NULL;

	program->share = NAN;
	program->max_ns = UINT64_MAX;
	if (!share)
		return;
	program->share = share->share;
	program->what = share->what;
	program->on = share->on;
	program->max_ns = share->max_ns;
}

static struct program *program_of(programs *list, struct map *index, uint32_t pid, const struct top_moment *moment,
				  struct state *state)
{
	bool is_new;
	size_t *at = map_put(index, &pid, &is_new);
	struct program *program;

	if (!at)
		return NULL;
	if (!is_new)
		return &list->items[*at];
	*at = list->count;
	program = vec_add(list);
	*program = (struct program){.pid = pid,
				    .programs = 1,
				    .cpu = NAN,
				    .rx_rate = NAN,
				    .tx_rate = NAN,
				    .traffic = NAN,
				    .retrans_rate = NAN,
				    .rss_bytes = UINT64_MAX,
				    .threads = UINT64_MAX};
	set_process(program, process_find(moment->snapshot, pid), state);
	set_time(program, moment->findings);
	return program;
}

static void add_socket(struct program *program, const struct socket_record *socket, const struct tcp_record *tcp,
		       struct state *state)
{
	double rates[3];

	if (socket->state == SOCKET_LISTEN) {
		program->listeners++;
		return;
	}
	program->conns++;
	if (socket->recvq_bytes != UINT32_MAX)
		program->recvq_bytes += socket->recvq_bytes;
	if (socket->sendq_bytes != UINT32_MAX)
		program->sendq_bytes += socket->sendq_bytes;
	if (!tcp)
		return;
	moves_take(&state->conns, &socket->cookie,
		   (uint64_t[]){tcp->bytes_received, tcp->bytes_acked, tcp->total_retrans}, 3, rates);
	add_known(&program->rx_rate, rates[0]);
	add_known(&program->tx_rate, rates[1]);
	add_known(&program->traffic, rates[0] + rates[1]);
	add_known(&program->retrans_rate, rates[2]);
}

static void collect(programs *list, const struct top_moment *moment, struct state *state)
{
	const struct snapshot *snapshot = moment->snapshot;
	const struct snapshot_table *owners = snapshot_table(snapshot, &owner_type);
	const struct owner_record *owner = (const struct owner_record *)owners->items;
	struct map index = MAP_INIT(sizeof(uint32_t), sizeof(size_t), 1 << 20);

	moves_begin(&state->conns, sizeof(uint64_t), snapshot->begin_boot_ns);
	moves_begin(&state->cpus, sizeof(uint32_t), snapshot->begin_boot_ns);
	state->conns.from_zero = true;
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		struct program *program;

		if (socket->owner >= owners->count)
			continue;
		program = program_of(list, &index, owner[socket->owner].pid, moment, state);
		if (program)
			add_socket(program, socket, socket_tcp(snapshot, socket), state);
	}
	moves_end(&state->conns);
	moves_end(&state->cpus);
	map_done(&index);
}

static void fill(struct grid *grid, const struct top_moment *moment, void *data)
{
	programs list = {};

	collect(&list, moment, data);
	vec_each(&list, program)
		grid_add(grid, &RECORD_OF(program));
	vec_done(&list);
}

static const char *service_of(const struct program *program)
{
	if (program->container && *program->container)
		return program->container;
	if (program->unit && *program->unit)
		return program->unit;
	return program->cgroup && *program->cgroup ? program->cgroup : NULL;
}

static void merge(struct program *service, const struct program *program)
{
	service->programs++;
	service->conns += program->conns;
	service->listeners += program->listeners;
	service->recvq_bytes += program->recvq_bytes;
	service->sendq_bytes += program->sendq_bytes;
	if (service->rss_bytes != UINT64_MAX && program->rss_bytes != UINT64_MAX)
		service->rss_bytes += program->rss_bytes;
	add_known(&service->rx_rate, program->rx_rate);
	add_known(&service->tx_rate, program->tx_rate);
	add_known(&service->traffic, program->traffic);
	add_known(&service->retrans_rate, program->retrans_rate);
	add_known(&service->cpu, program->cpu);
}

static void fill_services(struct grid *grid, const struct top_moment *moment, void *data)
{
	struct map index = MAP_INIT(0, sizeof(size_t), 1 << 20);
	programs list = {}, services = {};

	collect(&list, moment, data);
	vec_each(&list, program) {
		const char *name = service_of(program);
		bool is_new;
		size_t *at = map_put(&index, name ?: "", &is_new);

		if (at && is_new) {
			*at = services.count;
			vec_push(&services, *program);
			services.items[*at].service = name;
		} else if (at) {
			merge(&services.items[*at], program);
		}
	}
	vec_each(&services, service)
		grid_add(grid, &RECORD_OF(service));
	map_done(&index);
	vec_done(&list);
	vec_done(&services);
}

static void release(void *data)
{
	struct state *state = data;

	moves_done(&state->conns);
	moves_done(&state->cpus);
}

static void links(const struct record *record, struct top_links *links)
{
	const struct program *program = record->parts[0];

	top_links_add(links, "connections", "its connections", "pid == %u", program->pid);
	top_links_add(links, "threads", "its threads", "pid == %u", program->pid);
	top_links_add(links, NULL, "where its time goes", "diagnose -p %u", program->pid);
	top_links_add(links, NULL, "its socket calls", "socketio -p %u 1", program->pid);
}

static void service_links(const struct record *record, struct top_links *links)
{
	const struct program *service = record->parts[0];

	if (service->container && *service->container)
		top_links_add(links, "connections", "its connections", "container == \"%s\"", service->container);
	else if (service->unit && *service->unit)
		top_links_add(links, "connections", "its connections", "unit == \"%s\"", service->unit);
	else if (service->cgroup && *service->cgroup)
		top_links_add(links, "connections", "its connections", "cgroup == \"%s\"", service->cgroup);
}

static const struct top_column columns[] = {
	{"pid"},
	{"comm", .ink = INK_BOLD},
	{"conns", .adds = true},
	{"rx_rate", "RX", .adds = true, .ink = INK_RX},
	{"tx_rate", "TX", .adds = true, .ink = INK_TX},
	{"share"},
	{"what"},
	{"on"},
	{"cpu", .adds = true},
	{"retrans_rate", "RETRANS", .adds = true, .ink = INK_WARN},
	{"recvq_bytes", "RECVQ", .adds = true},
	{"sendq_bytes", "SENDQ", .adds = true},
	{"listeners", .adds = true},
	{"unit", .instead = "container"},
	{},
};

static const struct top_table programs_table = {
	.name = "programs",
	.tab = "progs",
	.key = '3',
	.help = "processes with their traffic and what they wait for",
	.command = "",
	.types = types,
	.shape = {1, {&program_type}},
	.columns = columns,
	.sort = "-traffic",
	.trees = {"comm", "unit", "container", "what"},
	.id = {"pid"},
	.plots = {"rx_rate", "tx_rate", "cpu", "conns"},
	.state_size = sizeof(struct state),
	.fill = fill,
	.release = release,
	.links = links,
};
TOP_TABLE(programs_table);

static const struct top_column service_columns[] = {
	{"programs"},
	{"conns"},
	{"listeners"},
	{"rx_rate", "RX", .ink = INK_RX},
	{"tx_rate", "TX", .ink = INK_TX},
	{"cpu"},
	{"retrans_rate", "RETRANS", .ink = INK_WARN},
	{"recvq_bytes", "RECVQ"},
	{"sendq_bytes", "SENDQ"},
	{"service"},
	{},
};

static const struct top_table services_table = {
	.name = "services",
	.tab = "svcs",
	.key = '4',
	.help = "containers and systemd units with their traffic",
	.command = "",
	.types = types,
	.shape = {1, {&service_type}},
	.columns = service_columns,
	.sort = "-traffic",
	.id = {"service"},
	.plots = {"rx_rate", "tx_rate", "cpu", "conns"},
	.state_size = sizeof(struct state),
	.fill = fill_services,
	.release = release,
	.links = service_links,
};
TOP_TABLE(services_table);
