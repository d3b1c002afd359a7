/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vsock sockets: VSOCK_DIAG. The kernel has no other list of them. */
#include <sys/socket.h>

/* Older ones need what the first declares. */
#include <linux/vm_sockets.h>
#include <linux/vm_sockets_diag.h>

#include "snapshot/socket/other.h"

static const struct enum_name machines[] = {
	{VMADDR_CID_HYPERVISOR, "hypervisor", NULL},
	{VMADDR_CID_LOCAL, "local", NULL},
	{VMADDR_CID_HOST, "host", NULL},
	{VMADDR_CID_ANY, "*", NULL},
};
static struct enum_names machine_names = {machines, ARRAY_SIZE(machines), NULL};

static const char *endpoint(struct snapshot *snapshot, uint32_t cid, uint32_t port)
{
	const char *machine = enum_name_find(&machine_names, cid);
	char number[16], text[16];

	snprintf(number, sizeof(number), "%u", cid);
	snprintf(text, sizeof(text), "%u", port);
	return other_text(snapshot, "%s:%s", machine ?: number, port == VMADDR_PORT_ANY ? "*" : text);
}

void other_parse_vsock(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct vsock_diag_msg *msg = nl_payload(message);
	struct other_socket_record *socket;

	(void)context;
	if (nl_payload_len(message) < sizeof(*msg) || msg->vdiag_family != AF_VSOCK)
		return;
	socket = other_add(snapshot, &vsock_socket_type, FAMILY_OTHER(AF_VSOCK));
	if (!socket)
		return;
	socket->type = msg->vdiag_type;
	socket->state = msg->vdiag_state;
	socket->shutdown = msg->vdiag_shutdown;
	socket->inode = msg->vdiag_ino;
	socket->cookie = other_cookie(msg->vdiag_cookie);
	socket->lport = msg->vdiag_src_port;
	socket->local = endpoint(snapshot, msg->vdiag_src_cid, msg->vdiag_src_port);
	if (msg->vdiag_state != SOCKET_LISTEN && msg->vdiag_state != SOCKET_CLOSE) {
		socket->rport = msg->vdiag_dst_port;
		socket->remote = endpoint(snapshot, msg->vdiag_dst_cid, msg->vdiag_dst_port);
	}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct vsock_diag_req req = {.sdiag_family = AF_VSOCK, .vdiag_states = UINT32_MAX};
	struct other_question question = {
		.request = &req, .size = sizeof(req), .parse = other_parse_vsock, .config = "CONFIG_VSOCKETS_DIAG"};

	(void)request;
	return other_ask(snapshot, &question, why);
}

static const struct record_type *const types[] = {&vsock_socket_type, NULL};

static const struct snapshot_source vsock_source = {
	.name = "vsock_diag",
	.lost = "vsock sockets",
	.types = types,
	.stage = STAGE_SOCKETS,
	.on_demand = true,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(vsock_source);
