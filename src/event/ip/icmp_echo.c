/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/attach.h"
#include "event/core/event.h"
#include "event/ip/icmp.h"

#define E struct icmp_echo
static const struct field echo_fields[] = {
	FIELD(E, dev, TEXT, "output interface of the request"),
	FIELD(E, id, ID, "echo identifier"),
	FIELD(E, seq, ID, "echo sequence number"),
	FIELD(E, bytes, BYTES, "length of the request, ICMP header included"),
	FIELD(E, ttl, COUNT, "TTL or hop limit of the reply", .zero_is_unknown = true),
	FIELD(E, lat_ns, DURATION, "time from transmit of the request to arrival of the reply, or to the timeout"),
	FIELD(E, stack_ns, DURATION, "time from arrival of the reply to its queueing in the socket", .hidden = true),
	FIELD(E, sched_ns, DURATION, "time from there to the read by the program, mostly scheduling delay"),
	FIELD(E, error, ENUM,
	      "error if there is no reply; ETIMEDOUT: socket closed, or eight more requests sent, without a reply",
	      .names = &errno_names, .zero_is_unknown = true),
};
#undef E

static const struct event_role echo_roles[] = {
	{.name = "requests", .hooks = {{.programs = {"icmp_echo_sent"}}}},
	{.name = "replies", .hooks = {{.programs = {"icmp_echo_answered"}}}},
	{.name = "replies queued in the socket",
	 .hooks = {{.programs = {"icmp_echo_ready", "icmp_echo_ready_twin"}, .twins = true},
		   {.programs = {"icmp_echo_ready_function"}},
		   {.programs = {"icmp_echo_ready_call"}}}},
	{.name = "reads by the program",
	 .hooks = {{.programs = {"icmp_echo_read"}},
		   {.programs = {"icmp_echo_read_inet", "icmp_echo_read_inet6", "icmp_echo_read_raw6"}},
		   {.programs = {"icmp_echo_call", "icmp_echo_call_done", "icmp_echo_call6", "icmp_echo_call6_done",
				 "icmp_echo_call_raw6", "icmp_echo_call_raw6_done", "icmp_echo_call_left"}}}},
	{.name = "socket release",
	 .without = "unanswered requests are reported late or not at all",
	 .hooks = {{.programs = {"icmp_echo_closed"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{.name = "ICMP errors",
	 .without = "an unreachable host looks like one that does not answer",
	 .hooks = {{.programs = {"icmp_echo_error"}}}},
};
EVENT_TYPE(icmp_echo, "icmp.echo", struct icmp_echo, echo_fields, echo_roles, "ping with its reply, or without one");
