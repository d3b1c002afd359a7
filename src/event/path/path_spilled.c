/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/path/path_spilled.h"
#include "base/vec.h"

/* Half a kilobyte each. */
#define WAITING_MAX 131072

struct waiting_socket {
	VEC(struct path_way) ways;
};

void waiting_init(struct waiting *waiting)
{
	*waiting = (struct waiting){.sockets = MAP_INIT(sizeof(uint64_t), sizeof(struct waiting_socket), 0)};
}

void waiting_done(struct waiting *waiting)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&waiting->sockets, &at, &key, &value))
		vec_done(&((struct waiting_socket *)value)->ways);
	map_done(&waiting->sockets);
}

void waiting_add(struct waiting *waiting, const struct event_head *head, const struct path_journey *journey)
{
	struct waiting_socket *socket;
	struct path_way *way;

	if (waiting->count >= WAITING_MAX)
		return;
	socket = map_put(&waiting->sockets, &head->cookie, NULL);
	way = vec_add(&socket->ways);
	/* Until it is over, the total is where the steps end. */
	way->last_ns = journey->total_ns;
	way->event.head = *head;
	way->event.data = *journey;
	waiting->count++;
}

static void finish(struct waiting *waiting, struct path_way *way, uint8_t end, waiting_fn fn, void *context)
{
	struct path_journey *journey = &way->event.data;

	journey->end = end;
	journey->total_ns = 0;
	for (uint8_t i = 0; i < journey->step_count && i < PATH_STEPS_MAX; i++)
		journey->total_ns += journey->steps[i].ns;
	path_add_waits(journey);
	waiting->counts.ended[end]++;
	waiting->count--;
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

/* The data was read, or its socket has ended: what became of it. */
static uint8_t end_one(struct waiting *waiting, struct path_way *way, const struct path_read_event *read)
{
	if (read->head.pid)
		set_owner(&way->event.head, &read->head);
	if (read->end == PATH_CLOSED)
		return path_step_close(way, &read->info, &waiting->counts);
	path_step_read(way, &read->info, path_step_before(way, &read->info.task, &waiting->counts), &waiting->counts);
	way->event.head.cpu = read->head.cpu;
	way->event.data.reader = read->info.task.tid;
	way->event.data.hidden |= 1u << PATH_RETURN;
	return PATH_DELIVERED;
}

void waiting_read(struct waiting *waiting, const struct path_read_event *read, waiting_fn fn, void *context)
{
	struct waiting_socket *socket = map_get(&waiting->sockets, &read->head.cookie);
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
		finish(waiting, way, end_one(waiting, way, read), fn, context);
		done = !read->info.is_tcp;
	}
	socket->ways.count = kept;
	if (kept == 0) {
		vec_done(&socket->ways);
		(void)map_remove(&waiting->sockets, &read->head.cookie);
	}
}

void waiting_end(struct waiting *waiting, waiting_fn fn, void *context)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&waiting->sockets, &at, &key, &value)) {
		struct waiting_socket *socket = value;

		vec_each(&socket->ways, way)
			finish(waiting, way, PATH_UNFINISHED, fn, context);
		vec_done(&socket->ways);
	}
}
