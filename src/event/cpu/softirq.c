/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/cpu/softirq.h"
#include "event/core/event.h"

static const struct enum_name vecs[] = {
	{0, "HI", "high-priority tasklets"},
	{1, "TIMER", "timers"},
	{SOFTIRQ_NET_TX, "NET_TX", "resumed qdiscs, freed transmitted packets"},
	{SOFTIRQ_NET_RX, "NET_RX", "received packets"},
	{4, "BLOCK", "block devices"},
	{5, "IRQ_POLL", "polled block devices"},
	{6, "TASKLET", "tasklets"},
	{7, "SCHED", "scheduler load balancing"},
	{8, "HRTIMER", "high-resolution timers"},
	{9, "RCU", "RCU callbacks"},
};
static struct enum_names vec_names = {vecs, ARRAY_SIZE(vecs), NULL};

static const struct enum_name results[] = {
	{0, "none", "not for this handler"},
	{1, "handled", NULL},
	{2, "thread", "wakes the handler's thread"},
};
static struct enum_names result_names = {results, ARRAY_SIZE(results), NULL};

#define S struct softirq
static const struct field softirq_fields[] = {
	FIELD(S, vec, ENUM, "softirq", .names = &vec_names),
	FIELD(S, lat_ns, DURATION, "time from raise to start; unknown if the raise was not seen"),
	FIELD(S, run_ns, DURATION, "duration"),
	FIELD(S, packets, COUNT, "NET_RX: packets processed"),
	FIELD(S, squeezed, COUNT, "NET_RX: ended with work left, budget or time used up (time_squeeze)"),
	FIELD(S, dropped, COUNT, "NET_RX: packets dropped at a full backlog since the last run"),
	FIELD(S, backlog, COUNT, "NET_RX: packets in the backlog of the CPU at the start"),
};
#undef S

static const struct event_role softirq_roles[] = {
	{.name = "runs", .hooks = {{.programs = {"softirq_raised", "softirq_entered", "softirq_left"}}}},
	{.name = "per-CPU counters",
	 .without = "packets, squeezed, dropped and backlog are unknown",
	 .hooks = {{.programs = {"softirq_find_symbol"}}, {.programs = {"softirq_find_backlog"}}}},
};
EVENT_TYPE(softirq, "softirq", struct softirq, softirq_fields, softirq_roles, "softirq run", .of_host = true);

#define I struct irq
static const struct field irq_fields[] = {
	FIELD(I, irq, ID, "interrupt number"),
	FIELD(I, name, TEXT, "name given by the driver"),
	FIELD(I, vec, ENUM, "network softirq that the handler raised; unknown if it never did", .names = &vec_names),
	FIELD(I, lat_ns, DURATION, "duration of the handler"),
	FIELD(I, result, ENUM, "return value of the handler", .names = &result_names, .hidden = true),
};
#undef I

static const struct event_role irq_roles[] = {
	{.name = "handlers", .hooks = {{.programs = {"irq_entered", "irq_raises", "irq_left"}}}},
};
EVENT_TYPE(irq, "irq", struct irq, irq_fields, irq_roles, "handled interrupt", .of_host = true);

#define N struct napi_poll
static const struct field poll_fields[] = {
	FIELD(N, dev, TEXT, "interface; (backlog): per-CPU backlog of loopback and virtual interfaces"),
	FIELD(N, napi_id, ID, "NAPI instance", .zero_is_unknown = true, .hidden = true),
	FIELD(N, packets, COUNT, "packets processed"),
	FIELD(N, budget, COUNT, "budget of the poll", .hidden = true),
	FIELD(N, lat_ns, DURATION, "time from NAPI schedule to poll"),
	FIELD(N, run_ns, DURATION, "duration of the poll"),
};
#undef N

static const struct event_role poll_roles[] = {
	{.name = "polls",
	 .hooks = {{.programs = {"napi_poll_raised", "napi_poll_entered", "napi_poll_left", "napi_poll_done"}}}},
	{.name = "NAPI schedule",
	 .without = "the latency is known only for the first poll in each softirq",
	 .hooks = {{.programs = {"napi_poll_schedule", "napi_poll_schedule_irqoff"}}}},
};
EVENT_TYPE(napi_poll, "napi.poll", struct napi_poll, poll_fields, poll_roles, "NAPI poll of an interface",
	   .of_netns = true);
