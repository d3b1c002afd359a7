/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packs a chunk: programs repeat themselves, and where calls carry no time their words repeat as well. Repeated words
 * are replaced by position and length. Writing a byte costs more than comparing it.
 */
#include <string.h>
#include <sys/mman.h>

#include "flow/runtime/runtime.h"

#define TABLE_BITS 10
/* Minimum match: it costs two words, and many short matches leave little for later ones. */
#define WORTH 16u
/* Words compared before checking for a difference. */
#define BLOCK 64u
/* After each 1 << N unmatched words in a row the search takes longer steps. */
#define PATIENCE_SHIFT 5
#define STEP_MAX       16u
/* The words between two timed events are kept whole once, up to this length, so that the next match is whole. */
#define RUN_MAX  240u
#define RUN_BITS 8

struct pack_room {
	uint32_t places[1u << TABLE_BITS]; /* word pair -> index in the new chunk, plus 1 */
	uint32_t runs[1u << RUN_BITS];     /* the same for runs between two timed events */
};

struct pack_room *pack_room_new(void)
{
	void *pack = mmap(NULL, sizeof(struct pack_room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pack == MAP_FAILED ? NULL : pack;
}

void pack_room_free(struct pack_room *pack)
{
	if (pack)
		munmap(pack, sizeof(*pack));
}

static uint64_t two_words(const uint32_t *words)
{
	uint64_t two;

	memcpy(&two, words, sizeof(two));
	return two;
}

static uint32_t hash(uint64_t value, uint32_t bits)
{
	return (uint32_t)((value * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits));
}

/* Four at a time, vectorised: whether they differ, or are not calls and returns. */
typedef uint32_t four __attribute__((vector_size(16), aligned(4)));
typedef uint64_t two __attribute__((vector_size(16)));

static bool four_differ(const uint32_t *old, const uint32_t *new)
{
	const four *a = (const four *)old, *b = (const four *)new;
	two odd = (two)((*a ^ *b) | (*b & 2));

	return odd[0] | odd[1];
}

/* Differences of eight words. */
static two differences(const uint32_t *old, const uint32_t *new)
{
	const four *a = (const four *)old, *b = (const four *)new;

	return (two)((a[0] ^ b[0]) | (a[1] ^ b[1]));
}

/* Whether count words match, at least eight. Usually they do: few branches. */
static bool block_same(const uint32_t *old, const uint32_t *new, uint32_t count)
{
	/* The rest, overlapping earlier words. */
	two odd = differences(old + count - 8, new + count - 8);

	for (uint32_t n = 0; n + 8 <= count; n += 8)
		odd |= differences(old + n, new + n);
	return !(odd[0] | odd[1]);
}

/* Whether all match, at least WORTH: the old words are known to be calls and returns. */
static bool all_same(const uint32_t *old, const uint32_t *new, uint32_t count)
{
	if (two_words(old) != two_words(new))
		return false;
	for (; count >= 2 * BLOCK; count -= BLOCK, old += BLOCK, new += BLOCK)
		if (!block_same(old, new, BLOCK))
			return false;
	return block_same(old, new, count);
}

/* Timed calls and returns hardly ever repeat. */
static bool has_time(uint32_t word)
{
	return !(word & (FLOW_MANY | 2)) && (word & 1 || word >> 14);
}

/* Length of the match, within calls and returns. */
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
	uint32_t *out;
	uint32_t used;
	uint32_t place; /* last match: index and length */
	uint32_t words;
	uint32_t last;   /* index of the last repeat word, plus 1; 0: something else followed */
	uint32_t misses; /* consecutive */
	bool run;        /* the next word starts a run */
};

static inline void lead_back(struct packer *p, uint32_t place, uint32_t words)
{
	uint32_t *out = p->out, *last = p->last ? out + p->last - 1 : NULL;

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

/* The same match is likely next. */
static void remember(struct packer *p, uint32_t place, uint32_t words)
{
	lead_back(p, place, words);
	p->place = place;
	p->words = words;
	p->misses = 0;
}

static void keep(struct packer *p, const uint32_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		p->out[p->used + i] = words[i];
	p->used += count;
	p->last = 0;
}

/* Whether exactly the last match repeats: no search needed. */
static bool is_as_before(const struct packer *p, const uint32_t *at, const uint32_t *end)
{
	const uint32_t *old = p->out + p->place, words = p->words;

	return words && words < end - at && all_same(old, at, words) &&
	       (has_time(at[words]) || p->place + words >= p->used || old[words] != at[words]);
}

/* Words up to the next timed or other event. */
static uint32_t run_length(const uint32_t *at, const uint32_t *end)
{
	uint32_t room = (uint32_t)min_of(end - at, (ptrdiff_t)RUN_MAX), n = 1;

	while (n < room && !(at[n] & 2) && !has_time(at[n]))
		n++;
	return n;
}

/* A short run between two timed events: match it, or keep it. 0: not applicable. */
static uint32_t pack_run(struct packer *p, const uint32_t *at, const uint32_t *end)
{
	uint32_t n = run_length(at, end), *place, found;

	if (n == RUN_MAX)
		return 0;
	if (n < WORTH) {
		keep(p, at, n);
		return n;
	}
	place = &p->pack->runs[hash(two_words(at) + n, RUN_BITS)];
	found = *place;
	if (!found) {
		*place = p->used + 1;
		keep(p, at, n);
		return n;
	}
	if (found - 1 + n > p->used || !all_same(p->out + found - 1, at, n))
		return 0;
	remember(p, found - 1, n);
	return n;
}

/* Returns how many words of the old chunk it consumed. */
static uint32_t pack_next(struct packer *p, const uint32_t *at, const uint32_t *end)
{
	uint32_t *place, found, n = 0;
	bool run = p->run;

	p->run = *at & 2;
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
	n = run ? pack_run(p, at, end) : 0;
	if (n)
		return n;
	place = &p->pack->places[hash(two_words(at), TABLE_BITS)];
	found = *place;
	if (found) {
		n = same_words(p->out + found - 1, p->out + p->used, at, end);
		if (n >= WORTH) {
			remember(p, found - 1, n);
			return n;
		}
	}
	/* For a tight loop keep the first position: it yields longer matches. */
	if (!n || found - 1 + n < p->used)
		*place = p->used + 1;
	n = min_of(1 + (p->misses++ >> PATIENCE_SHIFT), STEP_MAX);
	for (uint32_t i = 1; i < n; i++)
		if (at[i] & 2)
			n = i;
	keep(p, at, n);
	return n;
}

bool pack_chunk(struct pack_room *pack, const struct flow_chunk *chunk, struct flow_chunk *out, uint32_t room)
{
	const uint32_t *at = (const uint32_t *)(const void *)(chunk + 1), *end = at + chunk->bytes / 4;
	struct packer p = {.pack = pack, .out = (uint32_t *)(void *)(out + 1), .run = true};

	memset(pack, 0, sizeof(*pack));
	while (at < end) {
		/* Room for the longest record or step. */
		if (p.used + 256 > room)
			return false;
		if (has_time(*at)) {
			p.out[p.used++] = *at++;
			p.last = 0;
			p.run = true;
		} else {
			at += pack_next(&p, at, end);
		}
	}
	*out = *chunk;
	out->flags |= FLOW_PACKED;
	out->bytes = p.used * 4;
	return true;
}
