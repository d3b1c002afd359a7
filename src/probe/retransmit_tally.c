/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/retransmit_tally.h"

#include "event/tcp/tcp.h"
#include "probe/tally.h"

_Static_assert((int)RETRANSMISSION_FAST == (int)TCP_RETRANSMIT_FAST &&
		       (int)RETRANSMISSION_SYNACK == (int)TCP_RETRANSMIT_SYNACK,
	       "the kinds of the event");

static const struct enum_name kind_items[] = {
	{RETRANSMISSION_FAST, "fast", "loss detected from ACKs"},
	{RETRANSMISSION_TIMEOUT, "timeout", "retransmission timeout (RTO)"},
	{RETRANSMISSION_PROBE, "probe", "tail loss probe"},
	{RETRANSMISSION_SYN, "syn", "SYN not answered"},
	{RETRANSMISSION_SYNACK, "synack", "SYN-ACK not acknowledged"},
};
struct enum_names retransmission_kind_names = {.items = kind_items, .count = ARRAY_SIZE(kind_items)};

#define R struct retransmission_record
static const struct field retransmission_fields[] = {
	FIELD(R, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(R, kind, ENUM, "cause of the retransmissions", .names = &retransmission_kind_names,
	      .zero_is_unknown = true),
	FIELD(R, laddr, ADDR, "local address"),
	FIELD(R, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(R, raddr, ADDR, "remote address"),
	FIELD(R, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(R, cookie, ID, "socket cookie", .zero_is_unknown = true, .hidden = true),
	FIELD(R, count, COUNT, "retransmissions since the first sample"),
	FIELD(R, bytes, BYTES, "their payload"),
	FIELD(R, first_ns, TIME, "first of them", .hidden = true),
	FIELD(R, last_ns, TIME, "last of them"),
};
#undef R
RECORD_TYPE(retransmission_type, "retransmission", struct retransmission_record, retransmission_fields,
	    "retransmissions of a connection, by kind");

/* Connections and kinds with a record of their own. */
#define KEYS_MAX 4096

static bool fill(struct snapshot *snapshot _unused_, const struct record *event _unused_,
		 const struct tally_figures *figures, void *data)
{
	struct retransmission_record *record = data;

	record->count = figures->count;
	record->bytes = (uint64_t)figures->adds[0];
	record->first_ns = figures->first_ns;
	record->last_ns = figures->last_ns;
	return true;
}

static const char *const keys[] = {"netns", "laddr", "lport", "raddr", "rport", "cookie", "kind", NULL};
static const char *const rest[] = {"netns", "kind", NULL};

static const struct tally retransmit_tally = {
	.event = "tcp.retransmit",
	/* An attempt that fails here (the segment is still queued, the window is closed) retransmits nothing. */
	.where = "error is unknown",
	.by = keys,
	.rest = rest,
	.value = "time_ns",
	.adds = {"bytes"},
	.cap = KEYS_MAX,
	.fill = fill,
};
TALLY_SOURCE(retransmit_source, retransmit_tally, retransmission_type, "retransmission",
	     "retransmissions by connection and kind");
