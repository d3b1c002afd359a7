/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_probe.h"
#include "event/core/event.h"
#include "event/tcp/tcp_congestion.h"

#define P struct tcp_probe
static const struct field probe_fields[] = {
	FIELD(P, cwnd, COUNT, "congestion window, segments"),
	FIELD(P, ssthresh, COUNT, "window up to which it grows fast, segments; unknown until the first loss",
	      .hidden = true),
	FIELD(P, snd_wnd, BYTES, "window that the peer granted last"),
	FIELD(P, peer_wnd, BYTES, "window that the segment which arrived grants: 0 stops this end"),
	FIELD(P, rcv_wnd, BYTES, "window that this end grants", .hidden = true),
	FIELD(P, inflight_bytes, BYTES, "sent and not acknowledged"),
	FIELD(P, sendq_bytes, BYTES, "written by the application and not acknowledged"),
	FIELD(P, recvq_bytes, BYTES, "received in order and not read", .hidden = true),
	FIELD(P, sndbuf, BYTES, "limit of the send buffer", .hidden = true),
	FIELD(P, wmem_bytes, BYTES, "memory that unacknowledged data takes", .hidden = true),
	FIELD(P, rcvbuf, BYTES, "limit of the receive buffer", .hidden = true),
	FIELD(P, srtt_ns, DURATION, "smoothed round-trip time", .zero_is_unknown = true),
	FIELD(P, min_rtt_ns, DURATION, "smallest round-trip time of late", .zero_is_unknown = true, .hidden = true),
	FIELD(P, mss, BYTES, "payload of a full segment", .exact = true, .hidden = true),
	FIELD(P, congestion, ENUM, "state of congestion control", .names = &tcp_congestion_names),
	FIELD(P, bytes, BYTES, "payload of the segment that arrived", .hidden = true),
	FIELD(P, seq, ID, "its sequence number", .hidden = true),
};
#undef P

static const struct event_role probe_roles[] = {
	{.name = "segments that arrive", .hooks = {{.programs = {"tcp_probe_segment"}}}},
};
EVENT_TYPE(tcp_probe, "tcp.probe", struct tcp_probe, probe_fields, probe_roles,
	   "a segment arrived for an established connection: its variables");
