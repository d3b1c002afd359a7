/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting and stopping tools, and streams of what they and the diagnosis say. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/text.h"
#include "event/core/event.h"
#include "serve/serve.h"
#include "tool/core/tool.h"
#include "view/json.h"

#define BODY_MAX 65536

static unsigned status_of(int r)
{
	switch (r) {
	case -ENOENT:
		return 404;
	case -ENOTSUP:
		return 409;
	case -EAGAIN:
		return 503;
	default:
		return r == -EINVAL ? 400 : 500;
	}
}

/* What looks at the same thing as the request. */
static void set_place(const struct scene *scene, const struct serve *serve, struct tool_run_request *request)
{
	request->recording = scene->path;
	request->netns = serve->options->live.netns;
}

/* Starts what is wanted; NULL: refused. */
static struct tool_run *start(struct http_request *request, const struct tool_run_request *wanted, unsigned unknown)
{
	struct tool_run *run = NULL;
	struct why why = {};
	size_t at;
	int r;

	if (tool_run_check_where(wanted->what, wanted->where, &at, &why) < 0) {
		http_refuse_expr(request, "where", &why, at);
		return NULL;
	}
	r = tool_run_start(serve_of(request), wanted, &run, &why);
	if (r < 0)
		http_refuse(request, r == -ENOENT ? unknown : status_of(r), "what: %s", why.text);
	return r < 0 ? NULL : run;
}

/* --- starting --- */

struct run_row {
	const char *id;
	const char *what;
	bool running;
	uint64_t readers;
};

static const struct field run_fields[] = {
	FIELD(struct run_row, id, TEXT, "for run:ID of /api/v1/stream"),
	FIELD(struct run_row, what, TEXT, "tool or event"),
	FIELD(struct run_row, running, BOOL, "whether it runs; false: it has ended"),
	FIELD(struct run_row, readers, COUNT, "readers of its stream"),
};
static RECORD_TYPE(run_type, "serve.run", struct run_row, run_fields, "a tool that was started");

static void add_run(struct buf *out, const struct tool_run *run)
{
	char id[24];
	struct run_row row = {
		.id = id, .what = run->what, .running = run->process, .readers = run->stream.readers.count};

	snprintf(id, sizeof(id), "%" PRIu64, run->id);
	json_add_object(out, &run_type, &row);
}

static const struct {
	const char *name;
	size_t offset;
} members[] = {
	{"what", offsetof(struct tool_run_request, what)},
	{"where", offsetof(struct tool_run_request, where)},
	{"by", offsetof(struct tool_run_request, by)},
	{"hist", offsetof(struct tool_run_request, hist)},
};

/* The texts of the object; false: refused. */
static bool read_members(struct http_request *request, const json_t *body, struct tool_run_request *wanted)
{
	const char *name;
	json_t *value;

	if (!json_is_object(body)) {
		http_refuse(request, 400, "the body is not a JSON object");
		return false;
	}
	json_object_foreach((json_t *)body, name, value)
	{
		size_t i = 0;

		while (i < ARRAY_SIZE(members) && strcmp(members[i].name, name) != 0)
			i++;
		if (i == ARRAY_SIZE(members) || !(json_is_string(value) || json_is_null(value))) {
			http_refuse(request, 400, "the body may have the texts what, where, by and hist");
			return false;
		}
		*(const char **)((char *)wanted + members[i].offset) = json_string_value(value);
	}
	if (!wanted->what)
		http_refuse(request, 400, "the body names no tool or event: {\"what\":\"tcplife\"}");
	return wanted->what != NULL;
}

static void start_run(struct http_request *request)
{
	struct serve *serve = serve_of(request);
	json_t *body = json_loadb(request->body.data ?: "", request->body.len, JSON_REJECT_DUPLICATES, NULL);
	struct tool_run_request wanted = {};
	struct scene *scene = serve_scene(request);
	struct buf answer = BUF_INIT(4096);
	struct tool_run *run;

	if (scene && read_members(request, body, &wanted)) {
		set_place(scene, serve, &wanted);
		run = start(request, &wanted, 404);
		if (run) {
			add_run(&answer, run);
			http_answer(request, 201, NULL, &answer);
		}
	}
	json_decref(body);
}

static const struct http_param scene_params[] = {SERVE_SCENE_PARAMS, {}};

static const struct http_route start_route = {
	.service = HTTP_SERVE,
	.method = "POST",
	.path = "/api/v1/runs",
	.summary = "start a tool, an event or path: 201 and its id; 409 where this kernel cannot run it",
	.params = scene_params,
	.changes = true,
	.body_max = BODY_MAX,
	.body = "{\"what\":\"tcplife\",\"where\":\"EXPR\",\"by\":\"FIELD,..\",\"hist\":\"FIELD\"}",
	.status = 201,
	.answer = "serve.run",
	.handle = start_run,
};
HTTP_ROUTE(start_route);

static void stop_run(struct http_request *request)
{
	struct tool_run *run = tool_run_find(serve_of(request), http_request_segment(request));

	if (!run) {
		http_refuse(request, 404, "no such run");
		return;
	}
	tool_run_stop(run);
	http_answer_empty(request, 204);
}

static const struct http_route stop_route = {
	.service = HTTP_SERVE,
	.method = "DELETE",
	.path = "/api/v1/runs/{id}",
	.summary = "stop a tool",
	.changes = true,
	.status = 204,
	.handle = stop_run,
};
HTTP_ROUTE(stop_route);

static void list_runs(struct http_request *request)
{
	const struct serve *serve = serve_of(request);
	struct buf body = BUF_INIT((size_t)1 << 20);

	buf_add_text(&body, "{\"rows\":[");
	vec_each(&serve->runs, run) {
		buf_add_text(&body, run == serve->runs.items ? "" : ",");
		add_run(&body, *run);
	}
	buf_add_format(&body, "],\"total\":%zu}", serve->runs.count);
	http_answer(request, 200, NULL, &body);
}

static const struct http_route list_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/runs",
	.summary = "tools that were started",
	.answer = "serve.run",
	.rows = true,
	.handle = list_runs,
};
HTTP_ROUTE(list_route);

/* --- streams --- */

/* A tool or an event; readers of the same one share it. */
static void stream_tool(struct http_request *request, const char *what, const char *where)
{
	struct tool_run_request wanted = {.what = what, .where = where};
	struct scene *scene = serve_scene(request);
	struct tool_run *run;

	if (!scene)
		return;
	set_place(scene, serve_of(request), &wanted);
	run = start(request, &wanted, 400);
	if (run)
		http_answer_stream(request, &run->stream, HTTP_RING_MAX);
}

/* Live: as they are made. Of a recording: from its beginning to its end. */
static void stream_diagnosis(struct http_request *request, const char *where)
{
	struct http_stream *found;

	if (serve_of(request)->is_live) {
		found = serve_diagnosis_stream(request, where);
		if (found)
			http_answer_stream(request, found, 1);
	} else if (where && *where) {
		http_refuse(request, 400, "where: diagnoses of a recording are not filtered");
	} else {
		stream_tool(request, "diagnose", NULL);
	}
}

static void stream(struct http_request *request)
{
	const char *what = http_request_text(request, "what"), *where = http_request_text(request, "where");
	struct serve *serve = serve_of(request);
	struct tool_run *run;

	if (strncmp(what, "run:", 4) == 0) {
		run = tool_run_find(serve, what + 4);
		if (run)
			http_answer_stream(request, &run->stream, HTTP_RING_MAX);
		else
			http_refuse(request, 404, "no such run");
	} else if (strcmp(what, "diagnosis") == 0) {
		stream_diagnosis(request, where);
	} else if (strcmp(what, "measures") == 0 && !serve->is_live) {
		http_refuse(request, 400, "what: measures of a recording are at /api/v1/measures");
	} else if (strcmp(what, "measures") == 0) {
		http_answer_stream(request, &serve->measures, 1);
	} else {
		stream_tool(request, what, where);
	}
}

static const struct http_param stream_params[] = {
	{"what", HTTP_TEXT, "diagnosis, measures, run:ID, path, or the name of a tool or an event", .required = true},
	{"where", HTTP_EXPR, "only records that match"},
	SERVE_SCENE_PARAMS,
	{},
};

static const struct http_route stream_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/stream",
	.summary = "server-sent events: one record each; event lost with a count when a reader was too slow",
	.params = stream_params,
	.type = "text/event-stream",
	.handle = stream,
};
HTTP_ROUTE(stream_route);
