/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets as they pass by: resets, name lookups, errors about them; and what is none of these. */
#include "unit.h"

#include "base/addr.h"
#include "probe/wire.h"

/* From 10.0.0.2 to 10.0.0.1; the transport header follows. */
static const uint8_t ipv4[20] = {0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1};

struct packet {
	uint8_t bytes[128];
	size_t len;
};

static struct packet make(uint8_t protocol, const uint8_t *payload, size_t len)
{
	struct packet p = {.len = sizeof(ipv4) + len};

	memcpy(p.bytes, ipv4, sizeof(ipv4));
	p.bytes[9] = protocol;
	memcpy(p.bytes + sizeof(ipv4), payload, len);
	return p;
}

static struct packet make_tcp(uint8_t flags, uint8_t seq)
{
	/* from port 5001 (0x1389) to 40000 (0x9c40) */
	uint8_t tcp[20] = {0x13, 0x89, 0x9c, 0x40, 0, 0, 0, seq, 0, 0, 0, 9, 0x50, flags};

	return make(6, tcp, sizeof(tcp));
}

static struct packet make_udp(uint16_t from, uint16_t to, uint8_t flags, uint8_t rcode)
{
	uint8_t udp[20] = {(uint8_t)(from >> 8),
			   (uint8_t)from,
			   (uint8_t)(to >> 8),
			   (uint8_t)to,
			   0,
			   20,
			   0,
			   0,
			   0xab,
			   0xcd,
			   flags,
			   rcode};

	return make(17, udp, sizeof(udp));
}

static struct wire_packet parse(const struct packet *p, bool outgoing)
{
	struct wire_packet packet;

	wire_parse(p->bytes, p->len, outgoing, &packet);
	return packet;
}

TEST(resets)
{
	struct packet refused = make_tcp(0x14, 0), reset = make_tcp(0x14, 7), answer = make_tcp(0x04, 0),
		      data = make_tcp(0x10, 7);
	struct wire_packet packet = parse(&refused, false);
	char text[ADDR_TEXT_MAX];

	CHECK_EQ_INT(packet.kind, WIRE_REFUSED);
	CHECK_EQ_UINT(packet.rport, 5001);
	CHECK_EQ_UINT(packet.lport, 40000);
	addr_format(&packet.raddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.2");
	CHECK_EQ_INT(parse(&reset, false).kind, WIRE_RESET);
	/* Without an acknowledgement it cannot be about a SYN. */
	CHECK_EQ_INT(parse(&answer, false).kind, WIRE_RESET);
	CHECK_EQ_INT(parse(&data, false).kind, WIRE_SEGMENT);
	CHECK_EQ_INT(parse(&data, true).kind, WIRE_OTHER);
	/* What this host sends itself is no news. */
	CHECK_EQ_INT(parse(&refused, true).kind, WIRE_OTHER);
}

TEST(lookups)
{
	struct packet query = make_udp(40000, 53, 0x01, 0), answer = make_udp(53, 40000, 0x81, 0x82);
	struct wire_packet packet = parse(&query, true);
	char text[ADDR_TEXT_MAX];

	CHECK_EQ_INT(packet.kind, WIRE_QUERY);
	CHECK_EQ_UINT(packet.id, 0xabcd);
	CHECK_EQ_UINT(packet.lport, 40000);
	addr_format(&packet.raddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.1");
	packet = parse(&answer, false);
	CHECK_EQ_INT(packet.kind, WIRE_ANSWER);
	CHECK_EQ_UINT(packet.id, 0xabcd);
	CHECK_EQ_UINT(packet.rcode, 2);
	/* Somebody asks this host, and is answered: not its own lookups. */
	CHECK_EQ_INT(parse(&query, false).kind, WIRE_OTHER);
	CHECK_EQ_INT(parse(&answer, true).kind, WIRE_OTHER);
}

TEST(datagrams)
{
	struct packet request = make_udp(40000, 1812, 1, 2), same = make_udp(40001, 1812, 1, 2),
		      other = make_udp(40000, 1812, 1, 3);
	struct wire_packet packet = parse(&request, true);
	char text[ADDR_TEXT_MAX];

	CHECK_EQ_INT(packet.kind, WIRE_DATAGRAM);
	CHECK(packet.outgoing);
	CHECK_EQ_UINT(packet.lport, 40000);
	CHECK_EQ_UINT(packet.rport, 1812);
	addr_format(&packet.raddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.1");
	addr_format(&packet.laddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.2");
	CHECK_EQ_UINT(parse(&same, true).digest, packet.digest);
	CHECK(parse(&other, true).digest != packet.digest);
	packet = parse(&request, false);
	CHECK(!packet.outgoing);
	CHECK_EQ_UINT(packet.lport, 1812);
	CHECK_EQ_UINT(packet.rport, 40000);
	/* A header alone is a datagram; half of one is not. */
	request.len = 28;
	CHECK_EQ_INT(parse(&request, true).kind, WIRE_DATAGRAM);
	request.len = 27;
	CHECK_EQ_INT(parse(&request, true).kind, WIRE_OTHER);
}

TEST(errors_about_lookups)
{
	struct packet query = make_udp(40000, 53, 0x01, 0), other = make_udp(40000, 123, 0x01, 0), error;
	uint8_t icmp[8 + sizeof(query.bytes)] = {3, 3};
	struct wire_packet packet;
	char text[ADDR_TEXT_MAX];

	memcpy(icmp + 8, query.bytes, 28);
	error = make(1, icmp, 8 + 28);
	packet = parse(&error, false);
	CHECK_EQ_INT(packet.kind, WIRE_UNREACHABLE);
	CHECK_EQ_UINT(packet.lport, 40000);
	addr_format(&packet.raddr, text);
	CHECK_EQ_TEXT(text, "10.0.0.1");
	memcpy(icmp + 8, other.bytes, 28);
	error = make(1, icmp, 8 + 28);
	CHECK_EQ_INT(parse(&error, false).kind, WIRE_REJECTED);
	/* What a firewall on the way rejects; that a host is not to be reached is no refusal. */
	struct packet syn = make_tcp(0x02, 1);

	memcpy(icmp + 8, syn.bytes, 28);
	error = make(1, icmp, 8 + 28);
	CHECK_EQ_INT(parse(&error, false).kind, WIRE_REFUSED);
	CHECK_EQ_UINT(parse(&error, false).rport, 40000);
	icmp[1] = 1; /* host unreachable */
	error = make(1, icmp, 8 + 28);
	CHECK_EQ_INT(parse(&error, false).kind, WIRE_OTHER);
	icmp[0] = 11;
	memcpy(icmp + 8, query.bytes, 28);
	error = make(1, icmp, 8 + 28);
	CHECK_EQ_INT(parse(&error, false).kind, WIRE_OTHER);
}

/* RFC 792, 1122, 1812 and 4443: port unreachable and the codes for "administratively prohibited", no other. */
TEST(codes_that_refuse)
{
	static const uint8_t refusals[] = {3, 9, 10, 13}, refusals6[] = {1, 4, 5, 6};
	struct packet syn = make_tcp(0x02, 1), error;
	uint8_t icmp[8 + 40 + 20] = {};

	for (unsigned code = 0; code < 256; code++) {
		bool refuses = code < 32 && memchr(refusals, (int)code, sizeof(refusals));

		unit_note("code %u", code);
		icmp[0] = 3;
		icmp[1] = (uint8_t)code;
		memcpy(icmp + 8, syn.bytes, syn.len);
		error = make(1, icmp, 8 + syn.len);
		CHECK_EQ_INT(parse(&error, false).kind, refuses ? WIRE_REFUSED : WIRE_OTHER);
		/* The same quoted by ICMPv6: type 1, an IPv6 header with TCP behind it. */
		memset(icmp + 8, 0, 40);
		icmp[0] = 1;
		icmp[8] = 0x60;
		icmp[8 + 6] = 6;
		memcpy(icmp + 8 + 40, syn.bytes + 20, 20);
		error = (struct packet){.len = 40 + sizeof(icmp)};
		error.bytes[0] = 0x60;
		error.bytes[6] = 58;
		memcpy(error.bytes + 40, icmp, sizeof(icmp));
		CHECK_EQ_INT(parse(&error, false).kind,
			     memchr(refusals6, (int)code, sizeof(refusals6)) ? WIRE_REFUSED : WIRE_OTHER);
	}
}

/* Flags and offset share a field: only an offset makes it a later fragment, which has no ports. */
TEST(fragments)
{
	static const struct {
		uint8_t high, low;
		enum wire_kind kind;
	} cases[] = {
		{0x00, 0x00, WIRE_SEGMENT}, {0x40, 0x00, WIRE_SEGMENT}, {0x20, 0x00, WIRE_SEGMENT},
		{0x20, 0x01, WIRE_OTHER},   {0x00, 0x01, WIRE_OTHER},   {0x00, 0xb9, WIRE_OTHER},
		{0x01, 0x00, WIRE_OTHER},   {0x10, 0x00, WIRE_OTHER},   {0x1f, 0xff, WIRE_OTHER},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct packet p = make_tcp(0x10, 1);

		unit_note("0x%02x%02x", cases[i].high, cases[i].low);
		p.bytes[6] = cases[i].high;
		p.bytes[7] = cases[i].low;
		CHECK_EQ_INT(parse(&p, false).kind, cases[i].kind);
	}
}

TEST(ipv6)
{
	struct packet p = {.bytes = {0x60, 0, 0, 0, 0, 20, 6, 64}, .len = 60};
	struct wire_packet packet;
	char text[ADDR_TEXT_MAX];

	p.bytes[8] = p.bytes[24] = 0xfd;
	p.bytes[23] = 2;
	p.bytes[39] = 1;
	p.bytes[40] = 0x13;
	p.bytes[41] = 0x89;
	p.bytes[51] = 9;
	p.bytes[53] = 0x14;
	CHECK_EQ_INT(parse(&p, false).kind, WIRE_REFUSED);
	packet = parse(&p, false);
	addr_format(&packet.raddr, text);
	CHECK_EQ_TEXT(text, "fd00::2");
	p.bytes[6] = 58;
	CHECK_EQ_INT(parse(&p, false).kind, WIRE_OTHER);
}

/* Whatever is cut off, nothing is read beyond it; a later part of a packet has no ports. */
TEST(cut_short)
{
	struct packet query = make_udp(40000, 53, 0x01, 0), reset = make_tcp(0x14, 0);

	for (size_t len = 0; len < query.len; len++) {
		_cleanup_free_ uint8_t *copy = xmalloc(len + !len);
		struct wire_packet packet;

		memcpy(copy, query.bytes, len);
		wire_parse(copy, len, true, &packet);
		CHECK_EQ_INT(packet.kind, WIRE_OTHER);
	}
	reset.bytes[7] = 1;
	CHECK_EQ_INT(parse(&reset, false).kind, WIRE_OTHER);
	reset.bytes[7] = 0;
	reset.bytes[0] = 0x4f;
	CHECK_EQ_INT(parse(&reset, false).kind, WIRE_OTHER);
	reset.bytes[0] = 0x41;
	CHECK_EQ_INT(parse(&reset, false).kind, WIRE_OTHER);
}
