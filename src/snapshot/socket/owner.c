/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source of owners. A scan of all descriptors of the host costs as much as the socket dump or more, so on a large host
 * it runs in parallel. In repeated sampling the result is cached: only a socket that is new since the last scan causes
 * another scan, and scans take at most a twentieth of the time.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/owner_scan.h"
#include "snapshot/socket/socket.h"

/* Pause between scans in repeated sampling, as a multiple of the scan's duration. */
#define SCAN_PAUSE_FACTOR 20
/* Cache lifetime: a descriptor may be passed on or closed while the socket lives. */
#define KEPT_MAX_AGE_NS (10 * NSEC_PER_SEC)

static const struct field owner_fields[] = {
	FIELD(struct owner_record, inode, ID, "inode number of the socket", .zero_is_unknown = true),
	FIELD(struct owner_record, pid, ID, "process that holds the socket", .zero_is_unknown = true),
	FIELD(struct owner_record, fd, ID, "file descriptor in that process"),
};
RECORD_TYPE(owner_type, "owner", struct owner_record, owner_fields, "a process that holds a socket");

/* Small for cache locality: access is random. */
struct slot {
	uint32_t inode; /* 0: empty */
	uint32_t owner;
	uint32_t owners;
};

struct state {
	struct slot *slots; /* by inode, of the current sample */
	size_t slot_count;
	struct owner_scan scan;
	VEC(uint32_t) scanned; /* sorted socket inodes at the last scan */
	bool missing;          /* after the last scan: a socket belongs to a process that is not readable */
};

static size_t slot_of(const struct state *state, uint32_t inode)
{
	size_t at = (size_t)((uint64_t)inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (state->slot_count - 1);

	while (state->slots[at].inode && state->slots[at].inode != inode)
		at = (at + 1) & (state->slot_count - 1);
	return at;
}

/* At most half full: one or two probes per lookup. */
static void index_sockets(struct state *state, const struct snapshot *snapshot)
{
	size_t need = 64;

	while (need < snapshot_table(snapshot, &socket_type)->count * 2)
		need *= 2;
	if (need > state->slot_count) {
		free(state->slots);
		state->slots = xrealloc_array(NULL, need, sizeof(*state->slots));
		state->slot_count = need;
	}
	memset(state->slots, 0, state->slot_count * sizeof(*state->slots));
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (socket->inode)
			state->slots[slot_of(state, socket->inode)] = (struct slot){socket->inode, SOCKET_NONE, 0};
}

static bool comes_before(const struct owner_record *a, const struct owner_record *b)
{
	return a->pid != b->pid ? a->pid < b->pid : a->fd < b->fd;
}

/* Keeps the owners whose sockets are in the snapshot. */
static void put_owners(struct state *state, struct snapshot *snapshot, const struct owner_list *list)
{
	struct snapshot_table *table = snapshot_table(snapshot, &owner_type);

	vec_each(list, found) {
		struct slot *slot = &state->slots[slot_of(state, found->inode)];
		struct owner_record *owner;

		if (!slot->inode)
			continue;
		owner = snapshot_table_add(table);
		if (!owner)
			return;
		*owner = *found;
		slot->owners++;
		if (slot->owner == SOCKET_NONE ||
		    comes_before(found, (struct owner_record *)table->items + slot->owner))
			slot->owner = (uint32_t)(table->count - 1);
	}
}

/* Sets the owners of all sockets. Returns the number of sockets without one. */
static uint64_t set_owners(const struct state *state, const struct snapshot *snapshot)
{
	uint64_t unowned = 0;

	snapshot_each(snapshot, socket_type, struct socket_record, socket) {
		const struct slot *slot;

		if (!socket->inode)
			continue;
		slot = &state->slots[slot_of(state, socket->inode)];
		socket->owner = slot->owner;
		socket->owners = slot->owners;
		unowned += slot->owners == 0;
	}
	return unowned;
}

/* Joins the scan result to the sockets. Returns the number of sockets without an owner. */
static uint64_t join(struct state *state, struct snapshot *snapshot)
{
	snapshot_table(snapshot, &owner_type)->count = 0;
	index_sockets(state, snapshot);
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++)
		put_owners(state, snapshot, &state->scan.lists[i]);
	return set_owners(state, snapshot);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void remember_scanned(struct state *state)
{
	state->scanned.count = 0;
	for (size_t i = 0; i < state->slot_count; i++)
		if (state->slots[i].inode)
			vec_push(&state->scanned, state->slots[i].inode);
	vec_sort(&state->scanned, by_number);
}

/* Whether the last scan covers all sockets of this sample, or it is too early for another. */
static bool can_reuse_scan(const struct state *state, const struct snapshot *snapshot)
{
	uint64_t age = clock_monotonic_ns() - state->scan.ended_ns;

	if (state->scan.ended_ns == 0 || age > KEPT_MAX_AGE_NS)
		return false;
	if (age < SCAN_PAUSE_FACTOR * state->scan.took_ns)
		return true;
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (socket->inode &&
		    !bsearch(&socket->inode, state->scanned.items, state->scanned.count, sizeof(uint32_t), by_number))
			return false;
	return true;
}

static void begin(struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct state *state = snapshot_state(snapshot);

	/* Whether the cached scan suffices is known only after the socket dump. */
	if (!request->repeated)
		owner_scan_begin(&state->scan, request);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	bool fresh = !request->repeated || !can_reuse_scan(state, snapshot);
	uint64_t unowned;
	int r = 0;

	if (fresh) {
		r = owner_scan_finish(&state->scan, request, why);
		if (r < 0)
			return r;
	}
	unowned = join(state, snapshot);
	if (fresh && unowned && state->scan.by_files) {
		r = owner_scan_thoroughly(&state->scan, why);
		if (r < 0)
			return r;
		unowned = join(state, snapshot);
	}
	if (fresh && request->repeated)
		remember_scanned(state);
	/* Unreadable processes matter only if a socket has no other owner. */
	if (fresh && unowned && state->scan.use_bpf)
		state->scan.hidden = owner_count_hidden();
	if (fresh)
		state->missing = state->scan.hidden && unowned && owner_really_missing(snapshot, request);
	if (state->missing)
		snapshot_gap(snapshot, "owners of some sockets",
			     "cannot read the descriptors of %llu process%s (needs CAP_SYS_PTRACE), and some sockets "
			     "have no other owner",
			     (unsigned long long)state->scan.hidden, state->scan.hidden == 1 ? "" : "es");
	return 0;
}

static void release(void *data)
{
	struct state *state = data;

	free(state->slots);
	vec_done(&state->scanned);
	owner_scan_done(&state->scan);
}

static const struct record_type *const needs[] = {&socket_type, NULL};
static const struct record_type *const types[] = {&owner_type, NULL};

static const struct snapshot_source owner_source = {
	.name = "owner",
	.lost = "owners of sockets",
	.types = types,
	.needs = needs,
	.stage = STAGE_OWNERS,
	.state_size = sizeof(struct state),
	.begin = begin,
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(owner_source);
