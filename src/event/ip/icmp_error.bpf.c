// SPDX-License-Identifier: GPL-2.0-only
/*
 * icmp.error: ICMP errors received and sent, with the socket of the packet. The packet inside the message names the
 * flow; its owner is known from what the flow sent. Whether the socket gets the error is seen while the kernel
 * processes the message: an error report on the same CPU before the message is freed.
 */
#include "event/bpf/flow_owner.bpf.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"
#include "event/ip/icmp.h"

EVENT(icmp_error, struct icmp_error_event)
FLOW_OWNERS(icmp_error)

/* Types and codes; the IPv4 header file pulls in half of the C library. */
#define ICMP_DEST_UNREACH   3
#define ICMP_NET_UNREACH    0
#define ICMP_HOST_UNREACH   1
#define ICMP_PROT_UNREACH   2
#define ICMP_PORT_UNREACH   3
#define ICMP_FRAG_NEEDED    4
#define ICMP_NET_UNKNOWN    6
#define ICMP_HOST_UNKNOWN   7
#define ICMP_NET_ANO        9
#define ICMP_HOST_ANO       10
#define ICMP_NET_UNR_TOS    11
#define ICMP_HOST_UNR_TOS   12
#define ICMP_PKT_FILTERED   13
#define ICMP_SOURCE_QUENCH  4
#define ICMP_REDIRECT       5
#define ICMP_TIME_EXCEEDED  11
#define ICMP_EXC_TTL        0
#define ICMP_PARAMETERPROB  12
#define ICMPV6_DEST_UNREACH 1
#define ICMPV6_PKT_TOOBIG   2
#define ICMPV6_TIME_EXCEED  3
#define ICMPV6_PARAMPROB    4

#define ERRNO_END           4096

struct icmp_header {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be32 rest;
};

/* The message that this CPU processes. */
struct in_hand {
	__u64 skb;
	struct sock *sk; /* from the flow table: may be freed, read with probe_read only */
	struct icmp_error_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct in_hand);
} icmp_error_in_hand SEC(".maps");

static __always_inline __u8 unreachable_kind(__u8 code)
{
	switch (code) {
	case ICMP_NET_UNREACH:
	case ICMP_NET_UNKNOWN:
	case ICMP_NET_UNR_TOS:
		return ICMP_KIND_NET;
	case ICMP_HOST_UNREACH:
	case ICMP_HOST_UNKNOWN:
	case ICMP_HOST_UNR_TOS:
		return ICMP_KIND_HOST;
	case ICMP_PROT_UNREACH:
		return ICMP_KIND_PROTO;
	case ICMP_PORT_UNREACH:
		return ICMP_KIND_PORT;
	case ICMP_FRAG_NEEDED:
		return ICMP_KIND_FRAG_NEEDED;
	case ICMP_NET_ANO:
	case ICMP_HOST_ANO:
	case ICMP_PKT_FILTERED:
		return ICMP_KIND_PROHIBITED;
	default:
		return ICMP_KIND_UNREACHABLE;
	}
}

/* 0: not an error. */
static __always_inline __u8 kind_v4(const struct icmp_header *icmp)
{
	switch (icmp->type) {
	case ICMP_DEST_UNREACH:
		return unreachable_kind(icmp->code);
	case ICMP_TIME_EXCEEDED:
		return icmp->code == ICMP_EXC_TTL ? ICMP_KIND_TTL : ICMP_KIND_REASSEMBLY;
	case ICMP_PARAMETERPROB:
		return ICMP_KIND_PARAMETER;
	case ICMP_REDIRECT:
		return ICMP_KIND_REDIRECT;
	case ICMP_SOURCE_QUENCH:
		return ICMP_KIND_QUENCH;
	default:
		return 0;
	}
}

static __always_inline __u8 kind_v6(const struct icmp_header *icmp)
{
	switch (icmp->type) {
	case ICMPV6_DEST_UNREACH:
		/* No route, prohibited, beyond the scope, address, port, source's policy, route rejects. */
		switch (icmp->code) {
		case 0:
			return ICMP_KIND_NET;
		case 1:
		case 5:
		case 6:
			return ICMP_KIND_PROHIBITED;
		case 3:
			return ICMP_KIND_HOST;
		case 4:
			return ICMP_KIND_PORT;
		default:
			return ICMP_KIND_UNREACHABLE;
		}
	case ICMPV6_PKT_TOOBIG:
		return ICMP_KIND_FRAG_NEEDED;
	case ICMPV6_TIME_EXCEED:
		return icmp->code == 0 ? ICMP_KIND_TTL : ICMP_KIND_REASSEMBLY;
	case ICMPV6_PARAMPROB:
		return ICMP_KIND_PARAMETER;
	default:
		return 0;
	}
}

/* Global, so that it is verified once: each kind would be another path through all that follows. */
__noinline int icmp_error_kind(bool v6, __u32 type, __u32 code)
{
	struct icmp_header icmp = {.type = (__u8)type, .code = (__u8)code};

	return v6 ? kind_v6(&icmp) : kind_v4(&icmp);
}

/* A ping has no ports but an identifier. It replaces the port in the flow table only. */
static __always_inline void key_by_id(struct flow_key *key, const struct packet *packet, struct sk_buff *skb)
{
	__be16 id = 0;

	if ((packet->proto != IPPROTO_ICMP && packet->proto != IPPROTO_ICMPV6) || !packet->transport)
		return;
	bpf_probe_read_kernel(&id, sizeof(id), skb->head + packet->transport + 4);
	key->lport = bpf_ntohs(id);
}

static __always_inline bool wants_owner(void)
{
	return icmp_error_config.needs & FLOW_OWNER_NEEDS;
}

/* The event with all fields from the message itself; NULL if it is not an error. */
static __always_inline struct icmp_error_event *message_begin(struct sk_buff *skb, __u32 network, __u8 dir,
							      struct packet *inner)
{
	struct icmp_header icmp = {};
	struct icmp_error_event *e;
	struct packet outer;
	__u32 end = packet_linear_end(skb);
	bool v6 = skb->protocol == bpf_htons(ETH_P_IPV6);
	__u8 kind;

	if (!packet_read_at(&outer, skb, network) || !outer.transport || outer.transport + sizeof(icmp) > end ||
	    bpf_probe_read_kernel(&icmp, sizeof(icmp), skb->head + outer.transport) < 0)
		return NULL;
	kind = (__u8)icmp_error_kind(v6, icmp.type, icmp.code);
	if (!kind || !packet_read_at(inner, skb, outer.transport + sizeof(icmp)))
		return NULL;
	if (inner->transport + 8 > end) {
		/* The quoted part of the packet is too short for them. */
		inner->transport = 0;
		inner->source_port = inner->destination_port = 0;
	}
	e = icmp_error_begin();
	if (!e)
		return NULL;
	packet_set_dev(&e->head, e->data.dev, skb->dev);
	/* The undelivered packet came from the other end, seen from here. */
	packet_set_endpoints(&e->head, inner, dir == PACKET_RX ? PACKET_TX : PACKET_RX);
	e->data.sender = outer.source;
	e->data.dir = dir;
	e->data.kind = kind;
	e->data.type = icmp.type;
	e->data.code = icmp.code;
	if (kind == ICMP_KIND_FRAG_NEEDED)
		e->data.mtu = bpf_ntohl(icmp.rest) & (v6 ? ~0u : 0xffffu);
	return e;
}

static __always_inline struct in_hand *in_hand(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&icmp_error_in_hand, &zero);
}

/* A connection locked by a process does not get the error, but keeps it as soft error. */
static __always_inline void set_soft_error(struct in_hand *hand)
{
	struct sock *sk = hand->sk;
	int error;

	if (!sk || hand->event.head.proto != IPPROTO_TCP || hand->event.data.error ||
	    BPF_CORE_READ(sk, __sk_common.skc_num) != hand->event.head.lport)
		return;
	error = BPF_CORE_READ(sk, sk_err_soft);
	if (error > 0 && error < ERRNO_END)
		hand->event.data.soft_error = (__u32)error;
}

/* Reports the message being processed. */
static __always_inline int put_down(void *ctx, struct in_hand *hand)
{
	struct icmp_error_event *e;

	hand->skb = 0;
	set_soft_error(hand);
	e = icmp_error_begin();
	if (!e)
		return 0;
	__builtin_memcpy(e, &hand->event, sizeof(*e));
	return icmp_error_end(ctx, e);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(icmp_error_received, struct sk_buff *skb)
{
	struct icmp_error_event *e;
	struct packet inner;
	struct in_hand *hand;

	hand = in_hand();
	if (!hand)
		return 0;
	/* A message queued to a socket and freed elsewhere, or whose end was not seen. */
	if (hand->skb)
		put_down(ctx, hand);
	if (!packet_arrives_with(skb, IPPROTO_ICMP, IPPROTO_ICMPV6) ||
	    BPF_CORE_READ_BITFIELD(skb, pkt_type) != PACKET_HOST)
		return 0;
	e = message_begin(skb, (__u32)(skb->data - skb->head), PACKET_RX, &inner);
	if (!e)
		return 0;
	if (wants_owner()) {
		struct flow_key key;

		flow_set_key(&key, &e->head);
		key_by_id(&key, &inner, skb);
		hand->sk = flow_recall_owner(&icmp_error_owners, &key, &e->head);
	}
	__builtin_memcpy(&hand->event, e, sizeof(*e));
	hand->skb = event_address(skb);
	icmp_error_cancel(e);
	return 0;
}

/* A connection ended by the message has released its port, but still knows it. */
static __always_inline __u16 local_port(struct sock *sk)
{
	__u16 port = sk->__sk_common.skc_num;

	return port ? port : bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
}

/* The socket got the error. */
SEC("tp_btf/inet_sk_error_report")
int BPF_PROG(icmp_error_delivered, struct sock *sk)
{
	struct in_hand *hand = in_hand();
	struct icmp_error_event *e;

	if (!hand || !hand->skb)
		return 0;
	e = &hand->event;
	if (sk->sk_protocol != e->head.proto || (e->head.lport && e->head.lport != local_port(sk)))
		return 0;
	e->data.error = (__u32)sk->sk_err;
	event_set_owner(&icmp_error_config, &e->head, sk);
	e->head.cookie = event_cookie(sk);
	return 0;
}

static __always_inline int freed(void *ctx, struct sk_buff *skb)
{
	struct in_hand *hand = in_hand();

	if (hand && hand->skb == event_address(skb))
		return put_down(ctx, hand);
	return 0;
}

SEC("tp_btf/consume_skb")
int BPF_PROG(icmp_error_consumed, struct sk_buff *skb)
{
	return freed(ctx, skb);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(icmp_error_dropped, struct sk_buff *skb)
{
	return freed(ctx, skb);
}

static __always_inline void note_sender(struct sk_buff *skb, struct sock *sk)
{
	struct net_device *dev = skb->dev;
	struct flow_key key = {};
	struct packet packet;

	if (!wants_owner() || !dev || !packet_read(&packet, skb))
		return;
	key.laddr = packet.source;
	key.raddr = packet.destination;
	key.proto = packet.proto;
	key.lport = packet.source_port;
	key.rport = packet.destination_port;
	key.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	key_by_id(&key, &packet, skb);
	flow_note_owner(&icmp_error_owners, &key, sk);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(icmp_error_sent, struct sk_buff *skb)
{
	struct in_hand *hand = in_hand();
	struct icmp_error_event *e;
	struct packet inner;
	struct sock *sk = skb->sk;

	/* Forwarded, not for this host. */
	if (hand && hand->skb == event_address(skb))
		hand->skb = 0;
	if (!sk || !is_whole(sk))
		return 0;
	/* Messages of the kernel come from its own ICMP socket. */
	if (sk->sk_protocol == IPPROTO_ICMP || sk->sk_protocol == IPPROTO_ICMPV6) {
		e = message_begin(skb, skb->network_header, PACKET_TX, &inner);
		if (e)
			return icmp_error_end(ctx, e);
	}
	note_sender(skb, sk);
	return 0;
}
