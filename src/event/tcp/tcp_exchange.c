/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_exchange.h"
#include "event/core/attach.h"
#include "event/core/event.h"
#include "event/tcp/tcp_exchange_names.h"
#include "event/tcp/tcp_role.h"

static const struct enum_name outcome_items[] = {
	{TCP_EXCHANGE_ANSWERED, "answered", "the first byte of the answer followed"},
	{TCP_EXCHANGE_CLOSED, "closed", "this host closed the connection without an answer"},
	{TCP_EXCHANGE_PEER_CLOSED, "peer-closed", "the peer closed the connection without an answer"},
	{TCP_EXCHANGE_RESET, "reset", "the connection was reset without an answer"},
	{TCP_EXCHANGE_OPEN, "open", "no answer yet, at the end of the interval or run"},
	{TCP_EXCHANGE_TIMED_OUT, "timed-out", "the connection timed out without an answer"},
};
struct enum_names tcp_exchange_outcome_names = {.items = outcome_items, .count = ARRAY_SIZE(outcome_items)};

#define X struct tcp_exchange
static const struct field exchange_fields[] = {
	FIELD(X, role, ENUM, "role of this host; by its port for connections established before the run",
	      .names = &tcp_role_names, .zero_is_unknown = true),
	FIELD(X, service, ADDR, "address of the service; unknown where this host is the server"),
	FIELD(X, service_port, ID, "port of the service", .zero_is_unknown = true),
	FIELD(X, outcome, ENUM, "answered, or how the connection ended without an answer",
	      .names = &tcp_exchange_outcome_names, .zero_is_unknown = true),
	FIELD(X, lat_ns, DURATION,
	      "time from the last byte of the request to the first byte of the answer, or to the end"),
	FIELD(X, srtt_ns, DURATION, "smoothed RTT", .zero_is_unknown = true),
	FIELD(X, min_rtt_ns, DURATION, "minimum RTT of the kernel's recent window (tcp_min_rtt_wlen)",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(X, request_bytes, BYTES, "bytes of the request; unknown if it began before the run"),
	FIELD(X, answer_bytes, BYTES, "bytes of the answer at the time of the event: often its first segment"),
};
#undef X

static const struct event_role exchange_roles[] = {
	{
		.name = "received segments",
		.without = "only requests that end without an answer are reported",
		.costly = true,
		.hooks = {{.programs = {"tcp_exchange_segment"}}},
	},
	{
		.name = "state changes",
		.hooks = {{.programs = {"tcp_exchange_leave", "tcp_exchange_leave_twin"}, .twins = true}},
	},
	{
		.name = "requests before the run",
		.without = "requests sent before the run are not reported",
		.costly = true,
		.hooks = {{.programs = {"tcp_exchange_seed"}, .attach = event_attach_walk}},
	},
	{
		.name = "open requests",
		.without = "open requests are not reported",
		.costly = true,
		.hooks = {{.programs = {"tcp_exchange_open"}, .attach = event_attach_later}},
	},
};
EVENT_TYPE(tcp_exchange, "tcp.exchange", struct tcp_exchange, exchange_fields, exchange_roles,
	   "request and answer on a TCP connection, with latency", .sweep = "tcp_exchange_open",
	   .swept = "tcp_exchange_about");
