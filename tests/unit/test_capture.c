/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of captures: cut at every byte, with lengths that lie. */
#include <pcap/dlt.h>

#include "report/capture.h"
#include "unit.h"

/* 10.0.0.1:4000 to 10.0.0.2:80, sequence number 7, SYN, 5 bytes of payload that were not captured. */
static const uint8_t tcp[20] = {0x0f, 0xa0, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, TCP_SYN, 0x10, 0};
static const uint8_t v4[20] = {0x45, 0, 0, 45, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
static const uint8_t v6[40] = {0x60, 0, 0, 0, 0,    25, 6, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			       0,    0, 0, 1, 0xfd, 0,  0, 0,  0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};

struct bytes {
	uint8_t items[128];
	size_t count;
};

static void add(struct bytes *bytes, const void *items, size_t count)
{
	REQUIRE(bytes->count + count <= sizeof(bytes->items));
	memcpy(bytes->items + bytes->count, items, count);
	bytes->count += count;
}

/* Exactly as long as the headers, so that a byte read behind them is noticed. */
static bool parse(int link_type, const struct bytes *bytes, size_t count, struct capture_segment *segment)
{
	_cleanup_free_ uint8_t *copy = xzalloc(count + !count);

	memcpy(copy, bytes->items, count);
	*segment = (struct capture_segment){};
	return capture_packet_parse(link_type, copy, count, segment);
}

static void check_segment(int link_type, const struct bytes *bytes)
{
	struct capture_segment segment;

	for (size_t cut = 0; cut < bytes->count; cut++) {
		unit_note("link type %d, cut at %zu", link_type, cut);
		CHECK(!parse(link_type, bytes, cut, &segment));
	}
	unit_note("link type %d", link_type);
	REQUIRE(parse(link_type, bytes, bytes->count, &segment));
	CHECK_EQ_UINT(segment.from.port, 4000);
	CHECK_EQ_UINT(segment.to.port, 80);
	CHECK_EQ_UINT(segment.from.addr.bytes[15], 1);
	CHECK_EQ_UINT(segment.to.addr.bytes[15], 2);
	CHECK_EQ_UINT(segment.seq, 7);
	CHECK_EQ_UINT(segment.ack, 9);
	CHECK_EQ_UINT(segment.window, 0x1000);
	CHECK_EQ_UINT(segment.flags, TCP_SYN);
	CHECK_EQ_UINT(segment.bytes, 5);
}

TEST(a_packet_is_whole_or_none)
{
	static const uint8_t zeros[20];
	static const uint8_t kind4[] = {8, 0}, kind6[] = {0x86, 0xdd}, tag[] = {0x81, 0, 0, 7},
			     outer[] = {0x88, 0xa8, 0, 7};
	struct bytes packet = {};

	add(&packet, v4, sizeof(v4));
	add(&packet, tcp, sizeof(tcp));
	check_segment(DLT_RAW, &packet);
	check_segment(12, &packet);
	check_segment(101, &packet);
	packet = (struct bytes){};
	add(&packet, zeros, 4);
	add(&packet, v6, sizeof(v6));
	add(&packet, tcp, sizeof(tcp));
	check_segment(DLT_NULL, &packet);
	check_segment(DLT_LOOP, &packet);
	packet = (struct bytes){};
	add(&packet, zeros, 12);
	add(&packet, outer, 4);
	add(&packet, tag, 4);
	add(&packet, kind6, 2);
	add(&packet, v6, sizeof(v6));
	add(&packet, tcp, sizeof(tcp));
	check_segment(DLT_EN10MB, &packet);
	packet = (struct bytes){};
	add(&packet, zeros, 14);
	add(&packet, kind4, 2);
	add(&packet, v4, sizeof(v4));
	add(&packet, tcp, sizeof(tcp));
	check_segment(DLT_LINUX_SLL, &packet);
}

TEST(headers_of_ipv6_in_front_are_passed_over)
{
	/* 8 bytes of options to the destination, 16 of routing. */
	static const uint8_t options[8] = {43, 0}, routing[16] = {6, 1};
	struct bytes packet = {};
	uint8_t head[40];
	struct capture_segment segment;

	memcpy(head, v6, sizeof(head));
	head[5] = 25 + 24;
	head[6] = 60;
	add(&packet, head, sizeof(head));
	add(&packet, options, sizeof(options));
	add(&packet, routing, sizeof(routing));
	add(&packet, tcp, sizeof(tcp));
	check_segment(101, &packet);
	/* Longer than the packet says it is. */
	packet.items[5] = 16;
	CHECK(!parse(101, &packet, packet.count, &segment));
	packet.items[5] = 25 + 24;
	packet.items[41] = 200;
	CHECK(!parse(101, &packet, packet.count, &segment));
	/* A fragment has no ports to rely on. */
	packet.items[41] = 0;
	packet.items[40] = 44;
	CHECK(!parse(101, &packet, packet.count, &segment));
}

TEST(lengths_that_lie_are_refused)
{
	static const struct {
		size_t at;
		uint8_t value;
		const char *what;
	} wrong[] = {
		{0, 0x65, "version"},
		{0, 0x44, "header shorter than a header"},
		{0, 0x4f, "header longer than the packet"},
		{3, 19, "total shorter than the header"},
		{3, 39, "no room for TCP"},
		{6, 0x20, "first fragment"},
		{7, 1, "later fragment"},
		{9, 17, "UDP"},
		{32, 0x40, "TCP header shorter than a header"},
		{32, 0x70, "TCP header longer than the packet"},
	};
	struct capture_segment segment;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct bytes packet = {};

		unit_note("%s", wrong[i].what);
		add(&packet, v4, sizeof(v4));
		add(&packet, tcp, sizeof(tcp));
		packet.items[wrong[i].at] = wrong[i].value;
		CHECK(!parse(101, &packet, packet.count, &segment));
	}
	CHECK(!parse(147, &(struct bytes){.items = {0x45}, .count = 60}, 60, &segment));
}

/* What stands in their place is no TCP header, though it looks like one. */
TEST(options_of_ip_that_were_not_captured)
{
	struct capture_segment segment;
	struct bytes packet = {};

	add(&packet, v4, sizeof(v4));
	add(&packet, tcp, sizeof(tcp));
	packet.items[0] = 0x4f;
	packet.items[3] = 100;
	packet.items[12] = 0x50;
	CHECK(!parse(101, &packet, packet.count, &segment));
}
