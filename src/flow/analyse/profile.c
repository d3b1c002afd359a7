/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/profile.h"

#include <poll.h>

#include "flow/analyse/lateness.h"
#include "flow/trace/digest.h"

/* Sessions among which a thread's delay is shared. */
#define TOUCHED_MAX 4096
/* A poll of this part of a second was a wait, even if it is not known that it could have been. */
#define PATIENT_PART 10000
/* Times that a thread was given a CPU between two looks at its delays, that are counted. */
#define RUNS_MAX 256u
/* A call may have lost its CPU, or have waited, if its own time is at least this part of a second. */
#define LONG_PART 10000
/* What is called after this share of the waits is a part of the loop. */
#define EACH_ROUND 0.9

/* --- one walk over the trace --- */

struct timed_frame {
	uint32_t place;
	uint32_t last; /* place of the previous callee; 0: none */
	uint64_t child_ticks;
	uint64_t child_late_ticks; /* part of it in which the recorder was late */
	uint64_t known_ticks;      /* when the last operation or callee here ended; 0: none did */
	uint64_t cut_ticks;        /* duration of a callee that did not return */
	bool has_operation;        /* here, or in such a callee */
	uint64_t seen_ticks;       /* self time up to the last look at the thread, */
	uint64_t delay_ticks;      /* what of it was scheduling delay, */
	uint64_t cpu_ticks;        /* and CPU time */
};

/* A call whose session is still unknown; calls 0: only a correction of the self time, modulo 2^64. */
struct held_call {
	uint32_t place;
	uint32_t calls;
	uint64_t ticks, self_ticks;
	uint64_t seen_ticks, delay_ticks, cpu_ticks; /* as in timed_frame */
	uint64_t late_ticks;                         /* part of self_ticks in which the recorder was late */
};

/* Per-call figures of a place and group, separate from the rest: those of one session fit into the cache. */
struct hot_figures {
	uint64_t calls, self_ticks, max_ticks;
	uint32_t last_bit; /* bit in profile.seen, plus 1, of the last session here */
};

struct session_state {
	struct turn_segment until; /* all of its segments so far */
	uint64_t calls;
	uint64_t pause_ticks; /* the longest pause, */
	uint32_t pause_calls; /* and calls before it */
	bool has_begun;
};

/* Calls at a place that worked for no session: how many, and how many calls the shortest one made. */
struct idle_work {
	uint64_t times, least_calls;
};

/* Waits in one place for whatever the next operation is about: their time as it was counted. */
struct pending_wait {
	uint32_t place;
	bool is_other; /* something else than the client's socket ended it */
	uint64_t ticks, delay_ticks, cpu_ticks, late_ticks;
};

/* Scheduling delay and CPU time of an open call when a poll in it timed out. */
struct missed_frame {
	uint64_t delay_ticks, cpu_ticks;
};

/* What was last given to epoll with a socket, and when; its descriptor plus 1, 0: unknown. */
struct watched {
	uint64_t data, ticks;
	uint32_t fd;
};

/* Time in operations on a client's socket, at a place and for a session (index in the list). */
struct client_time {
	uint32_t index, place;
	uint64_t ticks;
};

/* Own time at a place, and what of it is in calls that may have waited. */
struct own_time {
	double ticks, long_ticks;
};

struct profiler {
	struct profile *profile;
	struct flow_sessions *s;
	const uint8_t *group_of;
	uint8_t rest_group;
	bool with_seen;
	SPILL(uint32_t) bit_of; /* by index in the list: bit in profile.seen; DEMUX_NONE */
	uint32_t bit;           /* of the open segment's session */
	uint64_t weight;        /* sessions represented by the current thread */
	VEC(struct timed_frame) frames;
	VEC(struct held_call) held;
	bool examines;                    /* waits count as turn.h says; otherwise all of them */
	struct turn_segment segment;      /* the open one */
	VEC(struct pending_wait) pending; /* in the open segment, for whatever the next operation is about */
	/* The last of them, if it timed out, and the open calls at that time. */
	struct turn_wait missed;
	uint64_t missed_end; /* 0: it did not */
	VEC(struct missed_frame) missed_frames;
	uint64_t client_ticks;              /* time of the open segment that waited for the client */
	uint64_t segment_calls;             /* of it, so far */
	uint64_t segments;                  /* number of the open or next one, from 1 on */
	bool is_known;                      /* the open segment's session is known */
	uint8_t group;                      /* of the open segment, once known */
	SPILL(struct session_state) states; /* by number in demux.sessions */
	/* Of sessions served by several threads, which are read one by one: their order is known only at the end. */
	SPILL(struct turn_segment) shared;
	/* Of the thread, as in turn_segment. */
	uint64_t ready_ticks, idle_ticks, polled_ticks, patient_sum, served_ticks;
	uint64_t served_sum, ready_sum, polled_sum;
	uint64_t unknown_ticks;         /* when it last worked for no session, not only in its round */
	uint64_t rounds;                /* waits for all sessions, of all threads */
	SPILL(struct idle_work) idle;   /* by place */
	bool has_taken;                 /* a value, outside of all segments: the next one is for it */
	VEC(struct flow_ready) ready;   /* what it reported */
	SPILL(struct watched) watched;  /* by socket */
	bool is_client_op;              /* the last operation was on a client's socket, */
	bool is_pending_op;             /* or is the last one in `pending` */
	struct profile_delays *delays;  /* NULL: not examined */
	VEC(uint32_t) window;           /* cells with own time since the last look at the thread's delays */
	VEC(struct own_time) own;       /* at all places, at a look */
	VEC(struct client_time) client; /* since the last look */
	uint64_t long_ticks;            /* own time of a call that may have waited */
	bool is_idle_op;                /* the last operation is the one of idle_ticks */
	uint64_t held_delay_ns;         /* of the open segment, whose session is still unknown, */
	uint64_t held_cpu_ns;           /* and its CPU time */
	/* The last operation, if it counts as waiting for the client: some of it may have been for a CPU. */
	struct turn_wait last_wait;
	uint32_t last_index;
	uint64_t delay_ticks;        /* when the thread's delay was last known, */
	uint64_t delay_client_ticks; /* and client_ticks then */
	/* Sessions that the thread worked for since then. */
	VEC(struct touched {
		uint32_t index; /* in the list */
		uint64_t ticks;
	})
	touched;
	/* Predicted place of the next call, or of the first inside: most calls repeat the previous pattern. */
	struct guess {
		uint32_t parent, fn, place;
	} * guesses[2];
	struct hot_figures *hot[PROFILE_GROUPS]; /* by place */
	struct profile_cells *cells;             /* instead of figures; NULL: not requested */
	struct lateness lateness;                /* with cells */
	uint32_t *last_cell;                     /* by place: cell of the last session there, plus 1 */
	uint32_t index;                          /* of the open segment's session in the list, DEMUX_NONE */
	SPILL(uint32_t) dispatchers;             /* by function: place; 0: none so far */
	const uint32_t *fn_of;    /* with cells: the profile's function for each of the trace; NULL: the same */
	const uint64_t *since_ns; /* with cells: profile_view */
	uint64_t now;             /* ticks, end of the current call */
	size_t room;              /* allocated places, of both */
};

static uint8_t group_of_session(const struct profiler *p, uint32_t id)
{
	uint32_t index = flow_sessions_find(p->s, id);

	if (index == DEMUX_NONE)
		return p->rest_group;
	return p->group_of ? p->group_of[index] : 0;
}

/* The longest part of that time in which the recorder was late. */
static inline __attribute__((always_inline)) uint64_t longest_late(const struct profiler *p, uint64_t start,
								   uint64_t end)
{
	return unlikely(end - start >= p->lateness.least_ticks) ? lateness_longest(&p->lateness, start, end) : 0;
}

/* Sessions alternate at a place: duplicate cells are merged at the end. */
static struct profile_cell *cell_at(struct profiler *p, uint32_t place, uint32_t slot)
{
	struct profile_cells *cells = p->cells;
	uint32_t at = p->last_cell[place];

	if (!at || cells->list.items[at - 1].slot != slot) {
		spill_push(&cells->list, (struct profile_cell){.place = place, .slot = (uint16_t)slot});
		spill_trim_at(cells->list.count);
		at = p->last_cell[place] = (uint32_t)cells->list.count;
	}
	return &cells->list.items[at - 1];
}

static void count_in_cell(struct profiler *p, const struct held_call *call)
{
	struct profile_cells *cells = p->cells;
	struct profile_cell *cell;
	uint64_t own;

	if (p->index == DEMUX_NONE || (p->since_ns && flow_ns(p->s->trace, p->now) < p->since_ns[p->index]))
		return;
	cells->own_ticks.items[p->index] += call->self_ticks;
	if (cells->slot_of.items[p->index] == DEMUX_NONE)
		return;
	cell = cell_at(p, call->place, cells->slot_of.items[p->index]);
	cell->calls += call->calls;
	cell->ticks[PROFILE_OWN] += call->self_ticks;
	cell->delay_ticks += call->delay_ticks;
	/* Where the thread's CPU time is not known, it may have computed. */
	cell->late_ticks += p->delay_ticks ? call->late_ticks : 0;
	cell->ticks[PROFILE_CPU] += call->cpu_ticks;
	if (!p->delays->is_known)
		return;
	if (!cell->window_ticks)
		vec_push(&p->window, (uint32_t)(cell - cells->list.items));
	own = call->self_ticks - min_of(call->self_ticks, call->seen_ticks);
	cell->window_ticks += own;
	cell->window_long_ticks += (int64_t)own >= (int64_t)p->long_ticks ? own : 0;
}

/* How early in a session the call is made: the calls of its segment that ended before. */
static void see_order(struct profiler *p, uint8_t group, uint32_t place)
{
	uint64_t before = p->states.items[p->s->list.items[p->index].id].calls + p->segment_calls;

	if (group < 2)
		p->profile->order[group][place] =
			min_of(p->profile->order[group][place], (uint32_t)min_of(before, (uint64_t)UINT32_MAX - 1));
}

static inline void count(struct profiler *p, uint8_t group, const struct held_call *call)
{
	struct hot_figures *f;

	if (group >= PROFILE_GROUPS)
		return;
	if (unlikely(p->cells)) {
		count_in_cell(p, call);
		return;
	}
	f = &p->hot[group][call->place];
	if (p->bit != DEMUX_NONE && f->last_bit != p->bit + 1) {
		p->profile->seen[p->bit / 64][call->place] |= UINT64_C(1) << p->bit % 64;
		f->last_bit = p->bit + 1;
		see_order(p, group, call->place);
	}
	f->calls += p->weight * call->calls;
	f->self_ticks += call->self_ticks * p->weight;
	if (unlikely(call->ticks > f->max_ticks))
		f->max_ticks = call->ticks;
}

/* Who passes a value on does not wait, but its caller. */
static uint32_t waiting_place(const struct profiler *p, const struct turn_wait *wait)
{
	const struct profile_place *places = p->profile->places.items;
	uint32_t caller = places[wait->place].parent;

	return wait->time == PROFILE_OWN && p->cells->is_push[wait->place] && caller && !places[caller].is_dispatcher
		       ? caller
		       : wait->place;
}

static void count_wait_in_cell(struct profiler *p, uint32_t index, const struct turn_wait *wait)
{
	uint32_t slot = p->cells->slot_of.items[index];
	uint64_t ticks = wait->ticks - wait->queue_ticks;

	if (!ticks || p->since_ns)
		return;
	if (slot != DEMUX_NONE) {
		struct profile_cell *cell = cell_at(p, waiting_place(p, wait), slot);

		cell->ticks[wait->time] += ticks;
		cell->late_ticks += wait->time == PROFILE_OWN ? min_of(wait->late_ticks, ticks) : 0;
	}
	if (wait->time == PROFILE_OWN)
		p->cells->own_ticks.items[index] += ticks;
}

static void count_wait(struct profiler *p, uint32_t index, const struct turn_wait *wait)
{
	uint8_t group = p->group_of ? p->group_of[index] : 0;
	struct profile_figures *f;

	if (!wait->place || !wait->ticks)
		return;
	if (p->cells) {
		count_wait_in_cell(p, index, wait);
		return;
	}
	if (p->examines)
		p->profile->spent.items[index] += wait->ticks;
	if (group >= PROFILE_GROUPS)
		return;
	f = &p->profile->places.items[wait->place].group[group];
	f->wait_ticks += wait->ticks * p->weight;
	f->pause_ticks += wait->is_pause ? wait->ticks * p->weight : 0;
	f->waits += (int64_t)wait->ticks > 0 ? p->weight : 0;
}

/* The session goes on with a further segment. */
static void go_on(struct profiler *p, struct session_state *state, const struct turn_segment *segment)
{
	struct turn_wait wait = {};

	if (!state->has_begun) {
		state->until = *segment;
		state->has_begun = true;
		return;
	}
	if (!p->examines)
		count_wait(p, segment->index,
			   &(struct turn_wait){.place = state->until.place,
					       .ticks = segment->start_ticks -
							min_of(segment->start_ticks, state->until.end_ticks)});
	else if (turn_between(&state->until, segment, &wait)) {
		wait.late_ticks =
			longest_late(p, min_of(state->until.end_ticks, segment->start_ticks), segment->start_ticks);
		count_wait(p, segment->index, &wait);
	}
	if (wait.is_pause && wait.ticks > state->pause_ticks) {
		state->pause_ticks = wait.ticks;
		state->pause_calls = segment->calls_before;
	}
	turn_join(&state->until, segment);
}

/* The segment's session is known: assigns its earlier calls to the group. */
static void settle(struct profiler *p, const struct walk *walk)
{
	uint32_t index = flow_sessions_find(p->s, walk->session);

	p->is_known = true;
	p->index = index;
	p->bit = p->with_seen && index != DEMUX_NONE ? p->bit_of.items[index] : DEMUX_NONE;
	p->group = group_of_session(p, walk->session);
	if (p->held_delay_ns + p->held_cpu_ns && index != DEMUX_NONE) {
		p->delays->of.items[index] += p->held_delay_ns;
		p->delays->cpu.items[index] += p->held_cpu_ns;
	}
	p->held_delay_ns = p->held_cpu_ns = 0;
	for (size_t i = 0; i < p->held.count; i++)
		count(p, p->group, &p->held.items[i]);
	p->held.count = 0;
}

/* Grows per-place arrays for a new place. */
static void make_room(struct profiler *p)
{
	size_t room = p->profile->places.count * 2 + 64;

	for (unsigned i = 0; i < 2; i++)
		p->guesses[i] = profile_grown(p->guesses[i], p->room, room, sizeof(*p->guesses[i]));
	for (unsigned i = 0; i < PROFILE_GROUPS; i++)
		p->hot[i] = profile_grown(p->hot[i], p->room, room, sizeof(*p->hot[i]));
	if (p->cells) {
		p->last_cell = profile_grown(p->last_cell, p->room, room, sizeof(*p->last_cell));
		p->cells->is_client = profile_grown(p->cells->is_client, p->room, room, sizeof(*p->cells->is_client));
		p->cells->is_upstream =
			profile_grown(p->cells->is_upstream, p->room, room, sizeof(*p->cells->is_upstream));
		p->cells->is_push = profile_grown(p->cells->is_push, p->room, room, sizeof(*p->cells->is_push));
	}
	if (p->with_seen)
		profile_order_room(p->profile, room);
	p->room = room;
	profile_make_room(p->profile, room);
}

/* Moves the hot figures to the profile. */
static void merge_hot(struct profiler *p)
{
	for (unsigned g = 0; g < PROFILE_GROUPS; g++)
		for (size_t i = 0; i < p->profile->places.count; i++) {
			struct profile_figures *f = &p->profile->places.items[i].group[g];

			f->calls = p->hot[g][i].calls;
			f->self_ticks = p->hot[g][i].self_ticks;
			f->max_ticks = p->hot[g][i].max_ticks;
		}
}

/* Place of a call to this function in the innermost open call. */
static inline __attribute__((always_inline)) uint32_t place_of(struct profiler *p, uint32_t fn)
{
	struct timed_frame *top = p->frames.count ? &p->frames.items[p->frames.count - 1] : NULL;
	uint32_t parent = top ? top->place : 0, last = top ? top->last : 0, place;
	struct guess *guess = last ? &p->guesses[0][last] : &p->guesses[1][parent];

	if (unlikely(p->fn_of))
		fn = p->fn_of[fn];
	if (likely(guess->fn == fn && guess->parent == parent && guess->place))
		return guess->place;
	place = profile_place_at(p->profile, parent, fn);
	if (unlikely(p->profile->places.count > p->room))
		make_room(p);
	p->guesses[!last][last ? last : parent] = (struct guess){parent, fn, place};
	return place;
}

/*
 * Threads do the same work from different beginnings: main in one, a thread's function in others. Where sessions are
 * compared, a dispatcher is one place, and what it calls is the same in all of them.
 */
static uint32_t dispatcher_place(struct profiler *p, uint32_t fn)
{
	uint32_t known = p->fn_of ? p->fn_of[fn] : fn, place;

	if (p->dispatchers.count <= known)
		spill_fill(&p->dispatchers, (size_t)known + 1);
	place = p->dispatchers.items[known];
	if (!place || !p->examines) {
		place = place_of(p, fn);
		p->dispatchers.items[known] = place;
		p->profile->places.items[place].is_dispatcher = true;
	}
	return place;
}

static inline __attribute__((always_inline)) void enter(void *context, const struct walk *walk, uint32_t fn,
							uint64_t ticks)
{
	struct profiler *p = context;
	struct timed_frame frame = {};

	(void)ticks;
	frame.place = unlikely(walk->root == SIZE_MAX) ? dispatcher_place(p, fn) : place_of(p, fn);
	vec_push(&p->frames, frame);
}

/* A call inside a segment has ended: counts for the segment's session, once that is known. */
static inline __attribute__((always_inline)) void count_in_segment(struct profiler *p, const struct walk *walk,
								   const struct held_call *call)
{
	p->segment_calls++;
	if (likely(p->is_known)) {
		count(p, p->group, call);
	} else if (walk->session != DEMUX_NONE) {
		settle(p, walk);
		count(p, p->group, call);
	} else {
		vec_push(&p->held, *call);
	}
}

static inline __attribute__((always_inline)) void leaf(void *context, const struct walk *walk, uint32_t fn,
						       uint64_t start_ticks, uint64_t end_ticks)
{
	struct profiler *p = context;
	uint64_t took = end_ticks - start_ticks;
	struct held_call call = {.calls = 1, .ticks = took, .self_ticks = took};
	struct timed_frame *top;

	call.place = place_of(p, fn);
	call.late_ticks = longest_late(p, start_ticks, end_ticks);
	p->now = end_ticks;
	count_in_segment(p, walk, &call);
	top = &p->frames.items[p->frames.count - 1];
	top->child_ticks += took;
	top->child_late_ticks += call.late_ticks;
	top->known_ticks = end_ticks;
	top->last = call.place;
}

/* Time of the open segment since the thread's delay was last known, without that of the client. */
static uint64_t segment_ticks(const struct profiler *p, const struct walk *walk, uint64_t now)
{
	uint64_t start = max_of(walk->frames.items[walk->root].ticks, p->delay_ticks), took = now - min_of(start, now);

	return took - min_of(took, p->client_ticks - min_of(p->client_ticks, p->delay_client_ticks));
}

/*
 * A call for no session that is known: it may have asked for anything. Unless it is one that the loop makes each time,
 * to look whether there is something to do, and there was nothing.
 */
static void leave_idle(struct profiler *p, uint64_t ticks)
{
	uint32_t place = p->frames.items[p->frames.count - 1].place;
	struct idle_work *work;

	if (p->idle.count <= place)
		spill_fill(&p->idle, p->room);
	work = &p->idle.items[place];
	if (!work->times++ || p->segment_calls < work->least_calls)
		work->least_calls = p->segment_calls;
	if ((double)work->times < EACH_ROUND * (double)p->rounds || p->segment_calls > work->least_calls)
		p->unknown_ticks = ticks;
}

static void leave_segment(struct profiler *p, const struct walk *walk, uint64_t ticks)
{
	struct turn_segment *segment = &p->segment;
	uint32_t index;

	if (!p->is_known)
		settle(p, walk);
	index = flow_sessions_find(p->s, walk->session);
	if (index != DEMUX_NONE) {
		struct session_state *state = &p->states.items[walk->session];
		uint64_t took = ticks - walk->frames.items[walk->root].ticks;

		segment->index = index;
		segment->ready_ticks = p->ready_ticks;
		segment->idle_ticks = p->idle_ticks;
		segment->polled_ticks = p->polled_ticks;
		segment->patient_sum = p->patient_sum;
		segment->served_ticks = p->served_ticks;
		segment->before_sum = p->served_sum;
		segment->served_sum = p->served_sum += took;
		segment->polled_sum = p->polled_sum;
		segment->is_taken |= p->has_taken;
		segment->thread = (uint32_t)walk->thread;
		segment->start_ticks = walk->frames.items[walk->root].ticks;
		segment->end_ticks = ticks;
		if (!segment->place) {
			segment->place = p->frames.items[p->frames.count - 1].place;
			segment->op_ticks = ticks;
		}
		segment->calls_before = (uint32_t)min_of(state->calls, (uint64_t)UINT32_MAX);
		state->calls += p->segment_calls;
		if (p->profile->spent.count)
			p->profile->spent.items[index] += took - min_of(took, p->client_ticks);
		if (p->s->list.items[index].threads > 1)
			spill_push(&p->shared, *segment);
		else
			go_on(p, state, segment);
		p->served_ticks = ticks;
	} else {
		leave_idle(p, ticks);
	}
	p->has_taken = false;
	*segment = (struct turn_segment){};
	p->segments++;
	p->pending.count = p->missed_end = 0;
	/* A delay that comes now is of the last ones. */
	if (p->touched.count == TOUCHED_MAX) {
		p->touched.count /= 2;
		memmove(p->touched.items, p->touched.items + p->touched.count,
			p->touched.count * sizeof(*p->touched.items));
	}
	if (p->delays && p->delays->is_known)
		vec_push(&p->touched, (struct touched){index, segment_ticks(p, walk, ticks)});
	p->client_ticks = p->segment_calls = p->held_delay_ns = p->held_cpu_ns = p->delay_client_ticks = 0;
	p->is_known = false;
	p->bit = DEMUX_NONE;
}

/*
 * A call that never returned. The time after its last operation or callee is unknown: it may have been spent waiting
 * for an idle client until a signal ended the program. Excludes that time, also from the callers.
 */
static void leave_unknown(struct profiler *p, const struct walk *walk, uint64_t ticks)
{
	struct timed_frame *frame = &p->frames.items[p->frames.count - 1];
	uint64_t start = walk->frames.items[walk->frames.count - 1].ticks;
	uint64_t unknown = ticks - min_of(max_of(start, frame->known_ticks) + frame->cut_ticks, ticks);

	frame->child_ticks += unknown;
	frame->child_late_ticks += longest_late(p, ticks - unknown, ticks);
	p->client_ticks += unknown;
	if (walk_at_root(walk))
		return;
	/* What its caller did before is known if it was for this: an operation, no signal handler. */
	frame[-1].cut_ticks = ticks - min_of(start, ticks);
	frame[-1].has_operation |= frame->has_operation;
	frame[-1].known_ticks = frame->has_operation ? start : frame[-1].known_ticks;
}

static inline __attribute__((always_inline)) void leave(void *context, const struct walk *walk, uint64_t ticks)
{
	struct profiler *p = context;
	struct timed_frame frame;
	uint64_t start = walk->frames.items[walk->frames.count - 1].ticks, took = ticks - start;
	uint64_t late = longest_late(p, start, ticks);
	struct held_call call;

	if (unlikely(walk->is_end_unknown) && p->examines && walk->root != SIZE_MAX)
		leave_unknown(p, walk, ticks);
	frame = p->frames.items[p->frames.count - 1];
	call = (struct held_call){
		frame.place,    1, took, took - min_of(took, frame.child_ticks), frame.seen_ticks, frame.delay_ticks,
		frame.cpu_ticks};
	/* That of short callees was not looked up. */
	call.late_ticks = min_of(late - min_of(late, frame.child_late_ticks), call.self_ticks);
	p->now = ticks;
	if (walk->root == SIZE_MAX)
		count(p, p->rest_group, &call);
	else
		count_in_segment(p, walk, &call);
	if (walk->root != SIZE_MAX && walk_at_root(walk))
		leave_segment(p, walk, ticks);
	p->frames.count--;
	if (p->frames.count) {
		p->frames.items[p->frames.count - 1].child_ticks += took;
		p->frames.items[p->frames.count - 1].child_late_ticks += late;
		p->frames.items[p->frames.count - 1].last = frame.place;
		if (likely(!walk->is_end_unknown))
			p->frames.items[p->frames.count - 1].known_ticks = ticks;
	}
}

/* Time inside the innermost call that is not the session's own. */
static void leave_out(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	struct timed_frame *top = &p->frames.items[p->frames.count - 1];

	/* A request that begins with this operation begins at its end. */
	if (walk->frames.items[walk->frames.count - 1].ticks > op->start_ticks)
		return;
	top->child_ticks += op->end_ticks - op->start_ticks;
	top->child_late_ticks += longest_late(p, op->start_ticks, op->end_ticks);
	p->client_ticks += op->end_ticks - op->start_ticks;
}

/*
 * The pending waits were for the client after all: their sum, at the place of the longest. Unless it was something else
 * that the program waited for, to write then.
 */
static struct turn_wait take_pending(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	bool is_write = op->op == FLOW_OP_WRITE || op->op == FLOW_OP_SENDFILE;
	struct turn_wait all = {};
	uint64_t most = 0;

	vec_each(&p->pending, wait) {
		if (is_write && wait->is_other)
			continue;
		count_in_segment(p, walk,
				 &(struct held_call){.place = wait->place,
						     .self_ticks = -wait->ticks,
						     .delay_ticks = -wait->delay_ticks,
						     .late_ticks = -wait->late_ticks,
						     .cpu_ticks = -wait->cpu_ticks});
		all.ticks += wait->ticks;
		if (wait->ticks > most) {
			most = wait->ticks;
			all.place = wait->place;
		}
	}
	p->client_ticks += all.ticks;
	return all;
}

static uint32_t place_now(const struct profiler *p)
{
	return p->frames.count ? p->frames.items[p->frames.count - 1].place : 0;
}

/* On the connection that the session is. */
static bool is_own_client(const struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t index = demux_socket_find(p->s->demux, op->socket);

	return index != DEMUX_NONE && p->s->demux->sockets.items[index].role == DEMUX_SERVED &&
	       (p->s->demux->sessions.items[walk->op_session].socket == index || p->s->demux->by > DEMUX_REQUEST);
}

static void count_client_wait(struct profiler *p, uint32_t index, const struct turn_wait *wait)
{
	count_wait(p, index, wait);
	p->last_wait = *wait;
	p->last_index = index;
}

/* Whether the last wait reported that the socket of this operation can be written to, and nothing else. */
static bool is_reported_writable(const struct profiler *p, const struct flow_operation *op)
{
	uint32_t index = demux_socket_find(p->s->demux, op->socket);

	vec_each(&p->ready, ready)
		if ((ready->data == (uint64_t)op->fd ||
		     (index < p->watched.count && ready->data == p->watched.items[index].data)) &&
		    (ready->events & (POLLIN | POLLOUT)) == POLLOUT)
			return true;
	return false;
}

/* What begins a segment; the waits of the thread were noted before. */
static void see_begin(const struct profiler *p, struct turn_segment *segment, const struct flow_operation *op)
{
	uint32_t index = demux_socket_find(p->s->demux, op->socket);
	uint64_t watched_ticks = index < p->watched.count ? p->watched.items[index].ticks : 0;

	if (segment->first != TURN_NONE)
		return;
	segment->is_writable = is_reported_writable(p, op);
	/* What poll looks at is set before each call, by what ran then: for other sessions, or for nobody known. */
	segment->asked_ticks = watched_ticks ? watched_ticks : p->unknown_ticks;
}

static void note_client_time(struct profiler *p, const struct flow_operation *op, uint32_t place)
{
	struct client_time more = {p->index, place, op->end_ticks - op->start_ticks};
	struct client_time *last = p->client.count ? &p->client.items[p->client.count - 1] : NULL;

	if (last && last->index == more.index && last->place == more.place)
		last->ticks += more.ticks;
	else if (p->delays->is_known && p->index != DEMUX_NONE && p->client.count < TOUCHED_MAX)
		vec_push(&p->client, more);
}

/* In the open segment, which works for this session. */
static void see_in_segment(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t place = place_now(p);
	struct turn_wait wait = {};

	if (!is_own_client(p, walk, op)) {
		turn_other(&p->segment, op, place);
	} else {
		struct turn_wait pending = take_pending(p, walk, op);
		bool counts;

		see_begin(p, &p->segment, op);
		counts = turn_client(&p->segment, op, place, &pending, &wait);
		leave_out(p, walk, op);
		if (!p->is_known)
			settle(p, walk);
		if (p->cells)
			note_client_time(p, op, place);
		if (counts && p->index != DEMUX_NONE)
			count_client_wait(p, p->index, &wait);
	}
	p->pending.count = 0;
}

/* Outside all calls but dispatchers: the operation is the segment. */
static void see_outside(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t index = flow_sessions_find(p->s, walk->op_session), place = place_now(p);
	struct turn_segment segment = {
		.index = index,
		.ready_ticks = p->ready_ticks,
		.idle_ticks = p->idle_ticks,
		.polled_ticks = p->polled_ticks,
		.patient_sum = p->patient_sum,
		.served_ticks = p->served_ticks,
		.before_sum = p->served_sum,
		.served_sum = p->served_sum,
		.polled_sum = p->polled_sum,
		.thread = (uint32_t)walk->thread,
		.start_ticks = op->start_ticks,
		.end_ticks = op->end_ticks,
		.op_ticks = op->end_ticks,
	};
	struct turn_wait wait = {};

	if (index == DEMUX_NONE)
		return;
	see_begin(p, &segment, op);
	if (!is_own_client(p, walk, op))
		turn_other(&segment, op, place);
	else if (turn_client(&segment, op, place, &(struct turn_wait){}, &wait))
		count_client_wait(p, index, &wait);
	p->served_ticks = op->end_ticks;
	if (segment.first == TURN_NONE && !segment.place)
		return;
	/* Its own time was counted, or is the wait before. */
	segment.end_ticks = segment.start_ticks = op->end_ticks;
	segment.start_ticks -= segment.lead_ticks;
	segment.lead_ticks = 0;
	if (p->s->list.items[index].threads > 1)
		spill_push(&p->shared, segment);
	else
		go_on(p, &p->states.items[walk->op_session], &segment);
}

static void add_pending(struct profiler *p, const struct pending_wait *more)
{
	vec_each(&p->pending, wait)
		if (wait->place == more->place && wait->is_other == more->is_other) {
			wait->ticks += more->ticks;
			wait->delay_ticks += more->delay_ticks;
			wait->cpu_ticks += more->cpu_ticks;
			wait->late_ticks += more->late_ticks;
			return;
		}
	vec_push(&p->pending, *more);
}

/*
 * A poll in the same place after a short pause: the program also waits during the pause, in the innermost call that was
 * open all the time.
 */
static void see_pause(struct profiler *p, const struct walk *walk, uint64_t start_ticks)
{
	uint64_t pause = start_ticks - min_of(p->missed_end, start_ticks);
	size_t i = min_of(p->frames.count, p->missed_frames.count);

	while (i > 0 && walk->frames.items[i - 1].ticks >= p->missed_end)
		i--;
	if (!i || i - 1 < walk->root || pause > p->missed.ticks)
		return;
	add_pending(p, &(struct pending_wait){
			       .place = p->frames.items[i - 1].place,
			       .ticks = pause,
			       .delay_ticks =
				       p->frames.items[i - 1].delay_ticks - p->missed_frames.items[i - 1].delay_ticks,
			       .cpu_ticks = p->frames.items[i - 1].cpu_ticks - p->missed_frames.items[i - 1].cpu_ticks,
			       .late_ticks = longest_late(p, p->missed_end, start_ticks)});
}

static void note_missed(struct profiler *p, const struct flow_operation *op, uint32_t place)
{
	p->missed = (struct turn_wait){.place = place, .ticks = op->end_ticks - op->start_ticks};
	p->missed_end =
		op->result == 0 && p->missed.ticks > p->s->trace->ticks_per_second / PATIENT_PART ? op->end_ticks : 0;
	p->missed_frames.count = 0;
	for (size_t i = 0; i < p->frames.count && p->missed_end; i++)
		vec_push(&p->missed_frames,
			 ((struct missed_frame){p->frames.items[i].delay_ticks, p->frames.items[i].cpu_ticks}));
}

/* The wait reported something, but not the client's socket: poll reports descriptors, epoll what it was given. */
static bool is_of_others(const struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t index = walk->session == DEMUX_NONE ? DEMUX_NONE : p->s->demux->sessions.items[walk->session].socket;
	const struct watched *client = index < p->watched.count ? &p->watched.items[index] : NULL;
	bool is_poll = op->fd < 0, is_known = client && (is_poll ? client->fd > 0 : client->ticks > 0);
	struct flow_ready ready;
	uint32_t i = 0;

	for (; is_known && flow_operation_ready(op, i, &ready); i++)
		if (ready.data == (is_poll ? client->fd - UINT64_C(1) : client->data))
			return false;
	return i > 0;
}

/* A wait is for the client if the next operation is on its socket; unless it is known to be for another one. */
static void see_wait(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t index = demux_socket_find(p->s->demux, op->socket), place = place_now(p);

	if (index != DEMUX_NONE && p->s->demux->sockets.items[index].role != DEMUX_SERVED)
		return;
	if (p->missed_end && p->missed.place == place)
		see_pause(p, walk, op->start_ticks);
	add_pending(p, &(struct pending_wait){.place = place,
					      .is_other = is_of_others(p, walk, op),
					      .ticks = op->end_ticks - op->start_ticks,
					      .late_ticks = longest_late(p, op->start_ticks, op->end_ticks)});
	note_missed(p, op, place);
	p->is_pending_op = true;
}

/* What cells know about a place and a session besides time. */
static void note_operation(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t index = walk->op_session == DEMUX_NONE ? DEMUX_NONE : flow_sessions_find(p->s, walk->op_session);
	uint32_t slot = index == DEMUX_NONE ? DEMUX_NONE : p->cells->slot_of.items[index];

	if (index == DEMUX_NONE || !p->frames.count)
		return;
	/* Who only accepts, or registers for polling, hands over: others serve. */
	p->cells->is_client[place_now(p)] |= op->op != FLOW_OP_ACCEPT && op->op != FLOW_OP_WATCH;
	p->cells->is_upstream[place_now(p)] |= !is_own_client(p, walk, op);
	if (slot == DEMUX_NONE)
		return;
	if (!is_own_client(p, walk, op)) {
		cell_at(p, place_now(p), slot)->has_others = true;
		p->cells->wrote_in[slot] = 0;
	} else if (op->op == FLOW_OP_READ) {
		p->cells->reads[slot]++;
	} else if (demux_is_data(op) && op->result > 0) {
		p->cells->answers[slot] += p->cells->wrote_in[slot] != p->segments;
		p->cells->wrote_in[slot] = p->segments;
	}
}

static void note_watch(struct profiler *p, const struct flow_operation *op)
{
	uint32_t index = demux_socket_find(p->s->demux, op->socket);

	if (index == DEMUX_NONE || !op->aux)
		return;
	if (p->watched.count <= index)
		spill_fill(&p->watched, p->s->demux->sockets.count);
	p->watched.items[index].data = op->aux;
	p->watched.items[index].ticks = op->end_ticks;
}

static void note_descriptor(struct profiler *p, const struct flow_operation *op)
{
	uint32_t index = demux_socket_find(p->s->demux, op->socket);

	if (p->watched.count <= index)
		spill_fill(&p->watched, p->s->demux->sockets.count);
	p->watched.items[index].fd = (uint32_t)op->fd + 1;
}

static void examine(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	struct profile_place *place = &p->profile->places.items[place_now(p)];

	if (p->frames.count) {
		p->frames.items[p->frames.count - 1].known_ticks = op->end_ticks;
		p->frames.items[p->frames.count - 1].has_operation = true;
	}
	place->polls |= op->op == FLOW_OP_WAIT;
	place->moves_bytes |= demux_is_data(op);
	p->is_client_op = walk->op_session != DEMUX_NONE && is_own_client(p, walk, op);
	if (p->is_client_op)
		note_descriptor(p, op);
	p->last_wait = (struct turn_wait){};
	p->is_pending_op = false;
	if (op->op != FLOW_OP_WAIT)
		p->missed_end = 0;
	if (p->cells)
		note_operation(p, walk, op);
	p->is_idle_op = op->op == FLOW_OP_WAIT && (walk->root == SIZE_MAX || walk->session == DEMUX_NONE);
	if (op->op == FLOW_OP_WATCH)
		note_watch(p, op);
	if (p->is_idle_op) {
		struct flow_ready ready;

		p->ready.count = 0;
		for (uint32_t i = 0; flow_operation_ready(op, i, &ready); i++)
			vec_push(&p->ready, ready);
		p->polled_ticks = p->ready_ticks;
		p->polled_sum = p->ready_sum;
		p->ready_sum = p->served_sum;
		p->ready_ticks = op->end_ticks;
		p->rounds++;
		p->idle_ticks = op->end_ticks - op->start_ticks;
		/* It may wait, or does. */
		if (op->aux || p->idle_ticks > p->s->trace->ticks_per_second / PATIENT_PART)
			p->patient_sum += p->ready_ticks - p->polled_ticks;
	}
	if (walk->root == SIZE_MAX) {
		if (walk->op_session != DEMUX_NONE && op->op != FLOW_OP_ACCEPT)
			see_outside(p, walk, op);
	} else if (op->op == FLOW_OP_ACCEPT) {
		leave_out(p, walk, op);
		/* A connection arrived: the wait is over. */
		p->pending.count = 0;
	} else if (op->op == FLOW_OP_WAIT) {
		see_wait(p, walk, op);
	} else if (walk->op_session != DEMUX_NONE && walk->op_session == walk->session) {
		see_in_segment(p, walk, op);
	}
}

static void operation(void *context, const struct walk *walk, const struct flow_operation *op)
{
	struct profiler *p = context;

	if (p->examines) {
		examine(p, walk, op);
	} else if (walk->op_session != DEMUX_NONE && p->frames.count) {
		p->segment.place = place_now(p);
		p->segment.op_ticks = op->end_ticks;
	}
}

/* Scheduling delay made the operation longer, not the client or another process. */
static void shorten_wait(struct profiler *p, uint64_t delay_ns)
{
	double ticks = (double)delay_ns / max_of((double)p->s->trace->ns_per_tick, 1.0) * (double)(UINT64_C(1) << 48);

	if (p->is_idle_op) {
		uint64_t part = (uint64_t)min_of(ticks, (double)p->idle_ticks);

		p->idle_ticks -= part;
		p->is_idle_op = false;
	}
	if (!p->last_wait.ticks)
		return;
	p->last_wait.ticks = -(uint64_t)min_of(ticks, (double)p->last_wait.ticks);
	count_wait(p, p->last_index, &p->last_wait);
	p->last_wait = (struct turn_wait){};
}

/* Shares of the own time since the last look. */
struct look_shares {
	double delay, cpu;
};

static void share_time(uint64_t own, const struct look_shares *share, uint64_t *delay_ticks, uint64_t *cpu_ticks)
{
	*delay_ticks += (uint64_t)((double)own * share->delay);
	*cpu_ticks += (uint64_t)((double)own * share->cpu);
}

/* The same at places: CPU time of short calls, and up to a level of long ones; of the rest, this part is delay. */
struct place_shares {
	double cpu, level, delay;
};

/* The part of these ticks that each session of the window, also that of the open segment, was delayed or computed. */
static void share_among_sessions(struct profiler *p, uint64_t open, const struct look_shares *share)
{
	uint64_t delay_ns = 0, cpu_ns = 0;

	vec_each(&p->touched, t)
		if (t->index != DEMUX_NONE)
			share_time(flow_span_ns(p->s->trace, t->ticks), share, &p->delays->of.items[t->index],
				   &p->delays->cpu.items[t->index]);
	share_time(flow_span_ns(p->s->trace, open), share, &delay_ns, &cpu_ns);
	if (!p->is_known) {
		p->held_delay_ns += delay_ns;
		p->held_cpu_ns += cpu_ns;
	} else if (p->index != DEMUX_NONE) {
		p->delays->of.items[p->index] += delay_ns;
		p->delays->cpu.items[p->index] += cpu_ns;
	}
}

/* Self time of an open call since the last look. */
static uint64_t open_own(const struct profiler *p, const struct walk *walk, size_t i, uint64_t now)
{
	const struct timed_frame *frame = &p->frames.items[i];
	uint64_t end = i + 1 < p->frames.count ? walk->frames.items[i + 1].ticks : now;
	uint64_t took = end - min_of(end, walk->frames.items[i].ticks);
	uint64_t own = took - min_of(took, frame->child_ticks);

	return own - min_of(own, frame->seen_ticks);
}

/* A correction may have made it negative. */
static uint64_t held_own(const struct held_call *call)
{
	uint64_t own = call->self_ticks - min_of(call->self_ticks, call->seen_ticks);

	return (int64_t)own > 0 ? own : 0;
}

static uint64_t cell_own(const struct profile_cell *cell)
{
	return (int64_t)cell->window_ticks > 0 ? cell->window_ticks : 0;
}

static struct own_time own_of_call(const struct profiler *p, uint64_t own)
{
	return (struct own_time){(double)own, own >= p->long_ticks ? (double)own : 0};
}

static struct own_time own_of_cell(const struct profile_cell *cell)
{
	uint64_t own = cell_own(cell);

	return (struct own_time){(double)own, (double)min_of(cell->window_long_ticks, own)};
}

/* Own times since the last look, at all places: more than that of the sessions if a poll is the client's. */
static void collect_own(struct profiler *p, const struct walk *walk, size_t root, uint64_t now)
{
	p->own.count = 0;
	vec_each(&p->window, at)
		vec_push(&p->own, own_of_cell(&p->cells->list.items[*at]));
	vec_each(&p->held, call)
		vec_push(&p->own, own_of_call(p, held_own(call)));
	for (size_t i = root; i < p->frames.count; i++)
		vec_push(&p->own, own_of_call(p, open_own(p, walk, i, now)));
}

/* So much of each is used up when all are, each up to the level. */
static double level_of(const struct profiler *p, double ticks)
{
	size_t under = 0, before;
	double level, sum = 0;

	do {
		before = under;
		level = (ticks - sum) / (double)(p->own.count - under);
		sum = 0;
		under = 0;
		vec_each(&p->own, own)
			if (own->long_ticks <= level) {
				sum += own->long_ticks;
				under++;
			}
	} while (under != before && under < p->own.count);
	return level;
}

/*
 * A thread computes in short calls, and loses its CPU, or waits, in few long ones. So short calls have the CPU time;
 * long ones have what is left of it, each up to the same level. The rest is delay, or a wait.
 */
static struct place_shares shares_of_places(const struct profiler *p, double cpu_ticks, double delay_share)
{
	double all = 0, in_long = 0, in_short, rest;
	struct place_shares share = {.cpu = 1, .level = INFINITY};

	vec_each(&p->own, own) {
		all += own->ticks;
		in_long += own->long_ticks;
	}
	in_short = all - in_long;
	if (cpu_ticks < in_short)
		share.cpu = cpu_ticks / in_short;
	if (cpu_ticks < all)
		share.level = level_of(p, max_of(cpu_ticks - in_short, 0.0));
	rest = all - min_of(cpu_ticks, all);
	share.delay = rest > 0 ? min_of(delay_share * all / rest, 1.0) : 0;
	return share;
}

static void share_at_place(struct own_time own, const struct place_shares *share, uint64_t *delay_ticks,
			   uint64_t *cpu_ticks)
{
	double cpu = (own.ticks - own.long_ticks) * share->cpu + min_of(own.long_ticks, share->level);

	*cpu_ticks += (uint64_t)cpu;
	*delay_ticks += (uint64_t)((own.ticks - cpu) * share->delay);
}

/*
 * More CPU time than own time: the thread computed in its operations on clients' sockets, which do not count as its
 * own. They copy bytes; none of that time is a wait for the client.
 */
static void share_among_operations(struct profiler *p, double cpu_ticks)
{
	double all = 0, share;

	vec_each(&p->own, own)
		cpu_ticks -= own->ticks;
	vec_each(&p->client, more)
		all += (double)more->ticks;
	share = all > 0 ? min_of(cpu_ticks / all, 1.0) : 0;
	vec_each(&p->client, more) {
		uint32_t slot = p->cells->slot_of.items[more->index];

		if (share > 0 && slot != DEMUX_NONE)
			cell_at(p, more->place, slot)->ticks[PROFILE_CPU] += (uint64_t)((double)more->ticks * share);
	}
	p->client.count = 0;
}

/* At each place, also in calls that have not returned. */
static void look_at_places(struct profiler *p, const struct walk *walk, uint64_t now, const struct flow_look *look,
			   double delay_share)
{
	size_t root = walk->root == SIZE_MAX ? p->frames.count : walk->root;
	double ticks_per_ns = (double)p->s->trace->ticks_per_second / 1e9;
	struct place_shares share;

	collect_own(p, walk, root, now);
	share_among_operations(p, (double)look->cpu_ns * ticks_per_ns);
	share = shares_of_places(p, (double)look->cpu_ns * ticks_per_ns, delay_share);
	vec_each(&p->window, at) {
		struct profile_cell *cell = &p->cells->list.items[*at];

		share_at_place(own_of_cell(cell), &share, &cell->delay_ticks, &cell->ticks[PROFILE_CPU]);
		cell->window_ticks = cell->window_long_ticks = 0;
	}
	p->window.count = 0;
	vec_each(&p->held, call) {
		uint64_t own = held_own(call);

		share_at_place(own_of_call(p, own), &share, &call->delay_ticks, &call->cpu_ticks);
		call->seen_ticks += own;
	}
	for (size_t i = root; i < p->frames.count; i++) {
		uint64_t own = open_own(p, walk, i, now);

		share_at_place(own_of_call(p, own), &share, &p->frames.items[i].delay_ticks,
			       &p->frames.items[i].cpu_ticks);
		p->frames.items[i].seen_ticks += own;
	}
}

/* The same after a wait: what it adds to the call is part of that wait, and is subtracted if it was for the client. */
static void look_after_wait(struct profiler *p, const struct walk *walk, uint64_t now, const struct flow_look *look,
			    double delay_share)
{
	const struct timed_frame *frame = &p->frames.items[p->frames.count - 1];
	struct pending_wait more = {
		.place = frame->place, .delay_ticks = -frame->delay_ticks, .cpu_ticks = -frame->cpu_ticks};

	look_at_places(p, walk, now, look, delay_share);
	more.delay_ticks += frame->delay_ticks;
	more.cpu_ticks += frame->cpu_ticks;
	add_pending(p, &more);
}

/*
 * A reading of the thread's scheduling delay. The sessions that it served since the last one share the delay, in
 * proportion to their time, which includes it, and its CPU time likewise.
 */
static void delay(void *context, const struct walk *walk, const struct flow_event *event)
{
	struct profiler *p = context;
	bool is_inside = walk->root != SIZE_MAX;
	struct flow_look look = flow_event_look(event);
	bool look_is_idle = event->arg == FLOW_DELAY_OPERATION && (p->is_client_op || !is_inside);
	struct look_shares shares;
	uint64_t open, all;
	double ns;

	if (!p->delays)
		return;
	p->delays->is_known = true;
	p->delays->has_cpu |= look.has_cpu;
	/* The first of a thread is that of its beginning. */
	for (uint32_t i = 0; p->delay_ticks && look.delay_ns && i < min_of(look.runs, RUNS_MAX); i++)
		spill_push(&p->delays->all, (double)look.delay_ns / look.runs);
	open = is_inside ? segment_ticks(p, walk, event->ticks) : 0;
	all = open;
	vec_each(&p->touched, t)
		all += t->ticks;
	ns = max_of((double)flow_span_ns(p->s->trace, all), 1.0);
	shares = (struct look_shares){min_of((double)look.delay_ns / ns, 1.0), min_of((double)look.cpu_ns / ns, 1.0)};
	/* While it waited for its client, or for the next one, no session lost anything. */
	if (look_is_idle) {
		shares.delay = 0;
		shorten_wait(p, look.delay_ns);
	}
	if (p->cells && is_inside && event->arg == FLOW_DELAY_OPERATION && p->is_pending_op)
		look_after_wait(p, walk, event->ticks, &look, shares.delay);
	else if (p->cells)
		look_at_places(p, walk, event->ticks, &look, shares.delay);
	share_among_sessions(p, open, &shares);
	p->touched.count = 0;
	p->delay_ticks = event->ticks;
	p->delay_client_ticks = p->client_ticks;
}

/* A value passed to another thread waits there for its turn. */
static void value(void *context, const struct walk *walk, const struct flow_event *event)
{
	struct profiler *p = context;

	if (event->arg == FLOW_VALUE_POP) {
		p->segment.is_taken |= walk->root != SIZE_MAX && !p->is_known;
		p->has_taken |= walk->root == SIZE_MAX;
	}
	if (event->arg == FLOW_VALUE_PUSH && walk->root != SIZE_MAX) {
		p->segment.place = place_now(p);
		p->segment.op_ticks = event->ticks;
		if (p->cells)
			p->cells->is_push[p->segment.place] = true;
	}
}

static const struct walk_visitor visitor = {
	.enter = enter, .leave = leave, .leaf = leaf, .operation = operation, .value = value, .delay = delay};

static int by_session_and_start(const void *a, const void *b)
{
	const struct turn_segment *one = a, *other = b;

	if (one->index != other->index)
		return one->index < other->index ? -1 : 1;
	return one->start_ticks < other->start_ticks ? -1 : one->start_ticks > other->start_ticks;
}

/* Segments of several threads overlap: the wait starts when all have ended. */
static void count_shared_waits(struct profiler *p)
{
	spill_sort(p->shared.items, p->shared.count, sizeof(*p->shared.items), by_session_and_start);
	for (size_t i = 0; i < p->shared.count; i++) {
		const struct turn_segment *segment = &p->shared.items[i];
		const struct flow_row *row = &p->s->list.items[segment->index];

		p->weight = flow_row_count(p->s, row);
		go_on(p, &p->states.items[row->id], segment);
		spill_trim_at(i);
	}
	spill_done(&p->shared);
}

static void note_pauses(struct profiler *p)
{
	for (size_t i = 0; i < p->s->list.count; i++) {
		const struct session_state *state = &p->states.items[p->s->list.items[i].id];
		uint8_t group = p->group_of ? p->group_of[i] : 0;

		if (group < 2 && state->pause_ticks)
			p->profile->pause_order[group] = max_of(p->profile->pause_order[group], state->pause_calls);
		spill_trim_at(i);
	}
}

/* An open connection waits until the end of the recording. */
static void count_last_waits(struct profiler *p)
{
	for (size_t i = 0; i < p->s->list.count; i++) {
		const struct flow_row *session = &p->s->list.items[i];
		const struct session_state *state = &p->states.items[session->id];
		uint64_t end = p->s->trace->last_ticks;
		struct turn_wait wait = {.place = state->until.place,
					 .ticks = end - min_of(end, state->until.end_ticks)};

		p->weight = flow_row_count(p->s, session);
		if (session->is_open && state->has_begun && (!p->examines || turn_open_end(&state->until, end, &wait)))
			count_wait(p, (uint32_t)i, &wait);
		spill_trim_at(i);
	}
}

static void give_bits(struct profiler *p)
{
	uint32_t used[2] = {};

	spill_fill(&p->bit_of, p->s->list.count);
	if (p->s->trace->summarised)
		p->profile->weights = xzalloc((size_t)2 * PROFILE_SEEN * sizeof(*p->profile->weights));
	for (size_t i = 0; i < p->s->list.count; i++) {
		uint32_t count =
			(uint32_t)min_of(flow_row_count(p->s, &p->s->list.items[i]), (uint64_t)(UINT32_MAX >> 13));
		uint8_t group = p->group_of ? p->group_of[i] : 0;

		p->bit_of.items[i] = DEMUX_NONE;
		spill_trim_at(i);
		if (group >= 2 || used[group] >= PROFILE_SEEN)
			continue;
		p->bit_of.items[i] = group * PROFILE_SEEN + used[group]++;
		if (!p->profile->seen[p->bit_of.items[i] / 64])
			p->profile->seen[p->bit_of.items[i] / 64] = xzalloc(sizeof(uint64_t));
		p->profile->looked_at[group] += count;
		if (p->profile->weights)
			p->profile->weights[p->bit_of.items[i]] = count;
	}
}

static void walk_all(struct profiler *p)
{
	_cleanup_walk_ struct walk walk = {};

	spill_fill(&p->states, p->s->demux->sessions.count);
	make_room(p);
	walk_init(&walk, p->s->demux);
	for (size_t i = 0; i < p->s->trace->thread_count; i++) {
		const struct digest_row *summary = p->s->trace->threads[i].summary;

		p->weight = summary ? summary->count : 1;
		p->touched.count = p->window.count = p->client.count = 0;
		p->delay_ticks = p->delay_client_ticks = 0;
		p->ready_ticks = p->idle_ticks = p->polled_ticks = p->patient_sum = p->served_ticks = p->unknown_ticks =
			0;
		p->served_sum = p->ready_sum = p->polled_sum = 0;
		p->has_taken = false;
		p->ready.count = 0;
		walk_thread(&walk, &visitor, p, i);
	}
}

static void profiler_done(struct profiler *p)
{
	vec_done(&p->frames);
	vec_done(&p->held);
	vec_done(&p->pending);
	vec_done(&p->missed_frames);
	spill_done(&p->states);
	spill_done(&p->shared);
	vec_done(&p->touched);
	vec_done(&p->window);
	vec_done(&p->own);
	vec_done(&p->client);
	vec_done(&p->ready);
	spill_done(&p->watched);
	spill_done(&p->idle);
	for (unsigned i = 0; i < 2; i++)
		free(p->guesses[i]);
	for (unsigned i = 0; i < PROFILE_GROUPS; i++)
		free(p->hot[i]);
	free(p->last_cell);
	spill_done(&p->bit_of);
	spill_done(&p->dispatchers);
}

static struct profile *build(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group,
			     bool with_seen, bool examines)
{
	struct profile *profile = xzalloc(sizeof(*profile));
	struct profiler p = {
		.profile = profile,
		.s = sessions,
		.group_of = group_of,
		.rest_group = rest_group,
		.with_seen = with_seen,
		.examines = examines,
		.lateness.least_ticks = UINT64_MAX,
		.bit = DEMUX_NONE,
	};

	profile->trace = sessions->trace;
	profile_init(profile);
	if (with_seen)
		give_bits(&p);
	if (examines) {
		spill_fill(&profile->spent, sessions->list.count + 1);
		spill_fill(&profile->delays.of, sessions->list.count + 1);
		spill_fill(&profile->delays.cpu, sessions->list.count + 1);
		p.delays = &profile->delays;
	}
	walk_all(&p);
	merge_hot(&p);
	count_shared_waits(&p);
	count_last_waits(&p);
	note_pauses(&p);
	profiler_done(&p);
	return profile;
}

void profile_cells_fill(struct profile_cells *cells, struct profile *profile, const struct profile_view *view)
{
	struct profiler p = {
		.profile = profile,
		.s = view->sessions,
		.rest_group = PROFILE_GROUPS,
		.bit = DEMUX_NONE,
		.index = DEMUX_NONE,
		.cells = cells,
		.delays = &cells->delays,
		.segments = 1,
		.examines = true,
		.long_ticks = view->sessions->trace->ticks_per_second / LONG_PART,
		.fn_of = view->fn_of,
		.since_ns = view->since_ns,
	};

	profile_cells_begin(cells, view);
	p.lateness = lateness_of(view->sessions->trace);
	walk_all(&p);
	count_shared_waits(&p);
	count_last_waits(&p);
	cells->place_count = p.room;
	profile_cells_end(cells, profile);
	lateness_done(&p.lateness);
	profiler_done(&p);
}

struct profile *profile_new(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group)
{
	return build(sessions, group_of, rest_group, false, false);
}

struct profile *profile_new_seen(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group)
{
	return build(sessions, group_of, rest_group, true, false);
}

struct profile *profile_new_examined(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group)
{
	return build(sessions, group_of, rest_group, true, true);
}
