/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/tool_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/parse.h"
#include "event/core/event.h"
#include "record/expr.h"
#include "run/command.h"
#include "serve/serve.h"
#include "tool/core/tool.h"

#define RUNS_MAX     16
#define LINE_MAX_LEN ((size_t)1 << 20)
#define RING_SLOTS   1024
#define RING_BYTES   ((size_t)1 << 20)
#define UNREAD_NS    (30 * NSEC_PER_SEC)
#define WIDTH        100

/* --- what it says --- */

static void take_line(struct tool_run *run)
{
	const char *line = buf_text(&run->line);

	if (*line == '{' && !run->line.over)
		http_stream_add(&run->stream, line, run->line.len);
	buf_clear(&run->line);
	run->line.over = false;
}

static void on_output(void *context, const char *bytes, size_t len)
{
	struct tool_run *run = context;

	while (len > 0) {
		const char *end = memchr(bytes, '\n', len);
		size_t n = end ? (size_t)(end - bytes) : len;

		buf_add(&run->line, bytes, n);
		if (!end)
			return;
		take_line(run);
		bytes += n + 1;
		len -= n + 1;
	}
}

/* The last line that it has said, without the program's name. */
static void on_end(void *context, int status)
{
	struct tool_run *run = context;
	_cleanup_free_ char *said = xstrdup(nest_process_errors(run->process));
	size_t len = strlen(said);
	const char *last;

	while (len > 0 && said[len - 1] == '\n')
		said[--len] = '\0';
	last = strrchr(said, '\n') ? strrchr(said, '\n') + 1 : said;
	last = strncmp(last, "nest: ", 6) == 0 ? last + 6 : last;
	run->process = NULL;
	http_stream_end(&run->stream, *last ? last : WIFSIGNALED(status) ? "ended by a signal" : NULL);
}

/* --- starting --- */

/* Commands that are no tool, and say what they see as lines of JSON with these words. */
static const struct runnable_command {
	const char *name;
	const char *output;
	const char *event; /* that it needs; NULL: a recording */
} runnable_commands[] = {
	{"path", "--data=-", "path.rx"},
	{"diagnose", "--json", NULL},
};

static const struct runnable_command *find_command(const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(runnable_commands); i++)
		if (strcmp(runnable_commands[i].name, what) == 0)
			return &runnable_commands[i];
	return NULL;
}

static int check_what(const struct tool_run_request *request, struct why *why)
{
	const struct runnable_command *command = find_command(request->what);
	const struct tool *tool = tool_find(request->what);
	const char *reason = NULL;

	if ((!command && !tool && !event_is_known(request->what)) ||
	    (command && !command->event && !request->recording))
		return why_set(why, -ENOENT, "there is no such tool or event (/api/v1/tools, /api/v1/events)");
	if (tool && !request->recording)
		reason = tool_unavailable(tool);
	else if (!request->recording)
		reason = event_unavailable(command ? command->event : request->what);
	return reason ? why_set(why, -ENOTSUP, "not available here: %s", reason) : 0;
}

/* The fields of an event, with the headings of the tool's columns. */
static int parse_where(const struct event *event, const struct output_column *columns, const char *where,
		       size_t *ret_at, struct why *why)
{
	_cleanup_free_ struct field_alias *aliases = output_aliases(columns);
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct shape shape = event_shape(event);

	shape.aliases = aliases;
	return expr_parse_at(where, &shape, &expr, ret_at, why);
}

int tool_run_check_where(const char *what, const char *where, size_t *ret_at, struct why *why)
{
	const struct event *events[EVENT_UNION_MAX];
	const struct tool *tool = tool_find(what);
	int r = 0;

	*ret_at = 0;
	if (!where || !*where)
		return 0;
	if (!tool && event_resolve(what, events))
		return parse_where(events[0], NULL, where, ret_at, why);
	/* What one of its events has is enough: the others then match nothing. */
	for (unsigned i = 0; tool && i < TOOL_EVENTS_MAX && tool->events[i]; i++) {
		r = event_resolve(tool->events[i], events) ? parse_where(events[0], tool->columns, where, ret_at, why)
							   : 0;
		if (r == 0)
			break;
	}
	return r;
}

static bool has_netns(const struct tool_run_request *request)
{
	bool known = find_command(request->what) || tool_find(request->what);

	return request->netns && command_takes_netns(known ? request->what : "trace");
}

/* What is added up is sent every second, unless the tool has an interval of its own. */
static bool adds_up(const struct tool_run_request *request)
{
	const struct tool *tool = tool_find(request->what);

	return request->hist || request->by || (tool && tool->aggregate != AGGREGATE_NONE && !tool->interval_ns);
}

static void make_words(const struct tool_run_request *request, struct nest_words *words)
{
	const struct runnable_command *command = find_command(request->what);

	if (!command && !tool_find(request->what))
		nest_words_add(words, "trace");
	nest_words_add(words, request->what);
	nest_words_add(words, command ? command->output : "--json");
	nest_words_option(words, "where", request->where);
	nest_words_option(words, "by", request->by);
	nest_words_option(words, "hist", request->hist);
	nest_words_option(words, "file", request->recording);
	if (!request->recording && has_netns(request))
		nest_words_option(words, "netns", request->netns);
	if (!request->recording && !command && adds_up(request))
		nest_words_add(words, "1");
}

static char *make_key(const struct nest_words *words)
{
	_cleanup_buf_ struct buf key = BUF_INIT((size_t)1 << 20);

	for (unsigned i = 0; i < words->count; i++)
		buf_add_format(&key, "%s%c", words->words[i], '\1');
	return xstrdup(buf_text(&key));
}

static struct tool_run *find_key(const struct serve *serve, const char *key)
{
	vec_each(&serve->runs, run)
		if ((*run)->process && strcmp((*run)->key, key) == 0)
			return *run;
	return NULL;
}

/* Takes the words. */
static int start(struct serve *serve, const char *what, const struct nest_words *words, struct tool_run **ret_run,
		 struct why *why)
{
	struct tool_run *run = xzalloc(sizeof(*run));
	int r;

	*run = (struct tool_run){.serve = serve,
				 .key = make_key(words),
				 .what = xstrdup(what),
				 .words = *words,
				 .id = ++serve->next_run,
				 .line = BUF_INIT(LINE_MAX_LEN),
				 .unread_ns = clock_monotonic_ns()};
	http_stream_init(&run->stream, RING_SLOTS, RING_BYTES);
	vec_push(&serve->runs, run);
	r = nest_process_start(&(struct nest_process_request){.loop = serve->run.loop,
							      .words = run->words.words,
							      .width = WIDTH,
							      .apart = true,
							      .output = on_output,
							      .ended = on_end,
							      .context = run},
			       &run->process, why);
	if (r < 0)
		tool_run_stop(run);
	else
		*ret_run = run;
	return r;
}

int tool_run_start(struct serve *serve, const struct tool_run_request *request, struct tool_run **ret_run,
		   struct why *why)
{
	_cleanup_free_ char *key = NULL;
	struct nest_words words = {};
	int r = check_what(request, why);

	if (r < 0)
		return r;
	make_words(request, &words);
	key = make_key(&words);
	*ret_run = find_key(serve, key);
	if (!*ret_run && serve->runs.count < RUNS_MAX)
		return start(serve, request->what, &words, ret_run, why);
	nest_words_done(&words);
	return *ret_run ? 0 : why_set(why, -EAGAIN, "%d tools run already: stop one first", RUNS_MAX);
}

struct tool_run *tool_run_find(const struct serve *serve, const char *id)
{
	uint64_t number;

	if (parse_decimal(id, 1, UINT64_MAX, &number) < 0)
		return NULL;
	vec_each(&serve->runs, run)
		if ((*run)->id == number)
			return *run;
	return NULL;
}

void tool_run_stop(struct tool_run *run)
{
	struct serve *serve = run->serve;

	for (size_t i = 0; i < serve->runs.count; i++)
		if (serve->runs.items[i] == run) {
			serve->runs.items[i] = serve->runs.items[--serve->runs.count];
			break;
		}
	saver_end(serve, run->id);
	nest_process_stop(run->process);
	if (serve->server)
		http_server_forget(serve->server, &run->stream);
	http_stream_done(&run->stream);
	buf_done(&run->line);
	nest_words_done(&run->words);
	free(run->key);
	free(run->what);
	free(run);
}

void tool_run_sweep(struct serve *serve, bool all)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = serve->runs.count; i-- > 0;) {
		struct tool_run *run = serve->runs.items[i];

		if (run->stream.readers.count > 0)
			run->unread_ns = 0;
		else if (!run->unread_ns)
			run->unread_ns = now_ns;
		if (all || (run->unread_ns && now_ns - run->unread_ns > UNREAD_NS))
			tool_run_stop(run);
	}
	if (all)
		vec_done(&serve->runs);
}
