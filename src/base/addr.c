/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <errno.h>

#include "base/addr.h"
#include "base/parse.h"

int addr_compare(const struct addr *a, const struct addr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* Whether the first `bits` bits are equal. */
static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] & mask) == (b[whole] & mask);
}

bool prefix_contains(const struct prefix *p, const struct addr *a)
{
	return a->family == p->addr.family && same_bits(a->bytes, p->addr.bytes, p->bits);
}

int addr_parse(const char *text, struct addr *ret_addr)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, text, bytes) == 1)
		*ret_addr = addr_from_v4(bytes);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		*ret_addr = addr_from_v6(bytes);
	else
		return -EINVAL;
	return 0;
}

int prefix_parse(const char *text, struct prefix *ret_prefix)
{
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	char address[ADDR_TEXT_MAX];
	uint8_t zero[16] = {0};
	struct prefix p;
	uint64_t bits;
	unsigned base, byte;
	int r;

	if (n == 0 || n >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, n);
	address[n] = '\0';
	r = addr_parse(address, &p.addr);
	if (r < 0)
		return r;
	base = strchr(address, ':') ? 0 : 96;
	bits = 128 - base;
	if (slash) {
		r = parse_decimal(slash + 1, 0, 128 - base, &bits);
		if (r < 0)
			return r;
	}
	p.bits = (uint8_t)(base + bits);
	byte = p.bits / 8;
	if (byte < 16 &&
	    ((p.addr.bytes[byte] & (0xff >> (p.bits % 8))) || memcmp(p.addr.bytes + byte + 1, zero, 15 - byte) != 0))
		return -EINVAL;
	/* ::/0 and similar prefixes match IPv6 only; a prefix inside ::ffff:0:0/96 is IPv4. */
	if (p.addr.family == ADDR_V4 && p.bits < 96)
		p.addr.family = ADDR_V6;
	*ret_prefix = p;
	return 0;
}

int addr_parse_endpoint(const char *text, struct endpoint *ret_endpoint)
{
	const char *colon = strrchr(text, ':');
	struct endpoint e = {};
	char address[ADDR_TEXT_MAX];
	size_t n;
	int r;

	if (!colon || (text[0] != '[' && strchr(text, ':') != colon)) {
		r = addr_parse(text, &e.addr);
		if (r == 0)
			*ret_endpoint = e;
		return r;
	}
	n = (size_t)(colon - text);
	if (text[0] == '[') {
		/* Brackets separate the colons of an IPv6 address from the port's. */
		if (text[n - 1] != ']' || !memchr(text, ':', n))
			return -EINVAL;
		text++;
		n -= 2;
	}
	if (n >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, n);
	address[n] = '\0';
	if (n > 0 && strcmp(address, "*") != 0) {
		r = addr_parse(address, &e.addr);
		if (r < 0)
			return r;
	}
	if (strcmp(colon + 1, "*") != 0) {
		r = parse_port(colon + 1, &e.port);
		if (r < 0)
			return r;
	}
	*ret_endpoint = e;
	return 0;
}

static char *put_byte(char *p, uint8_t value)
{
	if (value >= 100)
		*p++ = (char)('0' + value / 100);
	if (value >= 10)
		*p++ = (char)('0' + value / 10 % 10);
	*p++ = (char)('0' + value % 10);
	return p;
}

size_t addr_format(const struct addr *a, char *text)
{
	char *p = text;

	switch (a->family) {
	case ADDR_V4:
		/* Not inet_ntop, which calls printf: this runs for every record. */
		for (int i = 12; i < 16; i++) {
			p = put_byte(p, a->bytes[i]);
			*p++ = i < 15 ? '.' : '\0';
		}
		return (size_t)(p - text - 1);
	case ADDR_V6:
		inet_ntop(AF_INET6, a->bytes, text, ADDR_TEXT_MAX);
		return strlen(text);
	default:
		*p++ = '-';
		*p = '\0';
		return 1;
	}
}

void addr_format_endpoint(const struct endpoint *e, struct buf *out)
{
	char text[ADDR_TEXT_MAX] = "*";

	if (e->addr.family != ADDR_UNKNOWN)
		addr_format(&e->addr, text);
	buf_add_format(out, e->addr.family == ADDR_V6 ? "[%s]:" : "%s:", text);
	if (e->port)
		buf_add_format(out, "%u", e->port);
	else
		buf_add_char(out, '*');
}
