/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "base/macros.h"
#include "diagnose/measure/service.h"

struct service_track {
	struct track track;
	uint64_t answers, wait_ns;
	/* Of earlier windows: the most answers; and the longest wait of the window in which it was shortest. */
	uint64_t answers_base, wait_base_ns;
};

void services_note(struct services *services, struct window *window, const struct service *service, uint64_t answers,
		   uint64_t wait_ns)
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
		s->answers = s->wait_ns = 0;
	s->answers += answers;
	s->wait_ns = max_of(s->wait_ns, wait_ns);
}

void services_measure(const struct services *services, const struct service *service, struct exchange_measures *m)
{
	const struct service_track *s = services->tracks.value_size ? map_get(&services->tracks, service) : NULL;

	m->service_base = s ? s->answers_base : UINT64_MAX;
	m->service_share = s && s->answers_base > 0 ? (double)s->answers / (double)s->answers_base : NAN;
	m->service_wait_base_ns = s && s->answers_base > 0 ? s->wait_base_ns : UINT64_MAX;
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
