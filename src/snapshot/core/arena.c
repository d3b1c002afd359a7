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

static char *take(struct arena *arena, size_t size)
{
	struct arena_chunk chunk = {.size = max_of(size, CHUNK_SIZE)};
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
	if (size > arena->cap || arena->total > arena->cap - chunk.size)
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
	copy = take(arena, n + 1);
	if (!copy) {
		arena->refused++;
		return "";
	}
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}
