/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the bytes of a packet to its TCP segment. The input is untrusted: every length is checked. */
#include <netinet/in.h>
#include <pcap/dlt.h>
#include <string.h>

#include "report/capture.h"

#define ETHER_IPV4  0x0800
#define ETHER_IPV6  0x86dd
#define ETHER_VLAN  0x8100
#define ETHER_QINQ  0x88a8
#define HEADERS_MAX 8 /* of IPv6 extensions, of VLAN tags */

#ifndef DLT_LINUX_SLL2
#define DLT_LINUX_SLL2 276
#endif

struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool skip(struct cursor *cursor, size_t n)
{
	if (n > cursor->left)
		return false;
	cursor->at += n;
	cursor->left -= n;
	return true;
}

static uint16_t u16_at(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t u32_at(const uint8_t *at)
{
	return (uint32_t)u16_at(at) << 16 | u16_at(at + 2);
}

/* Skips the link header; *ret_type is the EtherType, or 0 where the IP version field decides. */
static bool skip_link(int link_type, struct cursor *cursor, uint16_t *ret_type)
{
	static const struct {
		int link_type;
		size_t header, type_at;
	} links[] = {{DLT_EN10MB, 14, 12}, {DLT_LINUX_SLL, 16, 14}, {DLT_LINUX_SLL2, 20, 0}};

	*ret_type = 0;
	/* Raw IP has three link types: two in APIs, one in files. */
	if (link_type == DLT_RAW || link_type == 12 || link_type == 101)
		return true;
	if (link_type == DLT_NULL || link_type == DLT_LOOP)
		return skip(cursor, 4);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (links[i].link_type == link_type && cursor->left >= links[i].header) {
			*ret_type = u16_at(cursor->at + links[i].type_at);
			return skip(cursor, links[i].header);
		}
	return false;
}

static bool skip_tags(struct cursor *cursor, uint16_t *type)
{
	for (unsigned i = 0; i < HEADERS_MAX && (*type == ETHER_VLAN || *type == ETHER_QINQ); i++) {
		if (cursor->left < 4)
			return false;
		*type = u16_at(cursor->at + 2);
		(void)skip(cursor, 4);
	}
	return true;
}

/* From the IP header; the transport length may exceed what was captured. */
struct ip {
	struct addr from, to;
	uint8_t proto;
	size_t bytes;
};

static bool parse_ipv4(struct cursor *cursor, struct ip *ip)
{
	const uint8_t *at = cursor->at;
	size_t header, total;

	if (cursor->left < 20 || at[0] >> 4 != 4)
		return false;
	header = (size_t)(at[0] & 15) * 4;
	total = u16_at(at + 2);
	/* A packet captured before segmentation offload may have a total length of 0. */
	if (total == 0)
		total = cursor->left;
	/* Only the first fragment has ports, and its length is not the segment's. */
	if (header < 20 || total < header || (u16_at(at + 6) & 0x3fff) != 0)
		return false;
	ip->from = addr_from_v4(at + 12);
	ip->to = addr_from_v4(at + 16);
	ip->proto = at[9];
	ip->bytes = total - header;
	return skip(cursor, header);
}

static bool parse_ipv6(struct cursor *cursor, struct ip *ip)
{
	const uint8_t *at = cursor->at;
	uint8_t next;

	if (cursor->left < 40 || at[0] >> 4 != 6)
		return false;
	ip->from = addr_from_v6(at + 8);
	ip->to = addr_from_v6(at + 24);
	ip->bytes = u16_at(at + 4);
	next = at[6];
	(void)skip(cursor, 40);
	if (ip->bytes == 0)
		ip->bytes = cursor->left;
	for (unsigned i = 0;
	     i < HEADERS_MAX && (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS); i++) {
		size_t length = cursor->left >= 8 ? ((size_t)cursor->at[1] + 1) * 8 : SIZE_MAX;

		if (length > cursor->left || length > ip->bytes)
			return false;
		next = cursor->at[0];
		ip->bytes -= length;
		(void)skip(cursor, length);
	}
	ip->proto = next;
	return true;
}

static bool parse_tcp(const struct cursor *cursor, const struct ip *ip, struct capture_segment *segment)
{
	const uint8_t *at = cursor->at;
	size_t header;

	if (cursor->left < 20 || ip->bytes < 20)
		return false;
	header = (size_t)(at[12] >> 4) * 4;
	if (header < 20 || header > ip->bytes)
		return false;
	segment->from = (struct endpoint){.addr = ip->from, .port = u16_at(at)};
	segment->to = (struct endpoint){.addr = ip->to, .port = u16_at(at + 2)};
	segment->seq = u32_at(at + 4);
	segment->ack = u32_at(at + 8);
	segment->flags = at[13];
	segment->window = u16_at(at + 14);
	segment->bytes = (uint32_t)(ip->bytes - header);
	return true;
}

bool capture_packet_parse(int link_type, const uint8_t *bytes, size_t captured, struct capture_segment *ret_segment)
{
	struct cursor cursor = {bytes, captured};
	struct ip ip = {};
	uint16_t type;

	if (!skip_link(link_type, &cursor, &type) || !skip_tags(&cursor, &type) || cursor.left == 0)
		return false;
	if (type == 0)
		type = cursor.at[0] >> 4 == 6 ? ETHER_IPV6 : ETHER_IPV4;
	if (type == ETHER_IPV4 ? !parse_ipv4(&cursor, &ip) : type != ETHER_IPV6 || !parse_ipv6(&cursor, &ip))
		return false;
	return ip.proto == IPPROTO_TCP && parse_tcp(&cursor, &ip, ret_segment);
}
