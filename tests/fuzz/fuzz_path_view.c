/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journeys of any content, as a recording may hold them, through every view: pictures stay well-formed. */
#include <jansson.h>
#include <sys/mman.h>

#include "base/out.h"
#include "fuzz.h"
#include "path/draw/picture.h"
#include "path/draw/trace_event.h"
#include "path/draw/waterfall.h"
#include "path/journey/journey_event.h"
#include "path/journey/journey_record.h"
#include "path/journey/journey_store.h"
#include "view/json.h"

struct input {
	const uint8_t *data;
	size_t size;
};

static uint64_t take(struct input *input, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes && input->size; i++, input->size--)
		value = value << 8 | *input->data++;
	return value;
}

static void take_name(struct input *input, char *name)
{
	for (unsigned i = 0; i < 16; i++)
		name[i] = (char)take(input, 1);
}

/* Any bytes, but stages that follow each other: others do not get through the reader. */
static struct journey take_journey(struct input *input)
{
	struct journey journey = {.time_ns = take(input, 7),
				  .lport = (uint16_t)take(input, 2),
				  .dir = (uint8_t)take(input, 1),
				  .end = (uint8_t)take(input, 1),
				  .proto = (uint8_t)take(input, 1),
				  .pid = (uint32_t)take(input, 1),
				  .bytes = (uint32_t)take(input, 4),
				  .reason = (uint32_t)take(input, 1),
				  .hidden = (uint32_t)take(input, 4)};

	take_name(input, journey.comm);
	take_name(input, journey.dev);
	journey.raddr.family = (uint8_t)take(input, 1) % 2 ? ADDR_V4 : ADDR_UNKNOWN;
	journey.stage_count = (uint32_t)take(input, 1) % (JOURNEY_STAGES_MAX + 1);
	for (uint32_t i = 0; i < journey.stage_count; i++) {
		journey.stages[i] = (struct journey_stage){.start_ns = journey.time_ns + journey.total_ns,
							   .ns = take(input, (unsigned)take(input, 1) % 7),
							   .note = (uint32_t)take(input, 4),
							   .cpu = (uint16_t)take(input, 2),
							   .stage = (uint8_t)take(input, 1),
							   .context = (uint8_t)take(input, 1)};
		journey.total_ns += journey.stages[i].ns;
	}
	fuzz_require(journey_adds_up(&journey));
	return journey;
}

struct gallery {
	struct slowest slowest;
	struct summary summary;
	struct heat heat;
	struct trace_events trace;
};

static void begin(struct out *out)
{
	out_init(out, memfd_create("fuzz", MFD_CLOEXEC));
	fuzz_require(out->fd >= 0);
	out->owns_fd = false;
}

static void finish(struct out *out, struct buf *text)
{
	_cleanup_close_ int fd = out->fd;

	fuzz_require(out_done(out) == 0);
	fuzz_require(lseek(fd, 0, SEEK_SET) == 0 && buf_read_fd(text, fd) == 0);
}

static void check_text(const struct gallery *gallery, unsigned width)
{
	_cleanup_buf_ struct buf text = BUF_INIT((size_t)64 << 20);
	struct out out;

	begin(&out);
	out.width = width;
	vec_each(&gallery->slowest.journeys, journey)
		waterfall_print(journey, &out);
	summary_print(&gallery->summary, &out);
	finish(&out, &text);
	for (size_t i = 0; i < text.len; i++)
		fuzz_require(text.data[i] == '\n' || !fuzz_has_control(text.data + i, 1));
}

static void check_pictures(const struct gallery *gallery)
{
	struct path_picture picture = {
		.slowest = &gallery->slowest, .summary = &gallery->summary, .heat = &gallery->heat, .note = "<&\">"};
	_cleanup_buf_ struct buf svg = BUF_INIT((size_t)64 << 20), page = BUF_INIT((size_t)64 << 20),
				 json = BUF_INIT((size_t)64 << 20), trace = BUF_INIT((size_t)64 << 20);
	struct out out;
	json_t *root;

	begin(&out);
	picture_write_svg(&picture, &out);
	finish(&out, &svg);
	fuzz_require(!strstr(buf_text(&svg), "<script") && strstr(buf_text(&svg), "</svg>\n"));
	begin(&out);
	picture_write_page(&picture, &out);
	finish(&out, &page);
	fuzz_require(!strstr(buf_text(&page), "<script") && strstr(buf_text(&page), "</html>\n"));
	begin(&out);
	picture_write_json(&picture, &out);
	finish(&out, &json);
	root = json_loadb(json.data, json.len, JSON_REJECT_DUPLICATES, NULL);
	fuzz_require(root);
	json_decref(root);
	begin(&out);
	trace_events_write(&gallery->trace, &out);
	finish(&out, &trace);
	root = json_loadb(trace.data, trace.len, 0, NULL);
	fuzz_require(root);
	json_decref(root);
}

static void check_json(const struct journey *journey)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	const struct shape *shape = journey_record_shape();
	struct journey_record record;
	struct field_ref at = {};

	journey_record_fill(&record, journey);
	while (shape_next(shape, &at)) {
		struct value value = record_get(&record.record, at);
		json_t *json;

		buf_clear(&text);
		json_add_value(&text, at.field, &value);
		json = json_loadb(text.data, text.len, JSON_DECODE_ANY, NULL);
		fuzz_require(json);
		json_decref(json);
	}
}

/* Asked for as an event, it says the same, as far as an event has room. */
static void check_event(const struct journey *journey)
{
	struct journey_event event;
	struct journey again;

	journey_to_event(journey, &event);
	journey_from_event(&event.head, &event.data, &again);
	fuzz_require(again.stage_count == min_of(journey->stage_count, (uint32_t)PATH_STEPS_MAX));
	fuzz_require(again.total_ns == journey->total_ns && memcmp(again.comm, journey->comm, sizeof(again.comm)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *names[] = {(char *)"comm", (char *)"cpu"};
	struct text_list by = {.count = 2, .items = names};
	struct gallery gallery = {.slowest = {.limit = 3}, .heat = HEAT_INIT(PATH_LAYERS)};
	struct input input = {data, size};

	fuzz_require(summary_init(&gallery.summary, &by, NULL) == 0);
	while (input.size) {
		struct journey journey = take_journey(&input);

		check_json(&journey);
		check_event(&journey);
		slowest_add(&gallery.slowest, &journey);
		summary_add(&gallery.summary, &journey);
		path_heat_add(&gallery.heat, &journey);
		trace_events_add(&gallery.trace, &journey);
	}
	summary_sort(&gallery.summary);
	check_text(&gallery, 0);
	check_text(&gallery, 70);
	check_pictures(&gallery);
	slowest_done(&gallery.slowest);
	summary_done(&gallery.summary);
	heat_done(&gallery.heat);
	trace_events_done(&gallery.trace);
	return 0;
}
