/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that is blocked in a call on a socket: a module between the application and the socket. */
#include "diagnose/measure/thread.h"
#include "diagnose/graph/window.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"

static const struct field thread_fields[] = {
	FIELD(struct thread_measures, pid, ID, "process", .zero_is_unknown = true),
	FIELD(struct thread_measures, tid, ID, "thread", .zero_is_unknown = true),
	FIELD(struct thread_measures, thread_comm, TEXT, "its name"),
	FIELD(struct thread_measures, thread_call, ENUM, "call that it waits in, in the last sample",
	      .names = &syscall_names),
	FIELD(struct thread_measures, thread_blocked_share, RATIO, "samples in which it waited in a call on the socket",
	      .unit = "%"),
};
RECORD_TYPE(thread_measures_type, "measure.thread", struct thread_measures, thread_fields,
	    "measures of a thread that waits on a socket");

static const struct module_scope thread_scope = {.kind = MODULE_THREAD, .parts = {MODULE_PART(thread)}};
MODULE_SCOPE(thread_scope);

struct fd_key {
	uint32_t pid;
	uint32_t fd;
};

/* Of several threads that wait on one socket, the one that was seen last stands for all. */
struct blocked_track {
	struct track track;
	struct thread_record thread;
	unsigned samples;
};

struct state {
	struct map blocked; /* fd_key -> blocked_track */
	struct map owners;  /* inode -> fd_key, of the last sample */
	unsigned samples;
};

static const struct state initial = {
	.blocked = MAP_INIT(sizeof(struct fd_key), sizeof(struct blocked_track), 200000),
	.owners = MAP_INIT(sizeof(uint32_t), sizeof(struct fd_key), 2000000),
};

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	state->samples = window->samples;
	snapshot_each(snapshot, thread_type, const struct thread_record, t) {
		struct fd_key key = {t->pid, t->syscall_fd};
		struct blocked_track *track;

		if (t->syscall_fd == UINT32_MAX || t->thread_state != 'S')
			continue;
		track = map_put(&state->blocked, &key, NULL);
		if (!track) {
			window->lost++;
			continue;
		}
		if (track_see(window, &track->track) || track->thread.tid != t->tid)
			track->samples = 0;
		track->thread = *t;
		track->samples++;
	}
	map_done(&state->owners);
	/* Only sockets that a thread waits on count. */
	snapshot_each(snapshot, owner_type, const struct owner_record, o) {
		struct fd_key key = {o->pid, o->fd};
		const struct blocked_track *track = map_get(&state->blocked, &key);
		struct fd_key *owner = track && track_is_current(window, &track->track)
					       ? map_put(&state->owners, &o->inode, NULL)
					       : NULL;

		if (owner)
			*owner = key;
	}
}

static void join(const struct state *state, struct module *socket, struct graph *graph)
{
	uint32_t inode = (uint32_t)socket->inode;
	const struct fd_key *owner = inode ? map_get(&state->owners, &inode) : NULL;
	const struct blocked_track *track = owner ? map_get(&state->blocked, owner) : NULL;
	struct module *app = socket->related[MODULE_APP], *module;
	struct thread_measures *m;
	char id[48], name[64];

	if (!track || !app || state->samples == 0)
		return;
	snprintf(id, sizeof(id), "thread:%u/%u", track->thread.pid, track->thread.tid);
	snprintf(name, sizeof(name), "%.*s (%u)", (int)sizeof(track->thread.comm), track->thread.comm,
		 track->thread.tid);
	module = graph_module(graph, MODULE_THREAD, id, name);
	m = graph_alloc(graph, sizeof(*m));
	m->pid = track->thread.pid;
	m->tid = track->thread.tid;
	memcpy(m->thread_comm, track->thread.comm, sizeof(m->thread_comm));
	m->thread_call = track->thread.syscall;
	m->thread_blocked_share = min_of((double)track->samples / state->samples, 1.0);
	module->measures.thread = m;
	/* Seldom in the call, it is seen between two others. */
	module->activity = m->thread_blocked_share > 0.5 ? ACTIVITY_WAITING : ACTIVITY_ACTIVE;
	module->related[MODULE_APP] = app;
	socket->related[MODULE_THREAD] = module;
	graph_add_edge(app, module);
	graph_add_edge(module, socket);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	for (size_t i = 0, count = graph->modules.count; i < count; i++)
		if (module_is_socket(graph->modules.items[i]))
			join(state, graph->modules.items[i], graph);
	track_forget(window, &state->blocked, NULL);
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->blocked);
	map_done(&state->owners);
}

static const struct measurer thread_measurer = {
	.name = "thread",
	.stage = MEASURE_PATH, /* after the applications */
	.needs = MEASURER_NEEDS(&thread_type, &owner_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(thread_measurer);
