/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_cong.h"
#include "event/core/event.h"
#include "event/tcp/tcp_congestion.h"

static const struct enum_name congestion_items[] = {
	{TCP_CONG_OPEN, "open", "normal operation"},
	{TCP_CONG_DISORDER, "disorder", "duplicate ACKs or SACKs: loss or reordering"},
	{TCP_CONG_CWR, "cwr", "congestion window reduced after an ECN mark or local congestion"},
	{TCP_CONG_RECOVERY, "recovery", "fast recovery: loss detected from ACKs"},
	{TCP_CONG_LOSS, "loss", "retransmission timeout"},
};
struct enum_names tcp_congestion_names = {congestion_items, ARRAY_SIZE(congestion_items), NULL};

#define C struct tcp_cong
static const struct field cong_fields[] = {
	FIELD(C, old_congestion, ENUM, "old state", .names = &tcp_congestion_names),
	FIELD(C, new_congestion, ENUM, "new state; unknown when the connection closes", .names = &tcp_congestion_names),
	FIELD(C, span_ns, DURATION, "time in the old state; unknown for states that began before the run"),
	FIELD(C, cwnd, COUNT, "congestion window, segments"),
	FIELD(C, ssthresh, COUNT, "slow start threshold, segments; unknown before the first loss", .hidden = true),
};
#undef C

static const struct event_role cong_roles[] = {
	{.name = "congestion state changes", .hooks = {{.programs = {"tcp_cong_change"}}}},
	{
		.name = "connection setup and close",
		.without = "the duration of the first and the last state is unknown",
		.hooks = {{.programs = {"tcp_cong_life", "tcp_cong_life_twin"}, .twins = true}},
	},
};
EVENT_TYPE(tcp_cong, "tcp.cong", struct tcp_cong, cong_fields, cong_roles, "TCP congestion state change");
