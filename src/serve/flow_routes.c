/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function traces: what the commands nest flow sessions, diagram, compare and info say about them. */
#include "serve/serve.h"

/* Parameters that choose the trace and what a session is. */
#define TRACE_PARAMS                                                                                                   \
	{"trace", HTTP_NUMBER, "number of a trace of /about (default: the first)", .max = UINT32_MAX},                 \
	{                                                                                                              \
		"by", HTTP_TEXT, "what a session is: connection, request, thread"                                      \
	}

/* "flow NAME TRACE" and what a session is; false: refused. */
static bool begin(struct http_request *request, const char *name, struct nest_words *words)
{
	const char *trace = serve_trace(request, "trace");

	if (!trace)
		return false;
	nest_words_add(words, "flow");
	nest_words_add(words, name);
	nest_words_add(words, trace);
	nest_words_option(words, "by", http_request_text(request, "by"));
	return true;
}

static void pass(const struct http_request *request, const char *name, struct nest_words *words)
{
	nest_words_option(words, name, http_request_text(request, name));
}

static void finish(struct http_request *request, struct nest_words *words, void (*answer)(struct ask *ask))
{
	ask_start(request, (const char *const *)words->words, 400, answer);
	nest_words_done(words);
}

/* --- lists --- */

static void answer_list(struct http_request *request, const char *name, const char *flag)
{
	struct nest_words words = {};

	if (!begin(request, name, &words))
		return;
	nest_words_add(&words, "--json");
	if (flag)
		nest_words_add(&words, flag);
	pass(request, "where", &words);
	finish(request, &words, ask_answer_rows);
}

static void list_sessions(struct http_request *request)
{
	answer_list(request, "sessions", NULL);
}

static void list_classes(struct http_request *request)
{
	answer_list(request, "sessions", "--classes");
}

static const struct http_param list_params[] = {
	TRACE_PARAMS,
	{"where", HTTP_EXPR, "only those that match"},
	{},
};

static const struct http_route sessions_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/flow/sessions",
	.summary = "sessions of a function trace, as nest flow sessions --json",
	.params = list_params,
	.answer = "flow_session",
	.rows = true,
	.handle = list_sessions,
};
HTTP_ROUTE(sessions_route);

static const struct http_route classes_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/flow/classes",
	.summary = "classes of its sessions: those of one class have the same shape",
	.params = list_params,
	.answer = "flow_class",
	.rows = true,
	.handle = list_classes,
};
HTTP_ROUTE(classes_route);

/* --- the trace --- */

static void answer_info(struct http_request *request)
{
	const char *trace = serve_trace(request, "trace");

	if (trace)
		ask_start(request, (const char *const[]){"flow", "info", trace, "--json", NULL}, 400,
			  ask_answer_object);
}

static const struct http_param info_params[] = {
	{"trace", HTTP_NUMBER, "number of a trace of /about (default: the first)", .max = UINT32_MAX},
	{},
};

static const struct http_route info_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/flow/info",
	.summary = "a function trace: events, calls, threads, losses",
	.params = info_params,
	.answer = "flow_info",
	.handle = answer_info,
};
HTTP_ROUTE(info_route);

/* --- pictures --- */

/* What is drawn: sessions, or how those of two groups differ. */
#define PICTURE_PARAMS                                                                                                 \
	TRACE_PARAMS, {"session", HTTP_EXPR, "number of the session, or an expression"},                               \
		{"divergence", HTTP_NUMBER, "1: an outlier session and where it differs", .max = 1},                   \
		{"good", HTTP_EXPR, "good sessions, to compare with those of bad"},                                    \
	{                                                                                                              \
		"bad", HTTP_EXPR, "bad sessions"                                                                       \
	}

static void answer_picture(struct http_request *request, bool flame)
{
	struct nest_words words = {};

	if (!begin(request, "diagram", &words))
		return;
	nest_words_add(&words, "--format=json");
	if (flame)
		nest_words_add(&words, "--flame");
	pass(request, "session", &words);
	pass(request, "good", &words);
	pass(request, "bad", &words);
	pass(request, "depth", &words);
	pass(request, "lines", &words);
	pass(request, "hide", &words);
	pass(request, "only", &words);
	if (http_request_number(request, "divergence", 0))
		nest_words_add(&words, "--divergence");
	finish(request, &words, ask_answer_object);
}

static void answer_diagram(struct http_request *request)
{
	answer_picture(request, false);
}

static void answer_flame(struct http_request *request)
{
	answer_picture(request, true);
}

static const struct http_param diagram_params[] = {
	PICTURE_PARAMS,
	{"depth", HTTP_NUMBER, "levels of calls", .min = 1, .max = 1000},
	{"lines", HTTP_TEXT, "what a lifeline stands for: functions, modules, threads"},
	{"hide", HTTP_NAMES, "leave these functions out"},
	{"only", HTTP_NAMES, "only these functions"},
	{},
};
static const struct http_param flame_params[] = {PICTURE_PARAMS, {}};

static const struct http_route diagram_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/flow/diagram",
	.summary = "a session as a sequence diagram",
	.params = diagram_params,
	.answer = "flow_diagram",
	.handle = answer_diagram,
};
HTTP_ROUTE(diagram_route);

static const struct http_route flame_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/flow/flame",
	.summary = "sessions as a flame graph; with good, bad or divergence a differential one",
	.params = flame_params,
	.answer = "flow_flame",
	.handle = answer_flame,
};
HTTP_ROUTE(flame_route);

/* --- comparison --- */

static void answer_comparison(struct http_request *request)
{
	const char *with = http_request_text(request, "with") ? serve_trace(request, "with") : NULL;
	struct nest_words words = {};

	if ((http_request_text(request, "with") && !with) || !begin(request, "compare", &words))
		return;
	if (with)
		nest_words_add(&words, with);
	nest_words_add(&words, "--json");
	pass(request, "good", &words);
	pass(request, "bad", &words);
	finish(request, &words, ask_answer_object);
}

static const struct http_param compare_params[] = {
	TRACE_PARAMS,
	{"good", HTTP_EXPR, "good sessions"},
	{"bad", HTTP_EXPR, "bad sessions; without good, bad and with: outliers"},
	{"with", HTTP_NUMBER, "number of another trace: compare their sessions", .max = UINT32_MAX},
	{},
};

static const struct http_route compare_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/flow/compare",
	.summary = "where two groups of sessions differ, as nest flow compare --json",
	.params = compare_params,
	.answer = "flow_comparison",
	.handle = answer_comparison,
};
HTTP_ROUTE(compare_route);
