/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace-event JSON as written by Chrome, Perfetto and many tracers: begin, end and complete events, thread names. */
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/vec.h"
#include "flow/import/import_map.h"

#define INPUT_MAX ((size_t)1 << 30)

struct event {
	uint64_t start, end; /* nanoseconds */
	uint32_t fn;
	uint32_t pid, tid;
	uint32_t order; /* position in the file */
	char phase;
};

struct event_list {
	struct event *items;
	size_t count;
	size_t room;
};

/* Microseconds with a fraction; false: not a time. */
static bool time_of(const json_t *value, uint64_t *ret_ns)
{
	double us = json_number_value(value);

	if (!json_is_number(value) || !isfinite(us) || us < 0 || us > 1e15)
		return false;
	*ret_ns = (uint64_t)(us * 1000.0 + 0.5);
	return true;
}

static uint32_t number_of(const json_t *value)
{
	double number = json_number_value(value);

	return number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* Some writers omit the thread of a single-threaded process. */
static uint32_t tid_of(const json_t *item)
{
	const json_t *tid = json_object_get(item, "tid");

	return number_of(tid ? tid : json_object_get(item, "pid"));
}

static void take_name(struct import_maps *maps, const json_t *item)
{
	const char *what = json_string_value(json_object_get(item, "name"));
	const char *name = json_string_value(json_object_get(json_object_get(item, "args"), "name"));

	if (what && name && strcmp(what, "thread_name") == 0)
		(void)import_thread(maps, number_of(json_object_get(item, "pid")), tid_of(item), name);
}

static void take_item(struct import_maps *maps, struct event_list *list, const json_t *item)
{
	const char *phase = json_string_value(json_object_get(item, "ph"));
	const char *name = json_string_value(json_object_get(item, "name"));
	struct event event = {
		.pid = number_of(json_object_get(item, "pid")),
		.tid = tid_of(item),
		.order = (uint32_t)list->count,
	};
	uint64_t duration = 0;

	if (!phase)
		return;
	event.phase = phase[0];
	if (event.phase == 'M')
		take_name(maps, item);
	if (!strchr("BEX", event.phase) || !time_of(json_object_get(item, "ts"), &event.start))
		return;
	if (event.phase == 'X' && !time_of(json_object_get(item, "dur"), &duration))
		return;
	event.end = event.start + duration;
	if (event.phase != 'E')
		event.fn = import_function(maps, name && *name ? name : "?");
	vec_push(list, event);
}

/* By thread, then by time; enclosing events first. */
static int by_time(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	if (one->phase == 'X' && other->phase == 'X' && one->end != other->end)
		return one->end > other->end ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

struct open_calls {
	uint64_t *ends; /* UINT64_MAX: waiting for its E event */
	size_t count;
	size_t room;
};

/* Returns from complete events that end by then. */
static void close_until(struct import_maps *maps, struct import_thread *thread, struct open_calls *open, uint64_t until)
{
	while (open->count && open->ends[open->count - 1] <= until) {
		(void)import_return(maps, thread, open->ends[open->count - 1]);
		open->count--;
	}
}

static void push_end(struct open_calls *open, uint64_t end)
{
	if (open->count == open->room) {
		open->room = open->room * 2 + 64;
		open->ends = xrealloc_array(open->ends, open->room, sizeof(*open->ends));
	}
	open->ends[open->count++] = end;
}

static uint64_t write_events(struct import_maps *maps, const struct event_list *list)
{
	struct import_thread *thread = NULL;
	struct open_calls open = {};
	uint64_t unmatched = 0;
	uint32_t tid = 0;

	vec_each(list, event) {
		if (!thread || event->tid != tid) {
			if (thread)
				close_until(maps, thread, &open, UINT64_MAX - 1);
			open.count = 0;
			tid = event->tid;
			thread = import_thread(maps, event->pid, tid, NULL);
			if (!thread)
				break;
		}
		close_until(maps, thread, &open, event->start);
		if (event->phase == 'E') {
			if (open.count && open.ends[open.count - 1] == UINT64_MAX &&
			    import_return(maps, thread, event->start))
				open.count--;
			else
				unmatched++;
			continue;
		}
		import_call(maps, thread, event->start, event->fn);
		/* Nothing outlasts the enclosing complete event. */
		push_end(&open, event->phase == 'B' ? UINT64_MAX : event->end);
	}
	if (thread)
		close_until(maps, thread, &open, UINT64_MAX - 1);
	free(open.ends);
	return unmatched;
}

int import_trace_event(const char *data, size_t size, struct trace_writer *writer, struct import_result *result,
		       struct why *why)
{
	struct event_list list = {};
	struct import_maps maps;
	json_error_t error;
	json_t *root, *items;
	uint64_t unmatched;

	if (size > INPUT_MAX)
		return why_set(why, -E2BIG, "larger than 1 GB: too large for the JSON reader");
	root = json_loadb(data, size, 0, &error);
	if (!root)
		return why_set(why, -EBADMSG, "line %d: %s", error.line, error.text);
	items = json_is_array(root) ? root : json_object_get(root, "traceEvents");
	if (!json_is_array(items)) {
		json_decref(root);
		return why_set(why, -EBADMSG, "no event list (traceEvents)");
	}
	import_maps_init(&maps, writer);
	for (size_t i = 0; i < json_array_size(items); i++)
		take_item(&maps, &list, json_array_get(items, i));
	vec_sort(&list, by_time);
	unmatched = write_events(&maps, &list);
	if (unmatched)
		snprintf(result->note, sizeof(result->note), "end events without a begin event omitted: %llu",
			 (unsigned long long)unmatched);
	vec_done(&list);
	import_maps_done(&maps);
	json_decref(root);
	return 0;
}

static int recognise(const char *path, const char *head, size_t n)
{
	size_t blank = 0;

	(void)path;
	while (blank < n && strchr(" \t\r\n", head[blank]))
		blank++;
	if (blank == n || (head[blank] != '{' && head[blank] != '['))
		return 0;
	return memmem(head, n, "\"traceEvents\"", 13) || memmem(head, n, "\"ph\"", 4) ? 90 : 0;
}

static int read_file(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why)
{
	_cleanup_import_file_ struct import_file file = {};
	int r = import_file_open(path, &file, why);

	return r < 0 ? r : import_trace_event((const char *)file.data, file.size, writer, result, why);
}

static const struct importer trace_event_importer = {
	.name = "trace-event",
	.summary = "trace-event JSON (Chrome, Perfetto)",
	.recognise = recognise,
	.read = read_file,
};
IMPORTER(trace_event_importer);
