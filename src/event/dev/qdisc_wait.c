/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/dev/qdisc_wait.h"
#include "event/core/event.h"

#define Q struct qdisc_wait
static const struct field wait_fields[] = {
	FIELD(Q, dev, TEXT, "interface"),
	FIELD(Q, kind, TEXT, "of queue: fq, fq_codel, tbf, htb ..."),
	FIELD(Q, handle, HEX, "of the queue, its number in the upper half; unknown where the kernel made it",
	      .zero_is_unknown = true, .exact = true),
	FIELD(Q, bytes, BYTES, "of the packet, with its headers"),
	FIELD(Q, lat_ns, DURATION, "from coming into the queue to leaving it; unknown when its coming was not seen"),
	FIELD(Q, qlen, COUNT, "packets that stayed behind in the queue", .hidden = true),
	FIELD(Q, segs, COUNT, "packets that it will be on the wire", .hidden = true),
	FIELD(Q, split, BOOL, "a piece of a larger packet that the queue cut up", .hidden = true),
};
#undef Q

static const struct event_role wait_roles[] = {
	{.name = "packets that come and leave", .hooks = {{.programs = {"qdisc_wait_enter", "qdisc_wait_leave"}}}},
	{.name = "packets that the queue cuts up",
	 .without = "the wait of the pieces is not known",
	 .hooks = {{.programs = {"qdisc_wait_prepare"}}}},
};
EVENT_TYPE(qdisc_wait, "qdisc.wait", struct qdisc_wait, wait_fields, wait_roles,
	   "a packet left the queue of an interface");
