/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UNIX, raw, packet, netlink, vsock and MPTCP sockets. One struct for all of them and a table for each family, with a
 * source each (other_*.c): the kernel's socket diagnosis, or /proc/net where the kernel has none for the family.
 */
#pragma once

#include "record/net_names.h"
#include "snapshot/core/nl.h"
#include "snapshot/socket/socket.h"

struct other_socket_record {
	uint32_t netns;
	uint8_t family; /* enum addr_family, or FAMILY_OTHER(AF_...) */
	uint8_t type;   /* SOCK_STREAM ... */
	uint8_t state;
	uint8_t shutdown;
	const char *proto;
	uint32_t recvq_bytes;
	uint32_t sendq_bytes;
	uint32_t backlog; /* listeners: connections waiting to be accepted */
	uint32_t backlog_max;
	const char *local;
	const char *remote;
	struct addr laddr;
	struct addr raddr;
	uint32_t lport; /* vsock has 32 bits of it */
	uint32_t rport;
	uint32_t ifindex; /* 0: any */
	char dev[16];     /* its name; packet sockets only */
	uint32_t groups;  /* netlink: the first 32 */
	uint64_t cookie;
	uint32_t inode;
	uint32_t peer_inode;
	uint32_t uid;
	uint32_t rmem_bytes;
	uint32_t rcvbuf;
	uint32_t wmem_bytes;
	uint32_t sndbuf;
	uint32_t drops;
	uint32_t mark;
	/* Not fields: where the rest is. */
	uint32_t peer;  /* index of the UNIX socket at the other end, or SOCKET_NONE */
	uint32_t owner; /* as of struct socket_record */
	uint32_t owners;
};

extern const struct record_type unix_socket_type;
extern const struct record_type raw_socket_type;
extern const struct record_type packet_socket_type;
extern const struct record_type netlink_socket_type;
extern const struct record_type vsock_socket_type;
extern const struct record_type mptcp_socket_type;

/* All of them. */
#define OTHER_SOCKETS 6
extern const struct record_type *const other_socket_types[OTHER_SOCKETS];

/* The parsers: pure, one message each. The context of inet is the type to be filled: raw or MPTCP. */
nl_parse_fn other_parse_unix;
nl_parse_fn other_parse_packet;
nl_parse_fn other_parse_netlink;
nl_parse_fn other_parse_vsock;
nl_parse_fn other_parse_inet;

/* And of the texts of /proc/net, which tell less. */
void other_text_unix(struct snapshot *snapshot, const char *text);
void other_text_packet(struct snapshot *snapshot, const char *text);
void other_text_netlink(struct snapshot *snapshot, const char *text);
void other_text_raw(struct snapshot *snapshot, const char *text);

/* "10.0.0.1:443", "[fe80::1]:*". */
#define OTHER_END_MAX (ADDR_TEXT_MAX + 16)
void other_format_end(const struct addr *addr, uint32_t port, char text[static OTHER_END_MAX]);

/* --- for the sources --- */

/* A dump of one family: the request as its header declares it. -ENOENT: the kernel has no diagnosis of it. */
struct other_question {
	const void *request;
	size_t size;
	uint32_t protocol; /* one that does not fit into the request, or 0 */
	nl_parse_fn *parse;
	void *context;
	const char *config; /* the kernel's build option */
};
int other_ask(struct snapshot *snapshot, const struct other_question *question, struct why *why) _must_check_;

/* Where there is no diagnosis: reads a text of /proc instead and notes what it does not tell. */
int other_read(struct snapshot *snapshot, const char *path, void (*parse)(struct snapshot *, const char *),
	       const char *lost, const struct why *why) _must_check_;

/* A new record in which everything is unknown but the namespace and the family; NULL when the table is full. */
struct other_socket_record *other_add(struct snapshot *snapshot, const struct record_type *type, uint8_t family);
/* The SK_MEMINFO attribute. Queues of families that tell them in no other way. */
void other_set_memory(struct other_socket_record *socket, const struct nlattr *attr);
const char *other_text(struct snapshot *snapshot, const char *format, ...) _printf_(2, 3);
uint64_t other_cookie(const uint32_t words[2]);
/* Queues; of a listener, the accept queue and its limit. After the state. */
void other_set_queues(struct other_socket_record *socket, uint32_t receive, uint32_t send);
