/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

#include "event/core/attach.h"
#include "event/core/decode.h"
#include "event/core/filter.h"
#include "event/core/live_group.h"
#include "event/core/live_private.h"
#include "event/core/missing.h"
#include "event/core/sock_owner.h"
#include "kernel/libbpf_words.h"
#include "kernel/proctext.h"

#define NEEDS_OF_OWNER (EVENT_NEED_OWNER | EVENT_NEED_COMM | EVENT_NEED_CGROUP)

/*
 * Default poll interval of the ring buffer while events arrive; after READ_IDLE_LOOKS empty polls, epoll wakes the
 * reader.
 */
#define READ_INTERVAL_NS UINT64_C(5000000)
#define READ_IDLE_LOOKS  20
/* Events per batch; timers and signals run between batches. */
#define READ_BATCH 65536

static bool needs_owner(const struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (!live->requests[i].event->current && live->requests[i].config.needs & NEEDS_OF_OWNER)
			return true;
	return false;
}

static bool needs_stacks(const struct live *live)
{
	for (unsigned i = 0; i < live->count; i++) {
		uint32_t kernel = live->requests[i].event->frames_at ? 0 : EVENT_NEED_KSTACK;

		if (live->requests[i].config.needs & (kernel | EVENT_NEED_USTACK))
			return true;
	}
	return false;
}

static bool needs_tree(const struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->requests[i].config.by_tree)
			return true;
	return false;
}

static bool needs_cgroups(const struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		if (live->requests[i].config.by_cgroup)
			return true;
	return false;
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

/* name: of the map, after that of the event. */
static bool is_unused(const struct live *live, unsigned request, const char *name)
{
	if (strcmp(name, "_groups") == 0 || strcmp(name, "_fronts") == 0)
		return live->requests[request].config.mode == EVENT_STREAM;
	return strncmp(name, "_found_", strlen("_found_")) == 0 && !hook_plan_has_kprobe(&live->plan, request);
}

/* Maps of events that no request names are not created; maps without an event's name are shared. */
static bool is_unwanted(const char *map, void *context)
{
	const struct live *live = context;
	const struct event *longest = NULL;

	if (strcmp(map, "event_stacks") == 0)
		return !needs_stacks(live);
	if (strcmp(map, "event_tree") == 0)
		return !needs_tree(live);
	if (strcmp(map, "event_cgroups") == 0)
		return !needs_cgroups(live);
	registry_each(event, event) {
		size_t n = strlen((*event)->bpf);

		if (strncmp(map, (*event)->bpf, n) == 0 && map[n] == '_' && (!longest || n > strlen(longest->bpf)))
			longest = *event;
	}
	if (!longest)
		return false;
	for (unsigned i = 0; i < live->count; i++)
		if (live->requests[i].event == longest)
			return is_unused(live, i, map + strlen(longest->bpf));
	return true;
}

static int set_early(struct live *live, const struct event_request *request, struct why *why)
{
	_cleanup_free_ char *name = xasprintf("%s_early", request->event->bpf);
	void *address;
	int r = kernel_object_variable(live->object, name, sizeof(struct event_config), &address);

	if (r < 0)
		return why_set(why, r, "%s: the BPF source has no configuration %s", request->event->name, name);
	event_filter_early(request->event, &request->config, address);
	return 0;
}

/* Bitmap of the 8-byte words after the head, for the bytes begin to end. */
static uint64_t words_of(unsigned begin, unsigned end)
{
	uint64_t words = 0;

	for (unsigned word = max_of(begin, (unsigned)sizeof(struct event_head)) / 8; word < (end + 7) / 8; word++) {
		unsigned bit = word - (unsigned)sizeof(struct event_head) / 8;

		words |= bit < 64 ? UINT64_C(1) << bit : 0;
	}
	return words;
}

/* Streamed events need every word; aggregated ones only keys, values and filter terms. */
static uint64_t wanted_words(const struct event_config *config)
{
	uint64_t words = words_of(config->value_offset, config->value_offset + 8u);

	if (config->mode == EVENT_STREAM)
		return UINT64_MAX;
	for (unsigned i = 0; i < config->key_words; i++)
		words |= words_of(config->key[i].offset, config->key[i].offset + 8u);
	for (unsigned i = 0; i < config->add_count; i++)
		words |= words_of(config->adds[i].offset, config->adds[i].offset + 8u);
	for (unsigned i = 0; i < config->term_count; i++)
		words |= words_of(config->terms[i].offset,
				  config->terms[i].offset +
					  (config->terms[i].form >= EVENT_WORDS ? (unsigned)sizeof(struct addr) : 8u));
	return words;
}

static int set_config(struct live *live, unsigned index, struct why *why)
{
	struct event_request *request = &live->requests[index];
	_cleanup_free_ char *name = xasprintf("%s_config", request->event->bpf);
	void *address;
	int r;

	request->config.id = index;
	request->config.asked = 1;
	request->config.comm_is_padded = live->release >= 5017;
	/* Before 6.2 a tracepoint program could interrupt itself. */
	request->config.alone = live->release >= 6002 && hook_plan_is_alone(&live->plan, index);
	request->config.by_kprobe = hook_plan_has_kprobe(&live->plan, index);
	request->config.brief = request->config.alone && request->config.comm_is_padded &&
				event_key_shorten(request->event, &request->config);
	request->config.wanted = wanted_words(&request->config);
	r = kernel_object_variable(live->object, name, sizeof(request->config), &address);
	if (r < 0)
		return why_set(why, r, "%s: the BPF source has no configuration %s", request->event->name, name);
	memcpy(address, &request->config, sizeof(request->config));
	return request->event->early ? set_early(live, request, why) : 0;
}

static int choose(const struct event_hook *hook _unused_, const char *program, void *context)
{
	struct live *live = context;

	return live_probe_wants(live, program) ? kernel_object_choose(live->object, program, NULL) : 0;
}

/* Whether all that the event needs has a hook left: otherwise the basic object may know nothing of it. */
static bool is_observed(const struct live *live, unsigned index)
{
	if (!hook_object_is_basic())
		return true;
	vec_each(&live->plan.choices, choice)
		if (choice->request == index && !choice->role->without && !hook_choice_get(choice))
			return false;
	return true;
}

int live_open_object(struct live *live, struct why *why)
{
	int r = kernel_object_find(hook_object(), &live->object, why);

	if (r < 0)
		return r;
	hook_plan_settle(&live->plan, live->object);
	r = hook_plan_each(&live->plan, choose, live);
	if (r == 0 && live->with_owner)
		r = kernel_object_choose(live->object, SOCK_OWNER_SEED, why);
	if (r == 0)
		r = kernel_object_open_chosen(live->object, why);
	if (r < 0)
		return r;
	kernel_object_omit_maps(live->object, is_unwanted, live);
	r = kernel_object_size_map(live->object, "event_ring", live->ring_bytes);
	for (unsigned i = 0; r == 0 && i < live->count; i++) {
		if (!is_observed(live, i))
			continue;
		r = set_config(live, i, why);
		if (r == 0)
			r = live_group_prepare(live, i, why);
	}
	return r;
}

int live_attach_now(struct live *live, const struct event_hook *hook, const char *program)
{
	return hook->attach ? hook->attach(live->object, program, &live->why)
			    : kernel_object_attach(live->object, program, &live->why);
}

int live_attach(const struct event_hook *hook, const char *program, void *context)
{
	struct live *live = context;
	int r = hook->late && !live->probing ? live_late_add(live, hook, program)
					     : live_attach_now(live, hook, program);

	if (r < 0)
		snprintf(live->failed, sizeof(live->failed), "%s", program);
	return r;
}

/* One attempt: 0, -EAGAIN if another hook remains to be tried, or a fatal error. */
static int try_once(struct live *live, struct why *why)
{
	int r = live_open_object(live, why);

	if (r < 0)
		return r;
	r = kernel_object_load(live->object, &live->why);
	if (r < 0) {
		snprintf(live->failed, sizeof(live->failed), "%s", libbpf_words_blamed());
	} else {
		r = live_group_begin(live, why);
		if (r < 0)
			return r;
		r = hook_plan_each(&live->plan, live_attach, live);
		if (r == 0)
			return 0;
	}
	if (!hook_plan_refuse(&live->plan, live->failed, live->why.text))
		return why_set(why, r, "%s", live->why.text);
	live->late.count = 0;
	kernel_object_close(take_ptr(live->object));
	live_group_done(live);
	return -EAGAIN;
}

/* Fails if a mandatory role has no hook left. */
static int check_roles(const struct live *live, struct why *why)
{
	vec_each(&live->plan.choices, choice)
		if (!choice->role->without && !hook_choice_get(choice))
			return why_set(why, -ENOTSUP, "%s is not supported on this kernel: %s",
				       live->requests[choice->request].event->name, choice->reason);
	return 0;
}

static int load(struct live *live, struct why *why)
{
	/* Each failure removes one hook. */
	size_t attempts = live->plan.choices.count * EVENT_HOOKS_MAX + 1;

	while (attempts-- > 0) {
		int r = try_once(live, why);

		if (r == 0)
			return check_roles(live, why);
		if (r != -EAGAIN)
			return r;
		/* Stop as soon as success is impossible. */
		r = check_roles(live, why);
		if (r < 0)
			return r;
	}
	return why_set(why, -ENOTSUP, "no hook could be attached");
}

static unsigned kernel_release(void)
{
	struct utsname host;

	return uname(&host) == 0 ? proctext_release(host.release) : 0;
}

/*
 * Loading reads the kernel's BTF three times, megabytes each. A fixed threshold makes malloc return such blocks to the
 * system instead of keeping them.
 */
static void give_back_memory(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

static uint32_t ring_size(uint64_t wanted)
{
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < wanted && size < (uint64_t)1 << 30)
		size *= 2;
	return (uint32_t)size;
}

static void set_clock(struct live *live)
{
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);

	live->boot_to_real_ns = clock_real_ns() - boot_ns;
	/* The two clocks are read at slightly different times, so the offset changes only if the host was suspended. */
	boot_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	if (boot_ns - *live->boot_offset_ns > NSEC_PER_MSEC)
		__atomic_store_n(live->boot_offset_ns, boot_ns, __ATOMIC_RELAXED);
}

static int share_state(struct live *live, struct why *why)
{
	void *address;
	int r = kernel_object_variable(live->object, "event_reader_awake", sizeof(uint32_t), &address);

	live->reader_awake = address;
	if (r == 0)
		r = kernel_object_variable(live->object, "event_boot_offset_ns", sizeof(uint64_t), &address);
	live->boot_offset_ns = address;
	if (r == 0)
		set_clock(live);
	if (r == 0)
		r = kernel_object_variable(live->object, "event_unfollowed", sizeof(uint64_t), &address);
	live->unfollowed = address;
	for (unsigned i = 0; r == 0 && i < live->count; i++) {
		_cleanup_free_ char *name = xasprintf("%s_losses", live->requests[i].event->bpf);

		if (!is_observed(live, i))
			continue;
		r = kernel_object_variable(live->object, name, sizeof(struct event_losses), &address);
		live->losses[i] = address;
	}
	return r < 0 ? why_set(why, r, "the BPF object lacks a variable") : 0;
}

static bool is_in_set(const struct event_role *role, uint8_t set)
{
	return set == EVENT_SET_ALL ? role->set == EVENT_SET_ALL : role->set >= set;
}

static void add_roles(struct live *live, unsigned index)
{
	const struct event_request *request = &live->requests[index];

	for (uint32_t i = 0; i < request->event->role_count; i++) {
		const struct event_role *role = &request->event->roles[i];

		if (is_in_set(role, request->set) && !(request->cheap && role->costly) &&
		    !(request->only_tcp && role->of_datagrams))
			hook_plan_add(&live->plan, index, role, 1);
	}
}

/* Saves a program on the per-packet path if an event learns the owner itself. */
static void add_owner_roles(struct live *live)
{
	bool at_send = false, at_receive = false;

	for (unsigned i = 0; i < live->count; i++) {
		at_send = at_send || live->requests[i].event->learns_at_send;
		at_receive = at_receive || live->requests[i].event->learns_at_receive;
	}
	hook_plan_add(&live->plan, HOOK_OF_OWNER, sock_owner_roles, SOCK_OWNER_SEND);
	if (!at_send)
		hook_plan_add(&live->plan, HOOK_OF_OWNER, &sock_owner_roles[SOCK_OWNER_SEND], 1);
	if (!at_receive)
		hook_plan_add(&live->plan, HOOK_OF_OWNER, &sock_owner_roles[SOCK_OWNER_RECEIVE], 1);
}

int live_open(const struct event_request *requests, unsigned count, const struct live_options *options,
	      struct live **ret_live, struct why *why)
{
	_cleanup_(live_closep) struct live *live = xzalloc(sizeof(*live));
	uint32_t largest = 8;
	int r;

	live->count = count;
	live->requests = xzalloc(count * sizeof(*requests));
	memcpy(live->requests, requests, count * sizeof(*requests));
	live->losses = xzalloc(count * sizeof(*live->losses));
	live->groups = xzalloc(count * sizeof(*live->groups));
	live->finishing = xzalloc(count * sizeof(*live->finishing));
	live->finishes = options->finish;
	live_group_init(live);
	for (unsigned i = 0; i < count; i++)
		largest = max_of(largest, requests[i].event->type->size);
	live->data = xzalloc(largest);
	live_stacks_init(&live->stacks);
	live->ring_bytes = ring_size(options->buffer_bytes ?: LIVE_BUFFER_DEFAULT);
	live->read_ns = options->read_ns ?: READ_INTERVAL_NS;
	live->late_refused = options->late_refused;
	live->groups_later = options->groups_later;
	live->groups_max = options->groups_max ?: LIVE_GROUPS_DEFAULT;
	live->release = kernel_release();
	live->with_owner = needs_owner(live);
	if (live->with_owner)
		add_owner_roles(live);
	if (hook_object_is_basic())
		hook_plan_add(&live->plan, HOOK_OF_OWNER, &sock_number_role, 1);
	if (needs_tree(live))
		hook_plan_add(&live->plan, HOOK_OF_OWNER, &event_tree_role, 1);
	if (needs_cgroups(live))
		hook_plan_add(&live->plan, HOOK_OF_OWNER, &event_cgroup_role, 1);
	for (unsigned i = 0; i < count; i++)
		add_roles(live, i);
	give_back_memory();
	r = event_check_host(why);
	/* Its program at every context switch rests once the loop runs, which a tally does not have. */
	if (r == 0 && !options->probe && !options->groups_later)
		live_hidden_begin(live);
	if (r == 0)
		r = options->probe ? live_probe(live, why) : load(live, why);
	if (r == 0)
		r = share_state(live, why);
	/* The programs are attached already, so no socket is missed. */
	if (r == 0 && live->with_owner && !options->probe)
		r = event_attach_walk(live->object, SOCK_OWNER_SEED, why);
	if (r == 0 && options->cgroup)
		r = live_cgroup_seed(live, options->cgroup, why);
	if (r < 0)
		return r;
	*ret_live = take_ptr(live);
	return 0;
}

void live_close(struct live *live)
{
	if (!live)
		return;
	ring_buffer__free(live->ring);
	live_finishers_end(live, false);
	live_group_done(live);
	first_process_close(live->first);
	kernel_object_close(live->object);
	hook_plan_done(&live->plan);
	vec_done(&live->probed);
	vec_done(&live->late);
	free(live->requests);
	free(live->losses);
	free(live->groups);
	free(live->finishing);
	free(live->data);
	live_stacks_done(&live->stacks);
	free(live);
}

int live_follow(struct live *live, uint32_t pid)
{
	int fd = kernel_object_map_fd(live->object, "event_tree");
	uint8_t yes = 1;

	if (fd < 0)
		return fd;
	return bpf_map_update_elem(fd, &pid, &yes, BPF_ANY) < 0 ? -errno : 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* The ring buffer is mapped read-only: completion needs a copy. */
static void complete(struct live *live, const struct event *event, struct record *record)
{
	if (!event->complete)
		return;
	if (record->parts[EVENT_PART_DATA] != live->data)
		memcpy(live->data, record->parts[EVENT_PART_DATA], event->type->size);
	event->complete(&live->head, live->data);
	record->parts[EVENT_PART_DATA] = live->data;
}

/* False: no room for its stack, so the event is lost. */
static bool take_frames(struct live *live, const struct event *event, const struct record *record)
{
	if (!event->frames_at)
		return true;
	live->head.kstack_id = live_stacks_put(
		&live->stacks, (const void *)((const char *)record->parts[EVENT_PART_DATA] + event->frames_at));
	return live->head.kstack_id != -ENOSPC;
}

static int on_event(void *context, void *data, size_t size)
{
	struct live *live = context;
	struct record record;
	int request = event_decode(live->requests, live->count, &(struct event_bytes){data, size, live->data},
				   &live->head, &record);

	if (request < 0)
		return 0;
	if (live->head.time_ns)
		live->head.time_ns += live->boot_to_real_ns;
	if (!take_frames(live, live->requests[request].event, &record))
		return 0;
	complete(live, live->requests[request].event, &record);
	if (live->finishing[request])
		live->requests[request].event->finisher->event(live->finishing[request], &record);
	else
		live->sink.event(live->sink.context, (unsigned)request, &record);
	return ++live->batch >= READ_BATCH ? -EAGAIN : 0;
}

/* Returns the number of events. */
static unsigned read_ring(struct live *live)
{
	live->batch = 0;
	set_clock(live);
	live_late_look(live);
	(void)ring_buffer__consume(live->ring);
	return live->batch;
}

static void on_look(void *context, uint64_t expirations _unused_)
{
	struct live *live = context;

	live->idle_looks = read_ring(live) > 0 ? 0 : live->idle_looks + 1;
	if (live->idle_looks < READ_IDLE_LOOKS)
		return;
	__atomic_store_n(live->reader_awake, 0, __ATOMIC_SEQ_CST);
	loop_remove(live->loop, take_ptr(live->timer));
	/* Drain events that arrived before the kernel saw the flag. */
	(void)read_ring(live);
}

static void on_wake(void *context, uint32_t events _unused_)
{
	struct live *live = context;

	if (live->timer)
		return;
	__atomic_store_n(live->reader_awake, 1, __ATOMIC_SEQ_CST);
	live->idle_looks = 0;
	if (loop_add_timer(live->loop, live->read_ns, live->read_ns, on_look, live, &live->timer) < 0)
		__atomic_store_n(live->reader_awake, 0, __ATOMIC_SEQ_CST);
	(void)read_ring(live);
}

void live_set_sink(struct live *live, const struct event_sink *sink)
{
	live->sink = *sink;
}

int live_start(struct live *live, struct loop *loop, const struct event_sink *sink, struct why *why)
{
	int map_fd = kernel_object_map_fd(live->object, "event_ring"), r;

	live_set_sink(live, sink);
	live->loop = loop;
	if (map_fd < 0)
		return why_set(why, map_fd, "there is no ring buffer");
	r = live_finishers_begin(live, why);
	if (r < 0)
		return r;
	live->ring = ring_buffer__new(map_fd, on_event, live, NULL);
	if (!live->ring)
		return why_set(why, -errno, "cannot read the ring buffer: %s", strerror(errno));
	live_hidden_watch(live);
	r = loop_add_fd(loop, ring_buffer__epoll_fd(live->ring), EPOLLIN, on_wake, live, NULL);
	return r < 0 ? why_set(why, r, "cannot wait for events: %s", strerror(-r)) : 0;
}

int live_finish(struct live *live, struct why *why)
{
	int r;

	live_finishers_stop(live);
	kernel_object_detach(live->object);
	live_hidden_end(live);
	live_sweep_streams(live);
	while (live->ring && read_ring(live) >= READ_BATCH)
		;
	r = live_collect(live, why);
	live_finishers_end(live, true);
	return r;
}

int live_variable(const struct live *live, const char *name, size_t size, void **ret_address)
{
	return kernel_object_variable(live->object, name, size, ret_address);
}

int live_map(const struct live *live, const char *name)
{
	return kernel_object_map_fd(live->object, name);
}

uint64_t live_real_ns(const struct live *live, uint64_t monotonic_ns)
{
	return monotonic_ns + *live->boot_offset_ns + live->boot_to_real_ns;
}

struct run_sum {
	const struct kernel_object *object;
	uint64_t ns;
};

static int add_run(const struct event_hook *hook _unused_, const char *program, void *context)
{
	struct run_sum *sum = context;

	sum->ns += kernel_object_run_ns(sum->object, program);
	return 0;
}

uint64_t live_run_ns(const struct live *live)
{
	struct run_sum sum = {.object = live->object};

	(void)hook_plan_each(&live->plan, add_run, &sum);
	return sum.ns;
}

/* --- what was lost ------------------------------------------------------------------------------------------------ */

/*
 * One of two twins always runs: a softirq that interrupts one finds the other free, and their tracepoints fire only in
 * process and softirq context. A program that serves several events is counted for the first.
 */
static uint64_t hook_misses(const struct live *live, const struct hook_choice *choice)
{
	const struct event_hook *hook = hook_choice_get(choice);
	uint64_t misses = 0;

	for (unsigned i = 0; !hook->twins && i < EVENT_PROGRAMS_MAX && hook->programs[i]; i++)
		if (hook_plan_is_first(&live->plan, choice, hook->programs[i]))
			misses += kernel_object_misses(live->object, hook->programs[i]);
	return misses;
}

struct event_loss live_loss(const struct live *live, unsigned request)
{
	const struct event_losses *losses = live->losses[request];
	struct event_loss loss = {
		.ring = losses->ring, .groups = losses->groups, .rooms = losses->rooms, .memory = losses->memory};

	vec_each(&live->plan.choices, choice)
		if (choice->request == request && hook_choice_get(choice))
			loss.missed += hook_misses(live, choice);
	/* The event that missed them is unknown. */
	if (request == 0)
		loss.memory += *live->unfollowed;
	if (live->requests[request].event->frames_at)
		loss.groups += live->stacks.lost;
	return loss;
}

const struct hook_plan *live_hooks(const struct live *live)
{
	return &live->plan;
}

unsigned live_read_stack(const void *source, int32_t id, uint64_t *addresses, unsigned max)
{
	const struct live *live = source;
	const struct event_frames *own = live_stacks_get(&live->stacks, id);
	int fd = own ? -1 : kernel_object_map_fd(live->object, "event_stacks");
	uint64_t frames[127] = {};
	unsigned count = 0;

	for (; own && count < min_of(max, own->count); count++)
		addresses[count] = own->addresses[count];
	if (own)
		return count;
	if (id < 0 || fd < 0 || bpf_map_lookup_elem(fd, &id, frames) < 0)
		return 0;
	while (count < min_of(max, (unsigned)ARRAY_SIZE(frames)) && frames[count]) {
		addresses[count] = frames[count];
		count++;
	}
	return count;
}
