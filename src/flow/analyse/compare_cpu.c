/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where bad sessions compute longer. On a busy machine a thread loses its CPU anywhere, most often where it enters the
 * kernel: there the time of all calls does not show what is computed.
 */
#include "flow/analyse/compare.h"

/* Smallest share of the additional time in one call, to follow it. */
#define MOST 0.6

/* Additional CPU time of a bad session, by place, with callees; nanoseconds. The caller frees it. */
static double *differences(struct comparison *c, struct compare_subject *subject)
{
	const struct profile_cells *cells = &subject->cells[0];
	size_t n = c->profile->places.count;
	double *difference = xzalloc((n + 1) * sizeof(*difference)), sessions[2] = {};

	for (uint32_t i = 0; i < cells->slots; i++)
		if (subject->group_of[0][cells->session_of[i]] < 2)
			sessions[subject->group_of[0][cells->session_of[i]]]++;
	for (uint32_t place = 1; place < n; place++) {
		size_t count;
		const struct profile_cell *cell = profile_cells_at(cells, place, &count);

		for (size_t i = 0; i < count; i++) {
			uint8_t group = subject->group_of[0][cells->session_of[cell[i].slot]];
			double ns = (double)flow_span_ns(c->profile->trace, cell[i].ticks[PROFILE_CPU]);

			if (group < 2)
				difference[place] += (group ? ns : -ns) / max_of(sessions[group], 1.0);
		}
	}
	for (size_t i = n; i-- > 1;)
		difference[c->profile->places.items[i].parent] += difference[i];
	return difference;
}

uint32_t compare_follow_cpu(struct comparison *c, struct compare_subject *subject)
{
	_cleanup_free_ double *difference = NULL;
	uint32_t place = 0;

	compare_cells(c, subject);
	difference = differences(c, subject);
	for (;;) {
		const struct profile_place *places = c->profile->places.items;
		uint32_t next = 0;

		for (uint32_t at = places[place].first_child; at; at = places[at].next)
			if (!next || difference[at] > difference[next])
				next = at;
		if (!next || difference[next] <= 0 ||
		    (difference[next] < MOST * difference[place] && place && !places[place].is_dispatcher))
			return place;
		place = next;
	}
}
