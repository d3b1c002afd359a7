/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "base/macros.h"
#include "diagnose/measure/service.h"

/*
 * A service that stops for a moment, for a lock, a long command or a garbage collection, leaves all its clients waiting
 * at once. One that is slow with some requests answers others meanwhile.
 */
#define PAUSE_LEAST_NS (100 * NSEC_PER_MSEC)
/* Who waits for longer than since the last reply to anybody waited before: for news. */
#define PAUSE_SLACK_NS (50 * NSEC_PER_MSEC)
#define PAUSE_CONNS    2
/* Replies of a service that keeps up. */
#define FAST_NS (50 * NSEC_PER_MSEC)

/* The connections of one sample. */
struct service_moment {
	uint64_t number, quiet_ns;
	uint64_t waits_ns[16]; /* long ones, of connections that had replies before; as many as fit */
	unsigned waits;
};

struct service_track {
	struct track track;
	struct service_moment now;
	uint64_t pauses, pause_ns;  /* samples of the whole look */
	uint64_t timed, timed_fast; /* replies of the whole look */
	uint64_t answers, wait_ns;
	/* Of the whole look. */
	uint64_t late, late_sum_ns;
	uint64_t exchanges, slow, slow_sum_ns, lengthy, unanswered, unanswered_sum_ns;
	uint64_t prompt, greeted, greeted_sum_ns; /* connections that began to talk: at once, after a silence */
	uint64_t greeted_moments, greeted_last;   /* samples in which one did; the last one */
	uint64_t asked, asked_last;               /* samples in which one waited; the last one */
	unsigned round;                           /* of unanswered */
	uint64_t waiting; /* connections that wait, in the last sample of the window that has any */
	unsigned sample;
	/* Of earlier windows: the most answers; and the longest wait of the window in which it was shortest. */
	uint64_t answers_base, wait_base_ns;
};

static void add_ended(struct service_track *s, uint64_t ended_ns)
{
	if (ended_ns >= SERVICE_LATE_NS && ended_ns <= SERVICE_LONG_NS) {
		s->late++;
		s->late_sum_ns += ended_ns;
	}
	if (ended_ns > SERVICE_LONG_NS) {
		s->lengthy++;
	} else if (ended_ns >= SERVICE_SLOW_NS) {
		s->slow++;
		s->slow_sum_ns += ended_ns;
	}
}

static void add_begun(struct service_track *s, const struct service_sample *sample)
{
	if (!sample->began || sample->mute_ns > SERVICE_MUTE_LONG_NS)
		return;
	if (sample->mute_ns < SERVICE_SLOW_NS) {
		s->prompt++;
		return;
	}
	s->greeted++;
	s->greeted_sum_ns += sample->mute_ns;
	s->greeted_moments += s->greeted_last != sample->number;
	s->greeted_last = sample->number;
}

static void end_moment(struct service_track *s)
{
	const struct service_moment *now = &s->now;
	unsigned waiting = 0;

	for (unsigned i = 0; i < now->waits; i++)
		waiting += now->waits_ns[i] <= now->quiet_ns + PAUSE_SLACK_NS;
	if (waiting < PAUSE_CONNS || now->quiet_ns < PAUSE_LEAST_NS)
		return;
	s->pauses++;
	s->pause_ns = max_of(s->pause_ns, now->quiet_ns);
}

static void add_moment(struct service_track *s, const struct service_sample *sample)
{
	struct service_moment *now = &s->now;

	if (now->number != sample->number) {
		end_moment(s);
		*now = (struct service_moment){.number = sample->number, .quiet_ns = UINT64_MAX};
	}
	if (sample->quiet_ns == UINT64_MAX)
		return;
	now->quiet_ns = min_of(now->quiet_ns, sample->quiet_ns);
	if (sample->wait_ns >= max_of(sample->least_ns, PAUSE_LEAST_NS) && now->waits < ARRAY_SIZE(now->waits_ns))
		now->waits_ns[now->waits++] = sample->wait_ns;
}

/* Of several replies between two samples, one at most took most of that time. */
static void add_timed(struct service_track *s, const struct service_sample *sample)
{
	if (sample->answer_ns == 0)
		return;
	s->timed += max_of(sample->exchanges, UINT64_C(1));
	if (sample->answer_ns <= FAST_NS)
		s->timed_fast += max_of(sample->exchanges, UINT64_C(1));
	else if (sample->exchanges > 1)
		s->timed_fast += sample->exchanges - 1;
}

void services_note(struct services *services, struct window *window, const struct service *service,
		   const struct service_sample *sample)
{
	struct service_track *s;

	if (services->tracks.value_size == 0)
		services->tracks = MAP_INIT(sizeof(struct service), sizeof(struct service_track), 100000);
	s = map_put(&services->tracks, service, NULL);
	if (!s) {
		window->lost++;
		return;
	}
	if (track_see(window, &s->track))
		s->answers = s->wait_ns = s->sample = 0;
	s->answers += sample->answers;
	s->wait_ns = max_of(s->wait_ns, sample->wait_ns);
	s->exchanges += sample->exchanges;
	add_ended(s, sample->ended_ns);
	add_begun(s, sample);
	add_moment(s, sample);
	add_timed(s, sample);
	if (s->sample != window->samples + 1)
		s->waiting = 0;
	s->sample = window->samples + 1;
	s->waiting += sample->wait_ns > 0;
	if (sample->wait_ns > 0 && s->asked_last != sample->number) {
		s->asked++;
		s->asked_last = sample->number;
	}
}

void services_begin_unanswered(struct services *services)
{
	services->round++;
}

void services_note_unanswered(struct services *services, const struct service *service, uint64_t requests,
			      uint64_t mean_ns)
{
	struct service_track *s = services->tracks.value_size ? map_get(&services->tracks, service) : NULL;

	if (!s)
		return;
	if (s->round != services->round)
		s->unanswered = s->unanswered_sum_ns = 0;
	s->round = services->round;
	s->unanswered += requests;
	s->unanswered_sum_ns += requests * mean_ns;
}

void services_measure(const struct services *services, const struct service *service, struct exchange_measures *m)
{
	const struct service_track *s = services->tracks.value_size ? map_get(&services->tracks, service) : NULL;

	m->service_base = s ? s->answers_base : UINT64_MAX;
	m->service_share = s && s->answers_base > 0 ? (double)s->answers / (double)s->answers_base : NAN;
	m->service_wait_base_ns = s && s->answers_base > 0 ? s->wait_base_ns : UINT64_MAX;
	m->service_quick = s ? s->exchanges - min_of(s->slow, s->exchanges) : UINT64_MAX;
	m->service_slow = s ? s->slow : UINT64_MAX;
	m->service_slow_wait_ns = s && s->slow ? s->slow_sum_ns / s->slow : UINT64_MAX;
	m->service_late = s ? s->late : UINT64_MAX;
	m->service_late_wait_ns = s && s->late ? s->late_sum_ns / s->late : UINT64_MAX;
	m->service_waits = s ? s->slow + s->waiting : UINT64_MAX;
	m->service_asked_share = s && services->round > 0 ? (double)s->asked / services->round : NAN;
	m->service_lengthy = s ? s->lengthy : UINT64_MAX;
	m->service_pauses = s ? s->pauses : UINT64_MAX;
	m->service_pause_ns = s && s->pauses ? s->pause_ns : UINT64_MAX;
	m->service_fast_share = s && s->timed ? (double)s->timed_fast / (double)s->timed : NAN;
	m->service_prompt = s ? s->prompt : UINT64_MAX;
	m->service_greeted = s ? s->greeted_moments : UINT64_MAX;
	m->service_greeted_wait_ns = s && s->greeted ? s->greeted_sum_ns / s->greeted : UINT64_MAX;
	m->service_unanswered = s ? s->unanswered : UINT64_MAX;
	m->service_unanswered_wait_ns = s && s->unanswered ? s->unanswered_sum_ns / s->unanswered : UINT64_MAX;
}

void services_end_window(struct services *services, const struct window *window)
{
	track_each(window, &services->tracks, struct service_track, s)
	{
		if (s->answers < EXCHANGES_ENOUGH)
			continue;
		s->wait_base_ns = s->answers_base ? min_of(s->wait_base_ns, s->wait_ns) : s->wait_ns;
		s->answers_base = max_of(s->answers_base, s->answers);
	}
	track_forget(window, &services->tracks, NULL);
}

void services_done(struct services *services)
{
	map_done(&services->tracks);
}
