/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "event/ip/icmp.h"
#include "record/net_names.h"

static const struct enum_name kinds[] = {
	{ICMP_KIND_NET, "net-unreachable", "there is no route to the network"},
	{ICMP_KIND_HOST, "host-unreachable", "the host does not answer on its link"},
	{ICMP_KIND_PROTO, "proto-unreachable", "the host does not speak that protocol"},
	{ICMP_KIND_PORT, "port-unreachable", "nobody listens there"},
	{ICMP_KIND_FRAG_NEEDED, "frag-needed", "too large for a link on the way, and not to be cut up"},
	{ICMP_KIND_PROHIBITED, "prohibited", "a firewall or a policy says no"},
	{ICMP_KIND_UNREACHABLE, "unreachable", "for another reason: see type and code"},
	{ICMP_KIND_TTL, "ttl-exceeded", "too many hops: a loop, or traceroute"},
	{ICMP_KIND_REASSEMBLY, "reassembly-exceeded", "a fragment did not arrive in time"},
	{ICMP_KIND_PARAMETER, "parameter-problem", "the header is not understood"},
	{ICMP_KIND_REDIRECT, "redirect", "there is a better first hop"},
	{ICMP_KIND_QUENCH, "source-quench", "an old way to say: slower"},
};
static struct enum_names kind_names = {kinds, ARRAY_SIZE(kinds), NULL};

#define E struct icmp_error
static const struct field error_fields[] = {
	FIELD(E, dir, ENUM, "whether this host received the message or sent it", .names = &packet_dir_names),
	FIELD(E, dev, TEXT, "interface"),
	FIELD(E, kind, ENUM, "what it says, the same words for both versions of IP", .names = &kind_names),
	FIELD(E, type, ID, "type of the message", .hidden = true),
	FIELD(E, code, ID, "code of the message", .hidden = true),
	FIELD(E, sender, ADDR, "who sent the message"),
	FIELD(E, mtu, BYTES, "largest packet that the next link takes", .exact = true, .zero_is_unknown = true),
	FIELD(E, error, ENUM, "what the socket was told; unknown when the application does not hear of it",
	      .names = &errno_names, .zero_is_unknown = true),
	FIELD(E, soft_error, ENUM, "what the connection has noted: connect() fails with it, an established one goes on",
	      .names = &errno_names, .zero_is_unknown = true, .hidden = true),
};
#undef E

static const struct event_role error_roles[] = {
	{.name = "messages that arrive",
	 .hooks = {{.programs = {"icmp_error_received", "icmp_error_consumed", "icmp_error_dropped"}}}},
	{.name = "messages that are sent, and owners of flows", .hooks = {{.programs = {"icmp_error_sent"}}}},
	{.name = "what sockets are told",
	 .without = "whether the socket was told is not known",
	 .hooks = {{.programs = {"icmp_error_told"}}}},
};
EVENT_TYPE(icmp_error, "icmp.error", struct icmp_error, error_fields, error_roles,
	   "a message by ICMP that a packet could not be delivered");
