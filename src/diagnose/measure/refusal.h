/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a remote service that refuses or resets. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct peer_measures {
	struct addr raddr;
	uint16_t rport;
	uint64_t peer_refused, peer_resets, recent_resets, recent_host_resets, refused_here, recent_rejected;
	uint64_t resets_followed;
	double resets_answered_share;
};

extern const struct record_type peer_measures_type;

struct graph;
/* Of one that refused nothing: address and port alone. */
const struct peer_measures *refusal_none(struct graph *graph, const struct endpoint *remote);
