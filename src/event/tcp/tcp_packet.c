/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_packet.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"

#define P struct tcp_packet
static const struct field packet_fields[] = {
	FIELD(P, dir, ENUM, "whether it arrived or leaves", .names = &packet_dir_names),
	FIELD(P, dev, TEXT, "interface"),
	FIELD(P, flags, FLAGS, "of the TCP header", .names = &tcp_flag_names),
	FIELD(P, seq, ID, "sequence number", .hidden = true),
	FIELD(P, ack, ID, "acknowledgement number", .hidden = true),
	FIELD(P, window, COUNT, "window field of the header, not scaled", .hidden = true),
	FIELD(P, bytes, BYTES, "payload; a packet that is cut up on its way counts once, whole"),
	FIELD(P, gso_bytes, BYTES, "payload of each piece, when it is cut up on its way or was put together",
	      .zero_is_unknown = true, .hidden = true),
};
#undef P

static const struct event_role packet_roles[] = {
	{.name = "packets that leave", .hooks = {{.programs = {"tcp_packet_sent"}}}},
	{.name = "packets that arrive", .hooks = {{.programs = {"tcp_packet_received"}}}},
};
EVENT_TYPE(tcp_packet, "tcp.packet", struct tcp_packet, packet_fields, packet_roles,
	   "this host sent or received a TCP packet");
