/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/path/path_spilled.h"
#include "base/vec.h"

/* 512 bytes each. */
#define SPILLED_MAX 131072

struct spilled_socket {
	VEC(struct path_way) ways;
};

void path_spilled_init(struct path_spilled *spilled)
{
	*spilled = (struct path_spilled){.sockets = MAP_INIT(sizeof(uint64_t), sizeof(struct spilled_socket), 0)};
}

void path_spilled_done(struct path_spilled *spilled)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&spilled->sockets, &at, &key, &value))
		vec_done(&((struct spilled_socket *)value)->ways);
	map_done(&spilled->sockets);
}

void path_spilled_add(struct path_spilled *spilled, const struct event_head *head, const struct path_journey *journey)
{
	struct spilled_socket *socket;
	struct path_way *way;

	if (spilled->count >= SPILLED_MAX)
		return;
	socket = map_put(&spilled->sockets, &head->cookie, NULL);
	way = vec_add(&socket->ways);
	/* While open, total_ns holds the end of the steps. */
	way->last_ns = journey->total_ns;
	way->event.head = *head;
	way->event.data = *journey;
	spilled->count++;
}

static void finish(struct path_spilled *spilled, struct path_way *way, uint8_t end, path_spilled_fn fn, void *context)
{
	struct path_journey *journey = &way->event.data;

	journey->end = end;
	journey->total_ns = 0;
	for (uint8_t i = 0; i < journey->step_count && i < PATH_STEPS_MAX; i++)
		journey->total_ns += journey->steps[i].ns;
	path_add_waits(journey);
	spilled->counts.ended[end]++;
	spilled->count--;
	fn(context, &way->event.head, journey);
}

static void set_owner(struct event_head *head, const struct event_head *owner)
{
	head->pid = owner->pid;
	head->tid = owner->tid;
	head->uid = owner->uid;
	head->cgroup_id = owner->cgroup_id;
	memcpy(head->comm, owner->comm, sizeof(head->comm));
}

/* Data was read or its socket was closed: returns the end of the journey. */
static uint8_t end_one(struct path_spilled *spilled, struct path_way *way, const struct path_read_event *read)
{
	if (read->head.pid)
		set_owner(&way->event.head, &read->head);
	if (read->end == PATH_CLOSED)
		return path_step_close(way, &read->info, &spilled->counts);
	path_step_read(way, &read->info, path_step_before(way, &read->info.task, &spilled->counts), &spilled->counts);
	way->event.head.cpu = read->head.cpu;
	way->event.data.reader = read->info.task.tid;
	way->event.data.hidden |= 1u << PATH_RETURN;
	return PATH_DELIVERED;
}

void path_spilled_read(struct path_spilled *spilled, const struct path_read_event *read, path_spilled_fn fn,
		       void *context)
{
	struct spilled_socket *socket = map_get(&spilled->sockets, &read->head.cookie);
	size_t kept = 0;
	bool done = false;

	if (!socket)
		return;
	for (size_t i = 0; i < socket->ways.count; i++) {
		struct path_way *way = &socket->ways.items[i];

		if (read->end != PATH_CLOSED && (done || !path_was_read(way, &read->info))) {
			socket->ways.items[kept++] = *way;
			continue;
		}
		finish(spilled, way, end_one(spilled, way, read), fn, context);
		done = !read->info.is_tcp;
	}
	socket->ways.count = kept;
	if (kept == 0) {
		vec_done(&socket->ways);
		(void)map_remove(&spilled->sockets, &read->head.cookie);
	}
}

void path_spilled_end(struct path_spilled *spilled, path_spilled_fn fn, void *context)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&spilled->sockets, &at, &key, &value)) {
		struct spilled_socket *socket = value;

		vec_each(&socket->ways, way)
			finish(spilled, way, PATH_UNFINISHED, fn, context);
		vec_done(&socket->ways);
	}
}
