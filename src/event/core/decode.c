/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "event/core/decode.h"

static bool is_size(const struct event *event, size_t size)
{
	return size == event_size(event) ||
	       (event->shortest && size >= sizeof(struct event_head) + event->shortest && size < event_size(event));
}

int event_decode(const struct event_request *requests, unsigned count, const struct event_bytes *bytes,
		 struct event_head *head, struct record *ret_record)
{
	const char *data = (const char *)bytes->data + sizeof(*head);
	const struct event *event;

	if (bytes->size < sizeof(*head))
		return -EBADMSG;
	memcpy(head, bytes->data, sizeof(*head));
	if (head->event >= count)
		return -EBADMSG;
	event = requests[head->event].event;
	if (!is_size(event, bytes->size))
		return -EBADMSG;
	if (bytes->size < event_size(event)) {
		size_t size = bytes->size - sizeof(*head);

		memcpy(bytes->room, data, size);
		memset((char *)bytes->room + size, 0, event->type->size - size);
		data = bytes->room;
	}
	*ret_record = (struct record){.parts = {[EVENT_PART_HEAD] = head, [EVENT_PART_DATA] = data}};
	return (int)head->event;
}
