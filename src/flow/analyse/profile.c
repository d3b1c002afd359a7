/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/profile.h"

#include "flow/trace/digest.h"

#define PLACES_MAX ((size_t)1 << 18)

uint32_t profile_place_find(const struct profile *profile, uint32_t parent, uint32_t fn)
{
	return pair_map_get(&profile->index, parent, fn);
}

/* Recursion returns to the open place of the function. */
static uint32_t open_place(const struct profile *profile, uint32_t parent, uint32_t fn)
{
	for (uint32_t at = parent; at; at = profile->places.items[at].parent)
		if (profile->places.items[at].fn == fn)
			return at;
	return 0;
}

static uint32_t make_place(struct profile *profile, uint32_t parent, uint32_t fn)
{
	uint32_t id = (uint32_t)profile->places.count;
	struct profile_place *place = vec_add(&profile->places), *up = &profile->places.items[parent];

	place->fn = fn;
	place->parent = parent;
	place->depth = up->depth + 1;
	if (up->last_child)
		profile->places.items[up->last_child].next = id;
	else
		up->first_child = id;
	up->last_child = id;
	return id;
}

uint32_t profile_place_at(struct profile *profile, uint32_t parent, uint32_t fn)
{
	uint32_t *slot, place = pair_map_get(&profile->index, parent, fn);

	if (likely(place))
		return place;
	if (profile->places.count >= PLACES_MAX) {
		profile->is_full = true;
		return parent;
	}
	slot = pair_map_at(&profile->index, parent, fn);
	place = open_place(profile, parent, fn);
	if (!place)
		place = make_place(profile, parent, fn);
	*slot = place;
	return place;
}

/* --- one walk over the trace --- */

struct timed_frame {
	uint32_t place;
	uint32_t last; /* place of the previous callee; 0: none */
	uint64_t child_ticks;
};

/* A call whose session is still unknown. */
struct held_call {
	uint32_t place;
	uint64_t ticks, self_ticks;
};

/* Per-call figures of a place and group, separate from the rest: those of one session fit into the cache. */
struct hot_figures {
	uint64_t calls, self_ticks, max_ticks;
	uint32_t last_bit; /* bit in profile.seen, plus 1, of the last session here */
};

struct session_state {
	uint32_t thread;    /* of its last segment */
	uint32_t place;     /* of its last operation */
	uint64_t end_ticks; /* of its last segment */
};

/* Session served by several threads. Threads are read one by one: the order of segments is known only at the end. */
struct shared_segment {
	uint32_t index;    /* of the session in the list */
	uint32_t place;    /* of its last operation */
	uint64_t op_ticks; /* time of that; end of the segment if it had none */
	uint64_t start_ticks, end_ticks;
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
	uint32_t op_place; /* of the last operation in the open segment; 0: none */
	uint64_t op_ticks;
	bool is_known;                      /* the open segment's session is known */
	uint8_t group;                      /* of the open segment, once known */
	SPILL(struct session_state) states; /* by number in demux.sessions */
	SPILL(struct shared_segment) shared;
	/* Predicted place of the next call, or of the first inside: most calls repeat the previous pattern. */
	struct guess {
		uint32_t parent, fn, place;
	} * guesses[2];
	struct hot_figures *hot[PROFILE_GROUPS]; /* by place */
	struct profile_cells *cells;             /* instead of figures; NULL: not requested */
	uint32_t *last_cell;                     /* by place: cell of the last session there, plus 1 */
	uint32_t index;                          /* of the open segment's session in the list, DEMUX_NONE */
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

static uint32_t slot_of(const struct profile_cells *cells, uint32_t index)
{
	return index % cells->stride ? DEMUX_NONE : index / cells->stride;
}

/* Sessions alternate at a place: duplicate cells are merged at the end. */
static void count_in_cell(struct profiler *p, const struct held_call *call)
{
	struct profile_cells *cells = p->cells;
	uint32_t slot, at = p->last_cell[call->place];

	if (p->index == DEMUX_NONE || (p->since_ns && flow_ns(p->s->trace, p->now) < p->since_ns[p->index]))
		return;
	cells->own_ticks.items[p->index] += call->self_ticks;
	slot = slot_of(cells, p->index);
	if (slot == DEMUX_NONE)
		return;
	if (!at || cells->list.items[at - 1].slot != slot) {
		spill_push(&cells->list, (struct profile_cell){.place = call->place, .slot = slot});
		spill_trim_at(cells->list.count);
		at = p->last_cell[call->place] = (uint32_t)cells->list.count;
	}
	cells->list.items[at - 1].calls++;
	cells->list.items[at - 1].ticks += call->self_ticks;
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
	}
	f->calls += p->weight;
	f->self_ticks += call->self_ticks * p->weight;
	if (unlikely(call->ticks > f->max_ticks))
		f->max_ticks = call->ticks;
}

static void count_wait(struct profiler *p, uint8_t group, const struct session_state *state, uint64_t until)
{
	struct profile_figures *f;

	if (group >= PROFILE_GROUPS || !state->place || until <= state->end_ticks)
		return;
	f = &p->profile->places.items[state->place].group[group];
	f->wait_ticks += (until - state->end_ticks) * p->weight;
	f->waits += p->weight;
}

/* The segment's session is known: assigns its earlier calls and the time since its last segment to the group. */
static void settle(struct profiler *p, const struct walk *walk)
{
	uint32_t index = flow_sessions_find(p->s, walk->session);

	p->is_known = true;
	p->index = index;
	p->bit = p->with_seen && index != DEMUX_NONE ? p->bit_of.items[index] : DEMUX_NONE;
	p->group = group_of_session(p, walk->session);
	for (size_t i = 0; i < p->held.count; i++)
		count(p, p->group, &p->held.items[i]);
	p->held.count = 0;
	if (index != DEMUX_NONE && p->s->list.items[index].threads == 1) {
		struct session_state *state = &p->states.items[walk->session];

		if (state->end_ticks && state->thread == walk->thread)
			count_wait(p, p->group, state, walk->frames.items[walk->root].ticks);
	}
}

static void *grown(void *items, size_t old, size_t room, size_t size)
{
	char *more = xrealloc_array(items, room, size);

	memset(more + old * size, 0, (room - old) * size);
	return more;
}

static void make_seen_room(struct profile *profile, size_t room)
{
	for (size_t i = 0; i < ARRAY_SIZE(profile->seen); i++)
		if (profile->seen[i])
			profile->seen[i] = grown(profile->seen[i], profile->seen_room, room, sizeof(uint64_t));
	profile->seen_room = room;
}

/* Grows per-place arrays for a new place. */
static void make_room(struct profiler *p)
{
	size_t room = p->profile->places.count * 2 + 64;

	for (unsigned i = 0; i < 2; i++)
		p->guesses[i] = grown(p->guesses[i], p->room, room, sizeof(*p->guesses[i]));
	for (unsigned i = 0; i < PROFILE_GROUPS; i++)
		p->hot[i] = grown(p->hot[i], p->room, room, sizeof(*p->hot[i]));
	if (p->cells) {
		p->last_cell = grown(p->last_cell, p->room, room, sizeof(*p->last_cell));
		p->cells->is_client = grown(p->cells->is_client, p->room, room, sizeof(*p->cells->is_client));
		p->cells->is_push = grown(p->cells->is_push, p->room, room, sizeof(*p->cells->is_push));
	}
	p->room = room;
	make_seen_room(p->profile, room);
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

static inline __attribute__((always_inline)) void enter(void *context, const struct walk *walk, uint32_t fn,
							uint64_t ticks)
{
	struct profiler *p = context;
	struct timed_frame frame = {};

	(void)ticks;
	frame.place = place_of(p, fn);
	if (walk->root == SIZE_MAX)
		p->profile->places.items[frame.place].is_dispatcher = true;
	vec_push(&p->frames, frame);
}

/* A call inside a segment has ended: counts for the segment's session, once that is known. */
static inline __attribute__((always_inline)) void count_in_segment(struct profiler *p, const struct walk *walk,
								   const struct held_call *call)
{
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
	struct held_call call = {.ticks = took, .self_ticks = took};
	struct timed_frame *top;

	call.place = place_of(p, fn);
	p->now = end_ticks;
	count_in_segment(p, walk, &call);
	top = &p->frames.items[p->frames.count - 1];
	top->child_ticks += took;
	top->last = call.place;
}

static void leave_segment(struct profiler *p, const struct walk *walk, uint64_t ticks)
{
	uint32_t index;

	if (!p->is_known)
		settle(p, walk);
	index = flow_sessions_find(p->s, walk->session);
	if (index != DEMUX_NONE) {
		struct session_state *state = &p->states.items[walk->session];

		state->thread = (uint32_t)walk->thread;
		state->place = p->op_place ? p->op_place : p->frames.items[p->frames.count - 1].place;
		state->end_ticks = ticks;
		if (p->s->list.items[index].threads > 1)
			spill_push(&p->shared, (struct shared_segment){
						       .index = index,
						       .place = state->place,
						       .op_ticks = p->op_place ? p->op_ticks : ticks,
						       .start_ticks = walk->frames.items[walk->root].ticks,
						       .end_ticks = ticks,
					       });
	}
	p->op_place = 0;
	p->is_known = false;
	p->bit = DEMUX_NONE;
}

static inline __attribute__((always_inline)) void leave(void *context, const struct walk *walk, uint64_t ticks)
{
	struct profiler *p = context;
	struct timed_frame frame = p->frames.items[p->frames.count - 1];
	uint64_t took = ticks - walk->frames.items[walk->frames.count - 1].ticks;
	struct held_call call = {frame.place, took, took - min_of(took, frame.child_ticks)};

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
		p->frames.items[p->frames.count - 1].last = frame.place;
	}
}

/* Waiting for a client, or for the next one, is not the session's own time. */
static void leave_out_client(struct profiler *p, const struct walk *walk, const struct flow_operation *op)
{
	uint32_t socket = demux_socket_find(p->s->demux, op->socket), index, slot;
	bool is_client = socket != DEMUX_NONE && p->s->demux->sockets.items[socket].role == DEMUX_SERVED;
	struct timed_frame *top;

	if (!p->frames.count || !(is_client || op->op == FLOW_OP_ACCEPT || op->op == FLOW_OP_WAIT))
		return;
	top = &p->frames.items[p->frames.count - 1];
	top->child_ticks += op->end_ticks - min_of(op->start_ticks, op->end_ticks);
	if (!is_client)
		return;
	p->cells->is_client[top->place] = true;
	index = walk->op_session == DEMUX_NONE ? DEMUX_NONE : flow_sessions_find(p->s, walk->op_session);
	slot = index == DEMUX_NONE ? DEMUX_NONE : slot_of(p->cells, index);
	if (slot != DEMUX_NONE && op->op == FLOW_OP_READ)
		p->cells->reads[slot]++;
}

static void operation(void *context, const struct walk *walk, const struct flow_operation *op)
{
	struct profiler *p = context;

	if (p->cells)
		leave_out_client(p, walk, op);
	if (walk->op_session != DEMUX_NONE && p->frames.count) {
		p->op_place = p->frames.items[p->frames.count - 1].place;
		p->op_ticks = op->end_ticks;
	}
}

/* A value passed to another thread waits there for its turn. */
static void value(void *context, const struct walk *walk, const struct flow_event *event)
{
	struct profiler *p = context;

	if (event->arg == FLOW_VALUE_PUSH && walk->root != SIZE_MAX) {
		p->op_place = p->frames.items[p->frames.count - 1].place;
		p->op_ticks = event->ticks;
		if (p->cells)
			p->cells->is_push[p->op_place] = true;
	}
}

static const struct walk_visitor visitor = {
	.enter = enter, .leave = leave, .leaf = leaf, .operation = operation, .value = value};

static int by_session_and_start(const void *a, const void *b)
{
	const struct shared_segment *one = a, *other = b;

	if (one->index != other->index)
		return one->index < other->index ? -1 : 1;
	return one->start_ticks < other->start_ticks ? -1 : one->start_ticks > other->start_ticks;
}

/* Segments of several threads overlap: the wait starts when all have ended, at the place of the last operation. */
static void add_shared(struct shared_segment *until, const struct shared_segment *segment)
{
	if (until->index != segment->index) {
		*until = *segment;
		return;
	}
	until->end_ticks = max_of(until->end_ticks, segment->end_ticks);
	if (segment->op_ticks >= until->op_ticks) {
		until->op_ticks = segment->op_ticks;
		until->place = segment->place;
	}
}

/* Between two segments the session waited, in a queue or for its client. */
static void count_shared_waits(struct profiler *p)
{
	struct shared_segment until = {.index = DEMUX_NONE};

	spill_sort(p->shared.items, p->shared.count, sizeof(*p->shared.items), by_session_and_start);
	for (size_t i = 0; i < p->shared.count; i++) {
		const struct shared_segment *segment = &p->shared.items[i];
		uint32_t id = p->s->list.items[segment->index].id;

		p->weight = flow_row_count(p->s, &p->s->list.items[segment->index]);
		if (until.index == segment->index)
			count_wait(p, p->group_of ? p->group_of[segment->index] : 0,
				   &(struct session_state){.place = until.place, .end_ticks = until.end_ticks},
				   segment->start_ticks);
		add_shared(&until, segment);
		p->states.items[id].place = until.place;
		p->states.items[id].end_ticks = until.end_ticks;
		spill_trim_at(i);
	}
	spill_done(&p->shared);
}

/* An open connection waits until the end of the recording. */
static void count_last_waits(struct profiler *p)
{
	for (size_t i = 0; i < p->s->list.count; i++) {
		const struct flow_row *session = &p->s->list.items[i];

		p->weight = flow_row_count(p->s, session);
		if (session->is_open)
			count_wait(p, p->group_of ? p->group_of[i] : 0, &p->states.items[session->id],
				   p->s->trace->last_ticks);
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
		walk_thread(&walk, &visitor, p, i);
	}
}

static void profiler_done(struct profiler *p)
{
	vec_done(&p->frames);
	vec_done(&p->held);
	spill_done(&p->states);
	spill_done(&p->shared);
	for (unsigned i = 0; i < 2; i++)
		free(p->guesses[i]);
	for (unsigned i = 0; i < PROFILE_GROUPS; i++)
		free(p->hot[i]);
	free(p->last_cell);
	spill_done(&p->bit_of);
}

static struct profile *build(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group,
			     bool with_seen)
{
	struct profile *profile = xzalloc(sizeof(*profile));
	struct profiler p = {
		.profile = profile,
		.s = sessions,
		.group_of = group_of,
		.rest_group = rest_group,
		.with_seen = with_seen,
		.bit = DEMUX_NONE,
	};

	profile->trace = sessions->trace;
	profile_init(profile);
	if (with_seen)
		give_bits(&p);
	walk_all(&p);
	merge_hot(&p);
	count_shared_waits(&p);
	count_last_waits(&p);
	profiler_done(&p);
	return profile;
}

static int by_place_and_slot(const void *a, const void *b)
{
	const struct profile_cell *one = a, *other = b;

	if (one->place != other->place)
		return one->place < other->place ? -1 : 1;
	return one->slot < other->slot ? -1 : one->slot > other->slot;
}

static void join_cells(struct profile_cells *cells)
{
	struct profile_cell *items = cells->list.items;
	size_t kept = 0;

	spill_sort(items, cells->list.count, sizeof(*items), by_place_and_slot);
	for (size_t i = 0; i < cells->list.count; i++) {
		if (kept && items[kept - 1].place == items[i].place && items[kept - 1].slot == items[i].slot) {
			items[kept - 1].calls += items[i].calls;
			items[kept - 1].ticks += items[i].ticks;
		} else {
			items[kept++] = items[i];
		}
		spill_trim_at(i);
	}
	cells->list.count = kept;
}

/* Properties of places from their cells and those below. */
static void index_cells(struct profile_cells *cells, const struct profile *profile)
{
	size_t at = 0;

	cells->first = xzalloc((cells->place_count + 1) * sizeof(*cells->first));
	cells->has_client = xzalloc(cells->place_count);
	for (size_t place = 0; place < cells->place_count; place++) {
		cells->first[place] = at;
		while (at < cells->list.count && cells->list.items[at].place == place)
			spill_trim_at(at++);
	}
	cells->first[cells->place_count] = at;
	for (size_t i = profile->places.count; i-- > 1;) {
		cells->has_client[i] |= cells->is_client[i];
		cells->has_client[profile->places.items[i].parent] |= cells->has_client[i];
	}
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
		.fn_of = view->fn_of,
		.since_ns = view->since_ns,
	};
	size_t count = view->sessions->list.count;

	*cells = (struct profile_cells){.stride = (uint32_t)((count + PROFILE_SLOTS - 1) / PROFILE_SLOTS)};
	cells->stride = max_of(cells->stride, 1u);
	cells->slots = (uint32_t)((count + cells->stride - 1) / cells->stride);
	cells->reads = xzalloc((cells->slots + 1) * sizeof(*cells->reads));
	spill_fill(&cells->own_ticks, count);
	walk_all(&p);
	cells->place_count = p.room;
	join_cells(cells);
	index_cells(cells, profile);
	profiler_done(&p);
}

void profile_cells_done(struct profile_cells *cells)
{
	spill_done(&cells->list);
	spill_done(&cells->own_ticks);
	free(cells->reads);
	free(cells->is_client);
	free(cells->has_client);
	free(cells->is_push);
	free(cells->first);
	*cells = (struct profile_cells){};
}

struct profile *profile_new(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group)
{
	return build(sessions, group_of, rest_group, false);
}

struct profile *profile_new_seen(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group)
{
	return build(sessions, group_of, rest_group, true);
}

static void merge_figures(struct profile_figures *into, const struct profile_figures *from, double scale)
{
	into->calls += from->calls;
	into->self_ticks += (uint64_t)((double)from->self_ticks * scale);
	into->wait_ticks += (uint64_t)((double)from->wait_ticks * scale);
	into->waits += from->waits;
	into->max_ticks = max_of(into->max_ticks, (uint64_t)((double)from->max_ticks * scale));
}

static void merge_seen(struct profile *profile, const struct profile *other, const uint32_t *place_of)
{
	size_t room = profile->places.count;

	for (size_t k = 0; k < ARRAY_SIZE(profile->seen); k++)
		if (other->seen[k] && !profile->seen[k])
			profile->seen[k] = xzalloc(max_of(profile->seen_room, (size_t)1) * sizeof(uint64_t));
	if (room > profile->seen_room)
		make_seen_room(profile, room);
	for (size_t k = 0; k < ARRAY_SIZE(profile->seen); k++)
		for (size_t i = 1; other->seen[k] && i < other->places.count; i++)
			profile->seen[k][place_of[i]] |= other->seen[k][i];
}

/* Each group has its bits from one of the two. */
static void merge_weights(struct profile *profile, const struct profile *other)
{
	if (!profile->weights && !other->weights)
		return;
	if (!profile->weights) {
		profile->weights = xzalloc((size_t)2 * PROFILE_SEEN * sizeof(*profile->weights));
		for (size_t i = 0; i < (size_t)2 * PROFILE_SEEN; i++)
			profile->weights[i] = 1;
	}
	for (size_t i = 0; i < (size_t)2 * PROFILE_SEEN; i++)
		if (other->looked_at[i / PROFILE_SEEN])
			profile->weights[i] = other->weights ? other->weights[i] : 1;
}

void profile_merge(struct profile *profile, const struct profile *other, const uint32_t *fn_of)
{
	_cleanup_free_ uint32_t *place_of = xzalloc(other->places.count * sizeof(*place_of));
	double scale = (double)other->trace->ns_per_tick / (double)profile->trace->ns_per_tick;

	/* Parents come before children. */
	for (size_t i = 1; i < other->places.count; i++) {
		const struct profile_place *from = &other->places.items[i];
		struct profile_place *into;

		place_of[i] = profile_place_at(profile, place_of[from->parent], fn_of[from->fn]);
		into = &profile->places.items[place_of[i]];
		into->is_dispatcher |= from->is_dispatcher;
		for (unsigned g = 0; g < PROFILE_GROUPS; g++)
			merge_figures(&into->group[g], &from->group[g], scale);
	}
	merge_seen(profile, other, place_of);
	merge_weights(profile, other);
	for (unsigned g = 0; g < 2; g++)
		profile->looked_at[g] += other->looked_at[g];
}

uint32_t profile_seen(const struct profile *profile, uint32_t place, unsigned group)
{
	size_t first = (size_t)group * PROFILE_SEEN / 64;
	uint32_t count = 0;

	if (place >= profile->seen_room)
		return 0;
	for (size_t k = first; k < first + PROFILE_SEEN / 64 && profile->seen[k]; k++) {
		uint64_t bits = profile->seen[k][place];

		if (!profile->weights)
			count += (uint32_t)__builtin_popcountll(bits);
		for (; profile->weights && bits; bits &= bits - 1)
			count += profile->weights[k * 64 + (size_t)__builtin_ctzll(bits)];
	}
	return count;
}

void profile_init(struct profile *profile)
{
	pair_map_init(&profile->index);
	(void)vec_add(&profile->places);
}

void profile_done(struct profile *profile)
{
	vec_done(&profile->places);
	pair_map_done(&profile->index);
	for (size_t i = 0; i < ARRAY_SIZE(profile->seen); i++)
		free(profile->seen[i]);
	free(profile->weights);
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	profile_done(profile);
	free(profile);
}

void profile_sum(const struct profile *profile, struct profile_sums *ret_sums)
{
	size_t n = profile->places.count;

	for (unsigned g = 0; g < PROFILE_GROUPS; g++) {
		uint64_t *ticks = xzalloc(n * sizeof(*ticks)), *waits = xzalloc(n * sizeof(*waits));

		for (size_t i = n; i-- > 0;) {
			const struct profile_place *place = &profile->places.items[i];
			const struct profile_figures *f = &place->group[g];

			waits[i] += f->wait_ticks;
			/* A dispatcher's self time belongs to no session: only its calls for the group count. */
			ticks[i] += f->wait_ticks + f->self_ticks;
			if (i) {
				waits[place->parent] += waits[i];
				ticks[place->parent] += ticks[i];
			}
		}
		ret_sums->ticks[g] = ticks;
		ret_sums->waits[g] = waits;
	}
}

void profile_sums_done(struct profile_sums *sums)
{
	for (unsigned g = 0; g < PROFILE_GROUPS; g++) {
		free(sums->ticks[g]);
		free(sums->waits[g]);
	}
}
