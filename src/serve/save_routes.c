/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saving a running tool as a recording. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "serve/serve.h"
#include "view/json.h"

#define BODY_MAX  4096
#define LINES_MAX ((size_t)1 << 20)

struct saved_row {
	const char *run;
	const char *what;
	const char *name;
	const char *path;
	uint64_t start_ns;
	bool running;
	const char *error;
};

static const struct field saved_fields[] = {
	FIELD(struct saved_row, run, TEXT, "id of the tool"),
	FIELD(struct saved_row, what, TEXT, "tool or event"),
	FIELD(struct saved_row, name, TEXT, "file name"),
	FIELD(struct saved_row, path, TEXT, "file, on the host of the server"),
	FIELD(struct saved_row, start_ns, TIME, "start of the recording"),
	FIELD(struct saved_row, running, BOOL, "whether it is still being written"),
	FIELD(struct saved_row, error, TEXT, "why it ended by itself"),
};
static RECORD_TYPE(saved_type, "serve.saved", struct saved_row, saved_fields, "a recording of a tool");

static void add_saved(struct buf *out, const struct saver *saver)
{
	char run[24];
	struct saved_row row = {.run = run,
				.what = saver->what,
				.name = saver->name,
				.path = saver->path,
				.start_ns = saver->start_ns,
				.running = saver->process,
				.error = saver->error};

	snprintf(run, sizeof(run), "%" PRIu64, saver->run);
	json_add_object(out, &saved_type, &row);
}

/* The tool of the path; NULL: refused. */
static struct tool_run *run_of(struct http_request *request)
{
	struct tool_run *run = tool_run_find(serve_of(request), http_request_segment(request));

	if (!run)
		http_refuse(request, 404, "no such run");
	return run;
}

static unsigned status_of(int r)
{
	return r == -EINVAL ? 400 : r == -ENOTSUP || r == -EEXIST ? 409 : 500;
}

static void save(struct http_request *request)
{
	json_t *body = json_loadb(request->body.data ?: "", request->body.len, JSON_REJECT_DUPLICATES, NULL);
	const char *name = json_string_value(json_object_get(body, "name"));
	struct buf answer = BUF_INIT(LINES_MAX);
	struct tool_run *run = run_of(request);
	struct saver *saver = NULL;
	struct why why = {};
	int r;

	if (run && (!name || json_object_size(body) != 1)) {
		http_refuse(request, 400, "the body is not {\"name\":\"TEXT\"}");
	} else if (run) {
		r = saver_start(run, name, &saver, &why);
		if (r < 0) {
			http_refuse(request, status_of(r), "%s", why.text);
		} else {
			add_saved(&answer, saver);
			http_answer(request, 201, NULL, &answer);
		}
	}
	json_decref(body);
}

static const struct http_route save_route = {
	.service = HTTP_SERVE,
	.method = "POST",
	.path = "/api/v1/runs/{id}/recording",
	.summary = "save what a running tool sees from now on as a recording; 409 without --save-in",
	.changes = true,
	.body_max = BODY_MAX,
	.body = "{\"name\":\"incident\"}",
	.status = 201,
	.answer = "serve.saved",
	.handle = save,
};
HTTP_ROUTE(save_route);

static void end_saving(struct http_request *request)
{
	const struct tool_run *run = run_of(request);

	if (!run)
		return;
	if (saver_end(serve_of(request), run->id))
		http_answer_empty(request, 204);
	else
		http_refuse(request, 404, "it is not being saved");
}

static const struct http_route end_route = {
	.service = HTTP_SERVE,
	.method = "DELETE",
	.path = "/api/v1/runs/{id}/recording",
	.summary = "end the recording of a tool; the tool goes on",
	.changes = true,
	.status = 204,
	.handle = end_saving,
};
HTTP_ROUTE(end_route);

static void list_saved(struct http_request *request)
{
	const struct serve *serve = serve_of(request);
	struct buf body = BUF_INIT(LINES_MAX);

	buf_add_text(&body, "{\"rows\":[");
	vec_each(&serve->savers, saver) {
		buf_add_text(&body, saver == serve->savers.items ? "" : ",");
		add_saved(&body, *saver);
	}
	buf_add_format(&body, "],\"total\":%zu}", serve->savers.count);
	http_answer(request, 200, NULL, &body);
}

static const struct http_route list_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/saved",
	.summary = "recordings of tools that were made here, the last ones",
	.answer = "serve.saved",
	.rows = true,
	.handle = list_saved,
};
HTTP_ROUTE(list_route);
