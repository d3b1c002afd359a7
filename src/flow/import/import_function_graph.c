/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text output of ftrace's function_graph:
 *
 *    0)               |  tcp_sendmsg() {
 *    0)   0.285 us    |    lock_sock_nested();
 *    0) + 12.30 us    |  }
 *
 * with or without the columns for absolute time and task. Without absolute time, the durations advance a thread's
 * clock.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "flow/import/import_map.h"

struct graph {
	struct import_maps maps;
	struct map starts; /* per thread: start times of its open calls */
	uint64_t unmatched;
	uint64_t lines;
};

#define DEPTH_MAX 256

struct starts {
	uint64_t at[DEPTH_MAX];
	uint64_t clock;
};

/* "12.345 us" before the bar; 0: none. */
static uint64_t duration_of(const char *text, size_t n)
{
	const char *unit = memmem(text, n, " us", 3);
	const char *begin = unit;
	char number[32];
	double us;

	if (!unit)
		return 0;
	while (begin > text && strchr("0123456789.", begin[-1]))
		begin--;
	if (begin == unit || (size_t)(unit - begin) >= sizeof(number))
		return 0;
	memcpy(number, begin, (size_t)(unit - begin));
	number[unit - begin] = '\0';
	return parse_double(number, 0, 1e12, &us) < 0 ? 0 : (uint64_t)(us * 1000.0 + 0.5);
}

/* " 1234.567890 |": seconds with six decimals before a bar; 0: no such column. */
static uint64_t absolute_of(const char *text, size_t n)
{
	size_t blank = strspn(text, " "), digits = blank < n ? strspn(text + blank, "0123456789.") : 0;
	char number[32];
	double seconds;

	if (!digits || digits >= sizeof(number) || blank + digits >= n || !memchr(text + blank, '.', digits) ||
	    strspn(text + blank + digits, " ") == 0 || text[blank + digits + strspn(text + blank + digits, " ")] != '|')
		return 0;
	memcpy(number, text + blank, digits);
	number[digits] = '\0';
	return parse_double(number, 0, 1e9, &seconds) < 0 ? 0 : (uint64_t)(seconds * 1e9 + 0.5);
}

/* CPU number before ")": without a task column each CPU is a thread. */
static bool thread_of(const char *text, size_t n, char *name, size_t room, uint32_t *ret_tid)
{
	const char *bracket = memchr(text, ')', n);
	const char *begin = bracket, *task, *dash;
	uint64_t number;
	char digits[12];

	if (!bracket)
		return false;
	while (begin > text && strchr("0123456789", begin[-1]))
		begin--;
	if (begin == bracket || (size_t)(bracket - begin) >= sizeof(digits))
		return false;
	memcpy(digits, begin, (size_t)(bracket - begin));
	digits[bracket - begin] = '\0';
	if (parse_decimal(digits, 0, 65535, &number) < 0)
		return false;
	*ret_tid = (uint32_t)number + 1;
	snprintf(name, room, "cpu %u", (unsigned)number);
	/* "  comm-123  |" */
	task = bracket + 1 + strspn(bracket + 1, " ");
	dash = memchr(task, '|', n - (size_t)(task - text));
	for (; dash && dash > task; dash--)
		if (*dash == '-' && dash[1] >= '0' && dash[1] <= '9') {
			size_t length = strspn(dash + 1, "0123456789");

			if (length >= sizeof(digits))
				return true;
			memcpy(digits, dash + 1, length);
			digits[length] = '\0';
			if (parse_decimal(digits, 1, UINT32_MAX, &number) == 0) {
				*ret_tid = (uint32_t)number;
				snprintf(name, room, "%.*s", (int)(dash - task), task);
			}
			return true;
		}
	return true;
}

static void take_call(struct graph *g, struct import_thread *thread, struct starts *starts, char *text)
{
	char *end = strchr(text, '(');

	if (!end || end == text)
		return;
	*end = '\0';
	if (thread->depth < DEPTH_MAX)
		starts->at[thread->depth] = starts->clock;
	import_call(&g->maps, thread, starts->clock, import_function(&g->maps, text));
}

static void take_return(struct graph *g, struct import_thread *thread, struct starts *starts, uint64_t duration)
{
	uint64_t begin = thread->depth && thread->depth <= DEPTH_MAX ? starts->at[thread->depth - 1] : starts->clock;

	starts->clock = max_of(starts->clock, begin + duration);
	if (!import_return(&g->maps, thread, starts->clock))
		g->unmatched++;
}

static void read_line(struct graph *g, char *line)
{
	char *bar = strrchr(line, '|'), name[32] = "", *text;
	uint64_t duration, absolute;
	struct import_thread *thread;
	struct starts *starts;
	uint32_t tid;
	bool new;
	size_t n;

	if (!bar || line[0] == '#')
		return;
	n = (size_t)(bar - line);
	text = bar + 1 + strspn(bar + 1, " ");
	if (!thread_of(line, n, name, sizeof(name), &tid))
		return;
	thread = import_thread(&g->maps, tid, tid, name);
	starts = map_put(&g->starts, &tid, &new);
	if (!thread || !starts)
		return;
	if (new)
		*starts = (struct starts){};
	absolute = absolute_of(line, n);
	duration = duration_of(line, n);
	starts->clock = max_of(starts->clock, absolute);
	g->lines++;
	if (text[0] == '}') {
		take_return(g, thread, starts, duration);
	} else if (strchr(text, ';')) {
		take_call(g, thread, starts, text);
		take_return(g, thread, starts, duration);
	} else if (strchr(text, '{')) {
		take_call(g, thread, starts, text);
	}
}

int import_function_graph(const char *data, size_t size, struct trace_writer *writer, struct import_result *result,
			  struct why *why)
{
	struct graph g = {.starts = MAP_INIT(sizeof(uint32_t), sizeof(struct starts), 4096)};

	import_maps_init(&g.maps, writer);
	while (size) {
		const char *end = memchr(data, '\n', size);
		size_t n = end ? (size_t)(end - data) : size;
		_cleanup_free_ char *line = xstrndup(data, min_of(n, (size_t)4096));

		read_line(&g, line);
		n += end != NULL;
		data += n;
		size -= n;
	}
	if (g.unmatched)
		snprintf(result->note, sizeof(result->note), "returns of calls before the trace omitted: %llu",
			 (unsigned long long)g.unmatched);
	import_maps_done(&g.maps);
	map_done(&g.starts);
	return g.lines ? 0 : why_set(why, -EBADMSG, "no function_graph lines found");
}

static int recognise(const char *path, const char *head, size_t n)
{
	(void)path;
	return memmem(head, n, "tracer: function_graph", 22)                                          ? 100
	       : memmem(head, n, "() {\n", 5) && memmem(head, n, ")  ", 3) && memmem(head, n, "|", 1) ? 40
												      : 0;
}

static int read_file(const char *path, struct trace_writer *writer, struct import_result *result, struct why *why)
{
	_cleanup_import_file_ struct import_file file = {};
	int r = import_file_open(path, &file, why);

	return r < 0 ? r : import_function_graph((const char *)file.data, file.size, writer, result, why);
}

static const struct importer function_graph_importer = {
	.name = "function-graph",
	.summary = "text output of ftrace's function_graph tracer",
	.recognise = recognise,
	.read = read_file,
};
IMPORTER(function_graph_importer);
