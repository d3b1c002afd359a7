/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/netns_state.h"

#include <stdlib.h>

#include "base/alloc.h"

static bool is_sampled(const struct snapshot *snapshot, uint32_t netns)
{
	if (netns == snapshot->netns)
		return true;
	snapshot_each(snapshot, netns_type, const struct netns_record, record)
		if (record->netns == netns)
			return true;
	return false;
}

/*
 * A state may hold a socket, and a namespace lives as long as one of its sockets. Once per sample: each state is
 * compared with each namespace.
 */
static void forget_gone(struct netns_states *states, const struct snapshot *snapshot, netns_release_fn *release)
{
	const void *key;
	void *value;
	size_t at = 0;

	if (states->cleaned_ns == snapshot->begin_boot_ns)
		return;
	states->cleaned_ns = snapshot->begin_boot_ns;
	while (map_next(&states->by_netns, &at, &key, &value)) {
		struct netns_state *state = *(struct netns_state **)value;

		if (is_sampled(snapshot, state->netns))
			continue;
		(void)map_remove(&states->by_netns, key);
		release(state);
		free(state);
	}
}

void *netns_state_find(struct netns_states *states, const struct snapshot *snapshot, size_t size,
		       netns_release_fn *release, bool *ret_new)
{
	size_t sampled = snapshot_table(snapshot, &netns_type)->count;
	struct netns_state **state;

	if (states->by_netns.key_size == 0)
		states->by_netns = MAP_INIT(sizeof(uint32_t), sizeof(struct netns_state *), 0);
	state = map_get(&states->by_netns, &snapshot->netns);
	*ret_new = !state;
	if (!state || states->by_netns.count > max_of(sampled, (size_t)1)) {
		forget_gone(states, snapshot, release);
		state = map_put(&states->by_netns, &snapshot->netns, NULL);
	}
	if (*ret_new) {
		*state = xzalloc(size);
		(*state)->netns = snapshot->netns;
	}
	return *state;
}

void netns_states_done(struct netns_states *states, netns_release_fn *release)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&states->by_netns, &at, &key, &value)) {
		release(*(struct netns_state **)value);
		free(*(struct netns_state **)value);
	}
	map_done(&states->by_netns);
}
