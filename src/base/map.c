/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open addressing with linear probing, at most 3/4 full; an entry is the key (padded to 8 bytes), then the value. */
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/map.h"

/* Few: most maps of a namespace, a process or a connection hold one entry, some of them of a kilobyte. */
#define SLOTS_MIN 4

enum { SLOT_EMPTY, SLOT_FULL, SLOT_REMOVED };

static uint64_t hash_seed(void)
{
	static uint64_t seed;

	while (seed == 0)
		if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
			seed = (uint64_t)(uintptr_t)&seed ^ (uint64_t)getpid() << 32 ^ 0x9e3779b97f4a7c15;
	return seed;
}

/*
 * Multiply and fold: the high half of a 128-bit product depends on every bit of both factors. A factor of zero would
 * erase the other one, so key bytes are mixed with the secret seed before they get here.
 */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0xa0761d6478bd642f) * (b ^ 0xe7037ed1a0b428db);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint64_t seed = hash_seed(), hash = mix(seed, n);
	uint64_t word;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		hash = mix(hash, word ^ seed);
	}
	word = 0;
	memcpy(&word, p, n);
	return mix(hash, word ^ seed);
}

static bool string_keys(const struct map *m)
{
	return m->key_size == 0;
}

static size_t key_room(const struct map *m)
{
	size_t size = string_keys(m) ? sizeof(char *) : m->key_size;

	return (size + 7) & ~(size_t)7;
}

static size_t entry_size(const struct map *m)
{
	return key_room(m) + ((m->value_size + 7) & ~(size_t)7);
}

static uint8_t *entry_at(const struct map *m, size_t slot)
{
	return m->entries + slot * entry_size(m);
}

static const void *entry_key(const struct map *m, const uint8_t *entry)
{
	const char *string;

	if (!string_keys(m))
		return entry;
	memcpy(&string, entry, sizeof(string));
	return string;
}

static bool same_key(const struct map *m, const uint8_t *entry, const void *key)
{
	if (string_keys(m))
		return strcmp(entry_key(m, entry), key) == 0;
	return memcmp(entry, key, m->key_size) == 0;
}

/* The slot that holds the key, else SIZE_MAX with *ret_free a slot to put it in. */
static size_t find(const struct map *m, const void *key, size_t *ret_free)
{
	size_t at, mask = m->slots - 1;

	*ret_free = SIZE_MAX;
	if (m->slots == 0)
		return SIZE_MAX;
	at = hash_bytes(key, string_keys(m) ? strlen(key) : m->key_size) & mask;
	for (;; at = (at + 1) & mask) {
		if (m->states[at] == SLOT_FULL) {
			if (same_key(m, entry_at(m, at), key))
				return at;
			continue;
		}
		if (*ret_free == SIZE_MAX)
			*ret_free = at;
		if (m->states[at] == SLOT_EMPTY)
			return SIZE_MAX;
	}
}

static void rehash(struct map *m, size_t slots)
{
	struct map old = *m;
	size_t size = entry_size(m);

	m->slots = slots;
	m->used = m->count;
	m->states = xzalloc(slots);
	m->entries = xrealloc_array(NULL, slots, size);
	for (size_t i = 0; i < old.slots; i++) {
		size_t at;

		if (old.states[i] != SLOT_FULL)
			continue;
		(void)find(m, entry_key(&old, entry_at(&old, i)), &at);
		m->states[at] = SLOT_FULL;
		memcpy(entry_at(m, at), entry_at(&old, i), size);
	}
	free(old.states);
	free(old.entries);
}

void map_done(struct map *m)
{
	for (size_t i = 0; string_keys(m) && i < m->slots; i++)
		if (m->states[i] == SLOT_FULL)
			free((void *)entry_key(m, entry_at(m, i)));
	free(m->states);
	free(m->entries);
	*m = MAP_INIT(m->key_size, m->value_size, m->cap);
}

void *map_get(const struct map *m, const void *key)
{
	size_t unused, at = find(m, key, &unused);

	return at == SIZE_MAX ? NULL : entry_at(m, at) + key_room(m);
}

void *map_put(struct map *m, const void *key, bool *ret_new)
{
	size_t vacant, at = find(m, key, &vacant);
	uint8_t *entry;

	if (ret_new)
		*ret_new = at == SIZE_MAX;
	if (at != SIZE_MAX)
		return entry_at(m, at) + key_room(m);
	if (m->cap && m->count >= m->cap)
		return NULL;
	if ((m->used + 1) * 4 > m->slots * 3) {
		/* Mostly removed slots: rehashing at the same size clears them. */
		rehash(m, max_of((size_t)SLOTS_MIN, m->count * 2 > m->slots ? m->slots * 2 : m->slots));
		(void)find(m, key, &vacant);
	}
	m->used += m->states[vacant] == SLOT_EMPTY;
	m->states[vacant] = SLOT_FULL;
	m->count++;
	entry = entry_at(m, vacant);
	memset(entry, 0, entry_size(m));
	if (string_keys(m)) {
		char *copy = xstrdup(key);

		memcpy(entry, &copy, sizeof(copy));
	} else {
		memcpy(entry, key, m->key_size);
	}
	return entry + key_room(m);
}

bool map_remove(struct map *m, const void *key)
{
	size_t unused, at = find(m, key, &unused);

	if (at == SIZE_MAX)
		return false;
	if (string_keys(m))
		free((void *)entry_key(m, entry_at(m, at)));
	m->states[at] = SLOT_REMOVED;
	m->count--;
	return true;
}

bool map_next(const struct map *m, size_t *at, const void **ret_key, void **ret_value)
{
	for (; *at < m->slots; (*at)++) {
		uint8_t *entry = entry_at(m, *at);

		if (m->states[*at] != SLOT_FULL)
			continue;
		*ret_key = entry_key(m, entry);
		*ret_value = entry + key_room(m);
		(*at)++;
		return true;
	}
	return false;
}
