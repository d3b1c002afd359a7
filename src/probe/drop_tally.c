/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/drop_tally.h"

#include <string.h>

#include "event/core/packet_names.h"
#include "event/skb/skb_drop.h"
#include "kernel/symbol_at.h"
#include "probe/tally.h"
#include "record/net_names.h"

#define D struct drop_record
static const struct field drop_fields[] = {
	FIELD(D, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(D, reason, TEXT, "kernel's drop reason; NOT_SPECIFIED if it gives none"),
	FIELD(D, place, TEXT, "kernel function that dropped them, where the reason is not specific"),
	FIELD(D, dev, TEXT, "interface"),
	FIELD(D, dir, ENUM, "direction", .names = &packet_dir_names),
	FIELD(D, proto, ENUM, "protocol", .names = &socket_proto_names, .zero_is_unknown = true),
	FIELD(D, laddr, ADDR, "local address; of forwarded packets, the destination"),
	FIELD(D, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(D, raddr, ADDR, "remote address; of forwarded packets, the source"),
	FIELD(D, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(D, cookie, ID, "socket cookie", .zero_is_unknown = true, .hidden = true),
	FIELD(D, state, ENUM, "state of the receiving or sending socket", .names = &socket_state_names,
	      .zero_is_unknown = true, .hidden = true),
	FIELD(D, flags, FLAGS, "TCP flags", .names = &tcp_flag_names, .zero_is_unknown = true),
	FIELD(D, packets, COUNT, "dropped packets since the first sample"),
	FIELD(D, bytes, BYTES, "their remaining length: headers already processed may be gone"),
	FIELD(D, first_ns, TIME, "first of them", .hidden = true),
	FIELD(D, last_ns, TIME, "last of them", .hidden = true),
};
#undef D
RECORD_TYPE(drop_type, "drop", struct drop_record, drop_fields, "dropped packets by reason, kernel function and flow");

_Static_assert((int)DROP_RX == (int)PACKET_RX && (int)DROP_TX == (int)PACKET_TX, "the same in records and events");

/* Flows with a record of their own. */
#define FLOWS_MAX 4096

static bool is_unspecific(const char *reason)
{
	return !reason || strcmp(reason, "NOT_SPECIFIED") == 0;
}

static bool fill(struct snapshot *snapshot _unused_, const struct record *event, const struct tally_figures *figures,
		 void *data)
{
	const struct skb_drop *drop = event->parts[EVENT_PART_DATA];
	struct drop_record *record = data;

	record->reason = drop->reason ? enum_name_find(&drop_reason_names, drop->reason) : NULL;
	/* That of the flows beyond the cap is all ones. */
	if (is_unspecific(record->reason) && drop->location && ~drop->location)
		record->place = kernel_symbol_at(drop->location);
	record->packets = figures->count;
	record->bytes = (uint64_t)figures->adds[0];
	record->first_ns = figures->first_ns;
	record->last_ns = figures->last_ns;
	return true;
}

static const char *const keys[] = {"netns", "reason", "location", "dev",    "dir",   "proto", "laddr",
				   "lport", "raddr",  "rport",    "cookie", "state", "flags", NULL};
static const char *const rest[] = {"netns", "reason", "dir", "proto", NULL};

static const struct tally drop_tally = {
	.event = "skb.drop",
	/* A FIN whose data was read is freed with 0 bytes: that is no drop. */
	.where = "bytes > 0",
	.by = keys,
	.rest = rest,
	.value = "time_ns",
	.adds = {"bytes"},
	.cap = FLOWS_MAX,
	.fill = fill,
};
TALLY_SOURCE(drop_source, drop_tally, drop_type, "drop", "packets that this host dropped, by reason and flow");
