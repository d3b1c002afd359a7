/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest sockets: sockets of every family with queues and owner; with --json or -w all that the kernel reports. */
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "run/look.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/route.h"
#include "snapshot/proc/cgroup_path.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/other.h"
#include "snapshot/socket/owner.h"
#include "tool/core/cgroups.h"

struct config {
	struct look_options look;
	bool tcp;
	bool udp;
	bool local; /* UNIX, a word that some compilers take for themselves */
	bool raw;
	bool packet;
	bool netlink;
	bool vsock;
	bool mptcp;
	bool listening;
	bool all;
	uint64_t pid;
	const char *cgroup;
	const char *dev;
	struct port_list ports;
};

static const struct option_spec options[] = {
	OPTION(struct config, tcp, FLAG, "tcp", 't', NULL, "show TCP sockets"),
	OPTION(struct config, udp, FLAG, "udp", 'u', NULL, "show UDP sockets"),
	OPTION(struct config, local, FLAG, "unix", 'x', NULL, "show UNIX sockets"),
	OPTION(struct config, raw, FLAG, "raw", 0, NULL, "show raw IP sockets (ss: -w, which is --wide here)"),
	OPTION(struct config, packet, FLAG, "packet", '0', NULL, "show packet sockets"),
	OPTION(struct config, netlink, FLAG, "netlink", 0, NULL, "show netlink sockets"),
	OPTION(struct config, vsock, FLAG, "vsock", 0, NULL, "show vsock sockets"),
	OPTION(struct config, mptcp, FLAG, "mptcp", 'M', NULL, "show MPTCP sockets"),
	OPTION(struct config, listening, FLAG, "listening", 'l', NULL, "show listeners only, with their accept queues"),
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "show sockets in every state, also with -l (default)"),
	OPTION(struct config, pid, UINT, "pid", 'p', "PID", "limit to sockets of this process, in its own namespace",
	       .min = 1, .max = INT32_MAX),
	OPTION(struct config, cgroup, TEXT, "cgroup", 'C', "CGROUP",
	       "limit to sockets of processes in this cgroup or below it (a path as in /proc/PID/cgroup)"),
	OPTION(struct config, dev, TEXT, "interface", 'i', "IFACE",
	       "limit to sockets bound to this interface, and TCP and UDP sockets whose packets leave through it"),
	OPTION(struct config, ports, PORTS, "port", 'P', "PORT,..",
	       "limit to sockets with one of these ports, local or remote"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

/* --- columns --- */

static const char inet_columns[] = "proto state recvq_bytes sendq_bytes laddr lport raddr rport pid comm "
				   "srtt_ns cwnd total_retrans delivery_rate";
static const char mixed_columns[] = "family type proto state recvq_bytes sendq_bytes local remote pid comm";

/* The families beside TCP and UDP. */
static const struct family {
	size_t flag; /* where the option is in the configuration */
	const struct record_type *type;
	const char *columns;
} families[OTHER_SOCKETS] = {
	{offsetof(struct config, local), &unix_socket_type,
	 "type state recvq_bytes sendq_bytes local remote pid comm peer_pid peer_comm"},
	{offsetof(struct config, raw), &raw_socket_type,
	 "proto state recvq_bytes sendq_bytes local remote pid comm drops"},
	{offsetof(struct config, packet), &packet_socket_type,
	 "type proto local recvq_bytes sendq_bytes pid comm drops"},
	{offsetof(struct config, netlink), &netlink_socket_type,
	 "proto local groups recvq_bytes sendq_bytes pid comm drops"},
	{offsetof(struct config, vsock), &vsock_socket_type, "type state local remote pid comm"},
	{offsetof(struct config, mptcp), &mptcp_socket_type, "state recvq_bytes sendq_bytes local remote pid comm"},
};

/* Columns from which a line also has room for what ss -i shows of a connection. */
#define WIDE 100

/* Columns that are more than a field. */
static const struct output_column special_columns[] = {
	/* Of a listener, what waits to be accepted and how much of it may: as ss has it. */
	{"recvq_bytes", .instead = "backlog"},
	{"sendq_bytes", .instead = "backlog_max"},
	{"srtt_ns", "RTT", .from_width = WIDE},
	{"cwnd", .from_width = WIDE},
	{"total_retrans", "RETRANS", .from_width = WIDE},
	{"delivery_rate", "RATE", .from_width = WIDE},
	{"peer_pid", .from_width = WIDE},
	{"peer_comm", .from_width = WIDE},
};

static bool family_wanted(const struct config *config, const struct family *family)
{
	return *(const bool *)((const char *)config + family->flag);
}

/* What is shown: TCP and UDP, other families, or both. */
struct choice {
	bool tcp;
	bool udp;
	unsigned others;
	const struct family *family; /* one of the others */
};

static struct choice choose(const struct config *config)
{
	struct choice choice = {.tcp = config->tcp, .udp = config->udp};

	for (unsigned i = 0; i < OTHER_SOCKETS; i++)
		if (family_wanted(config, &families[i])) {
			choice.others++;
			choice.family = &families[i];
		}
	if (!choice.tcp && !choice.udp && choice.others == 0)
		choice.tcp = choice.udp = true;
	return choice;
}

#define COLUMNS_MAX 16

struct columns {
	char names[160];
	struct output_column items[COLUMNS_MAX + 1];
};

static struct output_column make_column(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(special_columns); i++)
		if (strcmp(special_columns[i].field, name) == 0)
			return special_columns[i];
	return (struct output_column){.field = name};
}

static void choose_columns(const struct choice *choice, struct columns *columns)
{
	bool inet = choice->tcp || choice->udp;
	char *rest = columns->names, *name;

	memset(columns, 0, sizeof(*columns));
	snprintf(columns->names, sizeof(columns->names), "%s",
		 choice->others == 0          ? inet_columns
		 : choice->others > 1 || inet ? mixed_columns
					      : choice->family->columns);
	for (unsigned i = 0; i < COLUMNS_MAX && (name = strsep(&rest, " ")); i++) {
		columns->items[i] = make_column(name);
		/* UDP alone has nothing to show there, but the headings stay names for --show. */
		if (columns->items[i].from_width && inet && !choice->tcp)
			columns->items[i].from_width = UINT_MAX;
	}
}

static void show_listeners(struct output_options *output)
{
	static const char *const columns[] = {"proto", "state", "backlog", "backlog_max",
					      "laddr", "lport", "pid",     "comm"};

	if (output->show.count == 0 && !output->json && !output->csv && !output->format && !output->wide)
		output->show = (struct text_list){ARRAY_SIZE(columns), (char **)columns};
}

/* --- rows --- */

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

/* Of a UNIX socket, the process at the other end. */
struct peer {
	uint32_t peer_pid;
	char peer_comm[16];
};

static const struct field peer_fields[] = {
	FIELD(struct peer, peer_pid, ID, "UNIX: process that holds the peer", .zero_is_unknown = true, .hidden = true),
	FIELD(struct peer, peer_comm, TEXT, "UNIX: its name", .hidden = true),
};
RECORD_TYPE(peer_type, "socket_peer", struct peer, peer_fields, "the process at the other end of a socket");

#define PROCESSES 256

/* What the row being shown points to, and processes that were found lately, by the end of their number. */
struct room {
	struct holder holder;
	struct peer peer;
	struct other_socket_record other;
	char local[OTHER_END_MAX];
	char remote[OTHER_END_MAX];
	const struct process_record *processes[PROCESSES];
};

/* What rows are made of; found once. */
struct tables {
	const struct config *config;
	const struct choice *choice;
	const struct snapshot *snapshot;
	const struct socket_record *sockets;
	const struct snapshot_table *tcps;
	const struct other_socket_record *others;
	const struct owner_record *owners;
};

static const struct process_record *find_process(const struct snapshot *snapshot, uint32_t pid, struct room *room)
{
	const struct process_record **process = &room->processes[pid % PROCESSES];

	if (!*process || (*process)->pid != pid)
		*process = process_find(snapshot, pid);
	return *process;
}

/* The first owner of a socket as a part of its row; NULL: it has none. */
static const struct holder *find_holder(const struct tables *tables, uint32_t owner, uint32_t owners, struct room *room)
{
	const struct process_record *process;
	struct holder *holder = &room->holder;

	if (owner == SOCKET_NONE)
		return NULL;
	memset(holder, 0, sizeof(*holder));
	holder->pid = tables->owners[owner].pid;
	holder->fd = tables->owners[owner].fd;
	holder->owners = owners;
	process = find_process(tables->snapshot, holder->pid, room);
	if (!process)
		return holder;
	memcpy(holder->comm, process->comm, sizeof(holder->comm));
	holder->cgroup = process->cgroup;
	holder->container = process->container;
	holder->unit = process->unit;
	return holder;
}

static const struct peer *find_peer(const struct tables *tables, uint32_t peer, struct room *room)
{
	const struct process_record *process;
	uint32_t owner = peer == SOCKET_NONE ? SOCKET_NONE : tables->others[peer].owner;

	if (owner == SOCKET_NONE)
		return NULL;
	room->peer = (struct peer){.peer_pid = tables->owners[owner].pid};
	process = find_process(tables->snapshot, room->peer.peer_pid, room);
	if (process)
		memcpy(room->peer.peer_comm, process->comm, sizeof(room->peer.peer_comm));
	return &room->peer;
}

/* 32 bits, because of vsock. */
static bool has_port(const struct port_list *ports, uint32_t local, uint32_t remote)
{
	for (size_t i = 0; i < ports->count; i++)
		if (ports->items[i] == local || ports->items[i] == remote)
			return true;
	return ports->count == 0;
}

static bool has_state(const struct config *config, uint8_t state)
{
	return !config->listening || config->all || state == SOCKET_LISTEN;
}

static bool wanted(const struct tables *tables, const struct socket_record *socket)
{
	const struct choice *choice = tables->choice;

	if (!(choice->tcp && choice->udp) && !(choice->tcp && socket->proto == IPPROTO_TCP) &&
	    !(choice->udp && socket->proto == IPPROTO_UDP))
		return false;
	return has_state(tables->config, socket->state) &&
	       has_port(&tables->config->ports, socket->lport, socket->rport);
}

/* A socket that several processes hold belongs to each of them. */
static bool held_by(const struct tables *tables, uint32_t inode, uint32_t owner, uint32_t owners)
{
	uint32_t pid = (uint32_t)tables->config->pid;

	if (!pid)
		return true;
	if (owner == SOCKET_NONE)
		return false;
	if (tables->owners[owner].pid == pid || owners == 1)
		return tables->owners[owner].pid == pid;
	snapshot_each(tables->snapshot, owner_type, const struct owner_record, other)
		if (other->pid == pid && other->inode == inode)
			return true;
	return false;
}

static bool in_cgroup(const struct config *config, const struct holder *holder)
{
	return !config->cgroup || (holder && cgroup_path_is_below(holder->cgroup, config->cgroup));
}

static bool is_bound_to(const struct snapshot *snapshot, uint32_t netns, uint32_t ifindex, const char *dev)
{
	snapshot_each(snapshot, link_type, const struct link_record, link)
		if (link->netns == netns && link->ifindex == ifindex)
			return strcmp(link->dev, dev) == 0;
	return false;
}

/* The interface that a socket is bound to, else the one that the kernel would send its packets through now. */
static bool leaves_through(const struct snapshot *snapshot, const struct socket_record *socket, const char *dev)
{
	if (socket->ifindex != 0 && socket->ifindex != UINT32_MAX)
		return is_bound_to(snapshot, socket->netns, socket->ifindex, dev);
	snapshot_each(snapshot, destination_type, const struct destination_record, way)
		if (way->netns == socket->netns && memcmp(&way->raddr, &socket->raddr, sizeof(way->raddr)) == 0)
			return strcmp(way->dev, dev) == 0;
	return false;
}

/* Of TCP or UDP, in a table of several families. */
static const struct other_socket_record *as_other(const struct socket_record *socket, struct room *room)
{
	struct other_socket_record *other = &room->other;

	for (uint32_t i = 0; i < unix_socket_type.field_count; i++)
		value_set_unknown(&unix_socket_type.fields[i], other);
	other->netns = socket->netns;
	other->family = socket->family;
	other->type = socket->proto == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
	other->proto = enum_name_find(&socket_proto_names, socket->proto);
	other->state = socket->state;
	other->shutdown = socket->shutdown;
	other->recvq_bytes = socket->recvq_bytes;
	other->sendq_bytes = socket->sendq_bytes;
	other->backlog = socket->backlog;
	other->backlog_max = socket->backlog_max;
	other->laddr = socket->laddr;
	other->raddr = socket->raddr;
	other->lport = socket->lport;
	other->rport = socket->rport;
	other->ifindex = socket->ifindex;
	other->cookie = socket->cookie;
	other->inode = socket->inode;
	other->uid = socket->uid;
	other->rmem_bytes = socket->rmem_bytes;
	other->rcvbuf = socket->rcvbuf;
	other->wmem_bytes = socket->wmem_bytes;
	other->sndbuf = socket->sndbuf;
	other->drops = socket->drops;
	other->mark = socket->mark;
	other_format_end(&socket->laddr, socket->lport, room->local);
	other_format_end(&socket->raddr, socket->rport, room->remote);
	other->local = room->local;
	other->remote = room->remote;
	return other;
}

static bool make_row(const void *context, size_t number, void *data, struct record *record)
{
	const struct tables *tables = context;
	const struct socket_record *socket = &tables->sockets[number];
	const struct tcp_record *tcp = NULL;
	const struct holder *holder;
	struct room *room = data;

	if (!wanted(tables, socket) || !held_by(tables, socket->inode, socket->owner, socket->owners))
		return false;
	if (tables->config->dev && !leaves_through(tables->snapshot, socket, tables->config->dev))
		return false;
	holder = find_holder(tables, socket->owner, socket->owners, room);
	if (!in_cgroup(tables->config, holder))
		return false;
	if (socket->tcp < tables->tcps->count)
		tcp = (const struct tcp_record *)tables->tcps->items + socket->tcp;
	if (tables->choice->others)
		*record = (struct record){.parts = {as_other(socket, room), holder, NULL, tcp}};
	else
		*record = (struct record){.parts = {socket, tcp, holder}};
	return true;
}

static bool make_other_row(const void *context, size_t number, void *data, struct record *record)
{
	const struct tables *tables = context;
	const struct config *config = tables->config;
	const struct other_socket_record *socket = &tables->others[number];
	const struct holder *holder;
	struct room *room = data;

	if (!has_state(config, socket->state) || !has_port(&config->ports, socket->lport, socket->rport))
		return false;
	if (!held_by(tables, socket->inode, socket->owner, socket->owners))
		return false;
	if (config->dev && !is_bound_to(tables->snapshot, socket->netns, socket->ifindex, config->dev))
		return false;
	holder = find_holder(tables, socket->owner, socket->owners, room);
	if (!in_cgroup(config, holder))
		return false;
	*record = (struct record){.parts = {socket, holder, find_peer(tables, socket->peer, room)}};
	return true;
}

/* What is shown. */
struct show {
	const struct config *config;
	struct choice choice;
};

static uint64_t show(const struct snapshot *snapshot, struct output *output, void *context)
{
	const struct show *what = context;
	const struct snapshot_table *table = snapshot_table(snapshot, &socket_type);
	struct tables tables = {
		.config = what->config,
		.choice = &what->choice,
		.snapshot = snapshot,
		.sockets = (const struct socket_record *)table->items,
		.tcps = snapshot_table(snapshot, &tcp_type),
		.owners = snapshot_first(snapshot, &owner_type),
	};
	struct output_batch batch = {
		.count = table->count, .make = make_row, .context = &tables, .room_size = sizeof(struct room)};
	uint64_t shown = what->choice.tcp || what->choice.udp ? output_batch(output, &batch) : 0;

	batch.make = make_other_row;
	for (unsigned i = 0; i < OTHER_SOCKETS; i++) {
		if (!family_wanted(what->config, &families[i]))
			continue;
		table = snapshot_table(snapshot, families[i].type);
		tables.others = (const struct other_socket_record *)table->items;
		batch.count = table->count;
		shown += output_batch(output, &batch);
	}
	return shown;
}

/* --- selection --- */

#define TYPES_MAX (OTHER_SOCKETS + 8)

/* With the variables of TCP, or without; NULL at the end. */
static void choose_types(const struct config *config, const struct choice *choice, bool with_tcp,
			 const struct record_type *types[static TYPES_MAX])
{
	bool inet = choice->tcp || choice->udp;
	unsigned n = 0;

	if (inet)
		types[n++] = &socket_type;
	if (inet && with_tcp)
		types[n++] = &tcp_type;
	for (unsigned i = 0; i < OTHER_SOCKETS; i++)
		if (family_wanted(config, &families[i]))
			types[n++] = families[i].type;
	types[n++] = &owner_type;
	types[n++] = &process_type;
	if (config->dev)
		types[n++] = &link_type;
	if (config->dev && inet)
		types[n++] = &destination_type;
	types[n] = NULL;
}

static const char *refusal(const struct config *config, const struct choice *choice, struct why *why)
{
	if (choice->others && config->look.input.file)
		return "a recording holds TCP and UDP sockets only";
	if (config->cgroup && !config->look.input.file && cgroups_check(config->cgroup, why) < 0)
		return why->text;
	return NULL;
}

static int run(const void *data)
{
	static const struct shape shape = {.count = 3, .types = {&socket_type, &tcp_type, &holder_type}};
	const struct config *config = data;
	const struct record_type *types[TYPES_MAX], *fewer_types[TYPES_MAX];
	struct show what = {.config = config, .choice = choose(config)};
	struct shape other_shape = {what.choice.tcp ? 4 : 3, {&unix_socket_type, &holder_type, &peer_type, &tcp_type}};
	struct look_options where = config->look;
	struct columns columns;
	struct look look = {
		.command = "sockets",
		.options = &where,
		.shape = what.choice.others ? &other_shape : &shape,
		.columns = columns.items,
		.types = types,
		.fewer_types = fewer_types,
		.fewer_part = what.choice.others ? 3 : 1,
		.dev = config->dev,
		.show = show,
		.context = &what,
	};
	struct why why = {};
	const char *refused = refusal(config, &what.choice, &why);
	char pid[24];

	if (refused)
		return command_fail(EXIT_USAGE, "sockets: %s (nest sockets --help)", refused);
	choose_columns(&what.choice, &columns);
	choose_types(config, &what.choice, true, types);
	choose_types(config, &what.choice, false, fewer_types);
	/* A process is looked at where it lives, unless somebody knows better. */
	if (config->pid && !where.netns) {
		snprintf(pid, sizeof(pid), "%llu", (unsigned long long)config->pid);
		where.netns = pid;
	}
	if (!what.choice.others && config->listening && !config->all)
		show_listeners(&where.output);
	return look_run(&look);
}

static const char *const examples[] = {
	"nest sockets --where 'recvq > 0'",
	"connections with data that their application has not read",
	"nest sockets -l",
	"listeners with their accept queues",
	"nest sockets -x -p 812",
	"UNIX sockets of a process, and the processes it talks to",
	"nest sockets --show raddr,rport,srtt,cwnd,retrans,cc,comm",
	"TCP variables in columns of choice",
	"nest sockets -N all --json",
	"all fields, all network namespaces",
	NULL,
};

static const struct command sockets_command = {
	.name = "sockets",
	.summary = "TCP, UDP, UNIX and other sockets with queues and owner",
	.description =
		"One row per socket, TCP and UDP unless families are given; families can be combined. The columns are "
		"those of ss: RECVQ and SENDQ in bytes, of a listener the length of its accept queue and the backlog "
		"limit. A terminal of 100 columns also shows what ss -ti does: RTT, CWND, RETRANS, RATE. -w and --json "
		"have every field (of TCP and UDP the types socket and tcp, of other "
		"families unix_socket and so on: nest tables).\n\n"
		"A dash means that the value is not known or does not exist, never zero. What the kernel does not "
		"offer is reported on standard error.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(sockets_command);
