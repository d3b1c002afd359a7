/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of owners. Looking at all descriptors of the host costs as much as the sockets themselves or more, so on a
 * large host it goes on beside them; and when samples follow each other the answer is kept: only a socket that was not
 * there at the last scan causes another one, and scans are never more than a twentieth of the time.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/capability.h"
#include "snapshot/socket/other.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/owner_scan.h"

/* Of a scan's own duration: how long to wait before the next one, while samples follow each other. */
#define SCAN_PAUSE_FACTOR 20
/* A descriptor may be passed on or closed while the socket lives: after this time a kept answer is not believed. */
#define KEPT_MAX_AGE_NS (10 * NSEC_PER_SEC)

static const struct field owner_fields[] = {
	FIELD(struct owner_record, inode, ID, "inode number of the socket", .zero_is_unknown = true),
	FIELD(struct owner_record, pid, ID, "process that holds it", .zero_is_unknown = true),
	FIELD(struct owner_record, fd, ID, "descriptor in that process"),
};
RECORD_TYPE(owner_type, "owner", struct owner_record, owner_fields, "a process that holds a socket");

/* Small, because they are met in no order: the sockets themselves would not fit into any cache. */
struct slot {
	uint32_t inode; /* 0: empty */
	uint32_t owner;
	uint32_t owners;
};

struct state {
	struct slot *slots; /* by inode, of the present sample */
	size_t slot_count;
	struct owner_scan scan;
	VEC(uint32_t) scanned; /* inodes, sorted, that were there at the last scan */
	bool missing;          /* after the last scan: some socket belongs to a process that may not be looked at */
};

static size_t slot_of(const struct state *state, uint32_t inode)
{
	size_t at = (size_t)((uint64_t)inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (state->slot_count - 1);

	while (state->slots[at].inode && state->slots[at].inode != inode)
		at = (at + 1) & (state->slot_count - 1);
	return at;
}

static void index_inode(struct state *state, uint32_t inode)
{
	if (inode)
		state->slots[slot_of(state, inode)] = (struct slot){inode, SOCKET_NONE, 0};
}

static size_t count_sockets(const struct snapshot *snapshot)
{
	size_t count = snapshot_table(snapshot, &socket_type)->count;

	for (unsigned i = 0; i < OTHER_SOCKETS; i++)
		count += snapshot_table(snapshot, other_socket_types[i])->count;
	return count;
}

/* At most half full, so that a look takes a step or two. */
static void index_sockets(struct state *state, const struct snapshot *snapshot)
{
	size_t need = 64, count = count_sockets(snapshot);

	while (need < count * 2)
		need *= 2;
	if (need > state->slot_count) {
		free(state->slots);
		state->slots = xrealloc_array(NULL, need, sizeof(*state->slots));
		state->slot_count = need;
	}
	memset(state->slots, 0, state->slot_count * sizeof(*state->slots));
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		index_inode(state, socket->inode);
	for (unsigned i = 0; i < OTHER_SOCKETS; i++)
		snapshot_each(snapshot, *other_socket_types[i], const struct other_socket_record, other)
			index_inode(state, other->inode);
}

static bool comes_before(const struct owner_record *a, const struct owner_record *b)
{
	return a->pid != b->pid ? a->pid < b->pid : a->fd < b->fd;
}

/* Keeps those of the found owners whose sockets are in the snapshot. */
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

/* Whether a socket has nobody. */
static bool tell(const struct state *state, uint32_t inode, uint32_t *owner, uint32_t *owners)
{
	const struct slot *slot;

	if (!inode)
		return false;
	slot = &state->slots[slot_of(state, inode)];
	*owner = slot->owner;
	*owners = slot->owners;
	return slot->owners == 0;
}

struct unowned {
	uint64_t sockets;
	uint64_t others;
};

/* Tells the sockets, in their order. Returns how many have nobody. */
static struct unowned tell_sockets(const struct state *state, const struct snapshot *snapshot)
{
	struct unowned unowned = {};

	snapshot_each(snapshot, socket_type, struct socket_record, socket)
		unowned.sockets += tell(state, socket->inode, &socket->owner, &socket->owners);
	for (unsigned i = 0; i < OTHER_SOCKETS; i++)
		snapshot_each(snapshot, *other_socket_types[i], struct other_socket_record, other)
			unowned.others += tell(state, other->inode, &other->owner, &other->owners);
	return unowned;
}

/* Joins what was found to the sockets. Returns how many of them have nobody. */
static struct unowned join(struct state *state, struct snapshot *snapshot)
{
	snapshot_table(snapshot, &owner_type)->count = 0;
	index_sockets(state, snapshot);
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++)
		put_owners(state, snapshot, &state->scan.lists[i]);
	return tell_sockets(state, snapshot);
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

static bool was_scanned(const struct state *state, uint32_t inode)
{
	return !inode || bsearch(&inode, state->scanned.items, state->scanned.count, sizeof(uint32_t), by_number);
}

/* Whether the last scan answers for all sockets of this sample, or asking again must wait. */
static bool kept_will_do(const struct state *state, const struct snapshot *snapshot)
{
	uint64_t age = clock_monotonic_ns() - state->scan.ended_ns;

	if (state->scan.ended_ns == 0 || age > KEPT_MAX_AGE_NS)
		return false;
	if (age < SCAN_PAUSE_FACTOR * state->scan.took_ns)
		return true;
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (!was_scanned(state, socket->inode))
			return false;
	for (unsigned i = 0; i < OTHER_SOCKETS; i++)
		snapshot_each(snapshot, *other_socket_types[i], const struct other_socket_record, other)
			if (!was_scanned(state, other->inode))
				return false;
	return true;
}

static void begin(struct snapshot *snapshot, const struct snapshot_request *request)
{
	struct state *state = snapshot_state(snapshot);

	/* Whether a kept answer will do is known only when the sockets are. */
	if (!request->repeated)
		owner_scan_begin(&state->scan, request);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	bool fresh = !request->repeated || !kept_will_do(state, snapshot);
	struct unowned unowned;
	char reason[160];
	bool some;
	int r = 0;

	if (fresh) {
		r = owner_scan_finish(&state->scan, request, why);
		if (r < 0)
			return r;
	}
	unowned = join(state, snapshot);
	if (fresh && unowned.sockets + unowned.others > 0 && state->scan.by_files) {
		r = owner_scan_thoroughly(&state->scan, why);
		if (r < 0)
			return r;
		unowned = join(state, snapshot);
	}
	if (fresh && request->repeated)
		remember_scanned(state);
	some = unowned.sockets + unowned.others > 0;
	/* Processes that may not be looked at matter only where a socket has nobody else. */
	if (fresh && some && state->scan.use_bpf)
		state->scan.hidden = owner_count_hidden();
	if (fresh)
		state->missing =
			state->scan.hidden && some && (unowned.others || owner_really_missing(snapshot, request));
	if (state->missing) {
		capability_refusal(CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH), reason, sizeof(reason));
		snapshot_gap(snapshot, "owners of some sockets", "cannot read the descriptors of %llu process%s: %s",
			     (unsigned long long)state->scan.hidden, state->scan.hidden == 1 ? "" : "es", reason);
	}
	return 0;
}

static void release(void *data)
{
	struct state *state = data;

	free(state->slots);
	vec_done(&state->scanned);
	owner_scan_done(&state->scan);
}

static const struct record_type *const needs[] = {
	&socket_type,         &unix_socket_type,  &raw_socket_type,   &packet_socket_type,
	&netlink_socket_type, &vsock_socket_type, &mptcp_socket_type, NULL,
};
static const struct record_type *const types[] = {&owner_type, NULL};

static const struct snapshot_source owner_source = {
	.name = "owner",
	.lost = "which processes hold the sockets",
	.types = types,
	.needs = needs,
	.any_need = true,
	.stage = STAGE_OWNERS,
	.state_size = sizeof(struct state),
	.begin = begin,
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(owner_source);
