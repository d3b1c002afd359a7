/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chunk made shorter: programs do the same thing again and again, and where calls carry no time the words are the same, too.
 * Words that stood there before are replaced by their place and number. What is written costs more than what is compared.
 */
#include <string.h>
#include <sys/mman.h>

#include "flow/runtime/runtime.h"

#define TABLE_BITS 10
/* Two words stand for those that are left out. With many short pieces there is little to find in them later. */
#define WORTH 16u
/* So many are compared before it is asked whether they differed. */
#define BLOCK 64u
/* Words in a row that were nowhere before: after each of so many the search takes longer steps. */
#define PATIENCE_SHIFT 5
#define STEP_MAX       16u

struct pack_room {
	uint32_t places[1u << TABLE_BITS]; /* where two words stand in the new chunk, plus 1 */
	uint32_t bytes;                    /* of all this */
	uint32_t room;                     /* in words */
	struct flow_chunk chunk;
	uint32_t words[];
};

struct pack_room *pack_room_new(uint32_t room)
{
	size_t bytes = (sizeof(struct pack_room) + (size_t)room / 2 * sizeof(uint32_t) + 4095) & ~(size_t)4095;
	struct pack_room *pack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pack == MAP_FAILED)
		return NULL;
	pack->bytes = (uint32_t)bytes;
	pack->room = room / 2;
	return pack;
}

void pack_room_free(struct pack_room *pack)
{
	if (pack)
		munmap(pack, pack->bytes);
}

static uint64_t two_words(const uint32_t *words)
{
	uint64_t two;

	memcpy(&two, words, sizeof(two));
	return two;
}

/* Four at a time, as compilers know how: whether they differ, or are more than calls and returns. */
typedef uint32_t four __attribute__((vector_size(16), aligned(4)));
typedef uint64_t two __attribute__((vector_size(16)));

static bool four_differ(const uint32_t *old, const uint32_t *new)
{
	const four *a = (const four *)old, *b = (const four *)new;
	two odd = (two)((*a ^ *b) | (*b & 2));

	return odd[0] | odd[1];
}

/* Where eight words differ. */
static two differences(const uint32_t *old, const uint32_t *new)
{
	const four *a = (const four *)old, *b = (const four *)new;

	return (two)((a[0] ^ b[0]) | (a[1] ^ b[1]));
}

/* Whether so many are the same, eight at least. As a rule they are: few jumps. */
static bool block_same(const uint32_t *old, const uint32_t *new, uint32_t count)
{
	/* The rest once more with some of those before. */
	two odd = differences(old + count - 8, new + count - 8);

	for (uint32_t n = 0; n + 8 <= count; n += 8)
		odd |= differences(old + n, new + n);
	return !(odd[0] | odd[1]);
}

/* Whether all are the same, WORTH of them at least: the old ones are known to be calls and returns. */
static bool all_same(const uint32_t *old, const uint32_t *new, uint32_t count)
{
	if (two_words(old) != two_words(new))
		return false;
	for (; count >= 2 * BLOCK; count -= BLOCK, old += BLOCK, new += BLOCK)
		if (!block_same(old, new, BLOCK))
			return false;
	return block_same(old, new, count);
}

/* Calls and returns with their time are hardly ever the same again. */
static bool has_time(uint32_t word)
{
	return !(word & (FLOW_MANY | 2)) && (word & 1 || word >> 14);
}

/* How many are the same, of calls and returns alone. */
static uint32_t same_words(const uint32_t *old, const uint32_t *old_end, const uint32_t *new, const uint32_t *new_end)
{
	uint32_t room = (uint32_t)min_of(old_end - old, new_end - new), n = 0;

	room = min_of(room, FLOW_AGAIN_WORDS_MAX);
	while (n + 4 <= room && !four_differ(old + n, new + n))
		n += 4;
	while (n < room && old[n] == new[n] && !(new[n] & 2))
		n++;
	for (uint32_t i = 0; i < n; i++)
		if (has_time(new[i]))
			return i;
	return n;
}

static uint32_t whole_words(uint32_t word)
{
	return (word & 3) == FLOW_TAG_OTHER ? 1 + (word >> 8 & 255) : word & 2 ? 2 : 1;
}

struct packer {
	struct pack_room *pack;
	uint32_t used;
	uint32_t place; /* what was there before the last time, and how many words of it */
	uint32_t words;
	uint32_t last;   /* where the last word that leads back stands, plus 1; 0: something else came after it */
	uint32_t misses; /* in a row */
};

static inline void lead_back(struct packer *p, uint32_t place, uint32_t words)
{
	uint32_t *out = p->pack->words, *last = p->last ? out + p->last - 1 : NULL;

	if (last && last[1] == place && (last[0] >> 2 & FLOW_AGAIN_WORDS_MAX) == words &&
	    (last[0] >> 18 & FLOW_AGAIN_TIMES_MAX) < FLOW_AGAIN_TIMES_MAX) {
		last[0] += 1u << 18;
		return;
	}
	out[p->used] = flow_word_again(words, 1);
	out[p->used + 1] = place;
	p->last = p->used + 1;
	p->used += 2;
}

static void keep(struct packer *p, const uint32_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		p->pack->words[p->used + i] = words[i];
	p->used += count;
	p->last = 0;
}

/* Whether the same comes as the last time, and no more of it: then there is nothing to look for. */
static bool is_as_before(const struct packer *p, const uint32_t *at, const uint32_t *end)
{
	const uint32_t *old = p->pack->words + p->place, words = p->words;

	return words && words < end - at && all_same(old, at, words) &&
	       (has_time(at[words]) || p->place + words >= p->used || old[words] != at[words]);
}

/* How many words of the old chunk are dealt with. */
static uint32_t pack_next(struct packer *p, const uint32_t *at, const uint32_t *end)
{
	uint32_t *place, found, n = 0;

	if (*at & 2 || end - at < (ptrdiff_t)WORTH) {
		n = whole_words(*at);
		keep(p, at, n);
		return n;
	}
	if (is_as_before(p, at, end)) {
		lead_back(p, p->place, p->words);
		p->misses = 0;
		return p->words;
	}
	place = &p->pack->places[(two_words(at) * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - TABLE_BITS)];
	found = *place;
	if (found) {
		n = same_words(p->pack->words + found - 1, p->pack->words + p->used, at, end);
		if (n >= WORTH) {
			lead_back(p, found - 1, n);
			p->place = found - 1;
			p->words = n;
			p->misses = 0;
			return n;
		}
	}
	/* Where everything so far was the same, that place leads further the longer it is kept: a loop around few calls. */
	if (!n || found - 1 + n < p->used)
		*place = p->used + 1;
	n = min_of(1 + (p->misses++ >> PATIENCE_SHIFT), STEP_MAX);
	for (uint32_t i = 1; i < n; i++)
		if (at[i] & 2)
			n = i;
	keep(p, at, n);
	return n;
}

struct flow_chunk *pack_chunk(struct pack_room *pack, const struct flow_chunk *chunk)
{
	const uint32_t *at = (const uint32_t *)(const void *)(chunk + 1), *end = at + chunk->bytes / 4;
	struct packer p = {.pack = pack};

	memset(pack->places, 0, sizeof(pack->places));
	while (at < end) {
		/* The longest record, or step, must find room. */
		if (p.used + 256 > pack->room)
			return NULL;
		if (has_time(*at)) {
			pack->words[p.used++] = *at++;
			p.last = 0;
		} else {
			at += pack_next(&p, at, end);
		}
	}
	pack->chunk = *chunk;
	pack->chunk.flags |= FLOW_PACKED;
	pack->chunk.bytes = p.used * 4;
	return &pack->chunk;
}
