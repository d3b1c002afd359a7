/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "event/core/live_group.h"
#include "event/core/live_private.h"

#define NO_MAPS ((struct live_group_maps){.groups = -1, .fronts = -1})

static uint32_t key_size(const struct event_config *config)
{
	return EVENT_KEY_STORED(config) * (uint32_t)sizeof(uint64_t);
}

static uint32_t value_size(const struct event_config *config)
{
	switch (config->mode) {
	case EVENT_COUNT:
		return sizeof(uint64_t);
	case EVENT_SUM:
		return offsetof(struct event_group, slots) + config->add_count * (uint32_t)sizeof(uint64_t);
	default:
		return offsetof(struct event_group, slots) +
		       (EVENT_SLOTS_MAX + config->add_count) * (uint32_t)sizeof(uint64_t);
	}
}

static uint32_t front_size(const struct event_config *config)
{
	return (uint32_t)sizeof(struct event_front) + key_size(config) + value_size(config);
}

static void close_maps(struct live_group_maps *maps)
{
	closep(&maps->groups);
	closep(&maps->fronts);
	*maps = NO_MAPS;
}

static int make_maps(const struct live *live, const struct event_config *config, struct live_group_maps *ret_maps,
		     struct why *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	_cleanup_(close_maps) struct live_group_maps maps = NO_MAPS;

	maps.groups = bpf_map_create(BPF_MAP_TYPE_PERCPU_HASH, "nest_groups", key_size(config), value_size(config),
				     live->groups_max, &options);
	if (maps.groups < 0)
		return why_set(why, maps.groups, "cannot create a map for groups: %s", strerror(-maps.groups));
	maps.fronts = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "nest_fronts", sizeof(uint32_t), front_size(config),
				     EVENT_FRONT_SLOTS, NULL);
	if (maps.fronts < 0)
		return why_set(why, maps.fronts, "cannot create the front table of groups: %s", strerror(-maps.fronts));
	*ret_maps = maps;
	maps = NO_MAPS;
	return 0;
}

static int set_inner(struct live *live, const struct event *event, const char *which, int fd)
{
	_cleanup_free_ char *name = xasprintf("%s_%s", event->bpf, which);

	return kernel_object_inner_map(live->object, name, fd);
}

int live_group_prepare(struct live *live, unsigned request, struct why *why)
{
	const struct event_request *of = &live->requests[request];
	struct live_group_maps *maps = &live->groups[request];
	int r;

	if (of->config.mode == EVENT_STREAM)
		return 0;
	r = make_maps(live, &of->config, maps, why);
	if (r < 0)
		return r;
	r = set_inner(live, of->event, "groups", maps->groups);
	if (r == 0)
		r = set_inner(live, of->event, "fronts", maps->fronts);
	return r < 0 ? why_set(why, r, "%s: the BPF source has no map for groups", of->event->name) : 0;
}

void live_group_init(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++)
		live->groups[i] = NO_MAPS;
}

void live_group_done(struct live *live)
{
	worker_join(&live->groups_begin);
	for (unsigned i = 0; i < live->count; i++)
		close_maps(&live->groups[i]);
}

/* Replaces the inner map; afterwards no program uses the old one. */
static int set_map(const struct live *live, unsigned request, const char *which, int fd)
{
	_cleanup_free_ char *name = xasprintf("%s_%s", live->requests[request].event->bpf, which);
	int outer = kernel_object_map_fd(live->object, name);
	uint32_t zero = 0;

	if (outer < 0)
		return outer;
	return bpf_map_update_elem(outer, &zero, &fd, BPF_ANY) < 0 ? -errno : 0;
}

/*
 * An event between the two updates goes to the new front table or the old hash, which is read later: it counts once
 * either way.
 */
static int set_maps(const struct live *live, unsigned request, const struct live_group_maps *maps)
{
	int r = set_map(live, request, "fronts", maps->fronts);

	return r < 0 ? r : set_map(live, request, "groups", maps->groups);
}

static int set_all_maps(const struct live *live)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < live->count; i++)
		r = live->groups[i].groups < 0 ? 0 : set_maps(live, i, &live->groups[i]);
	return r;
}

static void set_in_background(void *context)
{
	struct live *live = context;

	live->groups_error = set_all_maps(live);
}

/* Two grace periods, 10 to 20 ms each. */
#define SET_COST_NS (30 * NSEC_PER_MSEC)

int live_group_begin(struct live *live, struct why *why)
{
	int r = 0;

	if (live->groups_later)
		worker_start(&live->groups_begin, set_in_background, live, SET_COST_NS);
	else
		r = set_all_maps(live);
	return r < 0 ? why_set(why, r, "cannot start aggregation: %s", strerror(-r)) : 0;
}

/* The maps are in use, at the latest now. */
static int wait_for_maps(struct live *live, struct why *why)
{
	worker_join(&live->groups_begin);
	return live->groups_error < 0
		       ? why_set(why, live->groups_error, "cannot start aggregation: %s", strerror(-live->groups_error))
		       : 0;
}

void live_group_restore(const struct event_request *request, const uint64_t *key, char *event)
{
	const struct event_config *config = &request->config;

	event_clear(request->event, event);
	for (unsigned i = 0; i < config->key_words; i++) {
		const struct event_key_word *word = &config->key[i];
		uint64_t value;

		memcpy(&value, event + word->offset, sizeof(value));
		value = (value & ~word->mask) | key[i];
		memcpy(event + word->offset, &value, sizeof(value));
	}
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct reading {
	struct live *live;
	unsigned request;
	int cpus;
	char *values; /* one per CPU */
	char *event;
};

static void hand_out(const struct reading *reading, const uint64_t *key, const struct event_group *group)
{
	struct live *live = reading->live;
	struct record record = {};

	if (group->count == 0)
		return;
	live_group_restore(&live->requests[reading->request], key, reading->event);
	record.parts[EVENT_PART_HEAD] = reading->event;
	record.parts[EVENT_PART_DATA] = reading->event + sizeof(struct event_head);
	live->sink.group(live->sink.context, reading->request, &record, group);
}

/* Sums the per-CPU values. */
static struct event_group sum_up(const struct event_config *config, const char *values, int cpus)
{
	size_t size = value_size(config), stride = (size + 7) / 8 * 8;
	struct event_group total = {};

	for (int cpu = 0; cpu < cpus; cpu++) {
		struct event_group group = {};

		memcpy(&group, values + (size_t)cpu * stride, size);
		total.min = max_of(total.min, group.min);
		total.max = max_of(total.max, group.max);
		total.count += group.count;
		total.sum += group.sum;
		for (unsigned i = 0; i < ARRAY_SIZE(total.slots); i++)
			total.slots[i] += group.slots[i];
	}
	return total;
}

static void read_group(const struct reading *reading, const uint64_t *key, const char *values)
{
	struct event_group total = sum_up(&reading->live->requests[reading->request].config, values, reading->cpus);

	hand_out(reading, key, &total);
}

/* One by one: where the kernel has no batches, or a bucket of the hash is larger than one. */
static void read_groups_singly(const struct reading *reading, int fd)
{
	uint64_t key[EVENT_KEY_WORDS], *before = NULL;

	while (bpf_map_get_next_key(fd, before, key) == 0) {
		before = key;
		if (bpf_map_lookup_elem(fd, key, reading->values) == 0)
			read_group(reading, key, reading->values);
	}
}

/* Groups per system call. */
#define READ_GROUPS 256

static void read_groups(const struct reading *reading, int fd)
{
	const struct event_config *config = &reading->live->requests[reading->request].config;
	size_t key_step = key_size(config), value_step = (size_t)reading->cpus * ((value_size(config) + 7) / 8 * 8);
	_cleanup_free_ char *keys = xzalloc(READ_GROUPS * key_step), *values = xzalloc(READ_GROUPS * value_step);
	uint64_t from = 0, to = 0;
	bool first = true;
	int r = 0;

	while (r == 0) {
		uint32_t count = READ_GROUPS;

		r = bpf_map_lookup_batch(fd, first ? NULL : &from, &to, keys, values, &count, NULL);
		if (r < 0 && r != -ENOENT) {
			if (first)
				read_groups_singly(reading, fd);
			return;
		}
		for (uint32_t i = 0; i < count; i++)
			read_group(reading, (const uint64_t *)(keys + i * key_step), values + i * value_step);
		first = false;
		from = to;
	}
}

/* Each CPU has its own keys; the receiver merges equal ones. */
static void read_front(const struct reading *reading, const char *values)
{
	const struct event_config *config = &reading->live->requests[reading->request].config;
	size_t stride = (front_size(config) + 7) / 8 * 8;

	for (int cpu = 0; cpu < reading->cpus; cpu++) {
		const struct event_front *front = (const void *)(values + (size_t)cpu * stride);
		struct event_group group = {};

		memcpy(&group, front->key + EVENT_KEY_STORED(config), value_size(config));
		hand_out(reading, (const uint64_t *)front->key, &group);
	}
}

/* Linux before 5.13 has no batches for arrays of this kind. */
static void read_fronts(const struct reading *reading, int fd)
{
	const struct event_config *config = &reading->live->requests[reading->request].config;
	size_t step = (size_t)reading->cpus * ((front_size(config) + 7) / 8 * 8);
	_cleanup_free_ char *values = xmalloc(EVENT_FRONT_SLOTS * step);
	uint32_t keys[EVENT_FRONT_SLOTS], count = EVENT_FRONT_SLOTS, next;
	int r = bpf_map_lookup_batch(fd, NULL, &next, keys, values, &count, NULL);

	if (r == 0 || r == -ENOENT) {
		for (uint32_t i = 0; i < count; i++)
			read_front(reading, values + i * step);
		return;
	}
	for (uint32_t place = 0; place < EVENT_FRONT_SLOTS; place++)
		if (bpf_map_lookup_elem(fd, &place, values) == 0)
			read_front(reading, values);
}

static int read_maps(struct live *live, unsigned request, const struct live_group_maps *maps)
{
	const struct event_request *of = &live->requests[request];
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ char *values = NULL, *event = xzalloc(event_size(of->event));
	struct reading reading = {.live = live, .request = request, .cpus = cpus, .event = event};

	if (cpus < 0)
		return cpus;
	reading.values = values = xzalloc((size_t)cpus * (front_size(&of->config) + 8));
	read_fronts(&reading, maps->fronts);
	/* Walking an empty hash map takes 0.1 ms. */
	if (live->losses[request]->beyond)
		read_groups(&reading, maps->groups);
	return 0;
}

static int collect(struct live *live, unsigned request, struct why *why)
{
	_cleanup_(close_maps) struct live_group_maps old = live->groups[request];
	int r;

	if (old.groups < 0)
		return 0;
	live_sweep(live, request);
	live->groups[request] = NO_MAPS;
	r = make_maps(live, &live->requests[request].config, &live->groups[request], why);
	if (r < 0)
		return r;
	r = set_maps(live, request, &live->groups[request]);
	if (r == 0)
		r = read_maps(live, request, &old);
	return r < 0 ? why_set(why, r, "cannot read the aggregates: %s", strerror(-r)) : 0;
}

int live_read(struct live *live, struct why *why)
{
	int r = wait_for_maps(live, why);

	if (r < 0)
		return r;
	for (unsigned i = 0; r == 0 && i < live->count; i++)
		r = live->groups[i].groups < 0 ? 0 : read_maps(live, i, &live->groups[i]);
	return r < 0 ? why_set(why, r, "cannot read the aggregates: %s", strerror(-r)) : 0;
}

int live_collect(struct live *live, struct why *why)
{
	int r = wait_for_maps(live, why);

	for (unsigned i = 0; r == 0 && i < live->count; i++)
		r = collect(live, i, why);
	return r;
}
