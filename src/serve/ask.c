/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/ask.h"

#include <string.h>
#include <sys/wait.h>

#include "base/exit_code.h"
#include "serve/serve.h"

#define ASKS_MAX    8
#define OUTPUT_MAX  ((size_t)64 << 20)
#define WIDTH       100
#define MESSAGE_MAX 8192

static void ask_free(struct ask *ask)
{
	struct serve *serve = ask->serve;

	for (size_t i = 0; i < serve->asks.count; i++)
		if (serve->asks.items[i] == ask) {
			serve->asks.items[i] = serve->asks.items[--serve->asks.count];
			break;
		}
	buf_done(&ask->output);
	free(ask);
}

static void on_output(void *context, const char *bytes, size_t len)
{
	struct ask *ask = context;

	buf_add(&ask->output, bytes, len);
}

/* The first message, without the program's name; lines that continue it are indented (base/log.c). */
static void refuse(struct ask *ask, unsigned status)
{
	const char *said = nest_process_errors(ask->process), *colon = strstr(said, "nest: ");
	_cleanup_buf_ struct buf text = BUF_INIT(MESSAGE_MAX);

	said = colon ? colon + 6 : said;
	said = *said ? said : "the command failed";
	while (*said) {
		size_t len = strcspn(said, "\n"), indent;

		buf_add(&text, said, len);
		said += len;
		indent = *said ? strspn(said + 1, " ") : 0;
		if (indent == 0)
			break;
		buf_add_char(&text, ' ');
		said += 1 + indent;
	}
	http_refuse(ask->request, status, "%s", buf_text(&text));
}

static void on_end(void *context, int status)
{
	struct ask *ask = context;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_IO;

	if (code == EXIT_USAGE)
		refuse(ask, ask->wrong);
	else if (code == EXIT_CANNOT_OBSERVE)
		refuse(ask, 404);
	else if (code != EXIT_DONE)
		refuse(ask, 500);
	else if (ask->output.over)
		http_refuse(ask->request, 413, "the answer is longer than %zu MB: ask for less", OUTPUT_MAX / 1000000);
	else
		ask->answer(ask);
	ask_free(ask);
}

void ask_start(struct http_request *request, const char *const *words, unsigned wrong, void (*answer)(struct ask *ask))
{
	struct serve *serve = serve_of(request);
	struct why why = {};
	struct ask *ask;
	int r;

	if (serve->asks.count >= ASKS_MAX) {
		http_refuse(request, 503, "too many commands at once: retry in a second");
		return;
	}
	ask = xzalloc(sizeof(*ask));
	*ask = (struct ask){
		.serve = serve, .request = request, .output = BUF_INIT(OUTPUT_MAX), .wrong = wrong, .answer = answer};
	vec_push(&serve->asks, ask);
	r = nest_process_start(&(struct nest_process_request){.loop = serve->run.loop,
							      .words = (char *const *)words,
							      .width = WIDTH,
							      .apart = true,
							      .output = on_output,
							      .ended = on_end,
							      .context = ask},
			       &ask->process, &why);
	if (r < 0) {
		http_refuse(request, 500, "%s", why.text);
		ask_free(ask);
	}
}

void ask_answer_rows(struct ask *ask)
{
	struct buf body = BUF_INIT(OUTPUT_MAX + 1024);
	const char *at = buf_text(&ask->output);
	size_t rows = 0;

	buf_add_text(&body, "{\"rows\":[");
	while (*at) {
		size_t len = strcspn(at, "\n");

		if (len > 0) {
			buf_add_text(&body, rows++ ? "," : "");
			buf_add(&body, at, len);
		}
		at += len + (at[len] == '\n');
	}
	buf_add_format(&body, "],\"total\":%zu}", rows);
	http_answer(ask->request, 200, NULL, &body);
}

void ask_answer_object(struct ask *ask)
{
	const char *text = buf_text(&ask->output), *end = text + ask->output.len, *begin;
	struct buf body = BUF_INIT(OUTPUT_MAX + 1024);

	while (end > text && end[-1] == '\n')
		end--;
	for (begin = end; begin > text && begin[-1] != '\n'; begin--)
		;
	if (*begin == '{') {
		buf_add(&body, begin, (size_t)(end - begin));
		http_answer(ask->request, 200, NULL, &body);
	} else {
		refuse(ask, 404);
	}
}

void ask_stop_all(struct serve *serve)
{
	while (serve->asks.count > 0) {
		nest_process_stop(serve->asks.items[0]->process);
		ask_free(serve->asks.items[0]);
	}
	vec_done(&serve->asks);
}
