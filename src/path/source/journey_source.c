/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "event/core/filter.h"
#include "event/path/path_finisher.h"
#include "event/path/path_spilled.h"
#include "path/journey/journey_event.h"
#include "path/source/cost_limit.h"
#include "path/source/journey_source.h"
#include "path/source/stamps.h"
#include "path/source/unfinished.h"
#include "record/expr.h"

#define DIRECTIONS 2
/* With few flows the ring buffer fills slowly, and each poll costs time. */
#define SAMPLED_READ_NS (20 * NSEC_PER_MSEC)

struct direction {
	const struct event *event;
	struct expr *where; /* NULL: everything */
	bool decided;       /* the kernel evaluates all of it, except for journeys that spill */
	const struct path_counts *counts;
};

struct journey_source {
	struct journey_source_options options;
	unsigned count;
	struct direction directions[DIRECTIONS];
	struct event_request requests[DIRECTIONS];
	struct live *live;
	uint32_t *sample;
	journey_fn journey;
	void *context;
	uint64_t reported;
	struct path_spilled spilled;
	struct cost_limit limit;
	struct path_stamps stamps;
	unsigned request; /* of the current event */
	uint32_t sample_at_end;
	/* Set when detaching starts: from then on journeys see fewer and fewer hooks. 0: running. */
	uint64_t end_ns;
	struct path_counts counts;     /* kernel counts at that time */
	struct path_counts afterwards; /* journeys that ended after it and are still valid */
	struct path_counts spoiled;    /* journeys that the program finished after it and that are incomplete */
};

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* The only protocol that the filter admits; 0: several. */
static uint64_t only_protocol(const struct event_config *config)
{
	uint32_t in_clause[EVENT_TERMS_MAX] = {};

	for (uint32_t i = 0; i < config->term_count; i++)
		in_clause[config->terms[i].clause % EVENT_TERMS_MAX]++;
	for (uint32_t i = 0; i < config->term_count; i++) {
		const struct event_term *term = &config->terms[i];

		if (term->offset == offsetof(struct event_head, proto) && term->op == EVENT_EQ &&
		    in_clause[term->clause % EVENT_TERMS_MAX] == 1)
			return term->value[0];
	}
	return 0;
}

/* TCP needs the fewest hooks; a filter on TCP saves one more. */
static uint8_t adapted_set(uint8_t set, uint64_t protocol)
{
	if (protocol && protocol != IPPROTO_TCP)
		return EVENT_SET_ALL;
	return protocol && set == EVENT_SET_FEW ? EVENT_SET_FEWEST : set;
}

static int add_direction(struct journey_source *source, const char *name, struct why *why)
{
	struct direction *direction = &source->directions[source->count];
	struct event_request *request = &source->requests[source->count];
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct shape shape;
	int r;

	direction->event = request->event = event_find(name);
	if (!direction->event)
		return why_set(why, -ENOTSUP, "unknown event %s", name);
	source->count++;
	request->cheap = !source->options.returns;
	request->set = source->options.set;
	request->config.needs = ~(uint32_t)(EVENT_NEED_KSTACK | EVENT_NEED_USTACK);
	request->config.by_tree = source->options.by_tree;
	request->config.by_cgroup = source->options.cgroup != NULL;
	if (!source->options.where)
		return 0;
	shape = event_shape(direction->event);
	r = expr_parse(source->options.where, &shape, &expr, why);
	if (r < 0)
		return r;
	direction->decided = event_filter_add(&request->config, expr);
	request->only_tcp = only_protocol(&request->config) == IPPROTO_TCP;
	request->set = source->options.set = adapted_set(request->set, only_protocol(&request->config));
	direction->where = take_ptr(expr);
	return 0;
}

static int share(struct journey_source *source, struct why *why)
{
	void *address;
	int r = live_variable(source->live, "path_sample", sizeof(uint32_t), &address);

	if (r == 0) {
		source->sample = address;
		/* Off until all hooks are attached. */
		__atomic_store_n(source->sample, UINT32_MAX, __ATOMIC_RELAXED);
	}
	if (r == 0)
		r = live_variable(source->live, "path_rx_spills", sizeof(uint32_t), &address);
	/* Journeys finished here bypass the kernel, which alone knows the followed processes. */
	if (r == 0)
		*(uint32_t *)address = !source->options.by_tree && !source->options.cgroup;
	for (unsigned i = 0; r == 0 && i < source->count; i++) {
		_cleanup_free_ char *name = xasprintf("%s_counts", source->directions[i].event->bpf);

		r = live_variable(source->live, name, sizeof(struct path_counts) * PATH_CPUS_MAX, &address);
		source->directions[i].counts = address;
	}
	return r < 0 ? why_set(why, r, "the BPF object lacks a variable") : 0;
}

int journey_source_open(const struct journey_source_options *options, struct journey_source **ret_source,
			struct why *why)
{
	_cleanup_(journey_source_closep) struct journey_source *source = xzalloc(sizeof(*source));
	struct live_options live = {.buffer_bytes = options->buffer_bytes,
				    .cgroup = options->cgroup,
				    .late_refused = options->late_refused,
				    .read_ns = options->sample > 1 ? SAMPLED_READ_NS : 0};
	bool both = options->rx == options->tx;
	int r = 0;

	source->options = *options;
	path_spilled_init(&source->spilled);
	cost_limit_init(&source->limit);
	path_stamps_init(&source->stamps);
	if (both || options->rx)
		r = add_direction(source, "path.rx", why);
	if (r == 0 && (both || options->tx))
		r = add_direction(source, "path.tx", why);
	if (r == 0)
		r = live_open(source->requests, source->count, &live, &source->live, why);
	if (r == 0)
		r = share(source, why);
	if (r < 0)
		return r;
	*ret_source = take_ptr(source);
	return 0;
}

void journey_source_close(struct journey_source *source)
{
	if (!source)
		return;
	cost_limit_done(&source->limit);
	path_stamps_done(&source->stamps);
	live_close(source->live);
	path_spilled_done(&source->spilled);
	for (unsigned i = 0; i < source->count; i++)
		expr_free(source->directions[i].where);
	free(source);
}

/* --- from an event to a journey ----------------------------------------------------------------------------------- */

static bool is_spoiled(const struct journey_source *source, const struct event_head *head,
		       const struct path_journey *data)
{
	return source->end_ns && path_outlasts(head, data, source->end_ns);
}

static void report(struct journey_source *source, const struct event_head *head, const struct path_journey *data)
{
	struct journey journey;

	journey_from_event(head, data, &journey);
	source->reported++;
	source->journey(source->context, &journey);
}

/* Journeys that ended while hooks were detached count as unfinished and end at end_ns. */
static void report_spoiled(struct journey_source *source, const struct event_head *head,
			   const struct path_journey *data)
{
	struct path_journey cut = *data;

	if (head->time_ns > source->end_ns)
		return;
	unfinished_cut(head, &cut, source->end_ns);
	report(source, head, &cut);
}

/* Spilled journeys bypassed the kernel's filter. */
static void on_waited(void *context, const struct event_head *head, const struct path_journey *data)
{
	struct journey_source *source = context;
	const struct expr *where = source->directions[source->request].where;
	struct record record = {.parts = {[EVENT_PART_HEAD] = head, [EVENT_PART_DATA] = data}};

	if (is_spoiled(source, head, data))
		source->spoiled.ended[data->end]++;
	if (where && !expr_matches(where, &record))
		return;
	if (is_spoiled(source, head, data))
		report_spoiled(source, head, data);
	else
		report(source, head, data);
}

/* Ends are counted whether or not the filter matches. */
static void count_afterwards(struct journey_source *source, const struct event_head *head,
			     const struct path_journey *data)
{
	if (source->end_ns && head->time_ns + data->total_ns > source->end_ns && data->end <= PATH_UNFINISHED)
		source->afterwards.ended[data->end]++;
}

static void on_event(void *context, unsigned request, struct record *record)
{
	struct journey_source *source = context;
	const struct direction *direction = &source->directions[request];
	const struct path_journey *data = record->parts[EVENT_PART_DATA];
	const struct event_head *head = record->parts[EVENT_PART_HEAD];

	source->request = request;
	if (data->end == PATH_SPILLED) {
		path_spilled_add(&source->spilled, head, data);
	} else if (data->end == PATH_READ || data->end == PATH_CLOSED) {
		struct path_read_event read = {.head = *head, .as_journey = *data};

		path_spilled_read(&source->spilled, &read, on_waited, source);
	} else {
		bool passes = direction->decided || !direction->where || expr_matches(direction->where, record);

		if (!is_spoiled(source, head, data)) {
			count_afterwards(source, head, data);
			if (passes)
				report(source, head, data);
		} else if (passes) {
			report_spoiled(source, head, data);
		}
	}
}

static int start_stamps(struct journey_source *source, struct loop *loop, struct why *why)
{
	void *address;
	int r = live_variable(source->live, "path_real_offset_ns", sizeof(uint64_t), &address);

	if (r == 0)
		r = path_stamps_start(&source->stamps, source->options.set == EVENT_SET_SOME, address, loop);
	return r < 0 ? why_set(why, r, "cannot enable receive timestamps: %s", strerror(-r)) : 0;
}

int journey_source_start(struct journey_source *source, struct loop *loop, journey_fn journey, void *context,
			 struct why *why)
{
	struct event_sink sink = {.event = on_event, .context = source};
	int r;

	source->journey = journey;
	source->context = context;
	source->limit.live = source->live;
	source->limit.max = source->options.max_cpu;
	source->limit.sample = source->sample;
	source->limit.least = source->options.least;
	r = live_start(source->live, loop, &sink, why);
	if (r == 0 && cost_limit_start(&source->limit, loop) < 0)
		r = why_set(why, -ENOMEM, "cannot measure the cost of tracing");
	if (r == 0 && source->options.set != EVENT_SET_ALL)
		r = start_stamps(source, loop, why);
	__atomic_store_n(source->sample, source->options.sample, __ATOMIC_RELAXED);
	return r;
}

int journey_source_follow(struct journey_source *source, uint32_t pid)
{
	return live_follow(source->live, pid);
}

/* --- what became of packets --------------------------------------------------------------------------------------- */

static void add_counts(struct path_counts *sum, const struct path_counts *counts)
{
	sum->begun += counts->begun;
	for (unsigned i = 0; i <= PATH_UNFINISHED; i++)
		sum->ended[i] += counts->ended[i];
	sum->merged += counts->merged;
	sum->cut += counts->cut;
	sum->clamped += counts->clamped;
}

static struct path_counts kernel_counts(const struct journey_source *source)
{
	struct path_counts sum = {};

	for (unsigned i = 0; i < source->count; i++)
		for (unsigned cpu = 0; cpu < PATH_CPUS_MAX; cpu++)
			add_counts(&sum, &source->directions[i].counts[cpu]);
	return sum;
}

static uint32_t current_sample(const struct journey_source *source)
{
	return source->end_ns ? source->sample_at_end : __atomic_load_n(source->sample, __ATOMIC_RELAXED);
}

struct journey_account journey_source_account(const struct journey_source *source)
{
	struct path_counts sum = source->end_ns ? source->counts : kernel_counts(source);
	struct journey_account account = {
		.reported = source->reported, .sample = max_of(current_sample(source), 1u), .cpu = source->limit.cpu};
	uint64_t ended;

	add_counts(&sum, &source->spilled.counts);
	add_counts(&sum, &source->afterwards);
	account.delivered = sum.ended[PATH_DELIVERED] - source->spoiled.ended[PATH_DELIVERED];
	account.dropped = sum.ended[PATH_DROPPED] - source->spoiled.ended[PATH_DROPPED];
	account.forwarded = sum.ended[PATH_FORWARDED] - source->spoiled.ended[PATH_FORWARDED];
	account.merged = sum.merged;
	account.cut = sum.cut;
	account.clamped = sum.clamped;
	ended = account.delivered + account.dropped + account.forwarded;
	/* With packets in flight, an end may be counted before its start. */
	account.packets = max_of(sum.begun, ended);
	/* What has not ended is in flight or lost. */
	account.unfinished = account.packets - ended;
	return account;
}

/* Only the kernel knows the followed processes and cgroups: their remaining packets are counted, not reported. */
static int report_unfinished(struct journey_source *source, struct why *why)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < source->count; i++) {
		_cleanup_free_ char *pool = xasprintf("%s_pool", source->directions[i].event->bpf);

		source->request = i;
		if (!source->options.by_tree && !source->options.cgroup)
			r = unfinished_read(source->live, pool, on_waited, source);
	}
	return r < 0 ? why_set(why, r, "cannot read unfinished journeys: %s", strerror(-r)) : 0;
}

int journey_source_finish(struct journey_source *source, struct why *why)
{
	int r;

	cost_limit_done(&source->limit);
	/* No journey starts from now on. The order matters: nothing is counted twice. */
	source->sample_at_end = __atomic_exchange_n(source->sample, UINT32_MAX, __ATOMIC_SEQ_CST);
	source->counts = kernel_counts(source);
	source->end_ns = clock_real_ns();
	r = live_finish(source->live, why);
	path_spilled_end(&source->spilled, on_waited, source);
	return r < 0 ? r : report_unfinished(source, why);
}

const struct live *journey_source_live(const struct journey_source *source)
{
	return source->live;
}

bool journey_source_costs_too_much(const struct journey_source *source)
{
	return cost_limit_is_beyond(&source->limit);
}

enum event_set journey_source_set(const struct journey_source *source)
{
	return (enum event_set)source->options.set;
}

struct event_loss journey_source_loss(const struct journey_source *source)
{
	struct event_loss sum = {};

	for (unsigned i = 0; i < source->count; i++) {
		struct event_loss loss = live_loss(source->live, i);

		event_loss_add(&sum, &loss);
	}
	return sum;
}

/* Stages that smaller hook sets do not distinguish. */
#define SOME_HIDDEN                                                                                                    \
	(1u << PATH_IRQ | 1u << PATH_SOFTIRQ | 1u << PATH_GRO | 1u << PATH_BACKLOG | 1u << PATH_WAKEUP |               \
	 1u << PATH_DRIVER | 1u << PATH_COMPLETION)
static const uint32_t set_hidden[] = {
	[EVENT_SET_ALL] = 0,
	[EVENT_SET_SOME] = SOME_HIDDEN,
	[EVENT_SET_FEW] = SOME_HIDDEN | 1u << PATH_IP | 1u << PATH_SNDBUF | 1u << PATH_TCP,
	[EVENT_SET_FEWEST] = SOME_HIDDEN | 1u << PATH_IP | 1u << PATH_TRANSPORT | 1u << PATH_SNDBUF | 1u << PATH_TCP,
};

void journey_source_each_missing(const struct journey_source *source, void (*fn)(const char *what, const char *reason))
{
	const char *last = "";

	vec_each(&live_hooks(source->live)->choices, choice) {
		const struct event_role *role = choice->role;

		if (choice->request >= source->count || !role->without || role->tag || hook_choice_get(choice))
			continue;
		/* Both directions share some roles. */
		if (strcmp(role->without, last) != 0)
			fn(role->without, choice->reason);
		last = role->without;
	}
}

const char *journey_source_hidden_reason(const struct journey_source *source, enum path_stage stage)
{
	if (set_hidden[source->options.set] & 1u << stage)
		return !(SOME_HIDDEN & 1u << stage)
			       ? "traced with --stages some, which also costs flows that are not followed"
			       : "traced with --stages all, which also costs flows that are not followed";
	vec_each(&live_hooks(source->live)->choices, choice) {
		if (choice->role->tag & 1u << stage && !hook_choice_get(choice))
			return choice->reason;
	}
	for (unsigned i = 0; i < source->count; i++)
		for (uint32_t j = 0; j < source->directions[i].event->role_count; j++) {
			const struct event_role *role = &source->directions[i].event->roles[j];

			if (role->tag & 1u << stage && role->costly && source->requests[i].cheap)
				return source->options.set
					       ? "traced with --stages all --return, which slows down every "
						 "system call of the host slightly"
					       : "traced with --return, which slows down every system call of the "
						 "host slightly";
		}
	if (stage == PATH_FILTER)
		return "part of the next stage, unless a filter queues the packet";
	return NULL;
}
