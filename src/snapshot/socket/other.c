/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Field table of the families beside TCP and UDP, and what their sources have in common. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include "snapshot/socket/other.h"

static const struct enum_name type_names[] = {
	{SOCK_STREAM, "stream", NULL},       {SOCK_DGRAM, "dgram", NULL}, {SOCK_RAW, "raw", NULL},
	{SOCK_SEQPACKET, "seqpacket", NULL}, {SOCK_RDM, "rdm", NULL},
};
static struct enum_names type_enum = {type_names, ARRAY_SIZE(type_names), NULL};

#define S struct other_socket_record
static const struct field other_socket_fields[] = {
	FIELD(S, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(S, family, ENUM, "address family", .names = &event_family_names),
	FIELD(S, type, ENUM, "socket type", .names = &type_enum),
	FIELD(S, proto, TEXT,
	      "protocol; raw: IP protocol; packet: EtherType; netlink: subsystem; UNIX and vsock have none"),
	FIELD(S, state, ENUM, "state; without connection: CLOSE", .names = &socket_state_names),
	FIELD(S, recvq_bytes, BYTES, "receive queue; packet and netlink: its memory, with overhead"),
	FIELD(S, sendq_bytes, BYTES, "send queue; packet and netlink: its memory, with overhead"),
	FIELD(S, backlog, COUNT, "listener: length of the accept queue", .hidden = true),
	FIELD(S, backlog_max, COUNT, "listener: limit of the accept queue", .hidden = true),
	FIELD(S, local, TEXT, "UNIX: path or @name; packet: interface; netlink: port ID; else address and port"),
	FIELD(S, remote, TEXT, "the same of the peer"),
	FIELD(S, laddr, ADDR, "local address", .hidden = true),
	FIELD(S, lport, ID, "local port", .zero_is_unknown = true, .hidden = true),
	FIELD(S, raddr, ADDR, "remote address", .hidden = true),
	FIELD(S, rport, ID, "remote port", .zero_is_unknown = true, .hidden = true),
	FIELD(S, ifindex, ID, "interface that it is bound to", .zero_is_unknown = true, .hidden = true),
	FIELD(S, dev, TEXT, "packet: name of that interface", .hidden = true),
	FIELD(S, groups, HEX, "netlink: multicast groups 1 to 32", .hidden = true),
	FIELD(S, cookie, HEX, "socket cookie", .hidden = true),
	FIELD(S, inode, ID, "inode number, as in /proc/PID/fd", .zero_is_unknown = true, .hidden = true),
	FIELD(S, peer_inode, ID, "UNIX: inode number of the peer", .zero_is_unknown = true, .hidden = true),
	FIELD(S, uid, ID, "user the socket belongs to", .hidden = true),
	FIELD(S, rmem_bytes, BYTES, "memory of received packets, with overhead", .hidden = true),
	FIELD(S, rcvbuf, BYTES, "limit of the receive buffer", .hidden = true),
	FIELD(S, wmem_bytes, BYTES, "memory of packets being sent, with overhead", .hidden = true),
	FIELD(S, sndbuf, BYTES, "limit of the send buffer", .hidden = true),
	FIELD(S, drops, COUNT, "packets dropped because the receive buffer was full", .hidden = true),
	FIELD(S, mark, HEX, "packet mark", .hidden = true),
	FIELD(S, shutdown, FLAGS, "directions that are shut down", .names = &socket_shutdown_names, .hidden = true),
};
#undef S

#define OTHER_TYPE(object, name, help) RECORD_TYPE(object, name, struct other_socket_record, other_socket_fields, help)
OTHER_TYPE(unix_socket_type, "unix_socket", "a UNIX socket");
OTHER_TYPE(raw_socket_type, "raw_socket", "a raw IP socket");
OTHER_TYPE(packet_socket_type, "packet_socket", "a packet socket");
OTHER_TYPE(netlink_socket_type, "netlink_socket", "a netlink socket");
OTHER_TYPE(vsock_socket_type, "vsock_socket", "a vsock socket");
OTHER_TYPE(mptcp_socket_type, "mptcp_socket", "an MPTCP socket");

const struct record_type *const other_socket_types[OTHER_SOCKETS] = {
	&unix_socket_type,    &raw_socket_type,   &packet_socket_type,
	&netlink_socket_type, &vsock_socket_type, &mptcp_socket_type,
};

int other_ask(struct snapshot *snapshot, const struct other_question *question, struct why *why)
{
	struct nl_request room;
	void *request;
	struct nlmsghdr *message = nl_request_begin(&room, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, question->size, &request);
	int r;

	memcpy(request, question->request, question->size);
	if (question->protocol)
		mnl_attr_put_u32(message, INET_DIAG_REQ_PROTOCOL, question->protocol);
	r = nl_ask(snapshot,
		   &(struct nl_question){.protocol = NETLINK_SOCK_DIAG,
					 .request = message,
					 .parse = question->parse,
					 .context = question->context},
		   why);
	/* Kernels before 5.6 say EINVAL for a protocol that they do not know. */
	if (r == -ENOENT || r == -EINVAL)
		return why_set(why, -ENOENT, "this kernel does not list these sockets (needs %s)", question->config);
	return r;
}

int other_read(struct snapshot *snapshot, const char *path, void (*parse)(struct snapshot *, const char *),
	       const char *lost, const struct why *why)
{
	int r = snapshot_read(snapshot, path);

	if (r < 0)
		return r;
	parse(snapshot, buf_text(&snapshot->text));
	snapshot_gap(snapshot, lost, "%s", why->text);
	return 0;
}

struct other_socket_record *other_add(struct snapshot *snapshot, const struct record_type *type, uint8_t family)
{
	struct other_socket_record *socket = snapshot_table_add(snapshot_table(snapshot, type));

	if (!socket)
		return NULL;
	socket->netns = snapshot->netns;
	socket->family = family;
	socket->peer = SOCKET_NONE;
	socket->owner = SOCKET_NONE;
	socket->owners = 0;
	return socket;
}

void other_set_memory(struct other_socket_record *socket, const struct nlattr *attr)
{
	uint32_t memory[SK_MEMINFO_VARS];

	if (nl_get_bytes(attr, memory, sizeof(memory)) < sizeof(memory))
		return;
	socket->rmem_bytes = memory[SK_MEMINFO_RMEM_ALLOC];
	socket->rcvbuf = memory[SK_MEMINFO_RCVBUF];
	socket->wmem_bytes = memory[SK_MEMINFO_WMEM_ALLOC];
	socket->sndbuf = memory[SK_MEMINFO_SNDBUF];
	socket->drops = memory[SK_MEMINFO_DROPS];
}

const char *other_text(struct snapshot *snapshot, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return snapshot_text(snapshot, text, strlen(text));
}

uint64_t other_cookie(const uint32_t words[2])
{
	return (uint64_t)words[1] << 32 | words[0];
}

void other_set_queues(struct other_socket_record *socket, uint32_t receive, uint32_t send)
{
	if (socket->state == SOCKET_LISTEN) {
		socket->backlog = receive;
		socket->backlog_max = send;
		return;
	}
	socket->recvq_bytes = receive;
	socket->sendq_bytes = send;
}
