/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest sockets: every TCP and UDP socket, its queues and its owner; with --json or -w all that the kernel tells. */
#include <netinet/in.h>
#include <string.h>

#include "run/look.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/route.h"
#include "snapshot/proc/cgroup_path.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "tool/core/cgroups.h"

struct config {
	struct look_options look;
	bool tcp;
	bool udp;
	bool listening;
	uint64_t pid;
	const char *cgroup;
	const char *dev;
	struct port_list ports;
};

static const struct option_spec options[] = {
	OPTION(struct config, tcp, FLAG, "tcp", 0, NULL, "TCP sockets only"),
	OPTION(struct config, udp, FLAG, "udp", 0, NULL, "UDP sockets only"),
	OPTION(struct config, listening, FLAG, "listening", 'l', NULL, "listeners only, with their queues"),
	OPTION(struct config, pid, UINT, "pid", 'p', "PID", "sockets that this process holds, in its own namespace",
	       .min = 1, .max = INT32_MAX),
	OPTION(struct config, cgroup, TEXT, "cgroup", 'C', "CGROUP",
	       "sockets of processes in this control group or below it (a path as in /proc/PID/cgroup)"),
	OPTION(struct config, dev, TEXT, "interface", 'i', "IFACE",
	       "sockets bound to this interface, and those whose packets leave through it"),
	OPTION(struct config, ports, PORTS, "port", 'P', "PORT,..", "sockets with one of these ports on either side"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

/* The owner as a third part of the socket's record. */
struct holder {
	uint32_t pid;
	char comm[16];
	uint32_t fd;
	uint32_t owners;
	const char *cgroup;
	const char *container;
	const char *unit;
};

static const struct field holder_fields[] = {
	FIELD(struct holder, pid, ID, "process that holds the socket", .zero_is_unknown = true),
	FIELD(struct holder, comm, TEXT, "its name"),
	FIELD(struct holder, fd, ID, "descriptor in that process", .hidden = true),
	FIELD(struct holder, owners, COUNT, "descriptors of this socket in all processes", .hidden = true),
	FIELD(struct holder, cgroup, TEXT, "path of the process's control group", .hidden = true),
	FIELD(struct holder, container, TEXT, "container that the process is in", .hidden = true),
	FIELD(struct holder, unit, TEXT, "systemd unit that the process belongs to", .hidden = true),
};
RECORD_TYPE(holder_type, "holder", struct holder, holder_fields, "the process that holds a socket");

#define PROCESSES 256

/* The holder of the socket that is being shown, and processes that were found lately, by the end of their number. */
struct room {
	struct holder holder;
	const struct process_record *processes[PROCESSES];
};

static void find_holder(const struct snapshot *snapshot, const struct owner_record *owner, struct room *room)
{
	const struct process_record **process = &room->processes[owner->pid % PROCESSES];
	struct holder *holder = &room->holder;

	if (!*process || (*process)->pid != owner->pid)
		*process = process_find(snapshot, owner->pid);
	memset(holder, 0, sizeof(*holder));
	holder->pid = owner->pid;
	holder->fd = owner->fd;
	if (!*process)
		return;
	memcpy(holder->comm, (*process)->comm, sizeof(holder->comm));
	holder->cgroup = (*process)->cgroup;
	holder->container = (*process)->container;
	holder->unit = (*process)->unit;
}

static bool has_port(const struct port_list *ports, const struct socket_record *socket)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->items[i] == socket->lport || ports->items[i] == socket->rport)
			return true;
	return ports->count == 0;
}

static bool wanted(const struct config *config, const struct socket_record *socket)
{
	if ((config->tcp || config->udp) && !(config->tcp && socket->proto == IPPROTO_TCP) &&
	    !(config->udp && socket->proto == IPPROTO_UDP))
		return false;
	if (config->listening && socket->state != SOCKET_LISTEN)
		return false;
	return has_port(&config->ports, socket);
}

/* A socket that several processes hold belongs to each of them. */
static bool held_by(const struct snapshot *snapshot, const struct socket_record *socket, uint32_t pid)
{
	const struct owner_record *owners = snapshot_first(snapshot, &owner_type);

	if (socket->owner == SOCKET_NONE)
		return false;
	if (owners[socket->owner].pid == pid || socket->owners == 1)
		return owners[socket->owner].pid == pid;
	snapshot_each(snapshot, owner_type, const struct owner_record, owner)
		if (owner->pid == pid && owner->inode == socket->inode)
			return true;
	return false;
}

/* The interface that a socket is bound to, else the one that the kernel would send its packets through now. */
static bool leaves_through(const struct snapshot *snapshot, const struct socket_record *socket, const char *dev)
{
	if (socket->ifindex != 0 && socket->ifindex != UINT32_MAX) {
		snapshot_each(snapshot, link_type, const struct link_record, link)
			if (link->netns == socket->netns && link->ifindex == socket->ifindex)
				return strcmp(link->dev, dev) == 0;
		return false;
	}
	snapshot_each(snapshot, destination_type, const struct destination_record, way)
		if (way->netns == socket->netns && memcmp(&way->raddr, &socket->raddr, sizeof(way->raddr)) == 0)
			return strcmp(way->dev, dev) == 0;
	return false;
}

/* What rows are made of; found once. */
struct tables {
	const struct config *config;
	const struct snapshot *snapshot;
	const struct socket_record *sockets;
	const struct snapshot_table *tcps;
	const struct owner_record *owners;
};

static bool make_row(const void *context, size_t number, void *data, struct record *record)
{
	const struct tables *tables = context;
	const struct config *config = tables->config;
	const struct socket_record *socket = &tables->sockets[number];
	struct room *room = data;

	if (!wanted(config, socket) || (config->pid && !held_by(tables->snapshot, socket, (uint32_t)config->pid)))
		return false;
	if (config->dev && !leaves_through(tables->snapshot, socket, config->dev))
		return false;
	record->parts[0] = socket;
	if (socket->tcp < tables->tcps->count)
		record->parts[1] = (const struct tcp_record *)tables->tcps->items + socket->tcp;
	if (socket->owner != SOCKET_NONE) {
		find_holder(tables->snapshot, &tables->owners[socket->owner], room);
		room->holder.owners = socket->owners;
		record->parts[2] = &room->holder;
	}
	return !config->cgroup || (record->parts[2] && cgroup_path_is_below(room->holder.cgroup, config->cgroup));
}

static uint64_t show(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type);
	struct tables tables = {
		.config = context,
		.snapshot = snapshot,
		.sockets = (const struct socket_record *)sockets->items,
		.tcps = snapshot_table(snapshot, &tcp_type),
		.owners = snapshot_first(snapshot, &owner_type),
	};
	struct output_batch batch = {
		.count = sockets->count, .make = make_row, .context = &tables, .room_size = sizeof(struct room)};

	if (tables.config->dev && !link_find_dev(snapshot, tables.config->dev))
		log_warn("sockets: there is no interface '%s'", tables.config->dev);
	return output_batch(output, &batch);
}

/* A line that has room for what ss -i shows of a connection, too. */
#define WIDE 100

static int run(const void *data)
{
	static const struct record_type *const types[] = {&socket_type, &tcp_type, &owner_type, &process_type, NULL};
	static const struct record_type *const types_without_tcp[] = {&socket_type, &owner_type, &process_type, NULL};
	static const struct record_type *const types_with_ways[] = {
		&socket_type, &tcp_type, &owner_type, &process_type, &link_type, &destination_type, NULL};
	static const char *const listener_columns[] = {"proto", "state", "backlog", "backlog_max",
						       "laddr", "lport", "pid",     "comm"};
	static const struct output_column columns[] = {
		{"proto"},
		{"state"},
		/* Of a listener, what waits to be accepted and how much of it may: as ss has it. */
		{"recvq_bytes", .instead = "backlog"},
		{"sendq_bytes", .instead = "backlog_max"},
		{"laddr"},
		{"lport"},
		{"raddr"},
		{"rport"},
		{"pid"},
		{"comm"},
		{"srtt_ns", "RTT", .from_width = WIDE},
		{"cwnd", .from_width = WIDE},
		{"total_retrans", "RETRANS", .from_width = WIDE},
		{"delivery_rate", "RATE", .from_width = WIDE},
		{},
	};
	static const struct shape shape = {.count = 3, .types = {&socket_type, &tcp_type, &holder_type}};
	const struct config *config = data;
	struct look_options where = config->look;
	struct output_options *output = &where.output;
	struct look look = {
		.command = "sockets",
		.options = &where,
		.shape = &shape,
		.columns = columns,
		.types = config->dev ? types_with_ways : types,
		.fewer_types = config->dev ? NULL : types_without_tcp,
		.fewer_part = 1,
		.show = show,
		.context = (void *)config,
	};
	struct why why = {};
	char pid[24];

	if (config->cgroup && !where.input.file && cgroups_check(config->cgroup, &why) < 0)
		return command_fail(EXIT_USAGE, "sockets: %s (nest sockets --help)", why.text);
	/* A process is looked at where it lives, unless somebody knows better. */
	if (config->pid && !where.netns) {
		snprintf(pid, sizeof(pid), "%llu", (unsigned long long)config->pid);
		where.netns = pid;
	}
	if (config->listening && output->show.count == 0 && !output->json && !output->csv && !output->format &&
	    !output->wide)
		output->show = (struct text_list){ARRAY_SIZE(listener_columns), (char **)listener_columns};
	return look_run(&look);
}

static const char *const examples[] = {
	"nest sockets --where 'recvq > 0'",
	"connections with data that their application has not read",
	"nest sockets -l",
	"listeners and the connections that wait to be accepted",
	"nest sockets --show raddr,rport,srtt,cwnd,retrans,cc,comm",
	"what TCP knows, in columns of choice",
	"nest sockets -N all --json",
	"everything, of all network namespaces",
	NULL,
};

static const struct command sockets_command = {
	.name = "sockets",
	.summary = "every TCP and UDP socket with its queues, variables and owner",
	.description =
		"One row a socket. The columns are those that people know from ss; -w and --json have everything that "
		"the kernel "
		"tells about a socket and, for TCP, about the connection (the fields of the types socket and tcp).\n\n"
		"A dash means that the value is not known or does not exist, never zero. What could not be seen at all "
		"is said on "
		"standard error.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(sockets_command);
