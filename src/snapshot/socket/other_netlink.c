/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink sockets: NETLINK_DIAG, or /proc/net/netlink. */
#include <errno.h>
#include <linux/netlink_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "base/map.h"
#include "snapshot/core/scan.h"
#include "snapshot/socket/other.h"

static const struct enum_name subsystems[] = {
	{NETLINK_ROUTE, "route", NULL},
	{NETLINK_USERSOCK, "usersock", NULL},
	{NETLINK_FIREWALL, "firewall", NULL},
	{NETLINK_SOCK_DIAG, "sock_diag", NULL},
	{NETLINK_NFLOG, "nflog", NULL},
	{NETLINK_XFRM, "xfrm", NULL},
	{NETLINK_SELINUX, "selinux", NULL},
	{NETLINK_ISCSI, "iscsi", NULL},
	{NETLINK_AUDIT, "audit", NULL},
	{NETLINK_FIB_LOOKUP, "fib_lookup", NULL},
	{NETLINK_CONNECTOR, "connector", NULL},
	{NETLINK_NETFILTER, "netfilter", NULL},
	{NETLINK_KOBJECT_UEVENT, "uevent", NULL},
	{NETLINK_GENERIC, "generic", NULL},
	{NETLINK_SCSITRANSPORT, "scsitransport", NULL},
	{NETLINK_RDMA, "rdma", NULL},
	{NETLINK_CRYPTO, "crypto", NULL},
	{NETLINK_SMC, "smc", NULL},
};
static struct enum_names subsystem_names = {subsystems, ARRAY_SIZE(subsystems), NULL};

static struct other_socket_record *add(struct snapshot *snapshot, uint64_t protocol, uint64_t port, uint64_t inode)
{
	struct other_socket_record *socket = other_add(snapshot, &netlink_socket_type, FAMILY_OTHER(AF_NETLINK));

	if (!socket)
		return NULL;
	socket->proto = enum_name_find(&subsystem_names, protocol) ?: other_text(snapshot, "%u", (unsigned)protocol);
	/* 0 is the kernel's end. */
	socket->local = port ? other_text(snapshot, "%u", (unsigned)port) : "kernel";
	socket->inode = (uint32_t)inode;
	return socket;
}

void other_parse_netlink(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct netlink_diag_msg *msg = nl_payload(message);
	const struct nlattr *attrs[NETLINK_DIAG_MAX + 1];
	struct other_socket_record *socket;

	(void)context;
	if (nl_payload_len(message) < sizeof(*msg) || msg->ndiag_family != AF_NETLINK)
		return;
	socket = add(snapshot, msg->ndiag_protocol, msg->ndiag_portid, msg->ndiag_ino);
	if (!socket)
		return;
	nl_attrs(message, sizeof(*msg), attrs, NETLINK_DIAG_MAX);
	socket->type = msg->ndiag_type;
	/* NETLINK_CONNECTED of the kernel, else none. */
	socket->state = msg->ndiag_state == 1 ? SOCKET_ESTABLISHED : SOCKET_CLOSE;
	socket->cookie = other_cookie(msg->ndiag_cookie);
	if (msg->ndiag_state == 1)
		socket->remote = msg->ndiag_dst_portid ? other_text(snapshot, "%u", msg->ndiag_dst_portid) : "kernel";
	nl_get_u32(attrs[NETLINK_DIAG_GROUPS], &socket->groups);
	other_set_memory(socket, attrs[NETLINK_DIAG_MEMINFO]);
	socket->recvq_bytes = socket->rmem_bytes;
	socket->sendq_bytes = socket->wmem_bytes;
}

/* "sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode" */
void other_text_netlink(struct snapshot *snapshot, const char *text)
{
	while (scan_next_line(&text)) {
		uint64_t protocol, port, groups, receive, send, drops, inode;
		struct other_socket_record *socket;

		if (!scan_skip(&text, 1) || !scan_u64(&text, &protocol) || !scan_u64(&text, &port) ||
		    !scan_hex(&text, &groups) || !scan_u64(&text, &receive) || !scan_u64(&text, &send) ||
		    !scan_skip(&text, 2) || !scan_u64(&text, &drops) || !scan_u64(&text, &inode))
			continue;
		socket = add(snapshot, protocol, port, inode);
		if (!socket)
			return;
		socket->groups = (uint32_t)groups;
		socket->rmem_bytes = socket->recvq_bytes = (uint32_t)receive;
		socket->wmem_bytes = socket->sendq_bytes = (uint32_t)send;
		socket->drops = (uint32_t)drops;
	}
}

/* The kernel's list of members of groups repeats sockets of its table: one row is enough. */
static void drop_repeated(struct snapshot *snapshot, size_t from)
{
	struct map seen = MAP_INIT(sizeof(uint64_t), sizeof(bool), 0);
	struct snapshot_table *table = snapshot_table(snapshot, &netlink_socket_type);
	struct other_socket_record *sockets = (struct other_socket_record *)table->items;
	size_t kept = from;

	for (size_t i = from; i < table->count; i++) {
		bool is_new;

		(void)map_put(&seen, &sockets[i].cookie, &is_new);
		if (is_new)
			sockets[kept++] = sockets[i];
	}
	table->count = kept;
	map_done(&seen);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct netlink_diag_req req = {
		.sdiag_family = AF_NETLINK,
		.sdiag_protocol = NDIAG_PROTO_ALL,
		.ndiag_show = NDIAG_SHOW_MEMINFO | NDIAG_SHOW_GROUPS,
	};
	struct other_question question = {
		.request = &req, .size = sizeof(req), .parse = other_parse_netlink, .config = "CONFIG_NETLINK_DIAG"};
	size_t from = snapshot_table(snapshot, &netlink_socket_type)->count;
	int r = other_ask(snapshot, &question, why);

	(void)request;
	if (r == -ENOENT)
		return other_read(snapshot, "/proc/thread-self/net/netlink", other_text_netlink,
				  "type, peer and buffers of netlink sockets", why);
	drop_repeated(snapshot, from);
	return r;
}

static const struct record_type *const types[] = {&netlink_socket_type, NULL};

static const struct snapshot_source netlink_source = {
	.name = "netlink_diag",
	.lost = "netlink sockets",
	.types = types,
	.stage = STAGE_SOCKETS,
	.on_demand = true,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(netlink_source);
