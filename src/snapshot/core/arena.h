/* SPDX-License-Identifier: GPL-2.0-or-later */
/* String arena: strings are allocated from chunks and released together; the chunks are reused. */
#pragma once

#include "base/vec.h"

struct arena_chunk {
	char *data;
	size_t size;
};

struct arena {
	size_t cap; /* total size of chunks */
	size_t total;
	size_t at_chunk; /* position of the next string */
	size_t at_byte;
	uint64_t refused; /* strings refused since the last clear */
	VEC(struct arena_chunk) chunks;
};

void arena_done(struct arena *arena);
void arena_clear(struct arena *arena);
/* Room for a text of this many bytes; NULL: cap reached. */
char *arena_room(struct arena *arena, size_t size);
/* A terminated copy, cut at the first NUL; "": cap reached. */
const char *arena_text(struct arena *arena, const char *text, size_t len);
