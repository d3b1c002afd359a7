/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/core/arena.h"

#define CHUNK_SIZE ((size_t)64 << 10)

void arena_done(struct arena *arena)
{
	vec_each(&arena->chunks, chunk)
		free(chunk->data);
	vec_done(&arena->chunks);
	arena->total = 0;
	arena_clear(arena);
}

void arena_clear(struct arena *arena)
{
	arena->at_chunk = 0;
	arena->at_byte = 0;
	arena->refused = 0;
}

char *arena_room(struct arena *arena, size_t size)
{
	struct arena_chunk chunk = {.size = CHUNK_SIZE};
	char *at;

	while (arena->at_chunk < arena->chunks.count) {
		struct arena_chunk *current = &arena->chunks.items[arena->at_chunk];

		if (current->size - arena->at_byte >= size) {
			at = current->data + arena->at_byte;
			arena->at_byte += size;
			return at;
		}
		arena->at_chunk++;
		arena->at_byte = 0;
	}
	if (size > arena->cap)
		return NULL;
	/* A text that grows from sample to sample must not need a new chunk each time. */
	while (chunk.size < size)
		chunk.size *= 2;
	if (chunk.size > arena->cap || arena->total > arena->cap - chunk.size)
		return NULL;
	chunk.data = xmalloc(chunk.size);
	vec_push(&arena->chunks, chunk);
	arena->total += chunk.size;
	arena->at_byte = size;
	return chunk.data;
}

const char *arena_text(struct arena *arena, const char *text, size_t len)
{
	size_t n = strnlen(text, len);
	char *copy;

	if (n == 0)
		return "";
	copy = arena_room(arena, n + 1);
	if (!copy) {
		arena->refused++;
		return "";
	}
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}
