/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TRACE.live as those see it who do not own its slots: the recorder, readers, and whoever pauses a recording. */
#pragma once

#include "base/why.h"
#include "flow/trace/live_file.h"

/* Slots are read, not mapped: memory of a part that was never written may not be there when the disk is full. */
struct flow_live_map {
	struct flow_live *live; /* the header alone */
	size_t bytes;
	int fd;
};

/* -ENOENT when there is none, -EBADMSG when it makes no sense. */
int flow_live_map(const char *path, bool writable, struct flow_live_map *ret_map) _must_check_;
void flow_live_unmap(struct flow_live_map *map);
bool flow_live_is_used(const struct flow_live_map *map, uint32_t slot);
/* A slot's state as it is now; false when it cannot be read. */
bool flow_live_slot(const struct flow_live_map *map, uint32_t index, struct flow_slot *ret_slot);
/* Makes the owner of a slot look whether it is paused. */
int flow_live_call(const struct flow_live_map *map, uint32_t slot);
/* The chunk that a slot's thread is filling, its words copied out for the caller to free; -EAGAIN: there is none. */
int flow_live_take(const struct flow_live_map *map, uint32_t slot, struct flow_chunk *ret_chunk,
		   uint32_t **ret_words) _must_check_;
/* The next chunk that waits in a slot, from *at bytes on, which leads to the one after it; -EAGAIN: there is none. */
int flow_live_take_gathered(const struct flow_live_map *map, uint32_t slot, uint32_t *at, struct flow_chunk *ret_chunk,
			    uint32_t **ret_words) _must_check_;

/*
 * What was summarised instead of being written: the payload of a chunk of kind SUMMARY, the caller's to free. With the
 * buffers of threads that are no more, or without them while the program runs. -ENOENT when nothing is summarised.
 */
int flow_live_digest(const struct flow_live_map *map, bool with_slots, void **ret_payload,
		     uint32_t *ret_bytes) _must_check_;
