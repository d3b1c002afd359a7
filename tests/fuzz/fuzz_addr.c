/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses, prefixes, endpoints: what is written out reads back as the same. */
#include "base/addr.h"
#include "fuzz.h"

static bool same_endpoint(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && addr_equal(&a->addr, &b->addr);
}

static void check_addr(const char *text)
{
	struct addr a, back;
	struct prefix p;
	char shown[ADDR_TEXT_MAX];

	if (addr_parse(text, &a) < 0)
		return;
	fuzz_require(a.family == ADDR_V4 || a.family == ADDR_V6);
	fuzz_require(addr_format(&a, shown) == strlen(shown));
	fuzz_require(addr_parse(shown, &back) == 0 && addr_equal(&a, &back) && addr_compare(&a, &back) == 0);
	/* An address is a prefix that holds itself alone. */
	fuzz_require(prefix_parse(text, &p) == 0 && p.bits == 128 && prefix_contains(&p, &a));
	back.bytes[15] ^= 1;
	fuzz_require(!prefix_contains(&p, &back));
}

static void check_prefix(const char *text)
{
	char addr[ADDR_TEXT_MAX], shown[ADDR_TEXT_MAX + 8];
	struct prefix p, back;
	struct addr last;
	int r = prefix_parse(text, &p);

	fuzz_require(r == 0 || r == -EINVAL || r == -ERANGE);
	if (r < 0)
		return;
	addr_format(&p.addr, addr);
	snprintf(shown, sizeof(shown), "%s/%u", addr, p.addr.family == ADDR_V4 ? p.bits - 96u : p.bits);
	fuzz_require(prefix_parse(shown, &back) == 0);
	fuzz_require(back.bits == p.bits && addr_equal(&back.addr, &p.addr));
	fuzz_require(prefix_contains(&p, &p.addr));
	/* The last address is inside; one with another bit before the length is not. */
	last = p.addr;
	for (unsigned bit = p.bits; bit < 128; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	fuzz_require(prefix_contains(&p, &last));
	if (p.bits > 0) {
		last.bytes[(p.bits - 1) / 8] ^= (uint8_t)(0x80 >> (p.bits - 1) % 8);
		fuzz_require(!prefix_contains(&p, &last));
	}
}

static void check_endpoint(const char *text)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(200);
	struct endpoint e, back;
	int r = addr_parse_endpoint(text, &e);

	fuzz_require(r == 0 || r == -EINVAL || r == -ERANGE);
	if (r < 0)
		return;
	addr_format_endpoint(&e, &shown);
	fuzz_require(addr_parse_endpoint(buf_text(&shown), &back) == 0 && same_endpoint(&e, &back));
}

/* The input as an address of its own, not as text. */
static void check_bytes(const uint8_t *data)
{
	struct addr a = addr_from_v6(data), back;
	char shown[ADDR_TEXT_MAX];

	addr_format(&a, shown);
	fuzz_require(addr_parse(shown, &back) == 0 && addr_equal(&a, &back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);

	check_addr(text);
	check_prefix(text);
	check_endpoint(text);
	if (size >= 16)
		check_bytes(data);
	return 0;
}
