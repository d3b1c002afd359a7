/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording of the other end, beside the one that a diagnosis is about: read once to match connections and to align
 * the clocks, then a second time in step with the windows of this end.
 */
#pragma once

#include "diagnose/infer/diagnosis.h"
#include "store/replay.h"

struct far_side;

struct far_side_request {
	const char *file;                /* recording of the other end */
	const struct text_list *routers; /* recordings of hosts between the ends that translate addresses (NAT) */
	const struct time_range *range;  /* of this end */
	const struct knowledge *knowledge;
};

/* own: the recording of this end. Without a connection in common ret_far stays as it is, after a warning. */
int far_side_open(const struct far_side_request *request, struct recording *own, struct far_side **ret_far,
		  struct why *why) _must_check_;
void far_side_close(struct far_side *far);
/* Both ends by name: of the hosts, or of the files where the hosts have one name. */
const char *far_side_own_host(const struct far_side *far);
const char *far_side_far_host(const struct far_side *far);
/* Reads on up to a time on the clock of this end. */
int far_side_advance(struct far_side *far, uint64_t now_ns, struct why *why) _must_check_;
/* A window of this end is over, and so are those of the other end. */
void far_side_end_window(struct far_side *far);
/* Adds the other end's measures to the connections of a graph of this end. */
void far_side_join(struct far_side *far, struct graph *graph);
