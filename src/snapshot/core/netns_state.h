/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State that a source keeps between samples for each sampled network namespace. */
#pragma once

#include "base/map.h"
#include "snapshot/core/snapshot.h"

/* First member of a source's state. */
struct netns_state {
	uint32_t netns;
};

struct netns_states {
	struct map by_netns; /* inode number -> struct netns_state * */
	uint64_t cleaned_ns; /* the sample in which those of vanished namespaces were released last */
};

/* Releases the members; the caller frees the struct. */
typedef void netns_release_fn(struct netns_state *state);

/* State of the snapshot's current namespace: `size` bytes; *ret_new: just created, zeroed. */
void *netns_state_find(struct netns_states *states, const struct snapshot *snapshot, size_t size,
		       netns_release_fn *release, bool *ret_new);
void netns_states_done(struct netns_states *states, netns_release_fn *release);
