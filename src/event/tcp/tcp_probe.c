/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_probe.h"
#include "event/core/event.h"
#include "event/tcp/tcp_congestion.h"

#define P struct tcp_probe
static const struct field probe_fields[] = {
	FIELD(P, cwnd, COUNT, "congestion window, segments"),
	FIELD(P, ssthresh, COUNT, "slow start threshold, segments; unknown before the first loss", .hidden = true),
	FIELD(P, snd_wnd, BYTES, "send window: last window advertised by the peer"),
	FIELD(P, peer_wnd, BYTES, "window in the received segment; 0: zero window"),
	FIELD(P, rcv_wnd, BYTES, "receive window", .hidden = true),
	FIELD(P, inflight_bytes, BYTES, "sent, not yet acknowledged"),
	FIELD(P, sendq_bytes, BYTES, "send queue: written, not yet acknowledged"),
	FIELD(P, recvq_bytes, BYTES, "receive queue: received in order, not yet read", .hidden = true),
	FIELD(P, sndbuf, BYTES, "size of the send buffer", .hidden = true),
	FIELD(P, wmem_bytes, BYTES, "memory used by unacknowledged data", .hidden = true),
	FIELD(P, rcvbuf, BYTES, "size of the receive buffer", .hidden = true),
	FIELD(P, srtt_ns, DURATION, "smoothed RTT", .zero_is_unknown = true),
	FIELD(P, min_rtt_ns, DURATION, "minimum RTT of the kernel's recent window (tcp_min_rtt_wlen)",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(P, mss, BYTES, "maximum segment size", .exact = true, .hidden = true),
	FIELD(P, congestion, ENUM, "congestion state", .names = &tcp_congestion_names),
	FIELD(P, bytes, BYTES, "payload of the received segment", .hidden = true),
	FIELD(P, seq, ID, "its sequence number", .hidden = true),
};
#undef P

static const struct event_role probe_roles[] = {
	{.name = "received segments", .hooks = {{.programs = {"tcp_probe_segment"}}}},
};
EVENT_TYPE(tcp_probe, "tcp.probe", struct tcp_probe, probe_fields, probe_roles,
	   "TCP segment received on an established connection, with its variables");
