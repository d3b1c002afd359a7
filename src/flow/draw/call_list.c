/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/draw/call_list.h"

struct teller {
	struct call_list *list;
	uint32_t id; /* number of the session in demux.sessions */
	const struct profile *profile;
	uint32_t marked;
	VEC(uint32_t) open;          /* calls of the open segment */
	VEC(uint32_t) places;        /* of all open calls, in the profile; 0: none */
	size_t segment;              /* start of the open segment's calls */
	VEC(struct forest_item) row; /* of the open calls */
	bool has_popped;             /* the session's value was popped on this thread: the next segment is its own */
	uint64_t popped;
	VEC(uint32_t) begins; /* start of each open call's row */
};

static void enter(void *context, const struct walk *walk, uint32_t fn, uint64_t ticks)
{
	struct teller *t = context;
	uint32_t parent = t->places.count ? t->places.items[t->places.count - 1] : 0;
	bool lost = t->places.count && !parent;

	vec_push(&t->places, t->profile && !lost ? profile_place_find(t->profile, parent, fn) : 0);
	if (walk->root == SIZE_MAX)
		return;
	if (walk_at_root(walk))
		t->segment = t->list->calls.count;
	vec_push(&t->list->calls, (struct listed_call){
					  .fn = fn,
					  .thread = (uint32_t)walk->thread,
					  .parent = t->open.count ? t->open.items[t->open.count - 1] : CALL_NONE,
					  .first = CALL_NONE,
					  .last = CALL_NONE,
					  .next = CALL_NONE,
					  .depth = (uint32_t)t->open.count,
					  .start_ticks = ticks,
					  .size = 1,
					  .is_marked = t->profile && t->places.items[t->places.count - 1] == t->marked,
				  });
	vec_push(&t->open, (uint32_t)t->list->calls.count - 1);
	vec_push(&t->begins, (uint32_t)t->row.count);
}

static void link_call(struct call_list *list, uint32_t at)
{
	struct listed_call *call = &list->calls.items[at], *parent;

	if (call->parent == CALL_NONE)
		return;
	parent = &list->calls.items[call->parent];
	if (parent->last == CALL_NONE)
		parent->first = at;
	else
		list->calls.items[parent->last].next = at;
	parent->last = at;
	parent->size += call->size;
}

static void add_root(struct teller *t, uint32_t at)
{
	struct listed_call *call = &t->list->calls.items[at];

	vec_push(&t->list->roots, at);
	if (t->has_popped && !call->has_value) {
		call->has_value = true;
		call->value_kind = FLOW_VALUE_POP;
		call->value = t->popped;
	}
	t->has_popped = false;
}

static void leave(void *context, const struct walk *walk, uint64_t ticks)
{
	struct teller *t = context;
	uint32_t at, begin;

	t->places.count--;
	if (walk->root == SIZE_MAX)
		return;
	at = t->open.items[--t->open.count];
	begin = t->begins.items[--t->begins.count];
	/* Not its entry: an accepting call starts at the connection's arrival. */
	t->list->calls.items[at].start_ticks = walk->frames.items[walk->frames.count - 1].ticks;
	t->list->calls.items[at].end_ticks = ticks;
	t->list->calls.items[at].node = forest_cons(&t->list->forest, t->list->calls.items[at].fn,
						    vec_from(&t->row, begin), t->row.count - begin);
	t->row.count = begin;
	link_call(t->list, at);
	if (t->open.count)
		vec_push(&t->row, (struct forest_item){t->list->calls.items[at].node, 1});
	else if (walk->session == t->id)
		add_root(t, at);
	else
		t->list->calls.count = t->segment;
}

static void value(void *context, const struct walk *walk, const struct flow_event *event)
{
	struct teller *t = context;
	struct listed_call *call;

	/* Popped within a segment of the session: shown there. */
	if (event->arg == FLOW_VALUE_POP && !(walk->root != SIZE_MAX && walk->session == t->id) &&
	    demux_push_find(walk->demux, event->value, event->ticks) == t->id) {
		t->has_popped = true;
		t->popped = event->value;
	}
	if (!t->open.count)
		return;
	call = &t->list->calls.items[t->open.items[t->open.count - 1]];
	call->has_value = true;
	call->value_kind = (uint8_t)event->arg;
	call->value = event->value;
}

static const struct walk_visitor visitor = {.enter = enter, .leave = leave, .value = value};

static const struct listed_call *sorting;

static int by_start(const void *a, const void *b)
{
	const struct listed_call *one = &sorting[*(const uint32_t *)a], *other = &sorting[*(const uint32_t *)b];

	if (one->start_ticks != other->start_ticks)
		return one->start_ticks < other->start_ticks ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

struct call_list *call_list_new(struct flow_sessions *s, uint32_t session, const struct profile *profile,
				uint32_t marked)
{
	struct call_list *list = xzalloc(sizeof(*list));
	struct teller t = {.list = list, .profile = profile, .marked = marked};
	_cleanup_walk_ struct walk walk = {};

	list->trace = s->trace;
	list->session = &s->list.items[session];
	t.id = list->session->id;
	list->fd = -1;
	if (s->demux->sessions.items[t.id].socket != DEMUX_NONE)
		list->fd = s->demux->sockets.items[s->demux->sessions.items[t.id].socket].fd;
	forest_init(&list->forest, s->trace->function_count);
	walk_init(&walk, s->demux);
	for (size_t i = 0; i < s->trace->thread_count; i++) {
		t.has_popped = false;
		walk_thread(&walk, &visitor, &t, i);
	}
	sorting = list->calls.items;
	vec_sort(&list->roots, by_start);
	vec_done(&t.open);
	vec_done(&t.places);
	vec_done(&t.row);
	vec_done(&t.begins);
	return list;
}

void call_list_mark_long(struct call_list *list)
{
	uint64_t longest = 0, span = list->session->end_ticks - list->session->start_ticks;

	vec_each(&list->calls, call)
		if (call->is_marked)
			longest = max_of(longest, call->end_ticks - call->start_ticks);
	/* When the time passes between calls, keep all of them marked. */
	if (longest < span / 10)
		return;
	vec_each(&list->calls, call)
		call->is_marked &= call->end_ticks - call->start_ticks >= longest / 10;
}

void call_list_free(struct call_list *list)
{
	if (!list)
		return;
	vec_done(&list->calls);
	vec_done(&list->roots);
	forest_done(&list->forest);
	free(list);
}
