/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of owners. Looking at all descriptors of the host costs far more than the sockets themselves, so when
 * samples follow each other the answer is kept: only a socket that was not there at the last scan causes another one,
 * and scans are never more than a twentieth of the time.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "snapshot/owner.h"
#include "snapshot/socket.h"

/* Of a scan's own duration: how long to wait before the next one, while samples follow each other. */
#define SCAN_PAUSE_FACTOR 20
/* A descriptor may be passed on or closed while the socket lives: after this time a cached answer is not believed. */
#define CACHE_MAX_AGE_NS (10 * NSEC_PER_SEC)
/*
 * Loading the BPF program costs what reading this many descriptors through /proc costs. Until they have been counted
 * once, the number of sockets is the best guess.
 */
#define BPF_WORTH_FDS 20000

static const struct field owner_fields[] = {
	FIELD(struct owner_record, inode, ID, "inode number of the socket", .zero_is_unknown = true),
	FIELD(struct owner_record, pid, ID, "process that holds it", .zero_is_unknown = true),
	FIELD(struct owner_record, fd, ID, "descriptor in that process"),
};
RECORD_TYPE(owner_type, "owner", struct owner_record, owner_fields, "a process that holds a socket");

struct slot {
	uint32_t inode; /* 0: empty */
	uint32_t socket;
};

struct state {
	struct slot *slots; /* inode -> socket, of the present sample */
	size_t slot_count;
	VEC(struct owner_record) cache; /* sorted out of the last scan: those of its sockets */
	VEC(uint32_t) scanned;          /* inodes, sorted, that the last scan looked for */
	uint64_t scan_ns;
	uint64_t scan_took_ns;
	uint64_t hidden;
	struct owner_bpf *bpf;
	bool bpf_failed;
	struct snapshot *snapshot; /* while a scan runs */
};

static size_t slot_of(const struct state *state, uint32_t inode)
{
	size_t at = (size_t)((uint64_t)inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (state->slot_count - 1);

	while (state->slots[at].inode && state->slots[at].inode != inode)
		at = (at + 1) & (state->slot_count - 1);
	return at;
}

/* At most half full, so that a look takes a step or two. Returns how many sockets may have an owner. */
static size_t index_sockets(struct state *state, struct snapshot *snapshot)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &socket_type);
	struct socket_record *sockets = (struct socket_record *)table->items;
	size_t need = 64, count = 0;

	while (need < table->count * 2)
		need *= 2;
	if (need > state->slot_count) {
		free(state->slots);
		state->slots = xrealloc_array(NULL, need, sizeof(*state->slots));
		state->slot_count = need;
	}
	memset(state->slots, 0, state->slot_count * sizeof(*state->slots));
	for (size_t i = 0; i < table->count; i++) {
		size_t at;

		if (sockets[i].inode == 0)
			continue;
		at = slot_of(state, sockets[i].inode);
		state->slots[at] = (struct slot){sockets[i].inode, (uint32_t)i};
		count++;
	}
	return count;
}

static bool before(const struct owner_record *a, const struct owner_record *b)
{
	return a->pid != b->pid ? a->pid < b->pid : a->fd < b->fd;
}

static void put_owner(struct snapshot *snapshot, struct socket_record *socket, const struct owner_record *found)
{
	struct snapshot_table *table = snapshot_table(snapshot, &owner_type);
	struct owner_record *owner = table_add(table);

	if (!owner)
		return;
	*owner = *found;
	socket->owners++;
	if (socket->owner == SOCKET_NONE || before(found, (struct owner_record *)table->items + socket->owner))
		socket->owner = (uint32_t)(table->count - 1);
}

static struct socket_record *find_socket(const struct state *state, const struct snapshot *snapshot, uint32_t inode)
{
	size_t at = slot_of(state, inode);

	if (!state->slots[at].inode)
		return NULL;
	return (struct socket_record *)snapshot_table(snapshot, &socket_type)->items + state->slots[at].socket;
}

static void on_found(void *context, const struct owner_record *found)
{
	struct state *state = context;
	struct socket_record *socket = find_socket(state, state->snapshot, found->inode);

	if (!socket)
		return;
	put_owner(state->snapshot, socket, found);
	vec_push(&state->cache, *found);
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

static int scan(struct state *state, struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	uint64_t begin = clock_monotonic_ns();
	bool want_bpf =
		!request->no_bpf && !state->bpf_failed &&
		(state->bpf || request->repeated || snapshot_table(snapshot, &socket_type)->count >= BPF_WORTH_FDS);
	int r = -ENOTSUP;

	state->cache.count = 0;
	state->hidden = 0;
	state->snapshot = snapshot;
	if (want_bpf && !state->bpf)
		state->bpf_failed = owner_bpf_open(&state->bpf, NULL) < 0;
	if (want_bpf && state->bpf)
		r = owner_scan_bpf(state->bpf, on_found, state, why);
	if (r < 0) {
		snapshot_table(snapshot, &owner_type)->count = 0;
		state->cache.count = 0;
		r = owner_scan_proc(on_found, state, &state->hidden, why);
	}
	if (request->repeated)
		remember_scanned(state);
	state->scan_ns = clock_monotonic_ns();
	state->scan_took_ns = state->scan_ns - begin;
	return r;
}

/* Whether the last scan answers for all sockets of this sample, or asking again must wait. */
static bool cache_will_do(const struct state *state, const struct snapshot *snapshot)
{
	uint64_t age = clock_monotonic_ns() - state->scan_ns;

	if (state->scan_ns == 0 || age > CACHE_MAX_AGE_NS)
		return false;
	if (age < SCAN_PAUSE_FACTOR * state->scan_took_ns)
		return true;
	snapshot_each(snapshot, socket_type, const struct socket_record,
		      socket) if (socket->inode && !bsearch(&socket->inode, state->scanned.items, state->scanned.count,
							    sizeof(uint32_t), by_number)) return false;
	return true;
}

/* Processes that may not be looked at matter only where a socket has nobody else. */
static void note_unowned(const struct state *state, struct snapshot *snapshot)
{
	uint64_t unowned = 0;

	snapshot_each(snapshot, socket_type, const struct socket_record, socket) unowned +=
		socket->inode && socket->owner == SOCKET_NONE;
	if (unowned)
		snapshot_gap(snapshot, NULL,
			     "the descriptors of %llu processes cannot be read (needs CAP_SYS_PTRACE); "
			     "%llu sockets have no known owner",
			     (unsigned long long)state->hidden, (unsigned long long)unowned);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	int r = 0;

	if (index_sockets(state, snapshot) == 0)
		return 0;
	if (request->repeated && cache_will_do(state, snapshot)) {
		vec_each (&state->cache, owner) {
			struct socket_record *socket = find_socket(state, snapshot, owner->inode);

			if (socket)
				put_owner(snapshot, socket, owner);
		}
	} else {
		r = scan(state, snapshot, request, why);
	}
	if (r == 0 && state->hidden)
		note_unowned(state, snapshot);
	return r;
}

static void release(void *data)
{
	struct state *state = data;

	free(state->slots);
	vec_done(&state->cache);
	vec_done(&state->scanned);
	owner_bpf_close(state->bpf);
}

static const struct record_type *const types[] = {&owner_type, NULL};

static const struct snapshot_source owner_source = {
	.name = "owner",
	.lost = "which processes hold the sockets",
	.types = types,
	.stage = STAGE_OWNERS,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(owner_source);
