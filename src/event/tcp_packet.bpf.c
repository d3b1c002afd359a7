// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.packet: packets where they enter and leave the host's own stack. A packet that arrives does not know its socket yet, so
 * the owner of each connection is remembered from what it sent.
 */
#include "event/tcp_packet.h"
#include "event/packet.bpf.h"
#include "event/tcp.bpf.h"

EVENT(tcp_packet, struct tcp_packet_event)

#define PACKET_HOST 0

struct connection {
	struct addr laddr;
	struct addr raddr;
	__u16 lport;
	__u16 rport;
	__u16 unused;
	__u32 netns;
};

struct connection_owner {
	struct sock_owner owner;
	__u64 cookie;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct connection);
	__type(value, struct connection_owner);
} tcp_packet_owners SEC(".maps");

static __always_inline bool wants_owner(void)
{
	return tcp_packet_config.needs & (EVENT_NEED_OWNER | EVENT_NEED_COMM | EVENT_NEED_CGROUP | EVENT_NEED_COOKIE);
}

static __always_inline void set_connection(struct connection *connection, const struct event_head *head)
{
	__builtin_memset(connection, 0, sizeof(*connection));
	connection->laddr = head->laddr;
	connection->raddr = head->raddr;
	connection->lport = head->lport;
	connection->rport = head->rport;
	connection->netns = head->netns;
}

static __always_inline void remember_owner(const struct event_head *head, struct sock *sk)
{
	struct sock_owner *owner = bpf_sk_storage_get(&event_owners, sk, NULL, 0);
	struct connection_owner known = {};
	struct connection connection;

	if (!owner)
		return;
	known.owner = *owner;
	known.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	set_connection(&connection, head);
	bpf_map_update_elem(&tcp_packet_owners, &connection, &known, BPF_ANY);
}

static __always_inline void recall_owner(struct event_head *head)
{
	struct connection_owner *known;
	struct connection connection;

	set_connection(&connection, head);
	known = bpf_map_lookup_elem(&tcp_packet_owners, &connection);
	if (!known)
		return;
	head->pid = known->owner.pid_tgid >> 32;
	head->tid = (__u32)known->owner.pid_tgid;
	head->uid = known->owner.uid;
	head->cgroup_id = known->owner.cgroup_id;
	head->cookie = known->cookie;
	__builtin_memcpy(head->comm, known->owner.comm, sizeof(head->comm));
}

/* Everything that the packet itself tells; NULL when it is no TCP packet. */
static __always_inline struct tcp_packet_event *packet_begin(struct sk_buff *skb, __u32 network, __u8 dir)
{
	struct skb_shared_info *shared = (struct skb_shared_info *)(skb->head + skb->end);
	struct net_device *dev = skb->dev;
	struct tcp_packet_event *e;
	struct packet packet;
	struct packet_tcp tcp;

	if (!packet_read_at(&packet, skb, network) || !packet_read_tcp(&tcp, &packet, skb))
		return NULL;
	e = tcp_packet_begin();
	if (!e)
		return NULL;
	packet_set_endpoints(&e->head, &packet, dir);
	e->data.dir = dir;
	e->data.bytes = tcp.bytes;
	e->data.seq = tcp.seq;
	e->data.ack = tcp.ack;
	e->data.window = tcp.window;
	e->data.flags = tcp.flags;
	e->data.gso_bytes = BPF_CORE_READ(shared, gso_size);
	if (dev) {
		bpf_probe_read_kernel_str(e->data.dev, sizeof(e->data.dev), dev->name);
		e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	}
	return e;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tcp_packet_sent, struct sk_buff *skb)
{
	struct tcp_packet_event *e;
	struct sock *sk;

	/* What is forwarded was not sent here. */
	if (skb->skb_iif)
		return 0;
	e = packet_begin(skb, skb->network_header, PACKET_TX);
	if (!e)
		return 0;
	sk = skb->sk;
	if (sk && is_whole(sk)) {
		event_set_owner(&tcp_packet_config, &e->head, sk);
		e->head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
		if (wants_owner())
			remember_owner(&e->head, sk);
	}
	return tcp_packet_end(ctx, e);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(tcp_packet_received, struct sk_buff *skb)
{
	struct tcp_packet_event *e;

	if (BPF_CORE_READ_BITFIELD(skb, pkt_type) != PACKET_HOST)
		return 0;
	e = packet_begin(skb, (__u32)(skb->data - skb->head), PACKET_RX);
	if (!e)
		return 0;
	if (wants_owner())
		recall_owner(&e->head);
	return tcp_packet_end(ctx, e);
}
