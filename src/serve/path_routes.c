/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journeys of packets in a recording: waterfalls, stages and maps, as nest path --data writes them. */
#include <inttypes.h>
#include <string.h>

#include "serve/serve.h"

/* --from and --to, of times that were checked. */
static void add_time(struct nest_words *words, const struct http_request *request, const char *name, uint64_t ns)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ns);
	nest_words_option(words, name, http_request_text(request, name) ? text : NULL);
}

static void answer_path(struct http_request *request)
{
	const struct scene *scene = serve_scene(request);
	const char *dir = http_request_text(request, "dir");
	struct nest_words words = {};
	uint64_t from_ns, to_ns;

	if (!scene || !serve_time(request, scene, "from", 0, &from_ns) ||
	    !serve_time(request, scene, "to", UINT64_MAX, &to_ns))
		return;
	if (from_ns > to_ns) {
		http_refuse(request, 400, "from is after to");
		return;
	}
	if (!scene->path) {
		http_refuse(request, 409, "live journeys are a run: POST /api/v1/runs {\"what\":\"path\"}");
		return;
	}
	if (!recording_has(scene->recording, "journey")) {
		http_refuse(request, 404, "this recording has no journeys: nest path --save makes one that has");
		return;
	}
	if (dir && strcmp(dir, "rx") != 0 && strcmp(dir, "tx") != 0) {
		http_refuse(request, 400, "dir is rx or tx");
		return;
	}
	nest_words_add(&words, "path");
	nest_words_add(&words, "--data=-");
	nest_words_option(&words, "file", scene->path);
	nest_words_option(&words, "where", http_request_text(request, "where"));
	nest_words_option(&words, "by", http_request_text(request, "by"));
	add_time(&words, request, "from", from_ns);
	add_time(&words, request, "to", to_ns);
	if (dir)
		nest_words_add(&words, *dir == 'r' ? "--rx" : "--tx");
	ask_start(request, (const char *const *)words.words, 400, ask_answer_object);
	nest_words_done(&words);
}

static const struct http_param path_params[] = {
	{"where", HTTP_EXPR, "only journeys that match"},
	{"by", HTTP_NAMES, "group by these fields"},
	{"dir", HTTP_TEXT, "rx or tx: one direction only"},
	{"from", HTTP_NS, "from this time on"},
	{"to", HTTP_NS, "up to this time"},
	SERVE_SCENE_PARAMS,
	{},
};

static const struct http_route path_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/path",
	.summary = "journeys of packets through the host in a recording: slowest, stages, durations over time",
	.params = path_params,
	.answer = "path_picture",
	.handle = answer_path,
};
HTTP_ROUTE(path_route);
