/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "probe/wire.h"

#define DNS_PORT   53
#define DNS_HEADER 12
#define UDP_HEADER 8
#define TCP_FLAGS  13

struct cut {
	const uint8_t *at;
	size_t left;
};

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* IP header: addresses and protocol; false: truncated or not the first fragment. */
static bool open_ip(struct cut *cut, struct addr *ret_from, struct addr *ret_to, uint8_t *ret_protocol)
{
	const uint8_t *at = cut->at;
	size_t header;

	if (cut->left >= 20 && at[0] >> 4 == 4) {
		header = (size_t)(at[0] & 15) * 4;
		if (header < 20 || (be16(at + 6) & 0x1fff) != 0)
			return false;
		*ret_from = addr_from_v4(at + 12);
		*ret_to = addr_from_v4(at + 16);
		*ret_protocol = at[9];
	} else if (cut->left >= 40 && at[0] >> 4 == 6) {
		header = 40;
		*ret_from = addr_from_v6(at + 8);
		*ret_to = addr_from_v6(at + 24);
		*ret_protocol = at[6];
	} else {
		return false;
	}
	if (header > cut->left)
		return false;
	cut->at += header;
	cut->left -= header;
	return true;
}

static uint32_t digest_of(const struct cut *cut)
{
	uint32_t digest = 2166136261u ^ be16(cut->at + 4); /* its length; the checksum depends on the sender's port */

	for (size_t i = UDP_HEADER; i < cut->left; i++)
		digest = (digest ^ cut->at[i]) * 16777619u;
	return digest;
}

static void parse_datagram(const struct cut *cut, const struct addr *from, const struct addr *to, bool outgoing,
			   struct wire_packet *packet)
{
	uint16_t source = be16(cut->at), target = be16(cut->at + 2);

	packet->kind = WIRE_DATAGRAM;
	packet->outgoing = outgoing;
	packet->laddr = outgoing ? *from : *to;
	packet->raddr = outgoing ? *to : *from;
	packet->lport = outgoing ? source : target;
	packet->rport = outgoing ? target : source;
	packet->digest = digest_of(cut);
}

static void parse_udp(const struct cut *cut, const struct addr *from, const struct addr *to, bool outgoing,
		      struct wire_packet *packet)
{
	const uint8_t *dns = cut->at + UDP_HEADER;
	bool is_answer;

	if (cut->left >= UDP_HEADER && be16(cut->at) != DNS_PORT && be16(cut->at + 2) != DNS_PORT)
		parse_datagram(cut, from, to, outgoing, packet);
	if (packet->kind == WIRE_DATAGRAM || cut->left < UDP_HEADER + DNS_HEADER)
		return;
	is_answer = dns[2] & 0x80;
	packet->id = be16(dns);
	if (outgoing && be16(cut->at + 2) == DNS_PORT && !is_answer) {
		packet->kind = WIRE_QUERY;
		packet->raddr = *to;
		packet->lport = be16(cut->at);
		packet->rport = DNS_PORT;
	} else if (!outgoing && be16(cut->at) == DNS_PORT && is_answer) {
		packet->kind = WIRE_ANSWER;
		packet->raddr = *from;
		packet->lport = be16(cut->at + 2);
		packet->rport = DNS_PORT;
		packet->rcode = dns[3] & 15;
	}
}

static void parse_tcp(const struct cut *cut, const struct addr *from, struct wire_packet *packet)
{
	static const uint8_t zero[4];
	uint8_t flags;

	if (cut->left <= TCP_FLAGS)
		return;
	flags = cut->at[TCP_FLAGS];
	packet->kind = WIRE_SEGMENT;
	/* A reset in reply to a SYN has sequence number 0 and acknowledges the SYN. */
	if (flags & 4)
		packet->kind = (flags & 16) && memcmp(cut->at + 4, zero, sizeof(zero)) == 0 ? WIRE_REFUSED : WIRE_RESET;
	packet->raddr = *from;
	packet->rport = be16(cut->at);
	packet->lport = be16(cut->at + 2);
}

/* Port unreachable or administratively prohibited; host or network unreachable is no refusal. */
static bool is_refusal(uint8_t type, uint8_t code)
{
	static const uint32_t codes = 1u << 3 | 1u << 9 | 1u << 10 | 1u << 13,
			      codes6 = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 6;

	return code < 32 && ((type == 3 ? codes : codes6) >> code & 1);
}

/* An ICMP error quotes the start of the original packet. */
static void parse_error(struct cut cut, struct wire_packet *packet)
{
	struct addr from, to;
	uint8_t protocol;
	bool refuses;

	if (cut.left < 8)
		return;
	refuses = is_refusal(cut.at[0], cut.at[1]);
	cut.at += 8;
	cut.left -= 8;
	if (!open_ip(&cut, &from, &to, &protocol) || cut.left < 8)
		return;
	if (protocol == IPPROTO_UDP && be16(cut.at + 2) == DNS_PORT)
		packet->kind = WIRE_UNREACHABLE;
	else if (protocol == IPPROTO_TCP && refuses)
		packet->kind = WIRE_REFUSED;
	else if (protocol == IPPROTO_UDP && refuses)
		packet->kind = WIRE_REJECTED;
	else
		return;
	packet->laddr = from;
	packet->raddr = to;
	packet->lport = be16(cut.at);
	packet->rport = be16(cut.at + 2);
}

void wire_parse(const uint8_t *bytes, size_t len, bool outgoing, struct wire_packet *ret_packet)
{
	struct cut cut = {bytes, len};
	struct addr from, to;
	uint8_t protocol;

	*ret_packet = (struct wire_packet){.kind = WIRE_OTHER};
	if (!open_ip(&cut, &from, &to, &protocol))
		return;
	if (protocol == IPPROTO_UDP)
		parse_udp(&cut, &from, &to, outgoing, ret_packet);
	else if (protocol == IPPROTO_TCP && !outgoing)
		parse_tcp(&cut, &from, ret_packet);
	else if (!outgoing && cut.left > 0 &&
		 ((protocol == IPPROTO_ICMP && cut.at[0] == 3) || (protocol == IPPROTO_ICMPV6 && cut.at[0] == 1)))
		parse_error(cut, ret_packet);
}
