/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segment by which a silent peer is asked: what a host that receives it checks. */
#include "unit.h"

#include <endian.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>

#include "base/addr.h"
#include "probe/keepalive.bpf.h"
#include "probe/keepalive.h"
#include "snapshot/socket/socket.h"

static struct addr address(const char *text)
{
	struct addr addr;

	REQUIRE(addr_parse(text, &addr) == 0);
	return addr;
}

/* The sum that a receiver makes over pseudo header and segment: all ones when nothing is wrong. */
static uint32_t receiver_sum(const uint8_t *addresses, size_t width, const uint8_t *tcp, size_t size)
{
	uint32_t sum = IPPROTO_TCP + (uint32_t)size;

	for (size_t i = 0; i < 2 * width; i += 2)
		sum += (uint32_t)addresses[i] << 8 | addresses[i + 1];
	for (size_t i = 0; i < size; i += 2)
		sum += (uint32_t)tcp[i] << 8 | tcp[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static const struct keepalive_answer known = {.found = 1,
					      .snd_una = 1000,
					      .rcv_nxt = 0xffffff00,
					      .rcv_wnd = 65536,
					      .rcv_wscale = 7,
					      .has_times = 1,
					      .tsval = 77,
					      .tsecr = 99};

TEST(a_segment_of_ipv4_with_times)
{
	struct socket_record s = {
		.laddr = address("10.1.2.3"), .raddr = address("192.0.2.255"), .lport = 40001, .rport = 443};
	uint8_t segment[KEEPALIVE_MAX];
	size_t size = keepalive_segment(&s, &known, segment);
	const struct iphdr *ip = (const void *)segment;
	struct tcphdr tcp;

	CHECK_EQ_INT(size, 20 + 32);
	CHECK_EQ_INT(ip->version, 4);
	CHECK_EQ_INT(be16toh(ip->tot_len), 52);
	CHECK_EQ_INT(ip->protocol, IPPROTO_TCP);
	CHECK_EQ_INT(be32toh(ip->saddr), 0x0a010203);
	CHECK_EQ_INT(be32toh(ip->daddr), 0xc00002ff);
	memcpy(&tcp, segment + 20, sizeof(tcp));
	CHECK_EQ_INT(be16toh(tcp.source), 40001);
	CHECK_EQ_INT(be16toh(tcp.dest), 443);
	CHECK_EQ_INT(be32toh(tcp.seq), 999);
	CHECK_EQ_INT(be32toh(tcp.ack_seq), 0xffffff00);
	CHECK_EQ_INT(be16toh(tcp.window), 512);
	CHECK(tcp.ack && !tcp.syn && !tcp.rst && !tcp.fin && !tcp.psh);
	CHECK_EQ_INT(tcp.doff, 8);
	CHECK_EQ_INT(segment[20 + 27], 77);
	CHECK_EQ_INT(segment[20 + 31], 99);
	CHECK_EQ_INT(receiver_sum(segment + 12, 4, segment + 20, 32), 0xffff);
}

TEST(a_segment_of_ipv6_without_times)
{
	struct socket_record s = {
		.laddr = address("fd00::1"), .raddr = address("fd00::ffff:2"), .lport = 1, .rport = 65535};
	struct keepalive_answer plain = known;
	uint8_t segment[KEEPALIVE_MAX];
	struct tcphdr tcp;
	size_t size;

	plain.has_times = 0;
	plain.snd_una = 0;
	plain.rcv_wnd = UINT32_MAX;
	plain.rcv_wscale = 0;
	size = keepalive_segment(&s, &plain, segment);
	CHECK_EQ_INT(size, 40 + 20);
	CHECK_EQ_INT(segment[0] >> 4, 6);
	CHECK_EQ_INT(segment[6], IPPROTO_TCP);
	CHECK_EQ_INT(segment[5], 20);
	memcpy(&tcp, segment + 40, sizeof(tcp));
	CHECK_EQ_INT(be32toh(tcp.seq), 0xffffffff);
	CHECK_EQ_INT(be16toh(tcp.window), 65535);
	CHECK_EQ_INT(tcp.doff, 5);
	CHECK_EQ_INT(receiver_sum(segment + 8, 16, segment + 40, 20), 0xffff);
}
