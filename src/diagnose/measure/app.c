/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes: stopped, runnable without a CPU, computing, asleep, or blocked in a call on one of their sockets.
 * States are sampled; run and wait times are the scheduler's own counters (schedstat), of the busiest thread.
 */
#include <math.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/app.h"
#include "diagnose/measure/conn.h"
#include "diagnose/measure/endpoint.h"
#include "probe/shortage_tally.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/tunnel.h"
#include "snapshot/proc/cgroup.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

#define M struct app_measures
static const struct field app_fields[] = {
	FIELD(M, pid, ID, "process", .zero_is_unknown = true),
	FIELD(M, comm, TEXT, "its name"),
	FIELD(M, app_threads, COUNT, "number of threads"),
	FIELD(M, app_stopped_share, RATIO, "samples in which it was stopped by a signal or a debugger", .unit = "%"),
	FIELD(M, app_stopped_recent, COUNT, "the same, in the last three windows"),
	FIELD(M, app_dead_share, RATIO, "samples in which it was a zombie", .unit = "%"),
	FIELD(M, app_runnable_share, RATIO, "samples with a thread running or ready to run", .unit = "%"),
	FIELD(M, app_run_share, RATIO, "share of the time on a CPU, busiest thread", .unit = "%"),
	FIELD(M, app_cpu_wait_share, RATIO, "share of the time on a run queue, worst thread", .unit = "%"),
	FIELD(M, app_cpu_delay_ns, DURATION, "mean scheduling delay of a time slice, worst thread"),
	FIELD(M, app_sleep_share, RATIO, "samples in which every thread slept on a timer", .unit = "%"),
	FIELD(M, app_sending_share, RATIO, "samples in which every thread waited in a send call", .unit = "%"),
	FIELD(M, app_fds, COUNT, "open descriptors, in that sample of the last three windows with the fewest free"),
	FIELD(M, app_fd_max, COUNT, "limit of descriptors, in the same sample"),
	FIELD(M, app_fd_share, RATIO, "share of its descriptors in use, in the same sample", .unit = "%"),
	FIELD(M, app_fd_failures, COUNT, "socket() calls that failed with EMFILE in the last three windows"),
	FIELD(M, app_tunnel, BOOL, "it carries the packets of a tunnel (TUN device)"),
	FIELD(M, app_io_wait_count, COUNT, "samples with a thread in uninterruptible sleep"),
	FIELD(M, cgroup, TEXT, "its cgroup"),
	FIELD(M, cgroup_throttled_share, RATIO, "CPU periods in which the cgroup was throttled", .unit = "%"),
	FIELD(M, cgroup_quota, RATIO, "CPU quota of the cgroup, in CPUs"),
	FIELD(M, cgroup_frozen, BOOL, "the cgroup is frozen"),
};
#undef M
RECORD_TYPE(app_measures_type, "measure.app", struct app_measures, app_fields, "measures of a process in a window");

static const struct field use_fields[] = {
	FIELD(struct use_measures, app_reading_share, RATIO,
	      "samples with a thread waiting in a receive call on this socket", .unit = "%"),
	FIELD(struct use_measures, app_writing_share, RATIO,
	      "samples with a thread waiting in a send call on this socket", .unit = "%"),
	FIELD(struct use_measures, app_polling_share, RATIO, "samples with a thread waiting in poll, select or epoll",
	      .unit = "%"),
	FIELD(struct use_measures, app_connecting_share, RATIO,
	      "samples with a thread waiting in connect on this socket", .unit = "%"),
	FIELD(struct use_measures, app_accepting_share, RATIO, "samples with a thread waiting in accept on this socket",
	      .unit = "%"),
	FIELD(struct use_measures, app_elsewhere_share, RATIO,
	      "samples in which no thread waited for this or any polled socket", .unit = "%"),
};
RECORD_TYPE(use_measures_type, "measure.use", struct use_measures, use_fields, "how a process uses a socket");

/* --- what a thread is doing --- */

enum doing { DOING_OTHER, DOING_READ, DOING_WRITE, DOING_POLL, DOING_CONNECT, DOING_ACCEPT, DOING_SLEEP, DOING_KINDS };

/* By name, because numbers differ between architectures. */
static const struct {
	const char *name;
	enum doing doing;
} calls[] = {
	{"read", DOING_READ},         {"readv", DOING_READ},      {"recvfrom", DOING_READ},
	{"recvmsg", DOING_READ},      {"recvmmsg", DOING_READ},   {"splice", DOING_READ},
	{"write", DOING_WRITE},       {"writev", DOING_WRITE},    {"sendto", DOING_WRITE},
	{"sendmsg", DOING_WRITE},     {"sendmmsg", DOING_WRITE},  {"sendfile", DOING_WRITE},
	{"poll", DOING_POLL},         {"ppoll", DOING_POLL},      {"select", DOING_POLL},
	{"pselect6", DOING_POLL},     {"epoll_wait", DOING_POLL}, {"epoll_pwait", DOING_POLL},
	{"epoll_pwait2", DOING_POLL}, {"connect", DOING_CONNECT}, {"accept", DOING_ACCEPT},
	{"accept4", DOING_ACCEPT},    {"nanosleep", DOING_SLEEP}, {"clock_nanosleep", DOING_SLEEP},
};

static enum doing doing_of(uint16_t number)
{
	static uint64_t numbers[ARRAY_SIZE(calls)];
	static bool loaded;

	for (size_t i = 0; !loaded && i < ARRAY_SIZE(calls); i++)
		if (enum_value_find(&syscall_names, calls[i].name, &numbers[i]) < 0)
			numbers[i] = UINT64_MAX;
	loaded = true;
	for (size_t i = 0; number != UINT16_MAX && i < ARRAY_SIZE(calls); i++)
		if (numbers[i] == number)
			return calls[i].doing;
	return DOING_OTHER;
}

/* --- tracks --- */

struct thread_track {
	struct track track;
	bool has_base;
	uint64_t base_run, base_wait, last_run, last_wait, base_slices, last_slices;
	uint64_t base_ns, last_ns;
	uint64_t counted_wait; /* what the kernel had counted at the last sample */
	uint64_t queued_ns;    /* runnable, and has not run since this sample; 0: it has */
	bool was_runnable;     /* at the last sample */
	uint32_t pid;
};

/* Descriptors run out for moments: the sample with the fewest free counts. */
#define RECENT 3

struct descriptors {
	uint32_t used, max; /* 0: unknown */
};

struct app_track {
	struct track track;
	unsigned samples, stopped, dead, runnable, sleeping, sending, io_wait, polling;
	struct process_record last;
	struct descriptors fullest[RECENT];        /* of the last windows, newest first */
	unsigned stops[RECENT];                    /* samples in which it was stopped, likewise */
	uint64_t failures, failures_begin[RECENT]; /* socket() without a descriptor: so far, and at their begin */
	char *cgroup;
	double run_share, wait_share;
	uint64_t delay_ns;
	/* Of the sample at hand. */
	unsigned threads_seen, threads_asleep, threads_sending;
	bool ready, polls, uninterruptible, tunnel;
};

struct use_key {
	uint32_t pid;
	uint32_t fd;
};

/* A socket of a process: samples in which some thread was in such a call on it. */
struct use_track {
	struct track track;
	unsigned doing[DOING_KINDS];
};

struct cgroup_track {
	struct track track;
	bool has_base;
	uint64_t base_periods, base_throttled;
	uint64_t periods, throttled;
	double quota;
	uint8_t frozen;
};

struct app_state {
	struct map cgroups; /* path -> cgroup_track */
	struct map apps;    /* pid -> app_track */
	struct map threads; /* tid -> thread_track */
	struct map uses;    /* use_key -> use_track */
	struct map owners;  /* inode -> use_key, of the last sample */
};

static const struct app_state initial = {
	.cgroups = MAP_INIT(0, sizeof(struct cgroup_track), 100000),
	.apps = MAP_INIT(sizeof(uint32_t), sizeof(struct app_track), 200000),
	.threads = MAP_INIT(sizeof(uint32_t), sizeof(struct thread_track), 1000000),
	.uses = MAP_INIT(sizeof(struct use_key), sizeof(struct use_track), 1000000),
	.owners = MAP_INIT(sizeof(uint32_t), sizeof(struct use_key), 2000000),
};

static bool is_stopped(uint8_t state)
{
	return state == 'T' || state == 't';
}

static bool is_fuller(const struct descriptors *a, const struct descriptors *b)
{
	return a->max > 0 && (b->max == 0 || (uint64_t)a->used * b->max >= (uint64_t)b->used * a->max);
}

static void sample_descriptors(struct app_track *app, const struct process_record *p)
{
	struct descriptors now = {p->fds, p->fd_max};

	if (p->fds != UINT32_MAX && p->fd_max != UINT32_MAX && is_fuller(&now, &app->fullest[0]))
		app->fullest[0] = now;
}

static void sample_process(struct window *window, struct app_state *state, const struct process_record *p)
{
	struct app_track *app = map_put(&state->apps, &p->pid, NULL);

	if (!app) {
		window->lost++;
		return;
	}
	if (track_see(window, &app->track)) {
		struct app_track before = *app;

		*app = (struct app_track){.track = before.track, .cgroup = before.cgroup, .failures = before.failures};
		app->failures_begin[0] = before.failures;
		memcpy(&app->failures_begin[1], &before.failures_begin[0],
		       sizeof(app->failures_begin) - sizeof(app->failures_begin[0]));
		memcpy(&app->fullest[1], &before.fullest[0], sizeof(app->fullest) - sizeof(app->fullest[0]));
		memcpy(&app->stops[1], &before.stops[0], sizeof(app->stops) - sizeof(app->stops[0]));
	}
	app->last = *p;
	sample_descriptors(app, p);
	app->samples++;
	app->stopped += is_stopped(p->process_state);
	app->stops[0] += is_stopped(p->process_state);
	app->dead += p->process_state == 'Z' || p->process_state == 'X';
	app->threads_seen = app->threads_asleep = app->threads_sending = 0;
	app->ready = app->polls = app->uninterruptible = false;
}

/* The kernel counts a wait for a CPU when it ends: one that goes on is added, so that each window has its part. */
static uint64_t waited(struct thread_track *track, const struct thread_record *t, uint64_t now_ns)
{
	bool runnable = t->thread_state == 'R';
	bool stays =
		runnable && track->was_runnable && t->run_ns == track->last_run && t->wait_ns == track->counted_wait;

	track->was_runnable = runnable;
	track->queued_ns = !stays ? 0 : track->queued_ns ? track->queued_ns : track->last_ns;
	track->counted_wait = t->wait_ns;
	if (t->wait_ns == UINT64_MAX)
		return UINT64_MAX;
	return t->wait_ns + (track->queued_ns ? now_ns - track->queued_ns : 0);
}

static void sample_thread_time(struct window *window, struct app_state *state, const struct thread_record *t,
			       uint64_t now_ns)
{
	struct thread_track *track = map_put(&state->threads, &t->tid, NULL);
	bool first;

	if (!track || t->run_ns == UINT64_MAX)
		return;
	first = track_see(window, &track->track);
	/* A reused thread ID starts from zero. */
	if (!track->has_base || track->pid != t->pid)
		*track = (struct thread_track){.track = track->track,
					       .has_base = true,
					       .pid = t->pid,
					       .base_run = t->run_ns,
					       .base_wait = t->wait_ns,
					       .base_slices = t->timeslices,
					       .base_ns = now_ns};
	else if (first) {
		track->base_run = track->last_run;
		track->base_wait = track->last_wait;
		track->base_slices = track->last_slices;
		track->base_ns = track->last_ns;
	}
	track->last_wait = waited(track, t, now_ns);
	track->last_run = t->run_ns;
	track->last_slices = t->timeslices;
	track->last_ns = now_ns;
}

static void sample_thread(struct window *window, struct app_state *state, const struct thread_record *t)
{
	struct app_track *app = map_get(&state->apps, &t->pid);
	enum doing doing = doing_of(t->syscall);

	if (!app)
		return;
	app->threads_seen++;
	app->threads_asleep += doing == DOING_SLEEP && t->thread_state == 'S';
	app->threads_sending += doing == DOING_WRITE && t->thread_state == 'S' && t->syscall_fd != UINT32_MAX;
	app->ready = app->ready || t->thread_state == 'R';
	app->uninterruptible = app->uninterruptible || t->thread_state == 'D';
	app->polls = app->polls || doing == DOING_POLL;
	if (t->syscall_fd != UINT32_MAX && t->thread_state == 'S' && doing != DOING_OTHER && doing != DOING_POLL &&
	    doing != DOING_SLEEP) {
		struct use_key key = {t->pid, t->syscall_fd};
		struct use_track *use = map_put(&state->uses, &key, NULL);

		if (!use)
			return;
		if (track_see(window, &use->track))
			*use = (struct use_track){.track = use->track};
		use->doing[doing]++;
	}
}

static void sample_cgroup(const struct window *window, struct app_state *state, const struct cgroup_record *c)
{
	struct cgroup_track *track = c->cgroup ? map_put(&state->cgroups, c->cgroup, NULL) : NULL;

	if (!track)
		return;
	if (track_see(window, &track->track)) {
		track->base_periods = track->has_base ? track->periods : c->periods;
		track->base_throttled = track->has_base ? track->throttled : c->throttled_periods;
	}
	track->has_base = true;
	track->periods = c->periods;
	track->throttled = c->throttled_periods;
	track->quota = c->quota;
	track->frozen = c->frozen;
}

static void sample_member(struct app_state *state, const struct snapshot *snapshot,
			  const struct cgroup_member_record *member)
{
	struct app_track *app = map_get(&state->apps, &member->pid);
	const struct cgroup_record *groups = snapshot_first(snapshot, &cgroup_type),
				   *end = snapshot_last(snapshot, &cgroup_type);
	const char *path = groups && groups + member->group < end ? groups[member->group].cgroup : NULL;

	/* A process may be moved while we look. */
	if (!app || !path || (app->cgroup && strcmp(app->cgroup, path) == 0))
		return;
	free(app->cgroup);
	app->cgroup = xstrdup(path);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct app_state *state = data;

	snapshot_each(snapshot, cgroup_type, struct cgroup_record, c)
		sample_cgroup(window, state, c);
	snapshot_each(snapshot, process_type, struct process_record, p)
		sample_process(window, state, p);
	snapshot_each(snapshot, thread_type, struct thread_record, t) {
		sample_thread_time(window, state, t, snapshot->begin_boot_ns);
		sample_thread(window, state, t);
	}
	snapshot_each(snapshot, process_type, struct process_record, p) {
		struct app_track *app = map_get(&state->apps, &p->pid);

		if (!app)
			continue;
		app->runnable += app->ready;
		app->polling += app->polls;
		app->io_wait += app->uninterruptible;
		app->sleeping += app->threads_seen > 0 && app->threads_asleep == app->threads_seen;
		app->sending += app->threads_seen > 0 && app->threads_sending == app->threads_seen;
	}
	snapshot_each(snapshot, cgroup_member_type, struct cgroup_member_record, member)
		sample_member(state, snapshot, member);
	snapshot_each(snapshot, shortage_type, struct shortage_record, shortage) {
		struct app_track *app = map_get(&state->apps, &shortage->pid);

		if (app)
			app->failures = shortage->failures;
	}
	snapshot_each(snapshot, tunnel_type, struct tunnel_record, tunnel) {
		struct app_track *app = tunnel->pid ? map_get(&state->apps, &tunnel->pid) : NULL;

		if (app)
			app->tunnel = true;
	}
	map_done(&state->owners);
	snapshot_each(snapshot, owner_type, struct owner_record, o) {
		struct use_key *owner = map_put(&state->owners, &o->inode, NULL);

		/* The first holder stands for all: few sockets are shared, and any holder may serve one. */
		if (owner && owner->pid == 0)
			*owner = (struct use_key){o->pid, o->fd};
	}
}

/* --- measures --- */

static double max_share(double known, uint64_t part_ns, uint64_t span_ns)
{
	if (part_ns == UINT64_MAX || span_ns == 0)
		return known;
	return fmax(isnan(known) ? 0 : known, fmin(1, (double)part_ns / (double)span_ns));
}

static uint64_t delay_of(const struct thread_track *t)
{
	uint64_t wait_ns = delta_between(t->base_wait, t->last_wait),
		 slices = delta_between(t->base_slices, t->last_slices);

	return wait_ns == UINT64_MAX || slices == UINT64_MAX || slices == 0 ? 0 : wait_ns / slices;
}

/* CPU time of the busiest thread, and run-queue delay of the worst one, of each process. */
static void sum_up_threads(const struct window *window, struct app_state *state)
{
	track_each(window, &state->apps, struct app_track, app)
	{
		app->run_share = app->wait_share = NAN;
		app->delay_ns = 0;
	}
	track_each(window, &state->threads, const struct thread_track, t)
	{
		struct app_track *app = map_get(&state->apps, &t->pid);

		if (!app)
			continue;
		app->run_share =
			max_share(app->run_share, delta_between(t->base_run, t->last_run), t->last_ns - t->base_ns);
		app->wait_share =
			max_share(app->wait_share, delta_between(t->base_wait, t->last_wait), t->last_ns - t->base_ns);
		app->delay_ns = max_of(app->delay_ns, delay_of(t));
	}
}

static void measure_cgroup(const struct app_state *state, const struct app_track *app, struct app_measures *m,
			   struct graph *graph)
{
	const struct cgroup_track *track = app->cgroup ? map_get(&state->cgroups, app->cgroup) : NULL;
	uint64_t periods, throttled;
	char *copy;

	m->cgroup_throttled_share = m->cgroup_quota = NAN;
	m->cgroup_frozen = UINT8_MAX;
	if (!track)
		return;
	copy = graph_alloc(graph, strlen(app->cgroup) + 1);
	memcpy(copy, app->cgroup, strlen(app->cgroup));
	m->cgroup = copy;
	periods = delta_between(track->base_periods, track->periods);
	throttled = delta_between(track->base_throttled, track->throttled);
	if (periods != UINT64_MAX && throttled != UINT64_MAX && periods > 0)
		m->cgroup_throttled_share = (double)throttled / (double)periods;
	m->cgroup_quota = track->quota;
	m->cgroup_frozen = track->frozen;
}

static void measure_descriptors(const struct app_track *app, struct app_measures *m)
{
	struct descriptors fullest = {};

	for (unsigned i = 0; i < RECENT; i++)
		if (is_fuller(&app->fullest[i], &fullest))
			fullest = app->fullest[i];
	m->app_fds = fullest.max ? fullest.used : UINT64_MAX;
	m->app_fd_max = fullest.max ? fullest.max : UINT64_MAX;
	m->app_fd_share = fullest.max ? (double)fullest.used / fullest.max : NAN;
	m->app_fd_failures = delta_between(app->failures_begin[RECENT - 1], app->failures);
}

static struct module *app_module(const struct app_state *state, const struct app_track *app, struct graph *graph)
{
	const struct process_record *p = &app->last;
	double n = app->samples;
	char id[32], name[64];
	struct app_measures *m;
	struct module *module;

	snprintf(id, sizeof(id), "app:%u", p->pid);
	snprintf(name, sizeof(name), "%.*s (%u)", (int)sizeof(p->comm), p->comm, p->pid);
	module = graph_module(graph, MODULE_APP, id, name);
	if (module->measures.app)
		return module;
	m = graph_alloc(graph, sizeof(*m));
	m->pid = p->pid;
	memcpy(m->comm, p->comm, sizeof(m->comm));
	m->app_threads = p->threads == UINT32_MAX ? UINT64_MAX : p->threads;
	m->app_stopped_share = app->stopped / n;
	m->app_stopped_recent = 0;
	for (unsigned i = 0; i < RECENT; i++)
		m->app_stopped_recent += app->stops[i];
	m->app_dead_share = app->dead / n;
	m->app_runnable_share = app->runnable / n;
	m->app_sleep_share = app->sleeping / n;
	m->app_sending_share = app->sending / n;
	m->app_io_wait_count = app->io_wait;
	m->app_tunnel = app->tunnel;
	measure_descriptors(app, m);
	measure_cgroup(state, app, m, graph);
	m->app_run_share = app->run_share;
	m->app_cpu_wait_share = app->wait_share;
	m->app_cpu_delay_ns = isnan(app->wait_share) ? UINT64_MAX : app->delay_ns;
	module->measures.app = m;
	if (app->stopped == app->samples)
		module->activity = ACTIVITY_IDLE;
	return module;
}

static const struct use_measures *measure_use(const struct window *window, const struct app_state *state,
					      const struct use_key *owner, const struct app_track *app,
					      struct graph *graph)
{
	const struct use_track *use = map_get(&state->uses, owner);
	struct use_measures *m = graph_alloc(graph, sizeof(*m));
	double n = app->samples;
	bool fresh = use && track_is_current(window, &use->track);

	m->app_polling_share = app->polling / n;
	m->app_reading_share = fresh ? use->doing[DOING_READ] / n : 0;
	m->app_writing_share = fresh ? use->doing[DOING_WRITE] / n : 0;
	m->app_connecting_share = fresh ? use->doing[DOING_CONNECT] / n : 0;
	m->app_accepting_share = fresh ? use->doing[DOING_ACCEPT] / n : 0;
	m->app_elsewhere_share = fmax(0, 1 - m->app_polling_share - m->app_reading_share - m->app_writing_share -
						 m->app_connecting_share - m->app_accepting_share);
	return m;
}

static struct map find_listeners(const struct graph *graph)
{
	struct map listeners = MAP_INIT(sizeof(uint16_t), sizeof(uint64_t), 65536);

	vec_each(&graph->modules, at) {
		const struct listener_measures *own = (*at)->measures.listener;
		uint64_t *inode = own ? map_put(&listeners, &own->lport, NULL) : NULL;

		if (inode)
			*inode = (*at)->inode;
	}
	return listeners;
}

static uint64_t inode_of_listener(const struct module *socket, const struct map *listeners)
{
	const struct conn_measures *own = socket->measures.conn;
	const uint64_t *inode = own && own->state == SOCKET_ESTABLISHED ? map_get(listeners, &own->lport) : NULL;

	return inode ? *inode : 0;
}

/*
 * Adds the owner of a socket and its use of it. A connection that is not accepted yet has
 * no owner, and waits for the owner of the listener.
 */
static void join(const struct window *window, struct app_state *state, struct module *socket,
		 const struct map *listeners, struct graph *graph)
{
	uint32_t inode = (uint32_t)(socket->inode ?: inode_of_listener(socket, listeners));
	const struct use_key *owner = inode ? map_get(&state->owners, &inode) : NULL;
	const struct app_track *app = owner ? map_get(&state->apps, &owner->pid) : NULL;
	struct module *module;

	if (!app || !track_is_current(window, &app->track))
		return;
	module = app_module(state, app, graph);
	socket->measures.use = measure_use(window, state, owner, app, graph);
	socket->measures.app = module->measures.app;
	socket->related[MODULE_APP] = module;
	graph_add_edge(module, socket);
	if (app->cgroup) {
		_cleanup_free_ char *id = xasprintf("cgroup:%s", app->cgroup);
		struct module *cgroup = graph_module(graph, MODULE_CGROUP, id, app->cgroup);

		module->related[MODULE_CGROUP] = socket->related[MODULE_CGROUP] = cgroup;
		graph_add_edge(module, cgroup);
	}
}

/* An application waits when one of its connections does and nothing of it moves. */
static void set_activity(struct graph *graph)
{
	vec_each(&graph->modules, at) {
		struct module *module = *at;
		bool active = false, waiting = false;

		if (module->kind != MODULE_APP || module->activity != ACTIVITY_UNKNOWN)
			continue;
		vec_each(&module->depends_on, below) {
			active = active || (*below)->activity == ACTIVITY_ACTIVE;
			waiting = waiting || (*below)->activity == ACTIVITY_WAITING;
		}
		module->activity = waiting ? ACTIVITY_WAITING : active ? ACTIVITY_ACTIVE : ACTIVITY_IDLE;
	}
}

static void release_app(void *value)
{
	free(((struct app_track *)value)->cgroup);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct app_state *state = data;
	struct map listeners = find_listeners(graph);

	sum_up_threads(window, state);
	/* The vector grows while modules of applications are added. */
	for (size_t i = 0, count = graph->modules.count; i < count; i++)
		if (module_is_socket(graph->modules.items[i]))
			join(window, state, graph->modules.items[i], &listeners, graph);
	map_done(&listeners);
	set_activity(graph);
	track_forget(window, &state->apps, release_app);
	track_forget(window, &state->threads, NULL);
	track_forget(window, &state->uses, NULL);
}

static void release(void *data)
{
	struct app_state *state = data;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->apps, &at, &key, &value))
		release_app(value);
	map_done(&state->cgroups);
	map_done(&state->apps);
	map_done(&state->threads);
	map_done(&state->uses);
	map_done(&state->owners);
}

static const struct measurer app_measurer = {
	.name = "app",
	.stage = MEASURE_APP,
	.needs = MEASURER_NEEDS(&process_type, &thread_type, &owner_type, &cgroup_type, &cgroup_member_type,
				&shortage_type, &tunnel_type),
	.state_size = sizeof(struct app_state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(app_measurer);
