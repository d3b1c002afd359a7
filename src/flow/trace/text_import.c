/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/socket.h>

#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "flow/trace/trace_text.h"

#define ENTRIES_MAX ((size_t)1 << 20)
#define STACK_MAX   4096
#define READY_MAX   64

struct reader {
	struct trace_writer *writer;
	struct map threads;   /* number in the text -> number in the trace */
	struct map functions; /* "module!name" -> number */
	struct map modules;   /* name -> number */
	struct why *why;
	unsigned line;
};

static int refuse(const struct reader *r, const char *what)
{
	return why_set(r->why, -EINVAL, "line %u: %s", r->line, what);
}

/* Splits off the next word; NULL: none. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " ");
	size_t n = strcspn(word, " ");

	if (!n)
		return NULL;
	*rest = word + n + (word[n] == ' ');
	word[n] = '\0';
	return word;
}

static int next_number(struct reader *r, char **rest, uint64_t max, uint64_t *ret_value)
{
	const char *word = next_word(rest);

	return word && parse_u64(word, 0, max, ret_value) == 0 ? 0 : refuse(r, "number missing or out of range");
}

static int module_of(struct reader *r, const char *name, uint32_t *ret_module)
{
	bool new;
	uint32_t *module = map_put(&r->modules, name, &new);

	if (!module)
		return refuse(r, "too many modules");
	if (new)
		*module = trace_writer_module(r->writer, &(struct flow_module){.path = name});
	*ret_module = *module;
	return 0;
}

/* "module!name" or "name". */
static int function_of(struct reader *r, char *text, uint32_t *ret_fn)
{
	uint32_t module = 0;
	uint32_t *fn;
	char *mark;
	bool new;
	int e;

	if (!*text)
		return refuse(r, "function name missing");
	fn = map_put(&r->functions, text, &new);
	if (!fn)
		return refuse(r, "too many functions");
	if (new) {
		mark = strchr(text, '!');
		if (mark && mark > text && mark[1]) {
			*mark = '\0';
			e = module_of(r, text, &module);
			text = mark + 1;
			if (e < 0)
				return e;
		}
		/* Text has no addresses; the number separates functions of the same name in two modules. */
		*fn = trace_writer_function(r->writer, module, module ? r->functions.count : 0, text);
	}
	*ret_fn = *fn;
	return 0;
}

/* The value if the word is "key=value". */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static int read_thread(struct reader *r, char *rest)
{
	uint64_t id, pid = 0, tid = 0;
	const char *name = NULL, *value;
	uint32_t *number;
	char *word;
	bool new = false;
	int e = next_number(r, &rest, UINT32_MAX, &id);

	if (e < 0)
		return e;
	/* The name comes last and may contain spaces. */
	while (!name && (rest += strspn(rest, " "), *rest)) {
		name = value_of(rest, "name");
		if (name)
			break;
		word = next_word(&rest);
		if ((value = value_of(word, "pid"))   ? parse_u64(value, 0, UINT32_MAX, &pid) < 0
		    : (value = value_of(word, "tid")) ? parse_u64(value, 0, UINT32_MAX, &tid) < 0
						      : true)
			return refuse(r, "thread needs pid=, tid= and name=");
	}
	number = map_put(&r->threads, &(uint32_t){(uint32_t)id}, &new);
	if (!number || !new)
		return refuse(r, "duplicate thread, or too many threads");
	*number = trace_writer_thread(r->writer, (uint32_t)pid, (uint32_t)tid, name);
	return 0;
}

static enum flow_op op_of(const char *name)
{
	for (unsigned op = FLOW_OP_NONE + 1; op < FLOW_OP_COUNT; op++)
		if (strcmp(flow_op_name(op), name) == 0)
			return op;
	return FLOW_OP_NONE;
}

/* key=number words of operations and sockets. */
struct keyed {
	uint64_t socket, took, aux, cookie, family, type;
	int64_t fd, result;
	struct endpoint local, remote;
	struct flow_ready ready[READY_MAX];
	size_t ready_count;
};

static int read_ready(struct reader *r, const char *value, struct keyed *k)
{
	_cleanup_free_ char *copy = xstrdup(value);
	char *colon = strchr(copy, ':');
	uint64_t events;

	if (!colon || k->ready_count == READY_MAX)
		return refuse(r, "invalid ready=DATA:EVENTS, or more than 64");
	*colon = '\0';
	if (parse_u64(copy, 0, UINT64_MAX, &k->ready[k->ready_count].data) < 0 ||
	    parse_u64(colon + 1, 0, UINT32_MAX, &events) < 0)
		return refuse(r, "ready=DATA:EVENTS needs numbers");
	k->ready[k->ready_count++].events = (uint32_t)events;
	return 0;
}

static int read_key(struct reader *r, char *word, struct keyed *k)
{
	const struct {
		const char *key;
		uint64_t max;
		uint64_t *to;
	} numbers[] = {
		{"socket", UINT32_MAX, &k->socket}, {"took", UINT64_MAX / 4, &k->took}, {"aux", UINT64_MAX, &k->aux},
		{"cookie", UINT64_MAX, &k->cookie}, {"family", UINT16_MAX, &k->family}, {"type", UINT16_MAX, &k->type},
	};
	const char *value;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if ((value = value_of(word, numbers[i].key)))
			return parse_u64(value, 0, numbers[i].max, numbers[i].to) < 0 ? refuse(r, "invalid number") : 0;
	if ((value = value_of(word, "fd")))
		return parse_i64(value, INT32_MIN, INT32_MAX, &k->fd) < 0 ? refuse(r, "fd= needs a number") : 0;
	if ((value = value_of(word, "result")))
		return parse_i64(value, INT32_MIN, INT32_MAX, &k->result) < 0 ? refuse(r, "result= needs a number") : 0;
	if ((value = value_of(word, "ready")))
		return read_ready(r, value, k);
	if ((value = value_of(word, "local")))
		return addr_parse_endpoint(value, &k->local) < 0 ? refuse(r, "local=ADDRESS:PORT") : 0;
	if ((value = value_of(word, "remote")))
		return addr_parse_endpoint(value, &k->remote) < 0 ? refuse(r, "remote=ADDRESS:PORT") : 0;
	return refuse(r, "unknown key");
}

static int read_keys(struct reader *r, char *rest, struct keyed *ret_keys)
{
	char *word;

	*ret_keys = (struct keyed){.fd = -1};
	while ((word = next_word(&rest))) {
		int e = read_key(r, word, ret_keys);

		if (e < 0)
			return e;
	}
	return 0;
}

static int read_socket(struct reader *r, uint32_t thread, uint64_t time, char *rest)
{
	struct keyed k;
	int e = read_keys(r, rest, &k);

	if (e < 0)
		return e;
	if (!k.family)
		k.family = k.local.addr.family == ADDR_V6 ? AF_INET6 : AF_INET;
	(void)trace_writer_socket(r->writer, thread, time,
				  &(struct flow_socket){
					  .socket = (uint32_t)k.socket,
					  .fd = (int32_t)k.fd,
					  .cookie = k.cookie,
					  .family = (uint16_t)k.family,
					  .type = (uint16_t)(k.type ? k.type : SOCK_STREAM),
					  .local = k.local,
					  .remote = k.remote,
				  });
	return 0;
}

static int read_operation(struct reader *r, uint32_t thread, uint64_t time, const char *name, char *rest)
{
	enum flow_op op = op_of(name);
	struct keyed k;
	int e;

	if (op == FLOW_OP_NONE)
		return refuse(r, "unknown operation");
	e = read_keys(r, rest, &k);
	if (e < 0)
		return e;
	if (time > UINT64_MAX / 4)
		return refuse(r, "time out of range");
	trace_writer_wait(r->writer, thread,
			  &(struct flow_operation){
				  .op = op,
				  .start_ticks = time,
				  .end_ticks = time + k.took,
				  .socket = (uint32_t)k.socket,
				  .fd = (int32_t)k.fd,
				  .result = k.result,
				  .aux = k.aux,
			  },
			  k.ready, k.ready_count);
	return 0;
}

static int read_stack(struct reader *r, uint32_t thread, uint64_t time, char *rest)
{
	_cleanup_free_ uint32_t *fns = xrealloc_array(NULL, STACK_MAX, sizeof(*fns));
	size_t count = 0;

	while (*rest) {
		char *end = strstr(rest, "; ");
		int e;

		if (end)
			*end = '\0';
		if (count == STACK_MAX)
			return refuse(r, "stack too deep");
		e = function_of(r, rest, &fns[count++]);
		if (e < 0)
			return e;
		rest = end ? end + 2 : rest + strlen(rest);
	}
	trace_writer_stack(r->writer, thread, time, fns, count);
	return 0;
}

static int read_args(struct reader *r, uint32_t thread, char *rest)
{
	uint64_t values[16];
	size_t count = 0;

	while (*rest) {
		int e = count < ARRAY_SIZE(values) ? next_number(r, &rest, UINT64_MAX, &values[count++])
						   : refuse(r, "too many arguments");

		if (e < 0)
			return e;
	}
	trace_writer_args(r->writer, thread, values, count);
	return 0;
}

/* An optional reason follows the count. */
static int read_lost(struct reader *r, uint32_t thread, uint64_t time, uint64_t count, char *rest)
{
	const char *word = next_word(&rest);
	uint32_t why = FLOW_LOST_OTHER;

	while (word && (!flow_lost_name(why) || strcmp(flow_lost_name(why), word) != 0))
		if (++why == FLOW_LOST_COUNT)
			return refuse(r, "unknown reason for lost events (full, signal or paused)");
	trace_writer_lost_why(r->writer, thread, time, count, why);
	return 0;
}

/* Events followed by a number. */
static int read_counted(struct reader *r, uint32_t thread, uint64_t time, const char *what, char *rest)
{
	static const char *const values[] = {"value", "push", "pop"};
	uint64_t number;
	int e = next_number(r, &rest, UINT64_MAX, &number);

	if (e < 0)
		return e;
	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		if (strcmp(what, values[i]) == 0) {
			trace_writer_value(r->writer, thread, time, i, number);
			return 0;
		}
	if (strcmp(what, "delay") == 0 || strcmp(what, "delay-op") == 0) {
		struct flow_look look = {.delay_ns = number};
		uint64_t runs = 1;

		if (*rest)
			e = next_number(r, &rest, UINT32_MAX, &runs);
		look.runs = (uint32_t)runs;
		look.has_cpu = e == 0 && *rest;
		if (look.has_cpu)
			e = next_number(r, &rest, UINT64_MAX, &look.cpu_ns);
		if (e == 0)
			trace_writer_delay(r->writer, thread, time, what[5] ? FLOW_DELAY_OPERATION : FLOW_DELAY_RUNNING,
					   &look);
		return e;
	}
	if (strcmp(what, "lost") == 0)
		return read_lost(r, thread, time, number, rest);
	if (strcmp(what, "unwind") == 0 && number <= UINT32_MAX)
		trace_writer_unwind(r->writer, thread, time, (uint32_t)number);
	else
		return refuse(r, "unknown event");
	return 0;
}

static int read_event(struct reader *r, const char *first, char *rest)
{
	uint64_t id, time;
	uint32_t *thread, fn;
	const char *what;
	int e;

	if (parse_u64(first, 0, UINT32_MAX, &id) < 0)
		return refuse(r, "line must start with 'thread', 'property', 'late', a thread number or #");
	thread = map_get(&r->threads, &(uint32_t){(uint32_t)id});
	if (!thread)
		return refuse(r, "undeclared thread (thread NUMBER pid=.. tid=.. name=..)");
	e = next_number(r, &rest, UINT64_MAX / 4, &time);
	if (e < 0)
		return e;
	what = next_word(&rest);
	if (!what)
		return refuse(r, "event missing");
	if (strcmp(what, "call") == 0) {
		e = function_of(r, rest, &fn);
		if (e == 0)
			trace_writer_call(r->writer, *thread, time, fn);
		return e;
	}
	if (strcmp(what, "return") == 0) {
		trace_writer_return(r->writer, *thread, time);
		return 0;
	}
	if (strcmp(what, "end") == 0) {
		trace_writer_end(r->writer, *thread, time);
		return 0;
	}
	if (strcmp(what, "exit") == 0) {
		trace_writer_exit(r->writer, *thread, time);
		return 0;
	}
	if (strncmp(what, "op-", 3) == 0)
		return read_operation(r, *thread, time, what + 3, rest);
	if (strcmp(what, "socket") == 0)
		return read_socket(r, *thread, time, rest);
	if (strcmp(what, "stack") == 0)
		return read_stack(r, *thread, time, rest);
	if (strcmp(what, "args") == 0)
		return read_args(r, *thread, rest);
	return read_counted(r, *thread, time, what, rest);
}

/* The recorder's own wait for a CPU: since when, and how long. */
static int read_late(struct reader *r, char *rest)
{
	uint64_t time, took;
	int e = next_number(r, &rest, UINT64_MAX / 4, &time);

	if (e == 0)
		e = next_number(r, &rest, UINT64_MAX / 4, &took);
	if (e == 0)
		trace_writer_late(r->writer, &(struct flow_late){time, time + took});
	return e;
}

static int read_line(struct reader *r, char *line)
{
	char *rest = line, *word = next_word(&rest);

	if (!word || *word == '#')
		return 0;
	if (strcmp(word, "thread") == 0)
		return read_thread(r, rest);
	if (strcmp(word, "late") == 0)
		return read_late(r, rest);
	if (strcmp(word, "property") == 0) {
		word = next_word(&rest);
		if (!word)
			return refuse(r, "expected: property KEY VALUE");
		trace_writer_property(r->writer, word, rest);
		return 0;
	}
	return read_event(r, word, rest);
}

int trace_text_import(const char *text, size_t size, struct trace_writer *writer, struct why *why)
{
	struct reader r = {
		.writer = writer,
		.threads = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 4096),
		.functions = MAP_INIT(0, sizeof(uint32_t), ENTRIES_MAX),
		.modules = MAP_INIT(0, sizeof(uint32_t), ENTRIES_MAX),
		.why = why,
	};
	int e = 0;

	while (size && e == 0) {
		const char *end = memchr(text, '\n', size);
		size_t n = end ? (size_t)(end - text) : size;
		_cleanup_free_ char *line = xstrndup(text, n);

		r.line++;
		e = read_line(&r, line);
		n += end != NULL;
		text += n;
		size -= n;
	}
	map_done(&r.threads);
	map_done(&r.functions);
	map_done(&r.modules);
	return e;
}
