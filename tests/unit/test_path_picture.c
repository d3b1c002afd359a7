/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures and traces of journeys: well-formed, and safe against hostile names. And recordings of journeys. */
#include <jansson.h>

#include "base/map.h"
#include "journeys.h"
#include "path/draw/picture.h"
#include "path/draw/trace_event.h"
#include "path/draw/waterfall.h"
#include "path/journey/journey_store.h"

/* A hostile program name. */
static const char hostile[16] = "</script>\"&'<x\xff";

struct gallery {
	struct slowest slowest;
	struct summary summary;
	struct heat heat;
	struct trace_events trace;
};

static void gallery_add(struct gallery *gallery, const struct journey *journey)
{
	slowest_add(&gallery->slowest, journey);
	summary_add(&gallery->summary, journey);
	path_heat_add(&gallery->heat, journey);
	trace_events_add(&gallery->trace, journey);
}

static void gallery_init(struct gallery *gallery)
{
	static char *names[] = {(char *)"comm"};
	static struct text_list by = {.count = 1, .items = names};

	*gallery = (struct gallery){.slowest = {.limit = 5}, .heat = HEAT_INIT(PATH_LAYERS)};
	REQUIRE(summary_init(&gallery->summary, &by, NULL) == 0);
}

static void gallery_done(struct gallery *gallery)
{
	slowest_done(&gallery->slowest);
	summary_done(&gallery->summary);
	heat_done(&gallery->heat);
	trace_events_done(&gallery->trace);
}

enum form { FORM_SVG, FORM_PAGE, FORM_JSON, FORM_TRACE };

static char *gallery_text(const struct gallery *gallery, enum form form)
{
	struct path_picture picture = {.slowest = &gallery->slowest,
				       .summary = &gallery->summary,
				       .heat = &gallery->heat,
				       .note = "a <note> & \"more\""};
	struct out out = journey_out(true, 0);

	if (form == FORM_TRACE)
		trace_events_write(&gallery->trace, &out);
	else if (form == FORM_SVG)
		picture_write_svg(&picture, &out);
	else if (form == FORM_JSON)
		picture_write_json(&picture, &out);
	else
		picture_write_page(&picture, &out);
	return journey_out_text(&out);
}

/* Enough XML to catch an unescaped name: tags nest, attributes are quoted, & starts an entity. */
static bool is_well_formed(const char *text)
{
	VEC(const char *) open = {};
	bool fine = true;

	for (const char *c = text; fine && *c; c++) {
		const char *end;

		if (*c == '&')
			fine = strncmp(c, "&lt;", 4) == 0 || strncmp(c, "&gt;", 4) == 0 ||
			       strncmp(c, "&amp;", 5) == 0 || strncmp(c, "&quot;", 6) == 0 ||
			       strncmp(c, "&#39;", 5) == 0 || strncmp(c, "&apos;", 6) == 0;
		if (*c != '<')
			continue;
		for (end = c; *end && *end != '>'; end++)
			if (*end == '"')
				for (end++; *end && *end != '"'; end++)
					fine &= *end != '<';
		if (!*end) {
			fine = false;
			break;
		}
		if (c[1] == '/') {
			const char *last = open.count ? open.items[--open.count] : "";
			size_t n = (size_t)(end - c) - 2;

			fine &= strncmp(last + 1, c + 2, n) == 0 && (last[1 + n] == ' ' || last[1 + n] == '>');
		} else if (end[-1] != '/') {
			vec_push(&open, c);
		}
		c = end;
	}
	fine &= open.count == 0;
	vec_done(&open);
	return fine;
}

static void fill(struct gallery *gallery)
{
	for (int i = 0; i < 40; i++) {
		struct journey received = journey_received(i == 20 ? 4100000 : 5000), sent = journey_sent(30000);

		received.time_ns += (uint64_t)i * 50000000;
		for (uint32_t s = 0; s < received.stage_count; s++)
			received.stages[s].start_ns += (uint64_t)i * 50000000;
		memcpy(received.comm, hostile, sizeof(hostile));
		memcpy(received.dev, hostile, sizeof(hostile));
		gallery_add(gallery, &received);
		gallery_add(gallery, &sent);
	}
	summary_sort(&gallery->summary);
}

TEST(svg_is_well_formed_and_shows_every_stage)
{
	struct gallery gallery;
	_cleanup_free_ char *text = NULL;

	gallery_init(&gallery);
	fill(&gallery);
	text = gallery_text(&gallery, FORM_SVG);
	CHECK(is_well_formed(text));
	CHECK(!strstr(text, "</script"));
	CHECK_HAS_TEXT(text, "&lt;/script&gt;");
	CHECK_HAS_TEXT(text, "a &lt;note&gt; &amp; &quot;more&quot;");
	CHECK_HAS_TEXT(text, "reader waited 4.10 ms for a CPU: 3 runnable tasks ahead");
	CHECK_HAS_TEXT(text, "not visible: irq, filter");
	/* One slow packet received, four transmitted. */
	CHECK_EQ_UINT(unit_occurrences(text, "rx=\"2\"/><title>"), 7 + 4 * 5);
	CHECK_HAS_TEXT(text, ">rx sched</text>");
	CHECK_HAS_TEXT(text, ">tx qdisc</text>");
	CHECK(unit_occurrences(text, "class=\"cell\"") >= 40);
	gallery_done(&gallery);
}

TEST(pictures_of_nothing_say_so)
{
	struct gallery gallery;
	_cleanup_free_ char *svg = NULL, *json = NULL, *trace = NULL;

	gallery_init(&gallery);
	svg = gallery_text(&gallery, FORM_SVG);
	json = gallery_text(&gallery, FORM_JSON);
	trace = gallery_text(&gallery, FORM_TRACE);
	CHECK(is_well_formed(svg));
	CHECK_HAS_TEXT(svg, "No journeys seen.");
	CHECK_HAS_TEXT(json, "\"slowest\":[],\"groups\":[],");
	CHECK_HAS_TEXT(trace, "\"journeys\":0,\"left_out\":0");
	gallery_done(&gallery);
}

/* The sum of a list of numbers. */
static json_int_t sum_of(const json_t *numbers)
{
	json_int_t sum = 0;
	const json_t *number;
	size_t i;

	json_array_foreach(numbers, i, number) sum += json_integer_value(number);
	return sum;
}

TEST(json_has_what_the_picture_has)
{
	struct gallery gallery;
	_cleanup_free_ char *text = NULL;
	json_t *root, *map;
	size_t i;

	gallery_init(&gallery);
	fill(&gallery);
	text = gallery_text(&gallery, FORM_JSON);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	REQUIRE(root);
	CHECK_EQ_UINT(json_array_size(json_object_get(root, "slowest")), 5);
	CHECK_EQ_UINT(json_array_size(json_object_get(root, "groups")), 2);
	CHECK_EQ_TEXT(json_string_value(json_object_get(root, "note")), "a <note> & \"more\"");
	/* Seven receive stages, five transmit stages; every journey is in one cell of each of its maps. */
	CHECK_EQ_UINT(json_array_size(json_object_get(root, "maps")), 12);
	json_array_foreach(json_object_get(root, "maps"), i, map)
	{
		CHECK_EQ_UINT(json_array_size(json_object_get(map, "column")),
			      json_array_size(json_object_get(map, "count")));
		CHECK_EQ_UINT((uint64_t)sum_of(json_object_get(map, "count")), 40);
	}
	json_decref(root);
	gallery_done(&gallery);
}

/* This program has no components of pages: what they make of the data is tested in a browser. */
TEST(plain_page_is_the_picture)
{
	struct gallery gallery;
	_cleanup_free_ char *text = NULL, *svg = NULL;

	gallery_init(&gallery);
	fill(&gallery);
	text = gallery_text(&gallery, FORM_PAGE);
	svg = gallery_text(&gallery, FORM_SVG);
	CHECK_EQ_UINT(unit_occurrences(text, "<script"), 0);
	CHECK_HAS_TEXT(text, "default-src 'none'");
	CHECK_HAS_TEXT(text, svg);
	gallery_done(&gallery);
}

/* --- traces --- */

struct open_slice {
	double begin, end;
};

/* Slices of one track follow each other or nest. */
static void check_nesting(json_t *events, json_int_t tid)
{
	VEC(struct open_slice) stack = {};
	json_t *event;
	size_t i;

	json_array_foreach(events, i, event)
	{
		double ts = json_number_value(json_object_get(event, "ts")),
		       end = ts + json_number_value(json_object_get(event, "dur"));

		if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0 ||
		    json_integer_value(json_object_get(event, "tid")) != tid)
			continue;
		while (stack.count && stack.items[stack.count - 1].end <= ts + 0.0004)
			stack.count--;
		if (stack.count)
			CHECK(end <= stack.items[stack.count - 1].end + 0.0004);
		vec_push(&stack, (struct open_slice){ts, end});
	}
	vec_done(&stack);
}

/* State of an arrow so far. */
struct arrow {
	unsigned starts, steps, ends;
};

static json_t *trace_of(const struct gallery *gallery)
{
	_cleanup_free_ char *text = gallery_text(gallery, FORM_TRACE);
	json_t *root = json_loads(text, 0, NULL);

	REQUIRE(root);
	return root;
}

TEST(names_are_made_harmless_once)
{
	static const enum form forms[] = {FORM_SVG, FORM_JSON};
	struct journey journey = journey_received(1000);
	struct gallery gallery;

	gallery_init(&gallery);
	/* Reverses the text that follows. */
	memcpy(journey.comm, "a\u202eb", sizeof("a\u202eb"));
	gallery_add(&gallery, &journey);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_cleanup_free_ char *text = gallery_text(&gallery, forms[i]);

		CHECK(!strstr(text, "\u202e"));
		/* In a script a backslash is escaped as two. */
		CHECK_EQ_UINT(unit_occurrences(text, forms[i] == FORM_SVG ? "a\\u{202e}b" : "a\\\\u{202e}b"), 2);
		CHECK(!strstr(text, forms[i] == FORM_SVG ? "\\\\u" : "\\\\\\u"));
	}
	gallery_done(&gallery);
}

TEST(trace_has_the_documented_form)
{
	struct map arrows = MAP_INIT(sizeof(json_int_t), sizeof(struct arrow), 0);
	struct gallery gallery;
	unsigned slices = 0, begins = 0, ends = 0;
	json_t *root, *events, *event;
	const void *key;
	size_t i, at = 0;
	void *value;

	gallery_init(&gallery);
	fill(&gallery);
	root = trace_of(&gallery);
	events = json_object_get(root, "traceEvents");
	json_array_foreach(events, i, event)
	{
		const char *phase = json_string_value(json_object_get(event, "ph"));
		struct arrow *arrow;
		json_int_t id;

		REQUIRE(phase && strlen(phase) == 1 && strchr("XMbestf", phase[0]));
		CHECK(json_is_integer(json_object_get(event, "pid")) && json_is_integer(json_object_get(event, "tid")));
		CHECK(json_is_string(json_object_get(event, "name")));
		if (phase[0] == 'M')
			continue;
		CHECK(json_is_number(json_object_get(event, "ts")));
		CHECK(json_is_string(json_object_get(event, "cat")));
		slices += phase[0] == 'X';
		begins += phase[0] == 'b';
		ends += phase[0] == 'e';
		if (!strchr("stf", phase[0]))
			continue;
		id = json_integer_value(json_object_get(event, "id"));
		arrow = map_put(&arrows, &id, NULL);
		arrow->starts += phase[0] == 's';
		arrow->steps += phase[0] == 't';
		arrow->ends += phase[0] == 'f';
	}
	/*
	 * Receive: ip, transport, copy, return; transmit: driver. The rest are waits, whose ends are marked if no work
	 * follows at once: wakeup; sndbuf, tcp, ack.
	 */
	CHECK_EQ_UINT(slices, 40 * (4 + 1) + 40 * (1 + 3));
	CHECK_EQ_UINT(begins, 40 * 3 + 40 * 4);
	CHECK_EQ_UINT(ends, begins);
	/* Along each packet, in either direction. */
	CHECK_EQ_UINT(arrows.count, 80);
	while (map_next(&arrows, &at, &key, &value)) {
		const struct arrow *arrow = value;

		CHECK(arrow->starts == 1 && (arrow->steps == 2 || arrow->steps == 3) && arrow->ends == 1);
	}
	map_done(&arrows);
	json_decref(root);
	gallery_done(&gallery);
}

TEST(slices_of_a_track_never_cross)
{
	struct gallery gallery;
	uint64_t state = 13;
	json_t *root, *events, *event;
	size_t i, tracks = 0;

	gallery_init(&gallery);
	for (int n = 0; n < 300; n++) {
		struct journey journey = journey_random(&state, 12);

		gallery_add(&gallery, &journey);
	}
	root = trace_of(&gallery);
	events = json_object_get(root, "traceEvents");
	json_array_foreach(events, i, event)
	{
		const char *name = json_string_value(json_object_get(event, "name"));

		if (strcmp(name, "thread_name") != 0)
			continue;
		check_nesting(events, json_integer_value(json_object_get(event, "tid")));
		tracks++;
	}
	CHECK(tracks >= 4);
	json_decref(root);
	gallery_done(&gallery);
}

/* --- recordings --- */

#define RECORDED 60

static char *record(const struct journey *journeys, size_t count)
{
	char *dir = xstrdup("/tmp/nest-test-XXXXXX"), *path;
	struct journey_keeper keeper = {};
	struct store *store;

	REQUIRE(mkdtemp(dir));
	path = xasprintf("%s/journeys.nest", dir);
	free(dir);
	REQUIRE(store_create(path, "path", &store, NULL) == 0);
	REQUIRE(journey_keeper_open(&keeper, store) == 0);
	for (size_t i = 0; i < count; i++)
		CHECK_OK(journey_keep(&keeper, &journeys[i]));
	CHECK_OK(store_add_loss(store, journey_type.name, 7));
	CHECK_OK(store_close(store, NULL));
	return path;
}

static void forget(char *path)
{
	char *slash = strrchr(path, '/');

	(void)unlink(path);
	*slash = '\0';
	(void)rmdir(path);
	free(path);
}

static void check_same(const struct journey *got, const struct journey *want)
{
	CHECK_EQ_UINT(got->stage_count, want->stage_count);
	CHECK_EQ_MEM(got->stages, want->stages, want->stage_count * sizeof(want->stages[0]));
	CHECK_EQ_UINT(got->time_ns, want->time_ns);
	CHECK_EQ_UINT(got->total_ns, want->total_ns);
	CHECK_EQ_UINT(got->hidden, want->hidden);
	CHECK_EQ_UINT(got->dir, want->dir);
	CHECK_EQ_UINT(got->end, want->end);
	CHECK_EQ_UINT(got->pid, want->pid);
	CHECK_EQ_UINT(got->proto, want->proto);
	CHECK(addr_equal(&got->laddr, &want->laddr));
	CHECK_EQ_UINT(got->rport, want->rport);
	CHECK_EQ_MEM(got->dev, want->dev, sizeof(want->dev));
}

TEST(what_is_recorded_comes_back)
{
	struct journey journeys[RECORDED], got;
	struct time_range all = {0, UINT64_MAX};
	struct journey_replay *replay;
	struct recording *recording;
	uint64_t state = 17;
	char *path;

	for (size_t i = 0; i < RECORDED; i++) {
		journeys[i] = journey_random(&state, JOURNEY_STAGES_MAX);
		journeys[i].pid = i % 3 ? 10 + (uint32_t)i : 0;
	}
	path = record(journeys, RECORDED);
	REQUIRE(recording_open(path, &recording, NULL) == 0);
	REQUIRE(journey_replay_open(recording, &all, &replay, NULL) == 0);
	for (size_t i = 0; i < RECORDED; i++) {
		unit_note("journey %zu", i);
		REQUIRE(journey_replay_next(replay, &got, NULL) == 1);
		check_same(&got, &journeys[i]);
	}
	CHECK_EQ_INT(journey_replay_next(replay, &got, NULL), 0);
	CHECK_EQ_UINT(journey_replay_lost(replay), 7);
	journey_replay_close(replay);
	recording_close(recording);
	forget(path);
}

TEST(a_part_of_a_recording_has_its_own_stages)
{
	struct journey journeys[RECORDED], got;
	struct time_range range = {JOURNEY_TIME + 2000000000, JOURNEY_TIME + 6000000000};
	struct journey_replay *replay;
	struct recording *recording;
	uint64_t state = 29;
	char *path;
	int r;

	for (size_t i = 0; i < RECORDED; i++)
		journeys[i] = journey_random(&state, 8);
	path = record(journeys, RECORDED);
	REQUIRE(recording_open(path, &recording, NULL) == 0);
	REQUIRE(journey_replay_open(recording, &range, &replay, NULL) == 0);
	for (size_t i = 0; i < RECORDED; i++) {
		if (journeys[i].time_ns < range.from_ns || journeys[i].time_ns > range.to_ns)
			continue;
		r = journey_replay_next(replay, &got, NULL);
		REQUIRE(r == 1);
		check_same(&got, &journeys[i]);
	}
	CHECK_EQ_INT(journey_replay_next(replay, &got, NULL), 0);
	journey_replay_close(replay);
	recording_close(recording);
	forget(path);
}

TEST(a_recorded_journey_that_does_not_add_up_is_refused)
{
	struct journey journeys[3] = {journey_received(100), journey_received(200), journey_received(300)}, got;
	struct time_range all = {0, UINT64_MAX};
	struct journey_replay *replay;
	struct recording *recording;
	char *path;

	journeys[0].total_ns++;
	journeys[1].stages[2].start_ns--;
	path = record(journeys, 3);
	REQUIRE(recording_open(path, &recording, NULL) == 0);
	REQUIRE(journey_replay_open(recording, &all, &replay, NULL) == 0);
	REQUIRE(journey_replay_next(replay, &got, NULL) == 1);
	check_same(&got, &journeys[2]);
	CHECK_EQ_INT(journey_replay_next(replay, &got, NULL), 0);
	CHECK_EQ_UINT(journey_replay_lost(replay), 7 + 2);
	journey_replay_close(replay);
	recording_close(recording);
	forget(path);
}

TEST(stages_add_up)
{
	struct journey journey = journey_received(100);

	CHECK(journey_adds_up(&journey));
	CHECK(journey_adds_up(&(struct journey){.time_ns = 5}));
	journey.stages[1].ns++;
	CHECK(!journey_adds_up(&journey));
	journey = journey_received(100);
	journey.stages[journey.stage_count - 1].ns = UINT64_MAX;
	CHECK(!journey_adds_up(&journey));
	journey = journey_received(100);
	journey.stage_count = JOURNEY_STAGES_MAX + 1;
	CHECK(!journey_adds_up(&journey));
}

TEST(maps_have_the_rows_that_are_used_and_zero_below_them)
{
	struct heat heat = HEAT_INIT(PATH_LAYERS);
	struct journey journey = journey_sent(0);
	struct buf low = BUF_INIT(64), high = BUF_INIT(64), name = BUF_INIT(64);
	unsigned shown = 0, last = 0;
	struct path_map map;

	path_heat_add(&heat, &journey);
	journey = journey_sent(UINT64_C(1) << 30);
	path_heat_add(&heat, &journey);
	for (unsigned i = 0; i < PATH_MAPS; i++)
		if (path_map_get(&heat, i, &map)) {
			CHECK(map.layer > last);
			last = map.layer;
			shown++;
			if (map.layer == path_layer(PACKET_TX, PATH_QDISC))
				break;
		}
	/* After sndbuf and tcp. */
	CHECK_EQ_UINT(shown, 3);
	CHECK(map.zero);
	CHECK_EQ_UINT(path_map_rows(&map), 9);
	CHECK_EQ_UINT(path_map_place(&map, 0), 0);
	CHECK_EQ_UINT(path_map_place(&map, heat_row(UINT64_C(1) << 30)), 1);
	CHECK_EQ_UINT(path_map_place(&map, 1), PATH_NO_ROW);
	CHECK_EQ_UINT(path_map_place(&map, HEAT_ROWS), PATH_NO_ROW);
	path_map_add_name(&name, &map);
	path_map_add_low(&low, &map);
	path_map_add_high(&high, &map);
	CHECK_EQ_TEXT(buf_text(&name), "tx qdisc");
	CHECK_EQ_TEXT(buf_text(&low), "0, 1.07 s");
	CHECK_EQ_TEXT(buf_text(&high), "275 s");
	buf_done(&name);
	buf_done(&low);
	buf_done(&high);
	heat_done(&heat);
}
