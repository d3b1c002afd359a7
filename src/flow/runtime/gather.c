/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * With few timed events a packed chunk is so short that a write costs more than its bytes: several are written
 * together. Until then they are collected at the end of the slot, complete, where readers find them if the program is
 * killed.
 */
#include "flow/runtime/runtime.h"

static struct flow_chunk *gathered_at(struct flow_slot *t, uint32_t bytes)
{
	return (struct flow_chunk *)((uintptr_t)t + flow_slot_gather_offset(live) + bytes);
}

static uint32_t gathered_bytes(const struct flow_slot *t)
{
	return (uint32_t)t->gathered;
}

/* A single store: a reader finds a chunk here or in the slot, never in both. */
static void set_gathered(struct flow_slot *t, uint32_t bytes, uint32_t next_seq)
{
	__atomic_store_n(&t->gathered, bytes | (uint64_t)next_seq << 32, __ATOMIC_RELEASE);
}

/* Counts the collected chunks as lost. */
static void lose(struct flow_slot *t)
{
	uint32_t end = gathered_bytes(t);
	uint64_t events = 0, lost = 0;

	flow_slot_chunk(t)->seq = gathered_at(t, 0)->seq;
	for (uint32_t at = 0; at < end;) {
		const struct flow_chunk *chunk = gathered_at(t, at);

		events += chunk->events;
		lost += chunk->lost;
		at += (uint32_t)sizeof(*chunk) + chunk->bytes;
	}
	__atomic_fetch_add(&t->unmarked, events + lost, __ATOMIC_RELAXED);
	__atomic_fetch_add(&live->dropped, events, __ATOMIC_RELAXED);
	t->why = FLOW_LOST_FULL;
	t->resync = 1;
}

bool gather_flush(struct flow_slot *t)
{
	uint32_t bytes = gathered_bytes(t);
	bool ok = !bytes || trace_file_append(gathered_at(t, 0), bytes);

	if (!ok)
		lose(t);
	set_gathered(t, 0, 0);
	return ok;
}

bool gather_chunk(struct flow_slot *t, struct flow_chunk *chunk)
{
	/* A chunk that does not shrink to half is not packed, so half the room is enough. */
	uint32_t room = flow_slot_room(live) / 2, whole = (uint32_t)sizeof(*chunk) + room * (uint32_t)sizeof(uint32_t);
	struct flow_chunk *packed;

	if (gathered_bytes(t) + whole > live->gather_bytes && !gather_flush(t))
		return false;
	packed = gathered_at(t, gathered_bytes(t));
	if (t->pack && pack_chunk(t->pack, chunk, packed, room)) {
		trace_file_seal(packed);
		set_gathered(t, gathered_bytes(t) + (uint32_t)sizeof(*packed) + packed->bytes, chunk->seq + 1);
		return true;
	}
	if (!gather_flush(t))
		return false;
	return trace_file_add(chunk);
}
