/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a source remembers from one sample to the next about each network namespace that is still looked at. */
#pragma once

#include "snapshot/core/snapshot.h"

/* The first member of what is remembered. */
struct netns_state {
	uint32_t netns;
};

struct netns_states {
	struct netns_state **items;
	size_t count;
	size_t room;
};

/* Lets go of what is inside; the memory itself is freed after it. */
typedef void netns_release_fn(struct netns_state *state);

/* That of the namespace that the snapshot is in: `size` bytes, all zero the first time, which ret_new tells. */
void *netns_state_find(struct netns_states *states, const struct snapshot *snapshot, size_t size,
		       netns_release_fn *release, bool *ret_new);
void netns_states_done(struct netns_states *states, netns_release_fn *release);
