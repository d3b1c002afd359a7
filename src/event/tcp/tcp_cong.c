/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_cong.h"
#include "event/core/event.h"
#include "event/tcp/tcp_congestion.h"

static const struct enum_name congestion_items[] = {
	{TCP_CONG_OPEN, "open", "nothing is amiss"},
	{TCP_CONG_DISORDER, "disorder", "duplicate acknowledgements came: loss, or another order"},
	{TCP_CONG_CWR, "cwr", "the network or a local queue asked to slow down"},
	{TCP_CONG_RECOVERY, "recovery", "a loss was shown by acknowledgements and is being repaired"},
	{TCP_CONG_LOSS, "loss", "no acknowledgement came in time"},
};
struct enum_names tcp_congestion_names = {congestion_items, ARRAY_SIZE(congestion_items), NULL};

#define C struct tcp_cong
static const struct field cong_fields[] = {
	FIELD(C, old_congestion, ENUM, "state that it leaves", .names = &tcp_congestion_names),
	FIELD(C, new_congestion, ENUM, "state that it enters; unknown at the end of the connection",
	      .names = &tcp_congestion_names),
	FIELD(C, span_ns, DURATION, "how long it was in the old state; unknown of states that began before the run"),
	FIELD(C, cwnd, COUNT, "congestion window, segments"),
	FIELD(C, ssthresh, COUNT, "window up to which it grows fast, segments; unknown until the first loss",
	      .hidden = true),
};
#undef C

static const struct event_role cong_roles[] = {
	{.name = "changes of congestion control", .hooks = {{.programs = {"tcp_cong_change"}}}},
	{
		.name = "beginning and end of connections",
		.without = "how long the first and the last state lasted is not known",
		.hooks = {{.programs = {"tcp_cong_life", "tcp_cong_life_twin"}, .twins = true}},
	},
};
EVENT_TYPE(tcp_cong, "tcp.cong", struct tcp_cong, cong_fields, cong_roles,
	   "congestion control of a connection changed its state");
