/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packet sockets: PACKET_DIAG, or /proc/net/packet. */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/packet_diag.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "snapshot/core/scan.h"
#include "snapshot/socket/other.h"

static const struct enum_name ether_types[] = {
	{ETH_P_ALL, "all", NULL},    {ETH_P_IP, "ip", NULL},     {ETH_P_ARP, "arp", NULL},   {ETH_P_IPV6, "ipv6", NULL},
	{ETH_P_8021Q, "vlan", NULL}, {ETH_P_LLDP, "lldp", NULL}, {ETH_P_PAE, "eapol", NULL},
};
static struct enum_names ether_names = {ether_types, ARRAY_SIZE(ether_types), NULL};

static struct other_socket_record *add(struct snapshot *snapshot, uint64_t type, uint64_t ether_type, uint64_t inode)
{
	struct other_socket_record *socket = other_add(snapshot, &packet_socket_type, FAMILY_OTHER(AF_PACKET));
	const char *name;

	if (!socket)
		return NULL;
	socket->type = (uint8_t)type;
	socket->state = SOCKET_CLOSE;
	socket->inode = (uint32_t)inode;
	name = enum_name_find(&ether_names, ether_type);
	/* 0: nothing is received. */
	if (ether_type)
		socket->proto = name ?: other_text(snapshot, "0x%04x", (unsigned)(ether_type & UINT16_MAX));
	return socket;
}

void other_parse_packet(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct packet_diag_msg *msg = nl_payload(message);
	const struct nlattr *attrs[PACKET_DIAG_MAX + 1];
	struct other_socket_record *socket;
	struct packet_diag_info info;

	(void)context;
	if (nl_payload_len(message) < sizeof(*msg) || msg->pdiag_family != AF_PACKET)
		return;
	socket = add(snapshot, msg->pdiag_type, msg->pdiag_num, msg->pdiag_ino);
	if (!socket)
		return;
	nl_attrs(message, sizeof(*msg), attrs, PACKET_DIAG_MAX);
	socket->cookie = other_cookie(msg->pdiag_cookie);
	nl_get_u32(attrs[PACKET_DIAG_UID], &socket->uid);
	if (nl_get_bytes(attrs[PACKET_DIAG_INFO], &info, sizeof(info)) == sizeof(info))
		socket->ifindex = info.pdi_index;
	other_set_memory(socket, attrs[PACKET_DIAG_MEMINFO]);
	socket->recvq_bytes = socket->rmem_bytes;
	socket->sendq_bytes = socket->wmem_bytes;
}

/* "sk RefCnt Type Proto Iface R Rmem User Inode" */
void other_text_packet(struct snapshot *snapshot, const char *text)
{
	while (scan_next_line(&text)) {
		uint64_t type, ether_type, ifindex, memory, uid, inode;
		struct other_socket_record *socket;

		if (!scan_skip(&text, 2) || !scan_u64(&text, &type) || !scan_hex(&text, &ether_type) ||
		    !scan_u64(&text, &ifindex) || !scan_skip(&text, 1) || !scan_u64(&text, &memory) ||
		    !scan_u64(&text, &uid) || !scan_u64(&text, &inode))
			continue;
		socket = add(snapshot, type, ether_type, inode);
		if (!socket)
			return;
		socket->ifindex = (uint32_t)ifindex;
		socket->rmem_bytes = socket->recvq_bytes = (uint32_t)memory;
		socket->uid = (uint32_t)uid;
	}
}

static void name_interfaces(struct snapshot *snapshot, size_t from)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &packet_socket_type);

	for (size_t i = from; i < table->count; i++) {
		struct other_socket_record *socket = (struct other_socket_record *)table->items + i;

		if (socket->ifindex == UINT32_MAX)
			continue;
		if (socket->ifindex && !if_indextoname(socket->ifindex, socket->dev))
			continue;
		socket->local = socket->dev[0] ? snapshot_text(snapshot, socket->dev, strlen(socket->dev)) : "*";
	}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct packet_diag_req req = {
		.sdiag_family = AF_PACKET,
		.pdiag_show = PACKET_SHOW_INFO | PACKET_SHOW_MEMINFO,
	};
	struct other_question question = {
		.request = &req, .size = sizeof(req), .parse = other_parse_packet, .config = "CONFIG_PACKET_DIAG"};
	size_t from = snapshot_table(snapshot, &packet_socket_type)->count;
	int r = other_ask(snapshot, &question, why);

	(void)request;
	if (r == -ENOENT)
		r = other_read(snapshot, "/proc/thread-self/net/packet", other_text_packet,
			       "buffers and drops of packet sockets", why);
	name_interfaces(snapshot, from);
	return r;
}

static const struct record_type *const types[] = {&packet_socket_type, NULL};

static const struct snapshot_source packet_source = {
	.name = "packet_diag",
	.lost = "packet sockets",
	.types = types,
	.stage = STAGE_SOCKETS,
	.on_demand = true,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(packet_source);
