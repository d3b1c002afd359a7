/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * End of a recording: writes what the threads left in their buffers, once, and repairs the file after a full disk or a
 * kill as far as possible.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "flow/record/recorder.h"
#include "flow/trace/elf_names.h"
#include "flow/trace/live_read.h"
#include "flow/trace/trace_file.h"

struct left {
	struct flow_chunk chunk;
	uint32_t *words;
};

/* A function of the table shared by all processes. */
struct shared_fn {
	uint32_t id;
	uint32_t module; /* number in the file */
	uint64_t offset;
};

struct finish {
	int fd;
	enum flow_clock clock;
	uint64_t torn;
	uint64_t lost;
	uint64_t dropped;
	VEC(struct left) left;
	VEC(struct shared_fn) functions;
	void *digest; /* NULL: none */
	uint32_t digest_bytes;
	int digest_error;
};

static int append(struct finish *finish, struct flow_chunk *chunk, const void *payload)
{
	return recorder_append(finish->fd, finish->clock, chunk, payload, &finish->torn);
}

/* --- from the live file, deleted before writing: its blocks may be the last of the disk --- */

/* Slots of killed threads, or of threads whose process ended while they ran. */
static void take_slots(struct finish *finish, const struct flow_live_map *map)
{
	for (uint32_t i = 0; i < map->live->slot_count; i++) {
		struct flow_slot slot;
		struct left left;

		if (!flow_live_is_used(map, i) || !flow_live_slot(map, i, &slot))
			continue;
		finish->lost += slot.unmarked;
		for (uint32_t at = 0; flow_live_take_gathered(map, i, &at, &left.chunk, &left.words) == 0;)
			vec_push(&finish->left, left);
		if (flow_live_take(map, i, &left.chunk, &left.words) == 0)
			vec_push(&finish->left, left);
	}
}

static void take_functions(struct finish *finish, const struct flow_live *live)
{
	for (uint32_t i = 0; i < FLOW_FN_SLOTS; i++)
		if (live->fn_ids[i])
			vec_push(&finish->functions, (struct shared_fn){
							     .id = live->fn_ids[i],
							     .module = (uint32_t)(live->fn_keys[i] >> 48),
							     .offset = live->fn_keys[i] & UINT64_C(0xffffffffffff),
						     });
}

static int take_live(struct finish *finish, const char *path, struct recorder_end *end, struct why *why)
{
	struct flow_live_map map;
	int r = flow_live_map(path, true, &map);

	if (r < 0)
		return why_set(why, r, "%s: %s", path, r == -EBADMSG ? "not a live recording file" : strerror(-r));
	end->error = (int)map.live->last_error;
	finish->dropped = map.live->dropped;
	finish->lost = map.live->lost;
	finish->clock = map.live->clock;
	take_functions(finish, map.live);
	if (map.live->digest_at)
		finish->digest_error = flow_live_digest(&map, true, &finish->digest, &finish->digest_bytes);
	else
		take_slots(finish, &map);
	flow_live_unmap(&map);
	(void)unlink(path);
	return 0;
}

/* --- what the file already holds --- */

/*
 * A program killed while writing a chunk still has it in its buffer: the file holds a part of it, which is harmless, or
 * all of it, and then it must not be written twice.
 */
static void drop_written(struct finish *finish, const struct flow_trace *trace)
{
	struct map next = MAP_INIT(sizeof(uint32_t), sizeof(uint64_t), 0); /* thread -> number after its last chunk */
	size_t kept = 0;

	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct flow_thread *thread = &trace->threads[i];
		uint64_t *seq = map_put(&next, &thread->id, NULL);

		if (seq && thread->chunk_count)
			*seq = (uint64_t)thread->chunks[thread->chunk_count - 1].header.seq + 1;
	}
	vec_each(&finish->left, left) {
		const uint64_t *seq = map_get(&next, &left->chunk.thread);

		if (seq && left->chunk.seq < *seq)
			free(left->words);
		else
			finish->left.items[kept++] = *left;
	}
	finish->left.count = kept;
	map_done(&next);
}

static int by_module(const void *a, const void *b)
{
	const struct shared_fn *one = a, *other = b;

	if (one->module != other->module)
		return one->module < other->module ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

/* Function names of a module, if its file is still the recorded one. */
static void read_names(const struct flow_trace *trace, uint32_t number, struct elf_names *ret_names)
{
	const uint32_t *index = map_get(&trace->file->module_numbers, &number);
	const struct flow_module *module = index ? &trace->modules[*index] : NULL;
	struct why why = {};

	*ret_names = (struct elf_names){};
	if (module && module->build_id[0] && elf_names_read(module->path, ret_names, &why) == 0 &&
	    strcmp(ret_names->build_id, module->build_id) != 0) {
		elf_names_done(ret_names);
		*ret_names = (struct elf_names){};
	}
}

static void add_function(struct buf *meta, const struct shared_fn *function, const struct elf_name *symbol)
{
	const char *name = symbol ? symbol->name : "", *file = symbol && symbol->file ? symbol->file : "";
	size_t name_bytes = min_of(strlen(name), (size_t)UINT16_MAX),
	       file_bytes = min_of(strlen(file), (size_t)UINT16_MAX),
	       bytes = sizeof(struct flow_meta_function) + name_bytes + file_bytes;
	struct flow_meta_function fixed = {
		.fn = function->id,
		.module = function->module,
		.offset = function->offset,
		.name_bytes = (uint16_t)name_bytes,
		.file_bytes = (uint16_t)file_bytes,
	};
	struct flow_meta head = {FLOW_META_FUNCTION, (uint32_t)bytes};

	buf_add(meta, &head, sizeof(head));
	buf_add(meta, &fixed, sizeof(fixed));
	buf_add(meta, name, name_bytes);
	buf_add(meta, file, file_bytes);
	buf_add_fill(meta, '\0', (8 - bytes % 8) % 8);
}

/* Functions first called when there was no room for their description. */
static int describe_functions(struct finish *finish, const struct flow_trace *trace)
{
	_cleanup_buf_ struct buf meta = BUF_INIT(FLOW_CHUNK_MAX);
	struct flow_chunk chunk = {.kind = FLOW_CHUNK_META};
	struct elf_names names = {};
	uint32_t module = 0;

	vec_sort(&finish->functions, by_module);
	vec_each(&finish->functions, function) {
		if (function->id < trace->fn_index_count && trace->fn_index[function->id])
			continue;
		if (function->module != module) {
			elf_names_done(&names);
			module = function->module;
			read_names(trace, module, &names);
		}
		add_function(&meta, function, elf_names_find(&names, function->offset));
	}
	elf_names_done(&names);
	chunk.bytes = (uint32_t)meta.len;
	return meta.len && !meta.over ? append(finish, &chunk, meta.data) : 0;
}

static int put_right(struct finish *finish, const char *path)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct why why = {};

	/* Errors are reported when the trace is read. */
	if (flow_trace_open(path, &trace, &why) < 0)
		return 0;
	finish->torn = trace->damaged_bytes + trace->torn_bytes;
	drop_written(finish, trace);
	return describe_functions(finish, trace);
}

/* --- ending the trace --- */

static int write_left(struct finish *finish)
{
	int error = 0;

	vec_each(&finish->left, left) {
		int r = append(finish, &left->chunk, left->words);

		free(left->words);
		if (r == 0)
			continue;
		error = r;
		finish->lost += left->chunk.events + left->chunk.lost;
		finish->dropped += left->chunk.events;
	}
	vec_done(&finish->left);
	return error;
}

static int write_all(struct finish *finish, const char *path)
{
	struct flow_chunk digest = {.kind = FLOW_CHUNK_SUMMARY, .bytes = finish->digest_bytes};
	struct flow_chunk end = {.kind = FLOW_CHUNK_END};
	int error = put_right(finish, path), r;

	r = finish->digest ? append(finish, &digest, finish->digest) : finish->digest_error;
	error = error ? error : r;
	r = write_left(finish);
	error = error ? error : r;
	end.lost = finish->lost;
	end.torn = finish->torn;
	r = append(finish, &end, "");
	return error ? error : r;
}

int recorder_finish(const char *path, struct recorder_end *ret_end, struct why *why)
{
	_cleanup_free_ char *live_path = xasprintf("%s%s", path, FLOW_LIVE_SUFFIX);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	struct finish finish = {.fd = fd};
	int r;

	*ret_end = (struct recorder_end){};
	if (fd < 0)
		return why_set(why, -errno, "%s: %s", path, strerror(errno));
	r = take_live(&finish, live_path, ret_end, why);
	if (r < 0)
		return r;
	r = write_all(&finish, path);
	ret_end->dropped = finish.dropped;
	vec_done(&finish.functions);
	free(finish.digest);
	return r < 0 ? why_set(why, r, "%s: %s", path, strerror(-r)) : 0;
}
