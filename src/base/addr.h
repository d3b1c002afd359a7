/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network addresses. One 16-byte form for both families, IPv4 as v4-mapped IPv6: equality, hashing and prefixes need no
 * special case, and a v4-mapped socket and its IPv4 peer have the same address, as users expect.
 */
#pragma once

#include <string.h>

#include "base/buf.h"
#include "base/net_types.h"

struct prefix {
	struct addr addr;
	uint8_t bits; /* of the 128-bit form: 10.0.0.0/8 has 104 */
};

#define ADDR_TEXT_MAX 48

/* The v4-mapped prefix. */
#define ADDR_MAPPED_HEAD 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff

static inline struct addr addr_from_v4(const void *four_bytes)
{
	struct addr a = {.family = ADDR_V4, .bytes = {ADDR_MAPPED_HEAD}};

	memcpy(a.bytes + 12, four_bytes, 4);
	return a;
}

/* A v4-mapped address becomes IPv4. */
static inline struct addr addr_from_v6(const void *sixteen_bytes)
{
	static const uint8_t head[] = {ADDR_MAPPED_HEAD};
	struct addr a = {.family = ADDR_V6};

	memcpy(a.bytes, sixteen_bytes, 16);
	if (memcmp(a.bytes, head, sizeof(head)) == 0)
		a.family = ADDR_V4;
	return a;
}

static inline bool addr_equal(const struct addr *a, const struct addr *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* 127.0.0.0/8, ::1. */
static inline bool addr_is_loopback(const struct addr *a)
{
	static const uint8_t six[16] = {[15] = 1};

	return a->family == ADDR_V4 ? a->bytes[12] == 127
				    : a->family == ADDR_V6 && memcmp(a->bytes, six, sizeof(six)) == 0;
}

/* To many receivers: 224.0.0.0/4, 255.255.255.255, ff00::/8. */
static inline bool addr_is_multicast(const struct addr *a)
{
	return a->family == ADDR_V4 ? a->bytes[12] >> 4 == 14 || a->bytes[12] == 255
				    : a->family == ADDR_V6 && a->bytes[0] == 255;
}

/* Orders IPv4 before IPv6, then by value. */
int addr_compare(const struct addr *a, const struct addr *b);
bool prefix_contains(const struct prefix *p, const struct addr *a);

/* The whole text must match: 10.0.0.1, fe80::1; [::1] is refused (only an endpoint has brackets). */
int addr_parse(const char *text, struct addr *ret_addr) _must_check_;
/* An address alone is a prefix of full length; bits beyond the length must be zero (10.0.0.1/8 is refused). */
int prefix_parse(const char *text, struct prefix *ret_prefix) _must_check_;
/* 10.0.0.1:80, [::1]:80, :80, *:80; a missing part is unknown. An address alone has port 0. */
int addr_parse_endpoint(const char *text, struct endpoint *ret_endpoint) _must_check_;

/* At most ADDR_TEXT_MAX bytes with the NUL; returns the length. */
size_t addr_format(const struct addr *a, char *text);
void addr_format_endpoint(const struct endpoint *e, struct buf *out);
