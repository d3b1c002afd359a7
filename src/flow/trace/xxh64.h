/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XXH64 with seed 0, the published 64-bit hash of the xxHash family: a few bytes per cycle without special
 * instructions. Implemented here because the runtime inside an observed program may not depend on a library.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#define XXH_P1 UINT64_C(0x9E3779B185EBCA87)
#define XXH_P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define XXH_P3 UINT64_C(0x165667B19E3779F9)
#define XXH_P4 UINT64_C(0x85EBCA77C2B2AE63)
#define XXH_P5 UINT64_C(0x27D4EB2F165667C5)

/* Hashes consecutive parts as one: the first must be a multiple of 32 bytes. */
struct xxh64 {
	uint64_t lanes[4];
	uint64_t total;
};

static inline uint64_t xxh64_rotate(uint64_t v, unsigned bits)
{
	return v << bits | v >> (64 - bits);
}

static inline uint64_t xxh64_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t xxh64_round(uint64_t lane, uint64_t input)
{
	return xxh64_rotate(lane + input * XXH_P2, 31) * XXH_P1;
}

static inline void xxh64_begin(struct xxh64 *x)
{
	x->lanes[0] = XXH_P1 + XXH_P2;
	x->lanes[1] = XXH_P2;
	x->lanes[2] = 0;
	x->lanes[3] = 0 - XXH_P1;
	x->total = 0;
}

/* Hashes whole 32-byte stripes; returns the bytes consumed. */
static inline size_t xxh64_stripes(struct xxh64 *x, const uint8_t *p, size_t n)
{
	uint64_t a = x->lanes[0], b = x->lanes[1], c = x->lanes[2], d = x->lanes[3];
	size_t whole = n & ~(size_t)31;

	for (size_t i = 0; i < whole; i += 32) {
		a = xxh64_round(a, xxh64_load64(p + i));
		b = xxh64_round(b, xxh64_load64(p + i + 8));
		c = xxh64_round(c, xxh64_load64(p + i + 16));
		d = xxh64_round(d, xxh64_load64(p + i + 24));
	}
	x->lanes[0] = a;
	x->lanes[1] = b;
	x->lanes[2] = c;
	x->lanes[3] = d;
	x->total += whole;
	return whole;
}

static inline uint64_t xxh64_end(struct xxh64 *x, const uint8_t *p, size_t n)
{
	size_t i = xxh64_stripes(x, p, n);
	uint64_t h = XXH_P5;

	if (x->total >= 32) {
		h = xxh64_rotate(x->lanes[0], 1) + xxh64_rotate(x->lanes[1], 7) + xxh64_rotate(x->lanes[2], 12) +
		    xxh64_rotate(x->lanes[3], 18);
		for (unsigned lane = 0; lane < 4; lane++)
			h = (h ^ xxh64_round(0, x->lanes[lane])) * XXH_P1 + XXH_P4;
	}
	h += x->total + (n - i);
	for (; i + 8 <= n; i += 8)
		h = xxh64_rotate(h ^ xxh64_round(0, xxh64_load64(p + i)), 27) * XXH_P1 + XXH_P4;
	if (i + 4 <= n) {
		uint32_t v;

		memcpy(&v, p + i, sizeof(v));
		h = xxh64_rotate(h ^ v * XXH_P1, 23) * XXH_P2 + XXH_P3;
		i += 4;
	}
	for (; i < n; i++)
		h = xxh64_rotate(h ^ p[i] * XXH_P5, 11) * XXH_P1;
	h = (h ^ h >> 33) * XXH_P2;
	h = (h ^ h >> 29) * XXH_P3;
	return h ^ h >> 32;
}
