/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/tcp/tcp_reset.h"
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "event/tcp/tcp_reset_names.h"
#include "kernel/btf_enum.h"
#include "record/net_names.h"

static void load_reasons(struct enum_names *names)
{
	btf_enum_load(names, "sk_rst_reason", "SK_RST_REASON_");
}

static struct enum_names reason_names = {.load = load_reasons};

static const struct enum_name after_items[] = {
	{TCP_RESET_AFTER_SYN, "syn", "before the connection was established"},
	{TCP_RESET_AFTER_NOTHING, "nothing", "before any data"},
	{TCP_RESET_AFTER_SENDING, "sending", "after data was sent, without an answer to it"},
	{TCP_RESET_AFTER_RECEIVING, "receiving", "after data was received, between exchanges or just then"},
	{TCP_RESET_AFTER_ANSWER, "answer", "after the answer to its only request, or after seconds without data"},
};
struct enum_names tcp_reset_after_names = {.items = after_items, .count = ARRAY_SIZE(after_items)};

#define R struct tcp_reset
static const struct field reset_fields[] = {
	FIELD(R, dir, ENUM, "direction of the RST", .names = &packet_dir_names),
	FIELD(R, state, ENUM, "state of the connection at the reset", .names = &socket_state_names,
	      .zero_is_unknown = true),
	FIELD(R, after, ENUM, "what a received RST followed", .names = &tcp_reset_after_names, .zero_is_unknown = true),
	FIELD(R, reason, ENUM, "kernel's reason for a sent RST (Linux 6.10 and later)", .names = &reason_names),
};
#undef R

static const struct event_role reset_roles[] = {
	{.name = "received resets", .hooks = {{.programs = {"tcp_reset_received"}}}},
	{.name = "sent resets", .hooks = {{.programs = {"tcp_reset_sent"}}}},
};
EVENT_TYPE(tcp_reset, "tcp.reset", struct tcp_reset, reset_fields, reset_roles, "TCP reset, sent or received");
