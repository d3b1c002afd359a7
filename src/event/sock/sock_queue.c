/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receive queues of sockets: fields and hooks. */
#include "event/sock/sock_queue.h"
#include "event/core/event.h"

#define Q struct sock_queued
static const struct field queued_fields[] = {
	FIELD(Q, recvq_bytes, BYTES, "receive queue: memory of unread data, kernel overhead included"),
	FIELD(Q, rcvbuf, BYTES, "limit of the receive queue (SO_RCVBUF)"),
	FIELD(Q, full, COUNT, "fill level of the receive queue", .unit = "%"),
};
#undef Q

static const struct event_role queued_roles[] = {
	{
		.name = "data arrival",
		.hooks = {{.programs = {"sock_queued_ready"}},
			  {.programs = {"sock_queued_readable"}},
			  {.programs = {"sock_queued_call"}}},
	},
};
EVENT_TYPE(sock_queued, "sock.queued", struct sock_queued, queued_fields, queued_roles, "data queued at a socket");

static const struct enum_name limit_items[] = {
	{SOCK_LIMIT_RECEIVE_QUEUE, "receive-queue", "the socket's receive buffer is full (SO_RCVBUF)"},
	{SOCK_LIMIT_MEMORY_RECEIVE, "memory", "the memory limit of the protocol is reached (tcp_mem, udp_mem)"},
	{SOCK_LIMIT_MEMORY_SEND, "memory-send", "the same for sending"},
};
static struct enum_names limit_names = {.items = limit_items, .count = ARRAY_SIZE(limit_items)};

#define O struct sock_overflow
static const struct field overflow_fields[] = {
	FIELD(O, reason, ENUM, "limit that was reached", .names = &limit_names, .zero_is_unknown = true),
	FIELD(O, recvq_bytes, BYTES, "receive queue: memory of unread data"),
	FIELD(O, rcvbuf, BYTES, "limit of the receive queue (SO_RCVBUF)"),
	FIELD(O, sendq_bytes, BYTES, "send queue: memory of unsent data", .hidden = true),
	FIELD(O, sndbuf, BYTES, "limit of the send queue", .hidden = true),
};
#undef O

static const struct event_role overflow_roles[] = {
	{
		.name = "full receive queues",
		.without = "full receive queues are reported for UDP only",
		.hooks = {{.programs = {"sock_overflow_queue"}}},
	},
	{
		.name = "memory limits",
		.without = "protocol memory limits are not reported",
		.hooks = {{.programs = {"sock_overflow_memory"}}},
	},
	{.name = "dropped datagrams", .hooks = {{.programs = {"sock_overflow_udp"}}}},
};
EVENT_TYPE(sock_overflow, "sock.overflow", struct sock_overflow, overflow_fields, overflow_roles,
	   "socket queue or protocol memory full");

#define D struct udp_drop
static const struct field drop_fields[] = {
	FIELD(D, reason, ENUM, "limit that was reached", .names = &limit_names, .zero_is_unknown = true),
	FIELD(D, bytes, BYTES, "payload of the datagram; unknown before Linux 6.10"),
	FIELD(D, recvq_bytes, BYTES, "receive queue: memory of unread data"),
	FIELD(D, rcvbuf, BYTES, "limit of the receive queue (SO_RCVBUF)"),
};
#undef D

static const struct event_role drop_roles[] = {
	{.name = "dropped datagrams", .hooks = {{.programs = {"udp_drop_queue"}}}},
};
EVENT_TYPE(udp_drop, "udp.drop", struct udp_drop, drop_fields, drop_roles,
	   "UDP datagram dropped at a full receive queue");
