// SPDX-License-Identifier: GPL-2.0-only
/*
 * ip.route: route lookups. The kernel has a tracepoint only at their end; with fentry the start is also seen. Without
 * it, the lookup in the main table starts where that in the local table ended, if it was searched (IPv6, and IPv4 with
 * policy rules). For a packet just received on this CPU, the time since its arrival is an upper bound of the latency.
 */
#include "event/ip/ip_route.h"
#include "event/bpf/packet.bpf.h"

EVENT(ip_route, struct ip_route_event)

#define EHOSTUNREACH    113
#define EINVAL          22
#define EACCES          13
#define EAGAIN          11
#define RTN_BLACKHOLE   6
#define RTN_UNREACHABLE 7
#define RTN_PROHIBIT    8
#define RTN_THROW       9

/* Start of a lookup, by address of its flowi. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} ip_route_since SEC(".maps");

#define TABLE_MAIN  254
#define TABLE_LOCAL 255

/* State of this CPU: the last packet, and the last lookup without a match in the local table. */
struct hand {
	__u64 arrived_ns;
	__u64 asked_ns;
	const void *flow;
	__u32 ifindex;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hand);
} ip_route_hand SEC(".maps");

static __always_inline int begins(const void *flow)
{
	__u64 key = event_address(flow), now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&ip_route_since, &key, &now, BPF_ANY);
	return 0;
}

SEC("fentry/fib_table_lookup")
int BPF_PROG(ip_route_begin_v4, const void *table, const void *flow)
{
	return begins(flow);
}

SEC("fentry/fib6_table_lookup")
int BPF_PROG(ip_route_begin_v6, const void *net, const void *table, int oif, const void *flow)
{
	return begins(flow);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(ip_route_packet, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	__u32 zero = 0;
	struct hand *hand = bpf_map_lookup_elem(&ip_route_hand, &zero);

	if (hand && dev) {
		hand->arrived_ns = bpf_ktime_get_boot_ns();
		hand->ifindex = (__u32)BPF_CORE_READ(dev, ifindex);
	}
	return 0;
}

/* Call after table and error are set. ifindex: receiving interface; 1 for locally generated packets. */
static __always_inline void set_times(struct ip_route *data, const void *flow, __u32 ifindex)
{
	__u64 now = bpf_ktime_get_boot_ns(), key = event_address(flow), *since;
	__u32 zero = 0;
	struct hand *hand = bpf_map_lookup_elem(&ip_route_hand, &zero);

	data->lat_ns = data->lat_most_ns = EVENT_UNKNOWN64;
	if (!hand)
		return;
	since = bpf_map_lookup_elem(&ip_route_since, &key);
	if (since) {
		data->lat_ns = now - *since;
		bpf_map_delete_elem(&ip_route_since, &key);
	} else if (data->table == TABLE_MAIN && hand->flow == flow) {
		data->lat_ns = now - hand->asked_ns;
	}
	hand->flow = data->table == TABLE_LOCAL && data->error == EAGAIN ? flow : NULL;
	/* Only for the first lookup of a packet: for later ones the bound would include the first. */
	if (hand->arrived_ns && ifindex > 1 && hand->ifindex == ifindex) {
		data->lat_most_ns = now - hand->arrived_ns;
		hand->arrived_ns = 0;
	}
}

/* The next lookup starts now, without the time to report this one. */
static __always_inline int report(void *ctx, struct ip_route_event *e)
{
	__u32 zero = 0;
	struct hand *hand = bpf_map_lookup_elem(&ip_route_hand, &zero);

	ip_route_end(ctx, e);
	if (hand)
		hand->asked_ns = bpf_ktime_get_boot_ns();
	return 0;
}

static __always_inline void set_next_hop(struct ip_route_event *e, const struct fib_nh_common *hop)
{
	struct net_device *dev = BPF_CORE_READ(hop, nhc_dev);
	__u8 family = BPF_CORE_READ(hop, nhc_gw_family);
	__u32 words[4];

	if (dev) {
		BPF_CORE_READ_STR_INTO(&e->data.dev, dev, name);
		e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	}
	if (family == AF_INET) {
		event_set_v4(&e->data.gateway, BPF_CORE_READ(hop, nhc_gw.ipv4));
	} else if (family == AF_INET6) {
		BPF_CORE_READ_INTO(&words, hop, nhc_gw.ipv6.in6_u.u6_addr32);
		event_set_v6(&e->data.gateway, words);
	}
}

/* Addresses not chosen yet are unknown, not zero. */
static __always_inline void set_ends(struct event_head *head, const struct flowi_common *flow)
{
	head->proto = flow->flowic_proto;
	head->family = head->raddr.family;
	if (event_is_any(&head->laddr))
		head->laddr = (struct addr){};
}

SEC("tp_btf/fib_table_lookup")
int BPF_PROG(ip_route_end_v4, __u32 table, const struct flowi4 *flow, const struct fib_nh_common *hop, int error)
{
	struct ip_route_event *e = ip_route_begin();

	if (!e)
		return 0;
	event_set_v4(&e->head.laddr, flow->saddr);
	event_set_v4(&e->head.raddr, flow->daddr);
	set_ends(&e->head, &flow->__fl_common);
	e->data.table = table;
	e->data.error = error < 0 ? (__u32)-error : 0;
	set_times(&e->data, flow, (__u32)flow->__fl_common.flowic_iif);
	if (hop)
		set_next_hop(e, hop);
	return report(ctx, e);
}

static __always_inline __u32 error_of_type(__u8 type)
{
	switch (type) {
	case RTN_BLACKHOLE:
		return EINVAL;
	case RTN_UNREACHABLE:
		return EHOSTUNREACH;
	case RTN_PROHIBIT:
		return EACCES;
	case RTN_THROW:
		return EAGAIN;
	default:
		return 0;
	}
}

SEC("tp_btf/fib6_table_lookup")
int BPF_PROG(ip_route_end_v6, const struct net *net, const struct fib6_result *result, struct fib6_table *table,
	     const struct flowi6 *flow)
{
	struct ip_route_event *e = ip_route_begin();
	__u32 words[4];

	if (!e)
		return 0;
	BPF_CORE_READ_INTO(&words, flow, saddr.in6_u.u6_addr32);
	event_set_v6(&e->head.laddr, words);
	BPF_CORE_READ_INTO(&words, flow, daddr.in6_u.u6_addr32);
	event_set_v6(&e->head.raddr, words);
	set_ends(&e->head, &flow->__fl_common);
	e->data.table = table->tb6_id;
	/* As IPv4: no match in this table. */
	if (result->f6i == net->ipv6.fib6_null_entry) {
		e->data.error = EAGAIN;
	} else {
		e->data.error = error_of_type(result->fib6_type);
		if (result->nh)
			set_next_hop(e, &result->nh->nh_common);
	}
	e->head.netns = net->ns.inum;
	set_times(&e->data, flow, (__u32)flow->__fl_common.flowic_iif);
	return report(ctx, e);
}
