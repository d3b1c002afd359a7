/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection against what is usual for its path and its service at this hour (graph/usual.h). */
#pragma once

#include "diagnose/graph/module.h"
#include "diagnose/graph/usual.h"

struct usual_measures {
	uint64_t usual_answers, usual_answer_ns;
	double usual_answer_times, usual_wait_times;
	double answer_rtts;
	uint64_t usual_rtts, usual_rtt_ns;
	double usual_rtt_times, usual_min_rtt_times;
	uint64_t usual_rtt_excess_ns, usual_min_rtt_excess_ns;
};

extern const struct record_type usual_measures_type;

/* Learns from a window without findings. */
void usual_learn(struct usual *usual, const struct graph *graph);
