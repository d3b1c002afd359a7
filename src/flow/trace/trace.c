/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening a trace: chunks, threads, clock. */
#include "flow/trace/trace.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/input_file.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/text.h"
#include "base/vec.h"
#include "flow/trace/checksum.h"
#include "flow/trace/trace_file.h"

/* More than a day of a busy server; a limit for hostile files of empty chunks. */
#define CHUNKS_MAX    ((size_t)8 << 20)
#define THREADS_MAX   ((size_t)1 << 20)
#define LATE_MAX      ((size_t)1 << 20)

#define RELEASE_BYTES ((size_t)1 << 20)
/* Readahead of the kernel around a page. */
#define BROUGHT_BYTES ((size_t)64 << 10)

static bool read_header(const struct flow_trace_file *file, size_t at, struct flow_chunk *ret_header)
{
	if (file->size - at < sizeof(*ret_header))
		return false;
	memcpy(ret_header, file->data + at, sizeof(*ret_header));
	return ret_header->magic == FLOW_MAGIC && ret_header->bytes <= FLOW_CHUNK_MAX && ret_header->bytes % 4 == 0 &&
	       ret_header->bytes <= file->size - at - sizeof(*ret_header);
}

static bool checksum_fits(const struct flow_trace_file *file, size_t at, const struct flow_chunk *header)
{
	return flow_chunk_checksum(header, file->data + at + sizeof(*header)) == header->checksum;
}

/*
 * A header is valid when another one follows where it says, or the file ends there; otherwise its checksum decides,
 * which otherwise is left to the cursor.
 */
static bool chunk_at(const struct flow_trace_file *file, size_t at, struct flow_chunk *ret_header)
{
	struct flow_chunk next;
	size_t after;

	if (!read_header(file, at, ret_header))
		return false;
	after = at + sizeof(*ret_header) + ret_header->bytes;
	return after == file->size || read_header(file, after, &next) || checksum_fits(file, at, ret_header);
}

/* Largest damage at the start of a trace. */
#define START_MAX ((size_t)16 << 20)

/* Start of the next chunk before `end` with a valid checksum; the file size: none. */
static size_t find_chunk(const struct flow_trace_file *file, size_t at, size_t end)
{
	static const uint32_t magic = FLOW_MAGIC;
	struct flow_chunk header;

	while (at < end) {
		const uint8_t *found = memmem(file->data + at, end - at, &magic, sizeof(magic));

		if (!found)
			break;
		at = (size_t)(found - file->data);
		if (read_header(file, at, &header) && checksum_fits(file, at, &header))
			return at;
		at++;
	}
	return file->size;
}

/* The words of a chunk, copied when a torn chunk before it broke their alignment. */
static const uint32_t *chunk_words(struct flow_trace_file *file, size_t at, uint32_t bytes)
{
	const uint8_t *from = file->data + at;
	void *copy;

	if ((uintptr_t)from % sizeof(uint32_t) == 0)
		return (const uint32_t *)(const void *)from;
	copy = xmalloc(max_of(bytes, 1u));
	memcpy(copy, from, bytes);
	vec_push(&file->copies, copy);
	return copy;
}

static struct flow_thread *thread_of(struct flow_trace_file *file, const struct flow_chunk *header)
{
	bool new;
	size_t *index = map_put(&file->thread_index, &header->thread, &new);
	struct thread_chunks *thread;

	if (!index)
		return NULL;
	if (!new)
		return &file->threads.items[*index].thread;
	*index = file->threads.count;
	thread = vec_add(&file->threads);
	thread->thread.id = header->thread;
	thread->thread.pid = header->pid;
	thread->thread.tid = header->tid;
	thread->thread.start_ticks = header->start_ticks;
	return &thread->thread;
}

/* The first record of a thread holds its name. */
static void take_name(struct flow_thread *thread, const uint32_t *words, uint32_t count)
{
	if (count < 7 || words[0] != flow_word_other(FLOW_O_START, 4, 0))
		return;
	memcpy(thread->name, words + 3, 16);
}

int trace_add_events(struct flow_trace_file *file, const struct flow_chunk_ref *chunk)
{
	const struct flow_chunk *header = &chunk->header;
	struct flow_trace *trace = &file->trace;
	struct flow_thread *thread = thread_of(file, header);
	struct thread_chunks *owner;

	if (!thread || file->chunk_count >= CHUNKS_MAX)
		return -E2BIG;
	file->chunk_count++;
	owner = (struct thread_chunks *)thread;
	if (!owner->chunks.count)
		take_name(thread, chunk->words, chunk->word_count);
	spill_push(&owner->chunks, *chunk);
	thread->end_ticks = max_of(thread->end_ticks, header->end_ticks);
	thread->events += header->events;
	thread->calls += header->calls;
	thread->lost += header->lost;
	trace->events += header->events;
	trace->calls += header->calls;
	trace->lost += header->lost;
	trace->untimed |= header->flags & FLOW_UNTIMED;
	return 0;
}

/* Clock pairs of the chunks: the first and the last give the tick rate. */
static void take_clock(struct flow_trace_file *file, const struct flow_chunk *header)
{
	if (!header->clock_ns)
		return;
	if (!file->first_clock_ns) {
		file->first_clock_ticks = header->clock_ticks;
		file->first_clock_ns = header->clock_ns;
	}
	if (header->clock_ticks >= file->last_clock_ticks) {
		file->last_clock_ticks = header->clock_ticks;
		file->last_clock_ns = header->clock_ns;
	}
}

static void take_end(struct flow_trace_file *file, const struct flow_chunk *header)
{
	file->trace.lost += header->lost;
	file->trace.torn_bytes = max_of(file->trace.torn_bytes, header->torn);
}

static void take_late(struct flow_trace_file *file, const uint8_t *data, size_t size)
{
	for (size_t at = 0; size - at >= sizeof(struct flow_late) && file->late.count < LATE_MAX;
	     at += sizeof(struct flow_late)) {
		struct flow_late late;

		memcpy(&late, data + at, sizeof(late));
		if (late.due_ticks < late.awake_ticks)
			vec_push(&file->late, late);
	}
}

static int take_chunk(struct flow_trace_file *file, size_t at, const struct flow_chunk *header)
{
	size_t payload = at + sizeof(*header);

	file->ended = header->kind == FLOW_CHUNK_END;
	switch (header->kind) {
	case FLOW_CHUNK_EVENTS:
		take_clock(file, header);
		return trace_add_events(file, &(struct flow_chunk_ref){
						      .header = *header,
						      .words = chunk_words(file, payload, header->bytes),
						      .word_count = header->bytes / 4,
					      });
	case FLOW_CHUNK_FILE:
	case FLOW_CHUNK_META:
	case FLOW_CHUNK_END:
	case FLOW_CHUNK_SUMMARY:
	case FLOW_CHUNK_LATE:
		if (!checksum_fits(file, at, header)) {
			file->trace.damaged_bytes += sizeof(*header) + header->bytes;
			return 0;
		}
		take_clock(file, header);
		if (header->kind == FLOW_CHUNK_FILE)
			trace_take_properties(file, file->data + payload, header->bytes);
		if (header->kind == FLOW_CHUNK_END)
			take_end(file, header);
		if (header->kind == FLOW_CHUNK_META)
			trace_take_meta(file, file->data + payload, header->bytes);
		if (header->kind == FLOW_CHUNK_SUMMARY)
			trace_take_summary(file, file->data + payload, header->bytes);
		if (header->kind == FLOW_CHUNK_LATE)
			take_late(file, file->data + payload, header->bytes);
		return 0;
	default:
		return 0;
	}
}

/* Whether the words are in the file mapping: copies and live buffers cannot be faulted back in. */
static bool is_mapped(const struct flow_trace_file *file, const void *words)
{
	const uint8_t *at = words;

	return file->mapped && at >= file->data && (size_t)(at - file->data) < file->size;
}

/* madvise for the bytes, and `before` bytes ahead of them, in whole pages. */
static void advise(const struct flow_trace_file *file, const void *words, size_t bytes, size_t before, int advice)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (size_t)((const uint8_t *)words - file->data);
	size_t to = from + min_of(bytes, file->size - from);

	from = from > before ? (from - before) / page * page : 0;
	(void)madvise((void *)(file->data + from), to - from, advice);
}

void flow_trace_release(const struct flow_trace *trace, const void *words, size_t bytes)
{
	/* Reading the start also faulted in what precedes it. */
	if (is_mapped(trace->file, words))
		advise(trace->file, words, bytes, BROUGHT_BYTES, MADV_DONTNEED);
}

void flow_trace_want(const struct flow_trace *trace, const void *words, size_t bytes)
{
	if (is_mapped(trace->file, words) && bytes > BROUGHT_BYTES * 2)
		advise(trace->file, words, bytes, 0, MADV_POPULATE_READ);
}

static int scan(struct flow_trace_file *file)
{
	struct flow_chunk header;
	size_t at = 0, released = 0;

	while (at < file->size) {
		int r;

		/* Only the header of each chunk is needed now, but readahead fetches more. */
		if (at - released >= RELEASE_BYTES) {
			flow_trace_release(&file->trace, file->data + released, at - released);
			released = at;
		}

		if (!chunk_at(file, at, &header)) {
			size_t next = find_chunk(file, at + 1, file->size);

			file->trace.damaged_bytes += next - at;
			file->ended = false;
			at = next;
			continue;
		}
		r = take_chunk(file, at, &header);
		if (r < 0)
			return r;
		at += sizeof(header) + header.bytes;
	}
	return 0;
}

static void settle_clock(struct flow_trace_file *file)
{
	struct flow_trace *trace = &file->trace;
	const char *known = flow_trace_property(trace, "ticks_per_second");
	uint64_t ticks = file->last_clock_ticks - file->first_clock_ticks;
	uint64_t ns = file->last_clock_ns - file->first_clock_ns;
	uint64_t rate = 0;

	if (known && parse_u64(known, 1000, UINT64_C(1000000000000), &rate) < 0)
		rate = 0;
	/* Without a known rate, two readings 1 ms apart are accurate to 1 in 10,000. */
	if (!rate && file->first_clock_ns && ns > 1000000 && ns < UINT64_MAX / 2 && ticks > 1000)
		rate = (uint64_t)((unsigned __int128)ticks * NSEC_PER_SEC / ns);
	known = flow_trace_property(trace, "ticks_per_second_about");
	if (!rate && known && parse_u64(known, 1000, UINT64_C(1000000000000), &rate) < 0)
		rate = 0;
	if (rate < 1000 || rate > UINT64_C(1000000000000))
		rate = NSEC_PER_SEC;
	trace->ticks_per_second = rate;
	trace->ns_per_tick = (uint64_t)(((unsigned __int128)NSEC_PER_SEC << 48) / rate);
	trace->clock_ticks = file->first_clock_ticks;
	trace->clock_ns = file->first_clock_ns;
}

static int by_start(const void *a, const void *b)
{
	const struct flow_thread *one = a, *other = b;

	if (one->start_ticks != other->start_ticks)
		return one->start_ticks < other->start_ticks ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

static void settle_threads(struct flow_trace_file *file)
{
	struct flow_trace *trace = &file->trace;

	trace->thread_count = file->threads.count;
	trace->threads = xmalloc(max_of(file->threads.count, 1u) * sizeof(*trace->threads));
	trace->first_ticks = file->threads.count ? UINT64_MAX : 0;
	for (size_t i = 0; i < file->threads.count; i++) {
		struct thread_chunks *from = &file->threads.items[i];
		const char *name = map_get(&file->thread_names, &from->thread.id);

		trace->threads[i] = from->thread;
		if (name)
			memcpy(trace->threads[i].name, name, 16);
		trace->threads[i].chunks = from->chunks.items;
		trace->threads[i].chunk_count = from->chunks.count;
		trace->first_ticks = min_of(trace->first_ticks, from->thread.start_ticks);
		trace->last_ticks = max_of(trace->last_ticks, from->thread.end_ticks);
	}
	if (trace->thread_count > 1)
		qsort(trace->threads, trace->thread_count, sizeof(*trace->threads), by_start);
}

static int by_due(const void *a, const void *b)
{
	const struct flow_late *one = a, *other = b;

	return one->due_ticks < other->due_ticks ? -1 : one->due_ticks > other->due_ticks;
}

/* Several recordings may have appended theirs: those that overlap become one. */
static void settle_late(struct flow_trace_file *file)
{
	struct flow_late *items = file->late.items;
	size_t kept = 0;

	vec_sort(&file->late, by_due);
	for (size_t i = 0; i < file->late.count; i++)
		if (kept && items[i].due_ticks <= items[kept - 1].awake_ticks)
			items[kept - 1].awake_ticks = max_of(items[kept - 1].awake_ticks, items[i].awake_ticks);
		else
			items[kept++] = items[i];
	file->trace.late = items;
	file->trace.late_count = kept;
}

static int open_file(struct flow_trace_file *file, struct flow_trace **ret_trace, struct why *why)
{
	struct flow_chunk header;
	int r;

	/* A trace without its start is still readable, but a chunk must follow soon: any file may be given here. */
	if (file->size < sizeof(header) ||
	    (!chunk_at(file, 0, &header) && find_chunk(file, 0, min_of(file->size, START_MAX)) == file->size))
		return why_set(why, -EBADMSG, "not a function trace (create one with nest flow record)");
	file->trace.bytes = file->size;
	file->thread_index = MAP_INIT(sizeof(uint32_t), sizeof(size_t), THREADS_MAX);
	file->thread_names = MAP_INIT(sizeof(uint32_t), sizeof(struct flow_meta_thread), THREADS_MAX);
	file->trace.file = file;
	trace_begin_functions(file);
	r = scan(file);
	if (r < 0)
		return why_set(why, r, "invalid trace: too many threads or chunks");
	/* The recorder counted them when it ended the trace. */
	file->trace.torn_bytes = min_of(file->trace.torn_bytes, file->trace.damaged_bytes);
	file->trace.damaged_bytes -= file->trace.torn_bytes;
	if (file->path)
		trace_take_live(file);
	settle_clock(file);
	settle_threads(file);
	settle_late(file);
	trace_settle_functions(file);
	file->trace.complete = file->ended && !file->trace.damaged_bytes;
	*ret_trace = &file->trace;
	return 0;
}

static void free_file(struct flow_trace_file *file)
{
	if (!file)
		return;
	vec_each(&file->threads, thread)
		spill_done(&thread->chunks);
	vec_done(&file->threads);
	map_done(&file->thread_index);
	vec_each(&file->copies, copy)
		free(*copy);
	vec_done(&file->copies);
	vec_done(&file->late);
	trace_free_functions(file);
	free(file->trace.threads);
	if (file->mapped)
		munmap((void *)file->data, file->size);
	free(file);
}

int flow_trace_open_memory(const void *data, size_t size, struct flow_trace **ret_trace, struct why *why)
{
	struct flow_trace_file *file = xzalloc(sizeof(*file));
	int r;

	file->data = data;
	file->size = size;
	r = open_file(file, ret_trace, why);
	if (r < 0)
		free_file(file);
	return r;
}

static int map_file(struct flow_trace_file *file, const char *path, struct why *why)
{
	_cleanup_close_ int fd = input_file_open(path);
	struct stat st;

	if (fd < 0)
		return why_set(why, fd, "%s: %s", path, input_file_error(fd));
	if (fstat(fd, &st) < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	if (!st.st_size)
		return why_set(why, -EBADMSG, "%s: empty file", path);
	file->size = (size_t)st.st_size;
	file->data = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file->data == MAP_FAILED) {
		file->data = NULL;
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	}
	file->mapped = true;
	(void)madvise((void *)file->data, file->size, MADV_SEQUENTIAL);
	return 0;
}

int flow_trace_open(const char *path, struct flow_trace **ret_trace, struct why *why)
{
	struct flow_trace_file *file = xzalloc(sizeof(*file));
	struct why inner = {};
	int r = map_file(file, path, why);

	if (r < 0) {
		free_file(file);
		return r;
	}
	file->path = path;
	r = open_file(file, ret_trace, &inner);
	file->path = NULL;
	if (r < 0) {
		free_file(file);
		return why_set(why, r, "%s: %s", path, inner.text);
	}
	return 0;
}

void flow_trace_close(struct flow_trace *trace)
{
	if (trace)
		free_file(trace->file);
}
