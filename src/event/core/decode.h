/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes ring buffer bytes into a record: rejects what does not have the size of a requested event. */
#pragma once

#include "event/core/event_source.h"

/* Bytes of the ring buffer. */
struct event_bytes {
	const void *data;
	size_t size;
	void *room; /* buffer for the data of a truncated event */
};

/*
 * Returns the index of the request, or -EBADMSG. The head is copied to *head, since the ring buffer is read-only and
 * the time is converted; the record points there and into the bytes, or to the room.
 */
int event_decode(const struct event_request *requests, unsigned count, const struct event_bytes *bytes,
		 struct event_head *head, struct record *ret_record) _must_check_;
