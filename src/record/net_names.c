/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <netinet/in.h>
#include <sys/socket.h>

#include "record/net_names.h"

static const struct enum_name state_names[] = {
	{SOCKET_ESTABLISHED, "ESTABLISHED", "connected"},
	{SOCKET_SYN_SENT, "SYN_SENT", "SYN sent, waiting for the SYN-ACK"},
	{SOCKET_SYN_RECV, "SYN_RECV", "SYN-ACK sent, waiting for the final ACK of the handshake"},
	{SOCKET_FIN_WAIT1, "FIN_WAIT1", "closed locally, FIN sent, not acknowledged yet"},
	{SOCKET_FIN_WAIT2, "FIN_WAIT2", "closed locally, FIN acknowledged; the peer may still send"},
	{SOCKET_TIME_WAIT, "TIME_WAIT", "closed; kept so that late packets do not reach a new connection"},
	{SOCKET_CLOSE, "CLOSE", "not connected"},
	{SOCKET_CLOSE_WAIT, "CLOSE_WAIT", "closed by the peer, not yet by the application"},
	{SOCKET_LAST_ACK, "LAST_ACK", "both sides closed, waiting for the ACK of the last FIN"},
	{SOCKET_LISTEN, "LISTEN", "waiting for connections"},
	{SOCKET_CLOSING, "CLOSING", "both sides closed at the same time"},
	{SOCKET_NEW_SYN_RECV, "NEW_SYN_RECV", "connection request (SYN queue)"},
};
struct enum_names socket_state_names = {state_names, ARRAY_SIZE(state_names), NULL};

static const struct enum_name proto_names[] = {
	{IPPROTO_TCP, "tcp", NULL},       {IPPROTO_UDP, "udp", NULL},   {IPPROTO_UDPLITE, "udplite", NULL},
	{IPPROTO_SCTP, "sctp", NULL},     {IPPROTO_DCCP, "dccp", NULL}, {IPPROTO_ICMP, "icmp", NULL},
	{IPPROTO_ICMPV6, "icmpv6", NULL},
};
struct enum_names socket_proto_names = {proto_names, ARRAY_SIZE(proto_names), NULL};

static const struct enum_name family_names[] = {
	{ADDR_V4, "ipv4", NULL},
	{ADDR_V6, "ipv6", NULL},
};
struct enum_names addr_family_names = {family_names, ARRAY_SIZE(family_names), NULL};

/* The numbers of event/head.h. */
static const struct enum_name event_families[] = {
	{ADDR_V4, "ipv4", NULL},
	{ADDR_V6, "ipv6", NULL},
	{FAMILY_OTHER(AF_UNIX), "unix", NULL},
	{FAMILY_OTHER(AF_NETLINK), "netlink", NULL},
	{FAMILY_OTHER(AF_PACKET), "packet", NULL},
	{FAMILY_OTHER(AF_VSOCK), "vsock", NULL},
};
struct enum_names event_family_names = {event_families, ARRAY_SIZE(event_families), NULL};
