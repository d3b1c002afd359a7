/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/turn.h"

#include <errno.h>

/* Share of a pause that the thread had no work, at least. */
#define PATIENT_SHARE 0.1
/* Share of a pause that the last wait took, at least, if the pause was for what it reported. */
#define REPORTED_SHARE 0.1

static bool is_again(const struct flow_operation *op)
{
	return op->result == -EAGAIN || op->result == -EINTR;
}

static void see_first(struct turn_segment *s, enum turn_op op, uint32_t place)
{
	if (s->first == TURN_NONE) {
		s->first = (uint8_t)op;
		s->first_place = place;
	}
}

/* A read ends what was waited for before it. */
static bool see_read(struct turn_segment *s, const struct flow_operation *op, struct turn_wait *wait)
{
	bool counts = s->last == TURN_READ;

	wait->time = PROFILE_DRIP;
	if (s->last == TURN_NONE)
		s->lead_ticks += wait->ticks;
	if (!is_again(op))
		see_first(s, TURN_READ, wait->place);
	if (op->result > 0) {
		s->last = TURN_READ;
		s->is_partial = false;
	}
	return counts;
}

/* A write that takes long waits for the client to take earlier bytes, also if it is the first. */
static bool see_write(struct turn_segment *s, const struct flow_operation *op, struct turn_wait *wait)
{
	wait->time = PROFILE_STALL;
	if (is_again(op)) {
		s->is_partial = true;
	} else if (op->result > 0) {
		see_first(s, TURN_WRITE, wait->place);
		s->last = TURN_WRITE;
		s->is_partial = op->aux && (uint64_t)op->result < op->aux;
	}
	return true;
}

bool turn_client(struct turn_segment *s, const struct flow_operation *op, uint32_t place,
		 const struct turn_wait *before, struct turn_wait *ret_wait)
{
	bool is_read = op->op == FLOW_OP_READ, is_write = op->op == FLOW_OP_WRITE || op->op == FLOW_OP_SENDFILE;

	*ret_wait = (struct turn_wait){
		.place = before->ticks ? before->place : place,
		.ticks = before->ticks + op->end_ticks - op->start_ticks,
	};
	if (!is_read && !is_write) {
		if (op->op == FLOW_OP_CLOSE || op->op == FLOW_OP_SHUTDOWN)
			see_first(s, TURN_CLOSE, place);
		return false;
	}
	s->place = place;
	s->op_ticks = op->end_ticks;
	return is_read ? see_read(s, op, ret_wait) : see_write(s, op, ret_wait);
}

void turn_other(struct turn_segment *s, const struct flow_operation *op, uint32_t place)
{
	if (!demux_is_data(op) && op->op != FLOW_OP_CONNECT)
		return;
	see_first(s, demux_is_data(op) ? TURN_OTHER : TURN_START, place);
	s->place = place;
	s->op_ticks = op->end_ticks;
}

/* Who was waited for when nothing came: the side whose turn it was. */
static bool whose_turn(const struct turn_segment *s, struct turn_wait *wait)
{
	wait->place = s->place;
	wait->time = s->is_partial ? PROFILE_STALL : PROFILE_DRIP;
	return s->is_partial || s->last == TURN_READ;
}

/*
 * A session waits until the thread asks for all of its sessions and the answer has something for this one. It
 * may have been there since the time before: what the thread did in between, it did for others.
 */
static uint64_t wait_between(const struct turn_segment *before, const struct turn_segment *after, uint64_t gap)
{
	if (before->thread != after->thread)
		return gap;
	if (before->end_ticks >= after->ready_ticks)
		return 0;
	return min_of(gap, after->idle_ticks + after->polled_ticks - min_of(before->end_ticks, after->polled_ticks));
}

/*
 * The same for its client, but only what the thread did for other sessions: threads may take turns in asking. A thread
 * that did not ask meanwhile waited in another way.
 */
static uint64_t client_between(const struct turn_segment *before, const struct turn_segment *after, uint64_t gap)
{
	uint64_t asked_sum = max_of(before->served_sum, after->polled_sum);

	if (before->thread != after->thread || before->end_ticks >= after->ready_ticks)
		return gap;
	return gap - min_of(gap, after->before_sum - min_of(asked_sum, after->before_sum));
}

/*
 * Without anything that comes from outside, it waits for a timer; or it waits for nothing, and the thread works for it
 * in calls that do not show it. Then the thread only looks whether there is more to do, and does not wait.
 */
static uint64_t pause_between(const struct turn_segment *before, const struct turn_segment *after, uint64_t gap)
{
	uint64_t patient = after->patient_sum - min_of(before->patient_sum, after->patient_sum);

	if (before->thread == after->thread && (double)patient < PATIENT_SHARE * (double)gap)
		return 0;
	return wait_between(before, after, gap);
}

/*
 * A thread that had no session to work for would have taken the value at once: until it did, the value was not there,
 * and the session waited for something else. Before that, it may have been in the queue behind other sessions.
 */
static uint64_t queue_between(const struct turn_segment *before, const struct turn_segment *after, uint64_t gap)
{
	if (!after->is_taken)
		return before->thread != after->thread ? gap : 0;
	return min_of(gap, after->served_ticks - min_of(before->end_ticks, after->served_ticks));
}

/*
 * The client did not take bytes: a write was cut short; or the program writes in portions, and waits for the client
 * between them if it has nothing else to do; or a wait reported that the client takes bytes again. If that wait was
 * short, it could be written to before, unless an earlier one shows that it could not.
 */
static bool is_stalled(const struct turn_segment *before, const struct turn_segment *after, uint64_t gap)
{
	return before->is_partial || before->last == TURN_WRITE ||
	       (after->is_writable && before->end_ticks < after->ready_ticks &&
		(max_of(before->end_ticks, after->asked_ticks) < after->polled_ticks ||
		 (double)after->idle_ticks >= REPORTED_SHARE * (double)gap));
}

bool turn_between(const struct turn_segment *before, const struct turn_segment *after, struct turn_wait *ret_wait)
{
	uint64_t gap = after->start_ticks - min_of(before->end_ticks, after->start_ticks);
	bool is_stall;

	*ret_wait = (struct turn_wait){.place = after->first_place, .ticks = gap};
	switch (after->first) {
	case TURN_READ:
		ret_wait->time = PROFILE_DRIP;
		ret_wait->ticks = client_between(before, after, gap) + after->lead_ticks;
		return before->last == TURN_READ;
	case TURN_WRITE:
		is_stall = is_stalled(before, after, gap);
		ret_wait->is_pause = !is_stall;
		ret_wait->time = is_stall ? PROFILE_STALL : PROFILE_OWN;
		ret_wait->ticks = is_stall          ? client_between(before, after, gap)
				  : after->is_taken ? gap
						    : pause_between(before, after, gap);
		ret_wait->place = is_stall || !before->place ? after->first_place : before->place;
		ret_wait->queue_ticks = is_stall ? 0 : queue_between(before, after, ret_wait->ticks);
		return true;
	case TURN_OTHER:
		ret_wait->time = PROFILE_OWN;
		ret_wait->ticks = after->is_taken ? gap : wait_between(before, after, gap);
		ret_wait->queue_ticks = after->is_taken ? queue_between(before, after, gap) : 0;
		return true;
	case TURN_START:
		ret_wait->is_pause = true;
		ret_wait->time = PROFILE_OWN;
		ret_wait->ticks = after->is_taken ? gap : pause_between(before, after, gap);
		ret_wait->queue_ticks = queue_between(before, after, ret_wait->ticks);
		return true;
	case TURN_CLOSE:
		return whose_turn(before, ret_wait);
	default:
		ret_wait->time = PROFILE_OWN;
		ret_wait->place = before->place;
		ret_wait->queue_ticks = queue_between(before, after, gap);
		return after->is_taken || before->thread != after->thread;
	}
}

bool turn_open_end(const struct turn_segment *last, uint64_t end_ticks, struct turn_wait *ret_wait)
{
	*ret_wait = (struct turn_wait){.ticks = end_ticks - min_of(last->end_ticks, end_ticks)};
	return whose_turn(last, ret_wait);
}

void turn_join(struct turn_segment *before, const struct turn_segment *after)
{
	if (after->end_ticks >= before->end_ticks) {
		before->end_ticks = after->end_ticks;
		before->patient_sum = after->patient_sum;
		before->served_sum = after->served_sum;
	}
	if (after->last != TURN_NONE || after->is_partial) {
		before->last = after->last != TURN_NONE ? after->last : before->last;
		before->is_partial = after->is_partial;
	}
	if (after->place && after->op_ticks >= before->op_ticks) {
		before->place = after->place;
		before->op_ticks = after->op_ticks;
	}
	before->thread = after->thread;
}
