/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receive queues of sockets: fields and hooks. */
#include "event/sock/sock_queue.h"
#include "event/core/event.h"

#define Q struct sock_queued
static const struct field queued_fields[] = {
	FIELD(Q, recvq_bytes, BYTES, "memory that waits to be read, with the kernel's own share of it"),
	FIELD(Q, rcvbuf, BYTES, "how much may wait"),
	FIELD(Q, full, COUNT, "the first as a part of the second", .unit = "%"),
};
#undef Q

static const struct event_role queued_roles[] = {
	{
		.name = "data that arrives",
		.hooks = {{.programs = {"sock_queued_ready"}}, {.programs = {"sock_queued_readable"}}},
	},
};
EVENT_TYPE(sock_queued, "sock.queued", struct sock_queued, queued_fields, queued_roles,
	   "something arrived at a socket and waits to be read");

static const struct enum_name limit_items[] = {
	{SOCK_LIMIT_RECEIVE_QUEUE, "receive-queue", "the socket's receive buffer is full (SO_RCVBUF)"},
	{SOCK_LIMIT_MEMORY_RECEIVE, "memory", "the protocol's memory is used up (tcp_mem, udp_mem)"},
	{SOCK_LIMIT_MEMORY_SEND, "memory-send", "the same, for something to send"},
};
static struct enum_names limit_names = {.items = limit_items, .count = ARRAY_SIZE(limit_items)};

#define O struct sock_overflow
static const struct field overflow_fields[] = {
	FIELD(O, reason, ENUM, "which limit was in the way", .names = &limit_names, .zero_is_unknown = true),
	FIELD(O, recvq_bytes, BYTES, "memory that waits to be read"),
	FIELD(O, rcvbuf, BYTES, "how much may wait"),
	FIELD(O, sendq_bytes, BYTES, "memory that waits to be sent", .hidden = true),
	FIELD(O, sndbuf, BYTES, "how much may wait to be sent", .hidden = true),
};
#undef O

static const struct event_role overflow_roles[] = {
	{
		.name = "receive queues that are full",
		.without = "full receive queues of other protocols than UDP are not told",
		.hooks = {{.programs = {"sock_overflow_queue"}}},
	},
	{
		.name = "memory limits",
		.without = "limits of a protocol's memory are not told",
		.hooks = {{.programs = {"sock_overflow_memory"}}},
	},
	{.name = "datagrams without room", .hooks = {{.programs = {"sock_overflow_udp"}}}},
};
EVENT_TYPE(sock_overflow, "sock.overflow", struct sock_overflow, overflow_fields, overflow_roles,
	   "a socket's queue or its protocol's memory had no room");

#define D struct udp_drop
static const struct field drop_fields[] = {
	FIELD(D, reason, ENUM, "which limit was in the way", .names = &limit_names, .zero_is_unknown = true),
	FIELD(D, bytes, BYTES, "payload of the datagram; unknown before Linux 6.10"),
	FIELD(D, recvq_bytes, BYTES, "memory that waits to be read"),
	FIELD(D, rcvbuf, BYTES, "how much may wait"),
};
#undef D

static const struct event_role drop_roles[] = {
	{.name = "datagrams without room", .hooks = {{.programs = {"udp_drop_queue"}}}},
};
EVENT_TYPE(udp_drop, "udp.drop", struct udp_drop, drop_fields, drop_roles,
	   "a datagram arrived for a socket that had no room for it");
