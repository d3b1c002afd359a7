/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TRACE.live for processes that do not own its slots: the recorder, readers, pause and resume. */
#pragma once

#include "base/why.h"
#include "flow/trace/live_file.h"

/* Slots are read, not mapped: unallocated parts would fault when the disk is full. */
struct flow_live_map {
	struct flow_live *live; /* only the header */
	size_t bytes;
	int fd;
};

/* -ENOENT when missing, -EBADMSG when invalid. */
int flow_live_map(const char *path, bool writable, struct flow_live_map *ret_map) _must_check_;
void flow_live_unmap(struct flow_live_map *map);
bool flow_live_is_used(const struct flow_live_map *map, uint32_t slot);
/* Current state of a slot; false when unreadable. */
bool flow_live_slot(const struct flow_live_map *map, uint32_t index, struct flow_slot *ret_slot);
/* Makes the owner of a slot check the pause flag. */
int flow_live_call(const struct flow_live_map *map, uint32_t slot);
/* The chunk being filled, its words copied for the caller to free; -EAGAIN: none. */
int flow_live_take(const struct flow_live_map *map, uint32_t slot, struct flow_chunk *ret_chunk,
		   uint32_t **ret_words) _must_check_;
/* The next collected chunk of a slot, from offset *at, which is advanced; -EAGAIN: none. */
int flow_live_take_gathered(const struct flow_live_map *map, uint32_t slot, uint32_t *at, struct flow_chunk *ret_chunk,
			    uint32_t **ret_words) _must_check_;

/*
 * The digest as payload of a SUMMARY chunk, which the caller frees. With the buffers of dead threads, or without them
 * while the program runs. -ENOENT: the recording is not summarised.
 */
int flow_live_digest(const struct flow_live_map *map, bool with_slots, void **ret_payload,
		     uint32_t *ret_bytes) _must_check_;
