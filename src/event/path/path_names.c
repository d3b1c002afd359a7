/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/path/path_names.h"
#include "event/core/packet_names.h"
#include "event/path/path_steps.h"

static const struct enum_name ends[] = {
	{PATH_DELIVERED, "delivered", "read by a process, or sent and (TCP) acknowledged"},
	{PATH_DROPPED, "dropped", "dropped: see reason"},
	{PATH_FORWARDED, "forwarded", "forwarded to another host or namespace"},
	{PATH_UNFINISHED, "unfinished", "in flight when the run ended, or lost"},
};
struct enum_names path_end_names = {ends, ARRAY_SIZE(ends), NULL};

#define P struct path_journey
const struct field path_fields[PATH_FIELDS] = {
	FIELD(P, dir, ENUM, "direction: received or transmitted", .names = &packet_dir_names),
	FIELD(P, dev, TEXT, "interface"),
	FIELD(P, bytes, BYTES, "packet length from the IP header on"),
	FIELD(P, total_ns, DURATION, "duration from the first to the last stage; nest path shows the stages"),
	FIELD(P, end, ENUM, "end of the journey", .names = &path_end_names),
	FIELD(P, reason, ENUM, "drop reason", .names = &drop_reason_names, .zero_is_unknown = true),
	FIELD(P, reader, ID, "thread that read the data", .zero_is_unknown = true, .hidden = true),
	FIELD(P, seq, ID, "TCP sequence number of the first byte", .hidden = true),
	FIELD(P, end_seq, ID, "TCP sequence number after the last byte", .hidden = true),
	FIELD(P, sndbuf_ns, DURATION, "wait for room in the send buffer", .zero_is_unknown = true, .hidden = true),
	FIELD(P, tcp_ns, DURATION, "wait in TCP: receive window, cwnd, pacing, Nagle", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, qdisc_ns, DURATION, "wait in the qdisc", .zero_is_unknown = true, .hidden = true),
	FIELD(P, driver_ns, DURATION, "wait for the driver to accept the packet", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, ack_ns, DURATION, "wait for the peer's ACK", .zero_is_unknown = true, .hidden = true),
	FIELD(P, backlog_ns, DURATION, "wait for a softirq or in a CPU's backlog", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, socket_ns, DURATION, "wait in the receive queue while the reader is busy", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, wakeup_ns, DURATION, "wait for the reader's wake-up", .zero_is_unknown = true, .hidden = true),
	FIELD(P, sched_ns, DURATION, "scheduling delay of the reader", .zero_is_unknown = true, .hidden = true),
};
#undef P

const char *const path_early[] = {"laddr", "lport", "raddr", "rport", "family", "proto", "netns", "dev", "dir", NULL};

void path_complete(const struct event_head *head _unused_, void *data)
{
	struct path_journey *journey = data;

	/* Spilled journeys and read messages are not journeys yet. */
	if (journey->end <= PATH_UNFINISHED)
		path_add_waits(journey);
}
