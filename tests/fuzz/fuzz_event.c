/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes in the ring buffer: an event is one that was asked for, and every field of it can be shown. */
#include "base/buf.h"
#include "event/core/decode.h"
#include "fuzz.h"
#include "view/format.h"

#define EVENTS_MAX 256

static struct event_request requests[EVENTS_MAX];
static unsigned request_count;

static void ask_for_all(void)
{
	_cleanup_free_ const struct event **events = NULL;
	size_t count;

	events = event_list(&count);
	fuzz_require(count <= EVENTS_MAX);
	for (size_t i = 0; i < count; i++)
		requests[i].event = events[i];
	request_count = (unsigned)count;
}

static void show(const struct event *event, const struct record *record)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	struct shape shape = event_shape(event);
	struct field_ref at = {};

	while (shape_next(&shape, &at)) {
		struct value value;

		if (at.part == EVENT_PART_EXTRA)
			continue;
		value = record_get(record, at);
		buf_clear(&text);
		format_add_value(&text, at.field, &value);
		fuzz_require(!fuzz_has_control(buf_text(&text), text.len));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* As in the ring buffer: aligned, and nothing readable behind the end. */
	_cleanup_free_ char *copy = xmalloc(size + !size);
	static uint64_t room[1024];
	struct event_bytes bytes = {copy, size, room};
	struct event_head head = {};
	struct record record;
	int request;

	if (request_count == 0)
		ask_for_all();
	if (size)
		memcpy(copy, data, size);
	/* Most inputs should be events: the first byte chooses, and the size is made to fit where it can. */
	if (size > sizeof(head)) {
		uint32_t wanted = data[0] % request_count;

		memcpy(copy + offsetof(struct event_head, event), &wanted, sizeof(wanted));
		bytes.size = min_of(size, event_size(requests[wanted].event));
	}
	request = event_decode(requests, request_count, &bytes, &head, &record);
	fuzz_require(request == -EBADMSG || (request >= 0 && (unsigned)request < request_count));
	if (request < 0)
		return 0;
	fuzz_require(bytes.size == event_size(requests[request].event) ||
		     bytes.size >= sizeof(head) + requests[request].event->shortest);
	fuzz_require(requests[request].event->type->size <= sizeof(room));
	show(requests[request].event, &record);
	return 0;
}
