/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/path/path_names.h"
#include "event/core/packet_names.h"
#include "event/path/path_steps.h"

static const struct enum_name ends[] = {
	{PATH_DELIVERED, "delivered", "read by a process, or sent and, of TCP, acknowledged"},
	{PATH_DROPPED, "dropped", "thrown away: see reason"},
	{PATH_FORWARDED, "forwarded", "sent on to another host or namespace"},
	{PATH_UNFINISHED, "unfinished", "on its way when the run ended, or lost sight of"},
};
struct enum_names path_end_names = {ends, ARRAY_SIZE(ends), NULL};

#define P struct path_journey
const struct field path_fields[PATH_FIELDS] = {
	FIELD(P, dir, ENUM, "whether it arrived here or leaves", .names = &packet_dir_names),
	FIELD(P, dev, TEXT, "interface"),
	FIELD(P, bytes, BYTES, "length of the packet, from its IP header on"),
	FIELD(P, total_ns, DURATION, "from the first to the last stage; nest path tells the stages"),
	FIELD(P, end, ENUM, "how it ended", .names = &path_end_names),
	FIELD(P, reason, ENUM, "why it was dropped", .names = &drop_reason_names, .zero_is_unknown = true),
	FIELD(P, reader, ID, "thread that read it", .zero_is_unknown = true, .hidden = true),
	FIELD(P, seq, ID, "of TCP: number of the first byte", .hidden = true),
	FIELD(P, end_seq, ID, "of TCP: number after the last byte", .hidden = true),
	FIELD(P, sndbuf_ns, DURATION, "waited: until there was room in the send buffer", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, tcp_ns, DURATION, "waited: until TCP let it go: window, congestion, pacing, Nagle",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(P, qdisc_ns, DURATION, "waited: in the queue of the interface", .zero_is_unknown = true, .hidden = true),
	FIELD(P, driver_ns, DURATION, "waited: until the driver had taken it", .zero_is_unknown = true, .hidden = true),
	FIELD(P, ack_ns, DURATION, "waited: until the peer had acknowledged it", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, backlog_ns, DURATION, "waited: until a processor took it up that had arrived", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(P, socket_ns, DURATION, "waited: in the receive queue, while the reader was busy elsewhere",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(P, wakeup_ns, DURATION, "waited: until the reader was woken", .zero_is_unknown = true, .hidden = true),
	FIELD(P, sched_ns, DURATION, "waited: until the reader, woken, had a processor", .zero_is_unknown = true,
	      .hidden = true),
};
#undef P

const char *const path_early[] = {"laddr", "lport", "raddr", "rport", "family", "proto", "netns", "dev", "dir", NULL};

void path_complete(const struct event_head *head _unused_, void *data)
{
	struct path_journey *journey = data;

	/* What still waits, and what was read, are no journeys yet. */
	if (journey->end <= PATH_UNFINISHED)
		path_add_waits(journey);
}
