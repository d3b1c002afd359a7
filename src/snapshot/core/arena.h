/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that live and die together: cut from chunks, forgotten all at once, the chunks kept for the next round. */
#pragma once

#include "base/vec.h"

struct arena_chunk {
	char *data;
	size_t size;
};

struct arena {
	size_t cap; /* of all chunks together */
	size_t total;
	size_t at_chunk; /* where the next string goes */
	size_t at_byte;
	uint64_t refused; /* strings that found no room since the last clearing */
	VEC(struct arena_chunk) chunks;
};

void arena_done(struct arena *arena);
void arena_clear(struct arena *arena);
/* A terminated copy, or "" when the cap is reached. Cut at the first NUL. */
const char *arena_text(struct arena *arena, const char *text, size_t len);
