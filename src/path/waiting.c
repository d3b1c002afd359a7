/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/waiting.h"
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

static void set_reader(struct path_way *way, const struct path_read_event *read)
{
	struct event_head *head = &way->event.head;

	head->pid = read->head.pid;
	head->tid = read->head.tid;
	head->uid = read->head.uid;
	head->cgroup_id = read->head.cgroup_id;
	head->cpu = read->head.cpu;
	memcpy(head->comm, read->head.comm, sizeof(head->comm));
	way->event.data.reader = read->info.task.tid;
	way->event.data.hidden |= 1u << PATH_RETURN;
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

		if (done || !path_was_read(way, &read->info)) {
			socket->ways.items[kept++] = *way;
			continue;
		}
		path_step_read(way, &read->info, path_step_before(way, &read->info.task, &waiting->counts),
			       &waiting->counts);
		set_reader(way, read);
		finish(waiting, way, PATH_DELIVERED, fn, context);
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
