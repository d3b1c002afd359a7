/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/cpu/softirq.h"
#include "event/core/event.h"

static const struct enum_name vecs[] = {
	{0, "HI", "urgent tasklets"},
	{1, "TIMER", "timers"},
	{SOFTIRQ_NET_TX, "NET_TX", "queues of interfaces that go on sending, packets that are freed"},
	{SOFTIRQ_NET_RX, "NET_RX", "packets that arrive"},
	{4, "BLOCK", "disks"},
	{5, "IRQ_POLL", "disks that are polled"},
	{6, "TASKLET", "tasklets"},
	{7, "SCHED", "the scheduler's balance"},
	{8, "HRTIMER", "precise timers"},
	{9, "RCU", "memory that nobody reads any more"},
};
static struct enum_names vec_names = {vecs, ARRAY_SIZE(vecs), NULL};

static const struct enum_name results[] = {
	{0, "none", "it was not for this handler"},
	{1, "handled", NULL},
	{2, "thread", "the handler's thread does the rest"},
};
static struct enum_names result_names = {results, ARRAY_SIZE(results), NULL};

#define S struct softirq
static const struct field softirq_fields[] = {
	FIELD(S, vec, ENUM, "which work", .names = &vec_names),
	FIELD(S, lat_ns, DURATION, "from raising it to its beginning; unknown when its raising was not seen"),
	FIELD(S, run_ns, DURATION, "from its beginning to its end"),
	FIELD(S, packets, COUNT, "of NET_RX: packets that it took"),
	FIELD(S, squeezed, COUNT, "of NET_RX: it stopped with work left, for want of budget or time"),
	FIELD(S, dropped, COUNT, "of NET_RX: packets dropped since the last run as the backlog was full"),
	FIELD(S, backlog, COUNT, "of NET_RX: packets that waited in the processor's queue when it began"),
};
#undef S

static const struct event_role softirq_roles[] = {
	{.name = "runs", .hooks = {{.programs = {"softirq_raised", "softirq_entered", "softirq_left"}}}},
	{.name = "the processor's counters",
	 .without = "packets, squeezed, dropped and backlog are not known",
	 .hooks = {{.programs = {"softirq_find_symbol"}}, {.programs = {"softirq_find_backlog"}}}},
};
EVENT_TYPE(softirq, "softirq", struct softirq, softirq_fields, softirq_roles, "deferred work of the kernel was done");

#define I struct irq
static const struct field irq_fields[] = {
	FIELD(I, irq, ID, "number of the interrupt"),
	FIELD(I, name, TEXT, "that its driver gave it"),
	FIELD(I, vec, ENUM, "which work of the network its handler has raised; unknown when it never did",
	      .names = &vec_names),
	FIELD(I, lat_ns, DURATION, "how long its handler took"),
	FIELD(I, result, ENUM, "what its handler said", .names = &result_names, .hidden = true),
};
#undef I

static const struct event_role irq_roles[] = {
	{.name = "handlers", .hooks = {{.programs = {"irq_entered", "irq_raises", "irq_left"}}}},
};
EVENT_TYPE(irq, "irq", struct irq, irq_fields, irq_roles, "an interrupt was handled");

#define N struct napi_poll
static const struct field poll_fields[] = {
	FIELD(N, dev, TEXT, "interface; (backlog) is a processor's queue, by which packets of virtual interfaces come"),
	FIELD(N, napi_id, ID, "which of its queues", .zero_is_unknown = true, .hidden = true),
	FIELD(N, packets, COUNT, "that it gave"),
	FIELD(N, budget, COUNT, "that it was allowed to give", .hidden = true),
	FIELD(N, lat_ns, DURATION, "from asking for the poll to its beginning"),
	FIELD(N, run_ns, DURATION, "how long the poll took"),
};
#undef N

static const struct event_role poll_roles[] = {
	{.name = "polls",
	 .hooks = {{.programs = {"napi_poll_raised", "napi_poll_entered", "napi_poll_left", "napi_poll_done"}}}},
	{.name = "which interface asks",
	 .without = "only of the first poll in each softirq is it known how long it waited",
	 .hooks = {{.programs = {"napi_poll_schedule", "napi_poll_schedule_irqoff"}}}},
};
EVENT_TYPE(napi_poll, "napi.poll", struct napi_poll, poll_fields, poll_roles,
	   "an interface was asked for the packets that arrived");
