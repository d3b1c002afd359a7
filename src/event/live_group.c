/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "event/live_group.h"
#include "event/live_private.h"

static uint32_t key_size(const struct event_config *config)
{
	return max_of(config->key_count, 1) * EVENT_KEY_ROOM;
}

static uint32_t value_size(const struct event_config *config)
{
	switch (config->mode) {
	case EVENT_COUNT:
		return sizeof(uint64_t);
	case EVENT_SUM:
		return offsetof(struct event_group, slots) + config->add_count * (uint32_t)sizeof(uint64_t);
	default:
		return sizeof(struct event_group);
	}
}

static int make_map(const struct live *live, const struct event_config *config, struct why *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_HASH, "nest_groups", key_size(config), value_size(config),
				live->groups_max, &options);

	return fd < 0 ? why_set(why, fd, "cannot make a map for groups: %s", strerror(-fd)) : fd;
}

int live_group_prepare(struct live *live, unsigned request, struct why *why)
{
	const struct event_request *of = &live->requests[request];
	_cleanup_free_ char *name = xasprintf("%s_groups", of->event->bpf);
	int fd, r;

	if (of->config.mode == EVENT_STREAM)
		return 0;
	fd = make_map(live, &of->config, why);
	if (fd < 0)
		return fd;
	live->groups[request].fd = fd;
	r = kernel_object_inner_map(live->object, name, fd);
	return r < 0 ? why_set(why, r, "%s: its BPF source has no map %s", of->event->name, name) : 0;
}

void live_group_done(struct live *live)
{
	for (unsigned i = 0; i < live->count; i++) {
		closep(&live->groups[i].fd);
		live->groups[i].fd = -1;
	}
}

/* Puts a map where the programs find it; afterwards none of them uses the one before. */
static int set_map(const struct live *live, unsigned request, int fd)
{
	_cleanup_free_ char *name = xasprintf("%s_groups", live->requests[request].event->bpf);
	int outer = kernel_object_map_fd(live->object, name);
	uint32_t zero = 0;

	if (outer < 0)
		return outer;
	return bpf_map_update_elem(outer, &zero, &fd, BPF_ANY) < 0 ? -errno : 0;
}

int live_group_begin(struct live *live, struct why *why)
{
	for (unsigned i = 0; i < live->count; i++) {
		int r = live->groups[i].fd < 0 ? 0 : set_map(live, i, live->groups[i].fd);

		if (r < 0)
			return why_set(why, r, "cannot begin adding up: %s", strerror(-r));
	}
	return 0;
}

/* One value a processor becomes one for all. */
static struct event_group sum_up(const struct event_config *config, const char *values, int processors)
{
	size_t size = value_size(config), stride = (size + 7) / 8 * 8;
	struct event_group total = {};

	for (int cpu = 0; cpu < processors; cpu++) {
		struct event_group group = {};

		memcpy(&group, values + (size_t)cpu * stride, size);
		total.min = max_of(total.min, group.min);
		total.max = max_of(total.max, group.max);
		total.count += group.count;
		total.sum += group.sum;
		for (unsigned i = 0; i < EVENT_SLOTS_MAX; i++)
			total.slots[i] += group.slots[i];
	}
	return total;
}

void live_group_restore(const struct event_request *request, const char *key, char *event)
{
	const struct event_config *config = &request->config;

	event_clear(request->event, event);
	for (unsigned i = 0; i < config->key_count; i++)
		memcpy(event + config->keys[i].offset, key + i * EVENT_KEY_ROOM, config->keys[i].size);
}

static int hand_out(struct live *live, unsigned index, int fd)
{
	const struct event_request *request = &live->requests[index];
	int processors = libbpf_num_possible_cpus();
	_cleanup_free_ char *values = NULL, *event = xzalloc(event_size(request->event));
	char key[EVENT_KEYS_MAX * EVENT_KEY_ROOM], *before = NULL;

	if (processors < 0)
		return processors;
	values = xzalloc((size_t)processors * sizeof(struct event_group));
	while (bpf_map_get_next_key(fd, before, key) == 0) {
		struct event_group total;
		struct record record = {};

		before = key;
		if (bpf_map_lookup_elem(fd, key, values) < 0)
			continue;
		total = sum_up(&request->config, values, processors);
		if (total.count == 0)
			continue;
		live_group_restore(request, key, event);
		record.parts[EVENT_PART_HEAD] = event;
		record.parts[EVENT_PART_DATA] = event + sizeof(struct event_head);
		live->sink.group(live->sink.context, index, &record, &total);
	}
	return 0;
}

static int collect(struct live *live, unsigned request, struct why *why)
{
	_cleanup_close_ int old = live->groups[request].fd;
	int r, fd;

	if (old < 0)
		return 0;
	fd = make_map(live, &live->requests[request].config, why);
	live->groups[request].fd = fd;
	if (fd < 0)
		return fd;
	r = set_map(live, request, fd);
	if (r == 0)
		r = hand_out(live, request, old);
	return r < 0 ? why_set(why, r, "cannot read what was added up: %s", strerror(-r)) : 0;
}

int live_collect(struct live *live, struct why *why)
{
	for (unsigned i = 0; i < live->count; i++) {
		int r = collect(live, i, why);

		if (r < 0)
			return r;
	}
	return 0;
}
