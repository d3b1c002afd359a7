/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the bytes of the ring buffer to a record: what does not have the size of an event that was asked for is none. */
#pragma once

#include "event/core/event_source.h"

/* Bytes as they lie in the ring buffer. */
struct event_bytes {
	const void *data;
	size_t size;
	void *room; /* for the data of an event that came without its end */
};

/*
 * The number of the request that the event answers, or -EBADMSG. The head is copied to *head, since the buffer is
 * read-only memory and the time in it is changed; the record points there and into the bytes, or to the room.
 */
int event_decode(const struct event_request *requests, unsigned count, const struct event_bytes *bytes,
		 struct event_head *head, struct record *ret_record) _must_check_;
