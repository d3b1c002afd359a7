/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists and explanations: what the commands of these names print. */
#include <string.h>

#include "diagnose/rules/knowledge.h"
#include "event/core/event.h"
#include "record/bare.h"
#include "serve/serve.h"
#include "snapshot/proc/counter_meaning.h"
#include "tool/core/tool.h"
#include "view/json.h"

#define WORD_MAX 200
#define BODY_MAX ((size_t)1 << 20)

static void list_tools(struct http_request *request)
{
	ask_start(request, (const char *const[]){"tools", "--json", NULL}, 500, ask_answer_rows);
}

static const struct http_route tools_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/tools",
	.summary = "all tools, as nest tools --json",
	.answer = "tool_row",
	.rows = true,
	.handle = list_tools,
};
HTTP_ROUTE(tools_route);

static void list_events(struct http_request *request)
{
	ask_start(request, (const char *const[]){"events", "--json", NULL}, 500, ask_answer_rows);
}

static const struct http_route events_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/events",
	.summary = "all events, as nest events --json",
	.answer = "event_row",
	.rows = true,
	.handle = list_events,
};
HTTP_ROUTE(events_route);

/* --- explanations --- */

static const char *kind_of(const char *word)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	struct why why = {};

	if (knowledge_load(&knowledge, &why) == 0) {
		if (knowledge_find_cause(knowledge, word))
			return "cause";
		if (knowledge_find_rule(knowledge, word))
			return "rule";
	}
	if (event_is_known(word))
		return "event";
	if (tool_find(word))
		return "tool";
	return counter_full_name(word) ? "counter" : "word";
}

struct explanation {
	const char *word;
	const char *kind;
	const char *title;
	const char *text;
	struct list see;
};

static const struct field explanation_fields[] = {
	FIELD(struct explanation, word, TEXT, "the word"),
	FIELD(struct explanation, kind, TEXT, "cause, rule, event, tool, counter or word"),
	FIELD(struct explanation, title, TEXT, "first line of the text"),
	FIELD(struct explanation, text, TEXT, "what nest explain prints"),
	FIELD(struct explanation, see, LIST, "other words", .element = &bare_text_type),
};
static RECORD_TYPE(explanation_type, "serve.explanation", struct explanation, explanation_fields, "meaning of a word");

static void answer_explanation(struct ask *ask)
{
	const char *word = http_request_segment(ask->request), *text = buf_text(&ask->output);
	_cleanup_free_ char *title = xstrndup(text, strcspn(text, "\n"));
	struct explanation explanation = {
		.word = word, .kind = kind_of(word), .title = title, .text = text, .see = {"", 0}};
	struct buf body = BUF_INIT(BODY_MAX);

	json_add_object(&body, &explanation_type, &explanation);
	http_answer(ask->request, 200, NULL, &body);
}

static void explain(struct http_request *request)
{
	const char *word = http_request_segment(request);

	/* A word of its own: an option is none. */
	if (*word == '-' || strlen(word) > WORD_MAX) {
		http_refuse(request, 404, "there is no such word");
		return;
	}
	ask_start(request, (const char *const[]){"explain", word, NULL}, 404, answer_explanation);
}

static const struct http_route explain_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/explain/{word}",
	.summary = "meaning of a cause, rule, event, tool, counter, field, state, drop reason or error",
	.answer = "serve.explanation",
	.handle = explain,
};
HTTP_ROUTE(explain_route);
