/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_packet.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"

#define P struct tcp_packet
static const struct field packet_fields[] = {
	FIELD(P, dir, ENUM, "direction", .names = &packet_dir_names),
	FIELD(P, dev, TEXT, "interface"),
	FIELD(P, flags, FLAGS, "TCP flags", .names = &tcp_flag_names),
	FIELD(P, seq, ID, "sequence number", .hidden = true),
	FIELD(P, ack, ID, "acknowledgement number", .hidden = true),
	FIELD(P, window, COUNT, "window field of the header, unscaled", .hidden = true),
	FIELD(P, bytes, BYTES, "payload; a GSO or GRO packet counts once, whole"),
	FIELD(P, gso_bytes, BYTES, "payload per segment of a GSO or GRO packet", .zero_is_unknown = true,
	      .hidden = true),
};
#undef P

static const struct event_role packet_roles[] = {
	{.name = "transmitted packets", .hooks = {{.programs = {"tcp_packet_sent"}}}},
	{.name = "received packets", .hooks = {{.programs = {"tcp_packet_received"}}}},
};
EVENT_TYPE(tcp_packet, "tcp.packet", struct tcp_packet, packet_fields, packet_roles,
	   "TCP packet, transmitted or received");
