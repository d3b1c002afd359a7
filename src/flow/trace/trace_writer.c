/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/trace/trace_writer.h"

#include <errno.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/new_file.h"
#include "base/vec.h"
#include "flow/trace/checksum.h"

#define CHUNK_BYTES 262144u
#define META_BYTES  ((size_t)1 << 20)

struct pending {
	struct flow_chunk header;
	uint32_t *words;
	uint32_t count;
	uint64_t ticks;
	uint32_t depth;
	bool timed; /* an event has set the clock */
};

struct trace_writer {
	struct new_file file;
	int error; /* the first one */
	struct trace_writer_options options;
	struct buf properties;
	struct buf meta;
	bool started;
	uint32_t modules, functions, sockets;
	uint32_t chunk_words;
	uint64_t last_ticks;
	VEC(struct pending) threads; /* [0] is thread 1 */
};

int trace_writer_open(const char *path, const struct trace_writer_options *options, struct trace_writer **ret_writer,
		      struct why *why)
{
	struct trace_writer *writer;
	struct new_file file;
	int r = new_file_open(&file, path);

	if (r < 0)
		return why_set(why, r, "%s: %s", path, new_file_error(r));
	writer = xzalloc(sizeof(*writer));
	writer->file = file;
	writer->options = *options;
	if (!writer->options.ticks_per_second)
		writer->options.ticks_per_second = NSEC_PER_SEC;
	writer->chunk_words = max_of(options->chunk_bytes ? options->chunk_bytes : CHUNK_BYTES, 2048u) / 4;
	writer->chunk_words = min_of(writer->chunk_words, FLOW_CHUNK_MAX / 4);
	writer->properties = BUF_INIT(1 << 20);
	writer->meta = BUF_INIT(2 * META_BYTES);
	*ret_writer = writer;
	return 0;
}

static void write_all(struct trace_writer *writer, const void *data, size_t n)
{
	while (n && !writer->error) {
		ssize_t done = write(writer->file.fd, data, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			writer->error = done < 0 ? -errno : -EIO;
			return;
		}
		data = (const uint8_t *)data + done;
		n -= (size_t)done;
	}
}

static uint64_t ticks_to_ns(const struct trace_writer *writer, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)ticks * NSEC_PER_SEC / writer->options.ticks_per_second);
}

static void write_chunk(struct trace_writer *writer, struct flow_chunk *header, const void *payload)
{
	header->magic = FLOW_MAGIC;
	header->clock_ticks = writer->last_ticks;
	header->clock_ns = writer->options.start_real_ns + ticks_to_ns(writer, writer->last_ticks);
	header->checksum = flow_chunk_checksum(header, payload);
	write_all(writer, header, sizeof(*header));
	write_all(writer, payload, header->bytes);
}

/* Payloads are whole words. */
static void pad(struct buf *b, size_t to)
{
	while (b->len % to)
		buf_add_char(b, '\0');
}

static void start(struct trace_writer *writer)
{
	struct buf *text = &writer->properties;
	struct flow_chunk header = {.kind = FLOW_CHUNK_FILE};

	if (writer->started)
		return;
	writer->started = true;
	buf_add_format(text, "format nest-flow\nversion %d\nticks_per_second %llu\n", FLOW_VERSION,
		       (unsigned long long)writer->options.ticks_per_second);
	while (text->len % 4)
		buf_add_char(text, '\n');
	header.bytes = (uint32_t)text->len;
	write_chunk(writer, &header, text->data);
}

static void write_meta(struct trace_writer *writer)
{
	struct flow_chunk header = {.kind = FLOW_CHUNK_META, .bytes = (uint32_t)writer->meta.len};

	start(writer);
	if (!writer->meta.len)
		return;
	write_chunk(writer, &header, writer->meta.data);
	buf_clear(&writer->meta);
}

static struct pending *thread_at(struct trace_writer *writer, uint32_t thread)
{
	return &writer->threads.items[thread - 1];
}

static void begin_chunk(struct pending *t)
{
	t->header.start_ticks = t->ticks;
	t->header.depth = t->depth;
	t->header.events = 0;
	t->header.calls = 0;
	t->header.lost = 0;
	t->count = 0;
}

static void write_events(struct trace_writer *writer, struct pending *t)
{
	if (!t->count)
		return;
	/* Names precede their use, for sequential readers. */
	write_meta(writer);
	t->header.bytes = t->count * 4;
	t->header.end_ticks = t->ticks;
	write_chunk(writer, &t->header, t->words);
	t->header.seq++;
	begin_chunk(t);
}

/* Reserves words, and accounts for the ticks since the previous event. */
static uint32_t *reserve(struct trace_writer *writer, uint32_t thread, uint32_t words, uint64_t ticks)
{
	struct pending *t = thread_at(writer, thread);
	uint32_t *at;

	if (t->count + words > writer->chunk_words)
		write_events(writer, t);
	at = t->words + t->count;
	t->count += words;
	t->ticks = max_of(t->ticks, ticks);
	t->header.events++;
	writer->last_ticks = max_of(writer->last_ticks, t->ticks);
	return at;
}

static uint64_t since(const struct trace_writer *writer, uint32_t thread, uint64_t ticks)
{
	const struct pending *t = &writer->threads.items[thread - 1];

	return ticks > t->ticks ? ticks - t->ticks : 0;
}

/* Fourth form: returns its payload. */
static uint32_t *add_other(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint32_t head)
{
	uint64_t passed = since(writer, thread, ticks);
	uint32_t words = 1 + (head >> 8 & 255);
	uint32_t *at = reserve(writer, thread, words, ticks);

	at[0] = head;
	flow_put_u64(at + 1, passed);
	return at + 3;
}

void trace_writer_property(struct trace_writer *writer, const char *key, const char *value)
{
	if (writer->started)
		return;
	buf_add_format(&writer->properties, "%s ", key);
	for (; *value; value++)
		buf_add_char(&writer->properties, *value == '\n' ? ' ' : *value);
	buf_add_char(&writer->properties, '\n');
}

static void begin_meta(struct trace_writer *writer, uint32_t kind, size_t bytes)
{
	struct flow_meta meta = {kind, (uint32_t)bytes};

	if (writer->meta.len + sizeof(meta) + bytes + 8 > META_BYTES)
		write_meta(writer);
	buf_add(&writer->meta, &meta, sizeof(meta));
}

static uint8_t hex_value(char c)
{
	return (uint8_t)(c >= 'a' ? c - 'a' + 10 : c >= 'A' ? c - 'A' + 10 : c - '0');
}

uint32_t trace_writer_module(struct trace_writer *writer, const struct flow_module *module)
{
	const char *path = module->path ? module->path : "?", *id = module->build_id ? module->build_id : "";
	struct flow_meta_module fixed = {
		.module = ++writer->modules,
		.bias = module->bias,
		.begin = module->begin,
		.end = module->end,
		.build_id_bytes = (uint32_t)min_of(strlen(id) / 2, (size_t)64),
		.path_bytes = (uint32_t)min_of(strlen(path), (size_t)4096),
	};

	begin_meta(writer, FLOW_META_MODULE, sizeof(fixed) + fixed.build_id_bytes + fixed.path_bytes);
	buf_add(&writer->meta, &fixed, sizeof(fixed));
	for (size_t i = 0; i < fixed.build_id_bytes; i++)
		buf_add_char(&writer->meta, (char)(hex_value(id[i * 2]) << 4 | hex_value(id[i * 2 + 1])));
	buf_add(&writer->meta, path, fixed.path_bytes);
	pad(&writer->meta, 8);
	return fixed.module;
}

uint32_t trace_writer_function_number(struct trace_writer *writer)
{
	return ++writer->functions;
}

void trace_writer_function_is(struct trace_writer *writer, uint32_t fn, uint32_t module, uint64_t offset,
			      const char *name, const char *file)
{
	struct flow_meta_function fixed = {
		.fn = fn,
		.module = module,
		.offset = offset,
		.name_bytes = (uint16_t)(name ? min_of(strlen(name), (size_t)UINT16_MAX) : 0),
		.file_bytes = (uint16_t)(file ? min_of(strlen(file), (size_t)UINT16_MAX) : 0),
	};

	begin_meta(writer, FLOW_META_FUNCTION, sizeof(fixed) + fixed.name_bytes + fixed.file_bytes);
	buf_add(&writer->meta, &fixed, sizeof(fixed));
	buf_add(&writer->meta, name, fixed.name_bytes);
	buf_add(&writer->meta, file, fixed.file_bytes);
	pad(&writer->meta, 8);
}

uint32_t trace_writer_function(struct trace_writer *writer, uint32_t module, uint64_t offset, const char *name)
{
	uint32_t fn = trace_writer_function_number(writer);

	trace_writer_function_is(writer, fn, module, offset, name, NULL);
	return fn;
}

uint32_t trace_writer_thread(struct trace_writer *writer, uint32_t pid, uint32_t tid, const char *name)
{
	struct pending *t = vec_add(&writer->threads);
	uint32_t thread = (uint32_t)writer->threads.count;
	char text[16] = "";

	t->words = xrealloc_array(NULL, writer->chunk_words, sizeof(*t->words));
	t->header.kind = FLOW_CHUNK_EVENTS;
	t->header.flags = writer->options.untimed ? FLOW_UNTIMED : 0;
	t->header.thread = thread;
	t->header.pid = pid;
	t->header.tid = tid;
	if (name) {
		memcpy(text, name, strnlen(name, sizeof(text)));
		memcpy(add_other(writer, thread, 0, flow_word_other(FLOW_O_START, 4, 0)), text, sizeof(text));
	}
	return thread;
}

/* A thread's clock starts with its first timed event. */
static void begin_clock(struct trace_writer *writer, uint32_t thread, uint64_t ticks)
{
	struct pending *t = thread_at(writer, thread);

	if (t->timed)
		return;
	t->timed = true;
	t->ticks = ticks;
	t->header.start_ticks = ticks;
}

/* The ticks that fit into the word; the rest is written before it. */
static uint64_t pass_time(struct trace_writer *writer, uint32_t thread, uint64_t ticks)
{
	uint64_t passed;

	begin_clock(writer, thread, ticks);
	passed = since(writer, thread, ticks);
	if (passed < FLOW_LONG_TICKS)
		return passed;
	(void)add_other(writer, thread, ticks, flow_word_other(FLOW_O_TIME, 0, 0));
	thread_at(writer, thread)->header.events--; /* a time record is not an event */
	return 0;
}

void trace_writer_call(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint32_t fn)
{
	uint64_t passed = pass_time(writer, thread, ticks);
	struct pending *t;

	if (passed < FLOW_SHORT_TICKS && fn < FLOW_SHORT_FN) {
		*reserve(writer, thread, 1, ticks) = flow_word_call(fn, (uint32_t)passed);
	} else {
		uint32_t *at = reserve(writer, thread, 2, ticks);

		at[0] = flow_word_call_long((uint32_t)passed);
		at[1] = fn;
	}
	t = thread_at(writer, thread);
	t->header.calls++;
	t->depth++;
}

void trace_writer_return(struct trace_writer *writer, uint32_t thread, uint64_t ticks)
{
	uint64_t passed = pass_time(writer, thread, ticks);
	struct pending *t;

	*reserve(writer, thread, 1, ticks) = flow_word_return((uint32_t)passed);
	t = thread_at(writer, thread);
	t->depth -= t->depth > 0;
}

void trace_writer_unwind(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint32_t count)
{
	struct pending *t;

	begin_clock(writer, thread, ticks);
	*add_other(writer, thread, ticks, flow_word_other(FLOW_O_UNWIND, 1, 0)) = count;
	t = thread_at(writer, thread);
	t->depth -= min_of(t->depth, count);
}

void trace_writer_lost_why(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint64_t count,
			   enum flow_lost why)
{
	struct pending *t;

	begin_clock(writer, thread, ticks);
	flow_put_u64(add_other(writer, thread, ticks, flow_word_other(FLOW_O_LOST, 2, why)), count);
	t = thread_at(writer, thread);
	t->header.lost += count;
	t->header.events--; /* a mark is not an event */
	t->depth = 0;
}

void trace_writer_end(struct trace_writer *writer, uint32_t thread, uint64_t ticks)
{
	begin_clock(writer, thread, ticks);
	(void)add_other(writer, thread, ticks, flow_word_other(FLOW_O_END, 0, 0));
}

void trace_writer_exit(struct trace_writer *writer, uint32_t thread, uint64_t ticks)
{
	uint32_t *words;

	begin_clock(writer, thread, ticks);
	words = add_other(writer, thread, ticks, flow_word_other(FLOW_O_PROCESS, 2, FLOW_PROCESS_EXIT));
	words[0] = words[1] = 0;
}

void trace_writer_delay(struct trace_writer *writer, uint32_t thread, uint64_t ticks, enum flow_delay kind,
			const struct flow_look *look)
{
	uint32_t *words;

	begin_clock(writer, thread, ticks);
	words = add_other(writer, thread, ticks, flow_word_other(FLOW_O_DELAY, look->has_cpu ? 5 : 3, kind));
	flow_put_u64(words, look->delay_ns);
	words[2] = look->runs;
	if (look->has_cpu)
		flow_put_u64(words + 3, look->cpu_ns);
}

void trace_writer_value(struct trace_writer *writer, uint32_t thread, uint64_t ticks, enum flow_value kind,
			uint64_t value)
{
	begin_clock(writer, thread, ticks);
	flow_put_u64(add_other(writer, thread, ticks, flow_word_other(FLOW_O_VALUE, 2, kind)), value);
}

void trace_writer_stack(struct trace_writer *writer, uint32_t thread, uint64_t ticks, const uint32_t *fns, size_t count)
{
	size_t at = 0;

	begin_clock(writer, thread, ticks);
	do {
		uint32_t n = (uint32_t)min_of(count - at, (size_t)FLOW_OTHER_WORDS_MAX);
		uint32_t *words = add_other(writer, thread, ticks, flow_word_other(FLOW_O_STACK, n, at > 0));

		if (n)
			memcpy(words, fns + at, n * sizeof(*fns));
		thread_at(writer, thread)->header.events--;
		at += n;
	} while (at < count);
	thread_at(writer, thread)->depth = (uint32_t)count;
}

void trace_writer_args(struct trace_writer *writer, uint32_t thread, const uint64_t *values, size_t count)
{
	uint32_t n = (uint32_t)min_of(count, (size_t)FLOW_OTHER_WORDS_MAX / 2);
	uint64_t now = thread_at(writer, thread)->ticks;
	uint32_t *words = add_other(writer, thread, now, flow_word_other(FLOW_O_ARGS, n * 2, 0));

	for (uint32_t i = 0; i < n; i++)
		flow_put_u64(words + (size_t)i * 2, values[i]);
}

uint32_t trace_writer_socket(struct trace_writer *writer, uint32_t thread, uint64_t ticks,
			     const struct flow_socket *socket)
{
	struct flow_socket_words words = {
		.socket = socket->socket ? socket->socket : ++writer->sockets,
		.fd = socket->fd,
		.family = socket->family,
		.type = socket->type,
		.lport = socket->local.port,
		.rport = socket->remote.port,
	};

	writer->sockets = max_of(writer->sockets, words.socket);
	flow_put_u64(words.cookie, socket->cookie);
	memcpy(words.laddr, socket->local.addr.bytes, sizeof(words.laddr));
	memcpy(words.raddr, socket->remote.addr.bytes, sizeof(words.raddr));
	begin_clock(writer, thread, ticks);
	memcpy(add_other(writer, thread, ticks, flow_word_other(FLOW_O_SOCKET, FLOW_WORDS(words), 0)), &words,
	       sizeof(words));
	return words.socket;
}

void trace_writer_operation(struct trace_writer *writer, uint32_t thread, const struct flow_operation *operation)
{
	trace_writer_wait(writer, thread, operation, NULL, 0);
}

void trace_writer_wait(struct trace_writer *writer, uint32_t thread, const struct flow_operation *operation,
		       const struct flow_ready *ready, size_t count)
{
	uint32_t n = (uint32_t)min_of(count, (size_t)64);
	struct flow_op_words words = {
		.socket = operation->socket,
		.fd = operation->fd,
		.result = (int32_t)operation->result,
	};
	struct pending *t;
	uint32_t *at;

	flow_put_u64(words.duration, operation->end_ticks - operation->start_ticks);
	flow_put_u64(words.aux, operation->aux);
	begin_clock(writer, thread, operation->start_ticks);
	at = add_other(writer, thread, operation->start_ticks,
		       flow_word_other(FLOW_O_OPERATION, (uint32_t)FLOW_WORDS(words) + n * 3, operation->op));
	memcpy(at, &words, sizeof(words));
	at += FLOW_WORDS(words);
	for (uint32_t i = 0; i < n; i++, at += 3) {
		flow_put_u64(at, ready[i].data);
		at[2] = ready[i].events;
	}
	t = thread_at(writer, thread);
	t->ticks += operation->end_ticks - operation->start_ticks;
	writer->last_ticks = max_of(writer->last_ticks, t->ticks);
}

void trace_writer_late(struct trace_writer *writer, const struct flow_late *late)
{
	struct flow_chunk header = {.kind = FLOW_CHUNK_LATE, .bytes = sizeof(*late)};

	write_meta(writer);
	write_chunk(writer, &header, late);
}

int trace_writer_close(struct trace_writer *writer)
{
	struct flow_chunk end = {.kind = FLOW_CHUNK_END};
	int r, closed;

	write_meta(writer);
	vec_each(&writer->threads, t) {
		/* A thread with only a name has no time of its own. */
		begin_clock(writer, t->header.thread, writer->last_ticks);
		write_events(writer, t);
		free(t->words);
	}
	write_chunk(writer, &end, "");
	r = writer->error ?: new_file_publish(&writer->file);
	closed = new_file_done(&writer->file);
	vec_done(&writer->threads);
	buf_done(&writer->properties);
	buf_done(&writer->meta);
	free(writer);
	return r < 0 ? r : closed;
}
