/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/netns_state.h"
#include "base/vec.h"

static bool is_sampled(const struct snapshot *snapshot, uint32_t netns)
{
	if (netns == snapshot->netns)
		return true;
	snapshot_each(snapshot, netns_type, const struct netns_record, record)
		if (record->netns == netns)
			return true;
	return false;
}

/* A state may hold a socket, and a namespace lives as long as one of its sockets. */
static void forget_gone(struct netns_states *states, const struct snapshot *snapshot, netns_release_fn *release)
{
	size_t kept = 0;

	vec_each(states, state) {
		if (is_sampled(snapshot, (*state)->netns)) {
			states->items[kept++] = *state;
			continue;
		}
		release(*state);
		free(*state);
	}
	states->count = kept;
}

void *netns_state_find(struct netns_states *states, const struct snapshot *snapshot, size_t size,
		       netns_release_fn *release, bool *ret_new)
{
	size_t sampled = snapshot_table(snapshot, &netns_type)->count;
	struct netns_state *state;

	*ret_new = false;
	if (states->count > max_of(sampled, (size_t)1))
		forget_gone(states, snapshot, release);
	vec_each(states, known)
		if ((*known)->netns == snapshot->netns)
			return *known;
	forget_gone(states, snapshot, release);
	*ret_new = true;
	state = xzalloc(size);
	state->netns = snapshot->netns;
	vec_push(states, state);
	return state;
}

void netns_states_done(struct netns_states *states, netns_release_fn *release)
{
	vec_each(states, state) {
		release(*state);
		free(*state);
	}
	vec_done(states);
}
