/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/event.h"
#include "event/core/packet_names.h"
#include "event/ip/icmp.h"
#include "record/net_names.h"

static const struct enum_name kinds[] = {
	{ICMP_KIND_NET, "net-unreachable", "no route to the network"},
	{ICMP_KIND_HOST, "host-unreachable", "the host does not answer ARP or neighbour discovery"},
	{ICMP_KIND_PROTO, "proto-unreachable", "transport protocol not supported"},
	{ICMP_KIND_PORT, "port-unreachable", "no listener on the port"},
	{ICMP_KIND_FRAG_NEEDED, "frag-needed", "packet larger than the MTU of a link, and must not be fragmented"},
	{ICMP_KIND_PROHIBITED, "prohibited", "prohibited by a firewall or policy"},
	{ICMP_KIND_UNREACHABLE, "unreachable", "other reason: see type and code"},
	{ICMP_KIND_TTL, "ttl-exceeded", "TTL exceeded: routing loop, or traceroute"},
	{ICMP_KIND_REASSEMBLY, "reassembly-exceeded", "reassembly timeout"},
	{ICMP_KIND_PARAMETER, "parameter-problem", "bad header field"},
	{ICMP_KIND_REDIRECT, "redirect", "better first hop available"},
	{ICMP_KIND_QUENCH, "source-quench", "source quench (obsolete)"},
};
static struct enum_names kind_names = {kinds, ARRAY_SIZE(kinds), NULL};

#define E struct icmp_error
static const struct field error_fields[] = {
	FIELD(E, dir, ENUM, "direction of the message", .names = &packet_dir_names),
	FIELD(E, dev, TEXT, "interface"),
	FIELD(E, kind, ENUM, "kind of error, the same names for IPv4 and IPv6", .names = &kind_names),
	FIELD(E, type, ID, "ICMP type", .hidden = true),
	FIELD(E, code, ID, "ICMP code", .hidden = true),
	FIELD(E, sender, ADDR, "sender of the message"),
	FIELD(E, mtu, BYTES, "MTU of the next hop", .exact = true, .zero_is_unknown = true),
	FIELD(E, error, ENUM, "error delivered to the socket; unknown if the application gets none",
	      .names = &errno_names, .zero_is_unknown = true),
	FIELD(E, soft_error, ENUM,
	      "soft error of the connection: connect() fails with it, an established connection continues",
	      .names = &errno_names, .zero_is_unknown = true, .hidden = true),
};
#undef E

static const struct event_role error_roles[] = {
	{.name = "received messages",
	 .hooks = {{.programs = {"icmp_error_received", "icmp_error_consumed", "icmp_error_dropped"}}}},
	{.name = "sent messages and flow owners", .hooks = {{.programs = {"icmp_error_sent"}}}},
	{.name = "errors delivered to sockets",
	 .without = "whether the error reached the socket is unknown",
	 .hooks = {{.programs = {"icmp_error_delivered"}}}},
};
EVENT_TYPE(icmp_error, "icmp.error", struct icmp_error, error_fields, error_roles, "ICMP error about a packet");
