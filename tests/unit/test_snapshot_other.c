/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parsers of sockets beside TCP and UDP: messages and texts of /proc, right ones, cut ones, lying ones. */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/net.h>
#include <linux/netlink_diag.h>
#include <linux/packet_diag.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <linux/vm_sockets.h>
#include <linux/vm_sockets_diag.h>
#include <sys/socket.h>

#include "snapshot/socket/other.h"
#include "unit.h"

struct message {
	_Alignas(8) char bytes[1024];
	struct nlmsghdr *header;
};

static void *begin(struct message *m, size_t body)
{
	memset(m, 0, sizeof(*m));
	m->header = mnl_nlmsg_put_header(m->bytes);
	m->header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	return mnl_nlmsg_put_extra_header(m->header, body);
}

static const uint32_t memory[SK_MEMINFO_VARS] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void check_memory(const struct other_socket_record *socket)
{
	CHECK_EQ_UINT(socket->rmem_bytes, 1);
	CHECK_EQ_UINT(socket->rcvbuf, 2);
	CHECK_EQ_UINT(socket->wmem_bytes, 3);
	CHECK_EQ_UINT(socket->sndbuf, 4);
	CHECK_EQ_UINT(socket->drops, 9);
}

/* The record that one message makes; every shorter form of it must do no harm. */
static const struct other_socket_record *parse(struct snapshot *snapshot, struct message *m, nl_parse_fn *parser,
					       const struct record_type *type)
{
	uint32_t whole = m->header->nlmsg_len;

	for (uint32_t len = sizeof(struct nlmsghdr); len < whole; len += 4) {
		m->header->nlmsg_len = len;
		parser(snapshot, m->header, (void *)type);
	}
	snapshot_clear(snapshot);
	m->header->nlmsg_len = whole;
	parser(snapshot, m->header, (void *)type);
	CHECK_EQ_UINT(snapshot_table(snapshot, type)->count, 1);
	return snapshot_first(snapshot, type);
}

static void build_unix(struct message *m, uint8_t state, const void *name, size_t n)
{
	struct unix_diag_msg *msg = begin(m, sizeof(*msg));
	struct unix_diag_rqlen queues = {3, 128};

	*msg = (struct unix_diag_msg){AF_UNIX, SOCK_STREAM, state, 0, 4711, {1, 2}};
	mnl_attr_put(m->header, UNIX_DIAG_NAME, n, name);
	mnl_attr_put_u32(m->header, UNIX_DIAG_PEER, 4712);
	mnl_attr_put(m->header, UNIX_DIAG_RQLEN, sizeof(queues), &queues);
	mnl_attr_put(m->header, UNIX_DIAG_MEMINFO, sizeof(memory), memory);
}

TEST(unix_sockets)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct other_socket_record *socket;
	struct message m;

	build_unix(&m, SOCKET_ESTABLISHED, "/run/a b", 9);
	socket = parse(snapshot, &m, other_parse_unix, &unix_socket_type);
	CHECK_EQ_UINT(socket->family, FAMILY_OTHER(AF_UNIX));
	CHECK_EQ_UINT(socket->type, SOCK_STREAM);
	CHECK_EQ_TEXT(socket->local, "/run/a b");
	CHECK_EQ_UINT(socket->peer_inode, 4712);
	CHECK_EQ_UINT(socket->recvq_bytes, 3);
	CHECK_EQ_UINT(socket->sendq_bytes, 128);
	CHECK_EQ_UINT(socket->backlog, UINT32_MAX);
	CHECK_EQ_UINT(socket->cookie, UINT64_C(0x200000001));
	check_memory(socket);

	/* A listener's queues are counts, and an abstract name may hold zero bytes. */
	build_unix(&m, SOCKET_LISTEN, "\0x\0y", 4);
	socket = parse(snapshot, &m, other_parse_unix, &unix_socket_type);
	CHECK_EQ_TEXT(socket->local, "@x@y");
	CHECK_EQ_UINT(socket->backlog, 3);
	CHECK_EQ_UINT(socket->backlog_max, 128);
	CHECK_EQ_UINT(socket->recvq_bytes, UINT32_MAX);
}

TEST(packet_sockets)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct other_socket_record *socket;
	struct packet_diag_info info = {.pdi_index = 3};
	struct message m;
	struct packet_diag_msg *msg = begin(&m, sizeof(*msg));

	*msg = (struct packet_diag_msg){AF_PACKET, SOCK_DGRAM, 0x88cc, 4711, {1, 0}};
	mnl_attr_put(m.header, PACKET_DIAG_INFO, sizeof(info), &info);
	mnl_attr_put(m.header, PACKET_DIAG_MEMINFO, sizeof(memory), memory);
	socket = parse(snapshot, &m, other_parse_packet, &packet_socket_type);
	CHECK_EQ_TEXT(socket->proto, "lldp");
	CHECK_EQ_UINT(socket->ifindex, 3);
	CHECK_EQ_UINT(socket->recvq_bytes, 1);
	CHECK_EQ_UINT(socket->sendq_bytes, 3);
	check_memory(socket);
	msg->pdiag_num = 0x1234;
	CHECK_EQ_TEXT(parse(snapshot, &m, other_parse_packet, &packet_socket_type)->proto, "0x1234");
}

TEST(netlink_sockets)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct other_socket_record *socket;
	struct message m;
	struct netlink_diag_msg *msg = begin(&m, sizeof(*msg));

	*msg = (struct netlink_diag_msg){.ndiag_family = AF_NETLINK,
					 .ndiag_type = SOCK_RAW,
					 .ndiag_protocol = NETLINK_GENERIC,
					 .ndiag_portid = 812,
					 .ndiag_ino = 4711};
	mnl_attr_put_u32(m.header, NETLINK_DIAG_GROUPS, 0x11);
	mnl_attr_put(m.header, NETLINK_DIAG_MEMINFO, sizeof(memory), memory);
	socket = parse(snapshot, &m, other_parse_netlink, &netlink_socket_type);
	CHECK_EQ_TEXT(socket->proto, "generic");
	CHECK_EQ_TEXT(socket->local, "812");
	CHECK(!socket->remote);
	CHECK_EQ_UINT(socket->state, SOCKET_CLOSE);
	CHECK_EQ_UINT(socket->groups, 0x11);
	check_memory(socket);
	msg->ndiag_portid = 0;
	msg->ndiag_state = 1;
	msg->ndiag_dst_portid = 7;
	socket = parse(snapshot, &m, other_parse_netlink, &netlink_socket_type);
	CHECK_EQ_TEXT(socket->local, "kernel");
	CHECK_EQ_TEXT(socket->remote, "7");
	CHECK_EQ_UINT(socket->state, SOCKET_ESTABLISHED);
}

TEST(vsock_sockets)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct other_socket_record *socket;
	struct message m;
	struct vsock_diag_msg *msg = begin(&m, sizeof(*msg));

	*msg = (struct vsock_diag_msg){.vdiag_family = AF_VSOCK,
				       .vdiag_type = SOCK_STREAM,
				       .vdiag_state = SOCKET_ESTABLISHED,
				       .vdiag_src_cid = VMADDR_CID_HOST,
				       .vdiag_src_port = 100000,
				       .vdiag_dst_cid = 42,
				       .vdiag_dst_port = 1024,
				       .vdiag_ino = 4711};
	socket = parse(snapshot, &m, other_parse_vsock, &vsock_socket_type);
	CHECK_EQ_TEXT(socket->local, "host:100000");
	CHECK_EQ_TEXT(socket->remote, "42:1024");
	CHECK_EQ_UINT(socket->lport, 100000);
	CHECK_EQ_UINT(socket->recvq_bytes, UINT32_MAX);
	msg->vdiag_state = SOCKET_LISTEN;
	msg->vdiag_src_cid = VMADDR_CID_ANY;
	socket = parse(snapshot, &m, other_parse_vsock, &vsock_socket_type);
	CHECK_EQ_TEXT(socket->local, "*:100000");
	CHECK(!socket->remote);
}

TEST(raw_and_mptcp_sockets)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct other_socket_record *socket;
	struct message m;
	struct inet_diag_msg *msg = begin(&m, sizeof(*msg));

	msg->idiag_family = AF_INET;
	msg->idiag_state = SOCKET_CLOSE;
	msg->id.idiag_sport = htons(1);
	msg->id.idiag_src[0] = htonl(0x7f000001);
	msg->idiag_rqueue = 5;
	mnl_attr_put(m.header, INET_DIAG_SKMEMINFO, sizeof(memory), memory);
	socket = parse(snapshot, &m, other_parse_inet, &raw_socket_type);
	CHECK_EQ_TEXT(socket->proto, "icmp");
	CHECK_EQ_TEXT(socket->local, "127.0.0.1");
	CHECK_EQ_UINT(socket->lport, UINT32_MAX);
	CHECK_EQ_UINT(socket->recvq_bytes, 5);
	check_memory(socket);

	msg->idiag_family = AF_INET6;
	memset(msg->id.idiag_src, 0, sizeof(msg->id.idiag_src));
	msg->id.idiag_sport = htons(443);
	msg->idiag_state = SOCKET_LISTEN;
	msg->idiag_wqueue = 128;
	socket = parse(snapshot, &m, other_parse_inet, &mptcp_socket_type);
	CHECK_EQ_TEXT(socket->proto, "mptcp");
	CHECK_EQ_TEXT(socket->local, "[::]:443");
	CHECK_EQ_TEXT(socket->remote, "[::]:*");
	CHECK_EQ_UINT(socket->backlog, 5);
	CHECK_EQ_UINT(socket->backlog_max, 128);
}

TEST(texts_of_proc)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct other_socket_record *s;

	other_text_unix(snapshot, "Num       RefCount Protocol Flags    Type St Inode Path\n"
				  "0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/a b\n"
				  "0000000000000000: 00000003 00000000 00000000 0001 03 4712\n"
				  "0000000000000000: 00000003 00000000 xyz 0001 03 4713\n"
				  "0000000000000000: 00000003\n");
	REQUIRE(snapshot_table(snapshot, &unix_socket_type)->count == 2);
	s = snapshot_first(snapshot, &unix_socket_type);
	CHECK_EQ_TEXT(s[0].local, "/run/a b");
	CHECK_EQ_UINT(s[0].state, SOCKET_LISTEN);
	CHECK_EQ_UINT(s[0].backlog, UINT32_MAX);
	CHECK(!s[1].local);
	CHECK_EQ_UINT(s[1].state, SOCKET_ESTABLISHED);
	CHECK_EQ_UINT(s[1].recvq_bytes, UINT32_MAX);

	other_text_packet(snapshot, "sk RefCnt Type Proto  Iface R Rmem   User   Inode\n"
				    "0000000000000000 3      3    0003   2     1 4096   1000   4711\ncut 3 3\n");
	REQUIRE(snapshot_table(snapshot, &packet_socket_type)->count == 1);
	s = snapshot_first(snapshot, &packet_socket_type);
	CHECK_EQ_TEXT(s->proto, "all");
	CHECK_EQ_UINT(s->ifindex, 2);
	CHECK_EQ_UINT(s->recvq_bytes, 4096);
	CHECK_EQ_UINT(s->uid, 1000);

	other_text_netlink(snapshot,
			   "sk Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode\n"
			   "0000000000000000 0   812        00000011 10       20       0     2        7        4711\n");
	REQUIRE(snapshot_table(snapshot, &netlink_socket_type)->count == 1);
	s = snapshot_first(snapshot, &netlink_socket_type);
	CHECK_EQ_TEXT(s->proto, "route");
	CHECK_EQ_TEXT(s->local, "812");
	CHECK_EQ_UINT(s->drops, 7);
	CHECK_EQ_UINT(s->inode, 4711);
}

TEST(raw_sockets_of_proc)
{
	static const char rest[] =
		"00000000:0000 07 00000003:00000010 00:00000000 00000000  1000        0 4711 2 x 5\n";
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_free_ char *text = xasprintf("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
					      "   1: 0100007F:0059 %s   2: 0100007F:%s   3: 0100007G:0059 %s",
					      rest, rest, rest);
	const struct other_socket_record *s;

	other_text_raw(snapshot, text);
	REQUIRE(snapshot_table(snapshot, &raw_socket_type)->count == 1);
	s = snapshot_first(snapshot, &raw_socket_type);
	CHECK_EQ_TEXT(s->proto, "89");
	CHECK_EQ_TEXT(s->local, "127.0.0.1");
	CHECK_EQ_UINT(s->state, SOCKET_CLOSE);
	CHECK_EQ_UINT(s->sendq_bytes, 3);
	CHECK_EQ_UINT(s->recvq_bytes, 16);
	CHECK_EQ_UINT(s->uid, 1000);
	CHECK_EQ_UINT(s->inode, 4711);
	CHECK_EQ_UINT(s->drops, 5);
}
