/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/attach.h"
#include "event/core/event.h"
#include "event/ip/icmp.h"

#define E struct icmp_echo
static const struct field echo_fields[] = {
	FIELD(E, dev, TEXT, "interface that the request left by"),
	FIELD(E, id, ID, "which ping it is"),
	FIELD(E, seq, ID, "which of its requests"),
	FIELD(E, bytes, BYTES, "of the request, with the header of ICMP"),
	FIELD(E, ttl, COUNT, "hops that were left to the answer", .zero_is_unknown = true),
	FIELD(E, lat_ns, DURATION, "from the request's leaving to the answer's arrival, or until it was given up"),
	FIELD(E, stack_ns, DURATION, "from the answer's arrival to its being in the socket", .hidden = true),
	FIELD(E, sched_ns, DURATION, "from there to the program's having it: scheduling, mostly"),
	FIELD(E, error, ENUM,
	      "why there is no answer; ETIMEDOUT: the socket was closed, or sent eight more, without one",
	      .names = &errno_names, .zero_is_unknown = true),
};
#undef E

static const struct event_role echo_roles[] = {
	{.name = "requests", .hooks = {{.programs = {"icmp_echo_sent"}}}},
	{.name = "answers", .hooks = {{.programs = {"icmp_echo_answered"}}}},
	{.name = "answers that reach the socket",
	 .hooks = {{.programs = {"icmp_echo_ready", "icmp_echo_ready_twin"}, .twins = true},
		   {.programs = {"icmp_echo_ready_function"}}}},
	{.name = "the program that reads",
	 .hooks = {{.programs = {"icmp_echo_read"}},
		   {.programs = {"icmp_echo_read_inet", "icmp_echo_read_inet6", "icmp_echo_read_raw6"}}}},
	{.name = "sockets released",
	 .without = "requests that are never answered are told late or not at all",
	 .hooks = {{.programs = {"icmp_echo_closed"}, .attach = event_attach_cgroups, .check = event_check_cgroups}}},
	{.name = "errors by ICMP",
	 .without = "a host that cannot be reached looks like one that does not answer",
	 .hooks = {{.programs = {"icmp_echo_error"}}}},
};
EVENT_TYPE(icmp_echo, "icmp.echo", struct icmp_echo, echo_fields, echo_roles, "a ping was answered, or was not");
