/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/text.h"
#include "event/sock/sock_call_text.h"

/* Missing in older C library headers. */
#ifndef SO_BUSY_POLL
#define SO_BUSY_POLL 46
#endif
#define SO_INCOMING_NAPI_ID_  56
#define SO_ZEROCOPY_          60
#define TCP_NOTSENT_LOWAT_    25
#define TCP_INQ_              36
#define TCP_FASTOPEN_CONNECT_ 30
#define TCP_ULP_              31
#define TCP_ZEROCOPY_         35
#define TCP_TX_DELAY_         37
#define UDP_SEGMENT_          103
#define UDP_GRO_              104
#define SOL_TLS_              282
#define SOL_MPTCP_            284
#define AF_XDP_               44

struct name {
	uint64_t value;
	const char *name;
};

#define NAME(x)                                                                                                        \
	{                                                                                                              \
		(uint64_t)(x), #x                                                                                      \
	}
#define NAME_(x)                                                                                                       \
	{                                                                                                              \
		(uint64_t)(x##_), #x                                                                                   \
	}

static const struct name families[] = {
	NAME(AF_UNIX),  NAME(AF_INET),      NAME(AF_INET6), NAME(AF_NETLINK), NAME(AF_PACKET),
	NAME(AF_VSOCK), NAME(AF_BLUETOOTH), NAME(AF_ALG),   NAME(AF_CAN),     NAME_(AF_XDP),
};

static const struct name types[] = {
	NAME(SOCK_STREAM), NAME(SOCK_DGRAM), NAME(SOCK_RAW), NAME(SOCK_RDM), NAME(SOCK_SEQPACKET), NAME(SOCK_PACKET),
};

static const struct name protocols[] = {
	NAME(IPPROTO_IP),    NAME(IPPROTO_ICMP), NAME(IPPROTO_TCP),    NAME(IPPROTO_UDP),
	NAME(IPPROTO_IPV6),  NAME(IPPROTO_DCCP), NAME(IPPROTO_ICMPV6), NAME(IPPROTO_UDPLITE),
	NAME(IPPROTO_MPTCP), NAME(IPPROTO_SCTP), NAME(IPPROTO_RAW),
};

static const struct name type_flags[] = {NAME(SOCK_NONBLOCK), NAME(SOCK_CLOEXEC)};

static const struct name message_flags[] = {
	NAME(MSG_OOB),      NAME(MSG_PEEK), NAME(MSG_DONTROUTE),    NAME(MSG_CTRUNC),   NAME(MSG_TRUNC),
	NAME(MSG_DONTWAIT), NAME(MSG_EOR),  NAME(MSG_WAITALL),      NAME(MSG_CONFIRM),  NAME(MSG_ERRQUEUE),
	NAME(MSG_NOSIGNAL), NAME(MSG_MORE), NAME(MSG_WAITFORONE),   NAME(MSG_ZEROCOPY), NAME(MSG_FASTOPEN),
	NAME(MSG_BATCH),    NAME(MSG_FIN),  NAME(MSG_CMSG_CLOEXEC),
};

static const struct name ways[] = {NAME(SHUT_RD), NAME(SHUT_WR), NAME(SHUT_RDWR)};

static const struct name levels[] = {
	NAME(SOL_SOCKET), NAME(SOL_IP),      NAME(SOL_IPV6),   NAME(SOL_TCP),  NAME(SOL_UDP),    NAME(SOL_RAW),
	NAME(SOL_ICMPV6), NAME(SOL_NETLINK), NAME(SOL_PACKET), NAME_(SOL_TLS), NAME_(SOL_MPTCP),
};

static const struct name socket_options[] = {
	NAME(SO_DEBUG),
	NAME(SO_REUSEADDR),
	NAME(SO_TYPE),
	NAME(SO_ERROR),
	NAME(SO_DONTROUTE),
	NAME(SO_BROADCAST),
	NAME(SO_SNDBUF),
	NAME(SO_RCVBUF),
	NAME(SO_KEEPALIVE),
	NAME(SO_OOBINLINE),
	NAME(SO_NO_CHECK),
	NAME(SO_PRIORITY),
	NAME(SO_LINGER),
	NAME(SO_REUSEPORT),
	NAME(SO_PASSCRED),
	NAME(SO_PEERCRED),
	NAME(SO_RCVLOWAT),
	NAME(SO_SNDLOWAT),
	NAME(SO_RCVTIMEO),
	NAME(SO_SNDTIMEO),
	NAME(SO_ATTACH_FILTER),
	NAME(SO_DETACH_FILTER),
	NAME(SO_TIMESTAMP),
	NAME(SO_ACCEPTCONN),
	NAME(SO_PEERSEC),
	NAME(SO_SNDBUFFORCE),
	NAME(SO_RCVBUFFORCE),
	NAME(SO_PASSSEC),
	NAME(SO_TIMESTAMPNS),
	NAME(SO_MARK),
	NAME(SO_TIMESTAMPING),
	NAME(SO_PROTOCOL),
	NAME(SO_DOMAIN),
	NAME(SO_RXQ_OVFL),
	NAME(SO_PEEK_OFF),
	NAME(SO_BINDTODEVICE),
	NAME(SO_BUSY_POLL),
	NAME(SO_INCOMING_CPU),
	NAME(SO_ATTACH_BPF),
	NAME(SO_MAX_PACING_RATE),
	NAME_(SO_INCOMING_NAPI_ID),
	NAME(SO_COOKIE),
	NAME_(SO_ZEROCOPY),
	NAME(SO_TXTIME),
};

static const struct name tcp_options[] = {
	NAME(TCP_NODELAY),      NAME(TCP_MAXSEG),         NAME(TCP_CORK),
	NAME(TCP_KEEPIDLE),     NAME(TCP_KEEPINTVL),      NAME(TCP_KEEPCNT),
	NAME(TCP_SYNCNT),       NAME(TCP_LINGER2),        NAME(TCP_DEFER_ACCEPT),
	NAME(TCP_WINDOW_CLAMP), NAME(TCP_INFO),           NAME(TCP_QUICKACK),
	NAME(TCP_CONGESTION),   NAME(TCP_MD5SIG),         NAME(TCP_USER_TIMEOUT),
	NAME(TCP_FASTOPEN),     NAME_(TCP_NOTSENT_LOWAT), NAME_(TCP_FASTOPEN_CONNECT),
	NAME_(TCP_ULP),         NAME_(TCP_ZEROCOPY),      NAME_(TCP_INQ),
	NAME_(TCP_TX_DELAY),
};

static const struct name udp_options[] = {NAME(UDP_CORK), NAME(UDP_ENCAP), NAME_(UDP_SEGMENT), NAME_(UDP_GRO)};

static const struct name ip_options[] = {
	NAME(IP_TOS),
	NAME(IP_TTL),
	NAME(IP_HDRINCL),
	NAME(IP_OPTIONS),
	NAME(IP_RECVOPTS),
	NAME(IP_PKTINFO),
	NAME(IP_MTU_DISCOVER),
	NAME(IP_RECVERR),
	NAME(IP_RECVTTL),
	NAME(IP_RECVTOS),
	NAME(IP_MTU),
	NAME(IP_FREEBIND),
	NAME(IP_TRANSPARENT),
	NAME(IP_ORIGDSTADDR),
	NAME(IP_MINTTL),
	NAME(IP_MULTICAST_IF),
	NAME(IP_MULTICAST_TTL),
	NAME(IP_MULTICAST_LOOP),
	NAME(IP_ADD_MEMBERSHIP),
	NAME(IP_DROP_MEMBERSHIP),
	NAME(IP_UNICAST_IF),
	NAME(IP_BIND_ADDRESS_NO_PORT),
};

static const struct name ip6_options[] = {
	NAME(IPV6_UNICAST_HOPS), NAME(IPV6_MULTICAST_IF), NAME(IPV6_MULTICAST_HOPS), NAME(IPV6_MULTICAST_LOOP),
	NAME(IPV6_JOIN_GROUP),   NAME(IPV6_LEAVE_GROUP),  NAME(IPV6_MTU_DISCOVER),   NAME(IPV6_MTU),
	NAME(IPV6_RECVERR),      NAME(IPV6_V6ONLY),       NAME(IPV6_RECVPKTINFO),    NAME(IPV6_PKTINFO),
	NAME(IPV6_RECVHOPLIMIT), NAME(IPV6_RECVTCLASS),   NAME(IPV6_TCLASS),
};

static const char *find_name(const struct name *names, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].value == value)
			return names[i].name;
	return NULL;
}

/* A name, or the number if it has none. */
static void add_name(struct buf *out, const struct name *names, size_t count, uint64_t value)
{
	const char *name = find_name(names, count, value);

	if (name)
		buf_add_text(out, name);
	else
		buf_add_format(out, "%" PRIu64, value);
}

static void add_flags(struct buf *out, const struct name *names, size_t count, uint64_t flags)
{
	bool first = true;

	if (!flags) {
		buf_add_text(out, "0");
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (names[i].value && (flags & names[i].value) == names[i].value) {
			buf_add_format(out, "%s%s", first ? "" : "|", names[i].name);
			flags &= ~names[i].value;
			first = false;
		}
	if (flags)
		buf_add_format(out, "%s0x%" PRIx64, first ? "" : "|", flags);
}

#define ADD_NAME(out, names, value)  add_name(out, names, ARRAY_SIZE(names), value)
#define ADD_FLAGS(out, names, value) add_flags(out, names, ARRAY_SIZE(names), value)

static void add_address(struct buf *out, const struct sock_call *call, uint64_t pointer)
{
	char text[ADDR_TEXT_MAX];

	if (call->addr.family) {
		addr_format(&call->addr, text);
		buf_add_format(out, call->addr.family == ADDR_V6 ? "[%s]:%u" : "%s:%u", text, call->port);
	} else if (call->path[0]) {
		buf_add_char(out, '"');
		text_add_terminal(out, call->path, strnlen(call->path, sizeof(call->path)));
		buf_add_char(out, '"');
	} else {
		buf_add_text(out, pointer ? "..." : "NULL");
	}
}

static void add_socket_args(struct buf *out, const struct sock_call *call)
{
	uint64_t flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

	ADD_NAME(out, families, call->raw[0]);
	buf_add_text(out, ", ");
	ADD_NAME(out, types, call->raw[1] & ~flags);
	if (call->raw[1] & flags) {
		buf_add_char(out, '|');
		ADD_FLAGS(out, type_flags, call->raw[1] & flags);
	}
	buf_add_text(out, ", ");
	if (call->raw[0] == AF_INET || call->raw[0] == AF_INET6)
		ADD_NAME(out, protocols, call->raw[2]);
	else
		buf_add_format(out, "%llu", call->raw[2]);
	if (call->call == SOCK_CALL_socketpair && !call->error)
		buf_add_format(out, ", [%d, %d]", call->value, call->pair);
}

static void add_option_name(struct buf *out, const struct sock_call *call)
{
	switch (call->raw[1]) {
	case SOL_SOCKET:
		ADD_NAME(out, socket_options, call->raw[2]);
		break;
	case SOL_TCP:
		ADD_NAME(out, tcp_options, call->raw[2]);
		break;
	case SOL_UDP:
		ADD_NAME(out, udp_options, call->raw[2]);
		break;
	case SOL_IP:
		ADD_NAME(out, ip_options, call->raw[2]);
		break;
	case SOL_IPV6:
		ADD_NAME(out, ip6_options, call->raw[2]);
		break;
	default:
		buf_add_format(out, "%llu", call->raw[2]);
	}
}

static void add_option_args(struct buf *out, const struct sock_call *call)
{
	buf_add_text(out, ", ");
	ADD_NAME(out, levels, call->raw[1]);
	buf_add_text(out, ", ");
	add_option_name(out, call);
	if (call->value != SOCK_CALL_NO_VALUE)
		buf_add_format(out, ", [%d]", call->value);
	else
		buf_add_text(out, call->raw[3] ? ", ..." : ", NULL");
	if (call->call == SOCK_CALL_setsockopt)
		buf_add_format(out, ", %llu", call->raw[4]);
}

/* Data, length and flags. */
static void add_transfer_args(struct buf *out, const struct sock_call *call)
{
	buf_add_format(out, ", ..., %llu, ", call->raw[2]);
	ADD_FLAGS(out, message_flags, (uint32_t)call->raw[3]);
	buf_add_text(out, ", ");
	add_address(out, call, call->raw[4]);
}

static void add_message_args(struct buf *out, const struct sock_call *call)
{
	bool many = call->call == SOCK_CALL_sendmmsg || call->call == SOCK_CALL_recvmmsg;

	buf_add_text(out, ", {");
	add_address(out, call, many);
	buf_add_text(out, ", ...}, ");
	if (many)
		buf_add_format(out, "%llu, ", call->raw[2]);
	ADD_FLAGS(out, message_flags, (uint32_t)call->raw[many ? 3 : 2]);
}

static void add_args(struct buf *out, const struct sock_call *call)
{
	if (call->call == SOCK_CALL_socket || call->call == SOCK_CALL_socketpair) {
		add_socket_args(out, call);
		return;
	}
	buf_add_format(out, "%d", (int)call->raw[0]);
	switch (call->call) {
	case SOCK_CALL_connect:
	case SOCK_CALL_bind:
	case SOCK_CALL_getsockname:
	case SOCK_CALL_getpeername:
	case SOCK_CALL_accept:
	case SOCK_CALL_accept4:
		buf_add_text(out, ", ");
		add_address(out, call, call->raw[1]);
		if (call->call == SOCK_CALL_accept4) {
			buf_add_text(out, ", ");
			ADD_FLAGS(out, type_flags, (uint32_t)call->raw[3]);
		}
		break;
	case SOCK_CALL_listen:
		buf_add_format(out, ", %d", (int)call->raw[1]);
		break;
	case SOCK_CALL_shutdown:
		buf_add_text(out, ", ");
		ADD_NAME(out, ways, call->raw[1]);
		break;
	case SOCK_CALL_setsockopt:
	case SOCK_CALL_getsockopt:
		add_option_args(out, call);
		break;
	case SOCK_CALL_sendfile:
		buf_add_format(out, ", %d, %s, %llu", (int)call->raw[1], call->raw[2] ? "..." : "NULL", call->raw[3]);
		break;
	case SOCK_CALL_sendto:
	case SOCK_CALL_recvfrom:
		add_transfer_args(out, call);
		break;
	default:
		add_message_args(out, call);
	}
}

void sock_call_write_args(struct sock_call *call)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1024);

	add_args(&text, call);
	snprintf(call->args, sizeof(call->args), "%s", buf_text(&text));
}
