/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "event/decode.h"

int event_decode(const struct event_request *requests, unsigned count, const struct event_bytes *bytes,
		 struct event_head *head, struct record *ret_record)
{
	if (bytes->size < sizeof(*head))
		return -EBADMSG;
	memcpy(head, bytes->data, sizeof(*head));
	if (head->event >= count || bytes->size != event_size(requests[head->event].event))
		return -EBADMSG;
	*ret_record = (struct record){
		.parts = {[EVENT_PART_HEAD] = head, [EVENT_PART_DATA] = (const char *)bytes->data + sizeof(*head)}};
	return (int)head->event;
}
