/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packet headers, read from an sk_buff anywhere in the stack. Only packet_read touches the packet; packet_set_endpoints
 * copies the result into an event, from this host's point of view.
 */
#pragma once

#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>

#include "event/bpf/event.bpf.h"
#include "event/core/packet.h"

#define ETH_P_IP   0x0800
#define ETH_P_IPV6 0x86dd

/* skb->pkt_type of packets for this host. */
#define PACKET_HOST 0

/* IPv6: skipped extension headers, their maximum number, and ICMPv6. */
#define IPPROTO_HOPOPTS       0
#define IPPROTO_ROUTING       43
#define IPPROTO_FRAGMENT      44
#define IPPROTO_ICMPV6        58
#define IPPROTO_DSTOPTS       60
#define PACKET_EXTENSIONS_MAX 4

/* The fixed IPv6 header; the UAPI header conflicts with vmlinux.h. */
struct packet_v6 {
	__u8 version; /* upper half */
	__u8 flow[3];
	__be16 bytes;
	__u8 next;
	__u8 hops;
	__u32 source[4];
	__u32 destination[4];
};

struct packet {
	__u64 head; /* skb->head, for packet_read_v6 */
	/* Looked at in words. */
	struct addr source __attribute__((aligned(8)));
	struct addr destination __attribute__((aligned(8)));
	__u8 proto;
	__u8 unused;
	__u16 source_port;
	__u16 destination_port;
	__u32 transport; /* offset of the transport header from skb->head; 0: none, not the first fragment */
	__u32 bytes;     /* from the transport header */
};

/* Fields of a TCP header, in host byte order. */
struct packet_tcp {
	__u32 seq;
	__u32 ack;
	__u32 bytes; /* payload */
	__u16 window;
	__u8 flags;
};

static __always_inline bool packet_read_v4(struct packet *packet, const unsigned char *head, __u32 network)
{
	struct iphdr ip;
	__u32 total;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), head + network) < 0 || ip.version != 4 || ip.ihl < 5)
		return false;
	event_set_v4(&packet->source, ip.saddr);
	event_set_v4(&packet->destination, ip.daddr);
	packet->proto = ip.protocol;
	total = bpf_ntohs(ip.tot_len);
	packet->bytes = total > ip.ihl * 4u ? total - ip.ihl * 4u : 0;
	if ((bpf_ntohs(ip.frag_off) & 0x1fff) == 0)
		packet->transport = network + ip.ihl * 4u;
	return true;
}

/*
 * Not static, so that it is verified but once: every number of extension headers would be another way through all that
 * follows. Before 5.12 such functions take no pointers.
 */
#ifdef BPF_BASIC
static __noinline
#else
__weak __noinline
#endif
	int
	packet_read_v6(struct packet *packet, __u32 network)
{
	struct packet_v6 ip;
	__u8 next;

	if (!packet || bpf_probe_read_kernel(&ip, sizeof(ip), (const void *)(packet->head + network)) < 0 ||
	    ip.version >> 4 != 6)
		return false;
	event_set_v6(&packet->source, ip.source);
	event_set_v6(&packet->destination, ip.destination);
	next = ip.next;
	packet->transport = network + sizeof(ip);
	packet->bytes = bpf_ntohs(ip.bytes);
	for (int i = 0; i < PACKET_EXTENSIONS_MAX; i++) {
		__u8 extension[4];
		__u32 size;

		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
		    next != IPPROTO_FRAGMENT)
			break;
		if (bpf_probe_read_kernel(extension, sizeof(extension),
					  (const void *)(packet->head + packet->transport)) < 0)
			return false;
		/* Later fragments have no transport header. */
		if (next == IPPROTO_FRAGMENT && ((extension[2] << 8 | extension[3]) & 0xfff8)) {
			packet->transport = 0;
			next = extension[0];
			break;
		}
		size = next == IPPROTO_FRAGMENT ? 8 : (extension[1] + 1u) * 8;
		packet->transport += size;
		packet->bytes = packet->bytes > size ? packet->bytes - size : 0;
		next = extension[0];
	}
	packet->proto = next;
	return true;
}

/* With a network header of that protocol at that offset from skb->head. */
static __always_inline bool packet_read_as(struct packet *packet, struct sk_buff *skb, __be16 protocol, __u32 network)
{
	const unsigned char *head = skb->head;
	__be16 ports[2];
	bool found = false;

	__builtin_memset(packet, 0, sizeof(*packet));
	if (network == 0 || network == 0xffff)
		return false;
	if (protocol == bpf_htons(ETH_P_IP)) {
		found = packet_read_v4(packet, head, network);
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		packet->head = (__u64)head;
		found = packet_read_v6(packet, network);
	}
	if (!found)
		return false;
	if (packet->transport && (packet->proto == IPPROTO_TCP || packet->proto == IPPROTO_UDP) &&
	    bpf_probe_read_kernel(ports, sizeof(ports), head + packet->transport) == 0) {
		packet->source_port = bpf_ntohs(ports[0]);
		packet->destination_port = bpf_ntohs(ports[1]);
	}
	return true;
}

/* The same at packet arrival, before skb->network_header is set. */
static __always_inline bool packet_read_at(struct packet *packet, struct sk_buff *skb, __u32 network)
{
	return packet_read_as(packet, skb, skb->protocol, network);
}

/* False if not IP, or the headers are gone. Ports are 0 without a transport header. */
static __always_inline bool packet_read(struct packet *packet, struct sk_buff *skb)
{
	return packet_read_at(packet, skb, skb->network_header);
}

/*
 * Whether a received packet has that protocol (proto6 for IPv6), with minimal reads: first check of per-packet
 * programs. data is the IP header here.
 */
static __always_inline bool packet_arrives_with(struct sk_buff *skb, __u8 proto, __u8 proto6)
{
	__be16 family = skb->protocol;
	__u8 next = 0;

	if (family == bpf_htons(ETH_P_IP)) {
		bpf_probe_read_kernel(&next, sizeof(next), skb->data + 9);
		return next == proto;
	}
	if (family == bpf_htons(ETH_P_IPV6)) {
		bpf_probe_read_kernel(&next, sizeof(next), skb->data + 6);
		return next == proto6;
	}
	return false;
}

/* End of the linear part, as offset from skb->head. */
static __always_inline __u32 packet_linear_end(struct sk_buff *skb)
{
	return (__u32)(skb->data - skb->head) + skb->len - skb->data_len;
}

/* Length from the IP header at that offset, whatever skb->data points to. */
static __always_inline __u32 packet_bytes_from(struct sk_buff *skb, __u32 network)
{
	return (__u32)(skb->data - skb->head) + skb->len - network;
}

static __always_inline void packet_set_dev(struct event_head *head, char *name, struct net_device *dev)
{
	if (!dev)
		return;
	bpf_probe_read_kernel_str(name, PACKET_DEV_LEN, dev->name);
	head->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

/* TCP header of a packet read before; false if it has none. */
static __always_inline bool packet_read_tcp(struct packet_tcp *tcp, const struct packet *packet, struct sk_buff *skb)
{
	__u32 header, at = packet->transport;
	struct tcphdr th;

	__builtin_memset(tcp, 0, sizeof(*tcp));
	if (packet->proto != IPPROTO_TCP || !at || bpf_probe_read_kernel(&th, sizeof(th), skb->head + at) < 0)
		return false;
	header = th.doff * 4u;
	tcp->seq = bpf_ntohl(th.seq);
	tcp->ack = bpf_ntohl(th.ack_seq);
	tcp->window = bpf_ntohs(th.window);
	tcp->flags = ((const __u8 *)&th)[13];
	tcp->bytes = packet->bytes > header ? packet->bytes - header : 0;
	/* Too large for the IP length field: GSO. */
	if (packet->bytes == 0) {
		__u32 end = (__u32)(skb->data - skb->head) + skb->len;

		tcp->bytes = end > at + header ? end - at - header : 0;
	}
	return true;
}

static __always_inline void packet_set_endpoints(struct event_head *head, const struct packet *packet, __u8 dir)
{
	head->proto = packet->proto;
	head->family = packet->source.family;
	if (dir == PACKET_TX) {
		head->laddr = packet->source;
		head->raddr = packet->destination;
		head->lport = packet->source_port;
		head->rport = packet->destination_port;
	} else {
		head->laddr = packet->destination;
		head->raddr = packet->source;
		head->lport = packet->destination_port;
		head->rport = packet->source_port;
	}
}

/*
 * Socket of a transmitted packet: as event_set_sock, but the cookie helper does not accept a packet's socket, so the
 * cookie is known only if it was generated before.
 */
static __always_inline void packet_set_sock(const volatile struct event_config *config, struct event_head *head,
					    struct sock *sk)
{
	event_set_owner(config, head, sk);
	if (config->needs & EVENT_NEED_ENDPOINTS)
		event_set_tuple(head, sk);
	if (config->needs & EVENT_NEED_NETNS)
		head->netns = event_netns_of(sk);
	head->cookie = (__u64)sk->__sk_common.skc_cookie.counter;
}
