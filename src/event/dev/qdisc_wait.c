/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/qdisc_wait.h"
#include "event/core/event.h"

#define Q struct qdisc_wait
static const struct field wait_fields[] = {
	FIELD(Q, dev, TEXT, "interface"),
	FIELD(Q, kind, TEXT, "kind of qdisc: fq, fq_codel, tbf, htb ..."),
	FIELD(Q, handle, HEX, "handle of the qdisc, major number in the upper half; unknown for default qdiscs",
	      .zero_is_unknown = true, .exact = true),
	FIELD(Q, bytes, BYTES, "packet length with headers"),
	FIELD(Q, lat_ns, DURATION, "time from enqueue to dequeue; unknown if the enqueue was not seen"),
	FIELD(Q, qlen, COUNT, "packets left in the qdisc", .hidden = true),
	FIELD(Q, segs, COUNT, "number of packets on the wire", .hidden = true),
	FIELD(Q, split, BOOL, "segment of a GSO packet that the qdisc split", .hidden = true),
};
#undef Q

static const struct event_role wait_roles[] = {
	{.name = "enqueue and dequeue", .hooks = {{.programs = {"qdisc_wait_enter", "qdisc_wait_leave"}}}},
	{.name = "GSO packets split by the qdisc",
	 .without = "the wait of split packets is unknown",
	 .hooks = {{.programs = {"qdisc_wait_prepare"}}}},
};
EVENT_TYPE(qdisc_wait, "qdisc.wait", struct qdisc_wait, wait_fields, wait_roles, "packet dequeued from a qdisc");
