// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>
#include <errno.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "relay_frame.h"

#define IPV6_HEADER_LEN  40u
#define IPV6_NEXT_OFFSET 6u
#define TCP_DOFF_OFFSET  12u
#define UDP_HEADER_LEN   8u

static_assert(sizeof(struct virtio_net_hdr) == FRAME_VNET_LEN, "size of the vnet header");

static struct virtio_net_hdr vnet_read(const uint8_t *data)
{
	struct virtio_net_hdr vnet;

	memcpy(&vnet, data, sizeof(vnet));
	return vnet;
}

static unsigned int ether_type(const uint8_t *frame)
{
	return (unsigned int)frame[12] << 8 | frame[13];
}

bool frame_is_neighbour(const uint8_t *data, size_t len)
{
	const uint8_t *frame = data + FRAME_VNET_LEN, *ip = frame + ETHER_HDR_LEN;

	if (len < FRAME_VNET_LEN + ETHER_HDR_LEN)
		return false;
	if (ether_type(frame) == ETHERTYPE_ARP)
		return true;
	if (ether_type(frame) != ETHERTYPE_IPV6 || len <= FRAME_VNET_LEN + ETHER_HDR_LEN + IPV6_HEADER_LEN)
		return false;
	return ip[IPV6_NEXT_OFFSET] == IPPROTO_ICMPV6 && ip[IPV6_HEADER_LEN] >= ND_ROUTER_SOLICIT &&
	       ip[IPV6_HEADER_LEN] <= ND_REDIRECT;
}

size_t frame_ip_len(const uint8_t *data, size_t len)
{
	struct virtio_net_hdr vnet = vnet_read(data);
	size_t ip_len = len - FRAME_VNET_LEN - ETHER_HDR_LEN;
	size_t transport = FRAME_VNET_LEN + vnet.csum_start;
	size_t header = UDP_HEADER_LEN;
	int type = vnet.gso_type & ~VIRTIO_NET_HDR_GSO_ECN;

	if (vnet.gso_type == VIRTIO_NET_HDR_GSO_NONE || vnet.gso_size == 0 || transport + TCP_DOFF_OFFSET >= len)
		return ip_len;
	if (type == VIRTIO_NET_HDR_GSO_TCPV4 || type == VIRTIO_NET_HDR_GSO_TCPV6)
		header = (size_t)(data[transport + TCP_DOFF_OFFSET] >> 4) * 4;
	return min_of(ip_len, vnet.csum_start - ETHER_HDR_LEN + header + vnet.gso_size);
}

static size_t transport_offset(const uint8_t *data, size_t len)
{
	const uint8_t *frame = data + FRAME_VNET_LEN;
	size_t ip = FRAME_VNET_LEN + ETHER_HDR_LEN;

	if (len <= ip)
		return len;
	if (ether_type(frame) == ETHERTYPE_IPV6)
		return ip + IPV6_HEADER_LEN;
	if (ether_type(frame) == ETHERTYPE_IP)
		return ip + (size_t)(data[ip] & 0x0f) * 4;
	return len;
}

/* The field holds the pseudo header sum (CHECKSUM_PARTIAL): add the rest. */
static void checksum_fill(uint8_t *data, size_t len, const struct virtio_net_hdr *vnet)
{
	size_t start = FRAME_VNET_LEN + vnet->csum_start, field = start + vnet->csum_offset;
	uint32_t sum = 0;

	if (field + 2 > len)
		return;
	for (size_t i = start; i < len; i++)
		sum += (i - start) % 2 ? data[i] : (uint32_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	if (sum == 0)
		sum = 0xffff;
	data[field] = (uint8_t)(sum >> 8);
	data[field + 1] = (uint8_t)sum;
}

int frame_corrupt(uint8_t *data, size_t len, uint64_t bit)
{
	struct virtio_net_hdr vnet = vnet_read(data);
	size_t offset = transport_offset(data, len);

	if (vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE)
		return -EOPNOTSUPP;
	if (offset >= len)
		return -ENODATA;
	if (vnet.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		checksum_fill(data, len, &vnet);
	/* No flags: the receiving kernel verifies the checksum. */
	memset(data, 0, FRAME_VNET_LEN);
	bit %= (uint64_t)(len - offset) * 8;
	data[offset + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return 0;
}
