// SPDX-License-Identifier: GPL-2.0-only
/*
 * ip.frag: received and transmitted fragments, and those dropped while they wait for reassembly: timeout, or memory
 * limit. The kernel does not report completion: it is computed from the received fragments.
 */
#include "event/ip/ip_frag.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(ip_frag, struct ip_frag_event)

#define PACKET_OTHERHOST 3
#define IP_MORE          0x2000
#define IP_OFFSET        0x1fff
#define IPV6_HEADER      40
#define ETIMEDOUT        110
#define ENOMEM           12

struct fragment {
	__u32 id;
	__u32 offset;
	__u32 bytes; /* of the fragmented packet */
	bool more;
};

/* A packet under reassembly. */
struct whole_key {
	struct addr source;
	struct addr destination;
	__u8 proto;
	__u8 unused;
	__u32 id;
	__u32 netns;
};

struct whole {
	__u64 since_ns;
	__u64 since_jiffies;
	__u32 bytes; /* received so far */
	__u32 total; /* 0: last fragment not received yet */
	__u32 fragments;
	__u32 lost;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct whole_key);
	__type(value, struct whole);
} ip_frag_wholes SEC(".maps");

/* A waiting fragment no longer has its interface: the receiving interface, by address. */
struct arrival {
	struct net *net;
	__u32 netns;
	char dev[PACKET_DEV_LEN];
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct arrival);
} ip_frag_arrivals SEC(".maps");

static __always_inline bool read_fragment_v4(struct fragment *fragment, const unsigned char *ip)
{
	__be16 words[4] = {};
	__u16 bits, total;
	__u8 first = 0;

	/* Version and header length, total length, identification, flags and offset. */
	bpf_probe_read_kernel(words, sizeof(words), ip);
	bits = bpf_ntohs(words[3]);
	if (!(bits & (IP_MORE | IP_OFFSET)))
		return false;
	bpf_probe_read_kernel(&first, sizeof(first), ip);
	total = bpf_ntohs(words[1]);
	fragment->id = bpf_ntohs(words[2]);
	fragment->offset = (bits & IP_OFFSET) * 8u;
	fragment->bytes = total - (first & 15) * 4u;
	fragment->more = bits & IP_MORE;
	return true;
}

/* The fragment header directly follows the IPv6 header, as Linux and others send it. */
static __always_inline bool read_fragment_v6(struct fragment *fragment, const unsigned char *ip)
{
	__u8 next = 0;
	__be16 words[4] = {};
	__be16 length = 0;
	__u16 bits;

	bpf_probe_read_kernel(&next, sizeof(next), ip + 6);
	if (next != IPPROTO_FRAGMENT)
		return false;
	bpf_probe_read_kernel(&length, sizeof(length), ip + 4);
	bpf_probe_read_kernel(words, sizeof(words), ip + IPV6_HEADER);
	bits = bpf_ntohs(words[1]);
	fragment->id = (__u32)bpf_ntohs(words[2]) << 16 | bpf_ntohs(words[3]);
	fragment->offset = bits & 0xfff8;
	fragment->bytes = bpf_ntohs(length) - 8u;
	fragment->more = bits & 1;
	return true;
}

static __always_inline bool read_fragment(struct fragment *fragment, struct sk_buff *skb, __u32 network)
{
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return read_fragment_v4(fragment, skb->head + network);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return read_fragment_v6(fragment, skb->head + network);
	return false;
}

static __always_inline struct ip_frag_event *fragment_begin(const struct packet *packet,
							    const struct fragment *fragment, __u8 what)
{
	struct ip_frag_event *e = ip_frag_begin();

	if (!e)
		return NULL;
	packet_set_endpoints(&e->head, packet, what == IP_FRAG_TX ? PACKET_TX : PACKET_RX);
	e->data.what = what;
	e->data.id = fragment->id;
	e->data.offset = fragment->offset;
	e->data.bytes = fragment->bytes;
	e->data.more = fragment->more;
	e->data.lat_ns = e->data.mem_bytes = e->data.mem_limit = EVENT_UNKNOWN64;
	return e;
}

static __always_inline struct fqdir *limits_of(struct net *net, bool v6)
{
	return v6 ? BPF_CORE_READ(net, ipv6.fqdir) : BPF_CORE_READ(net, ipv4.fqdir);
}

static __always_inline void set_memory(struct ip_frag *data, struct fqdir *fqdir)
{
	if (!fqdir)
		return;
	data->mem_bytes = (__u64)BPF_CORE_READ(fqdir, mem.counter);
	data->mem_limit = (__u64)BPF_CORE_READ(fqdir, high_thresh);
}

static __always_inline void set_key(struct whole_key *key, const struct packet *packet, const struct fragment *fragment,
				    __u32 netns)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->source = packet->source;
	key->destination = packet->destination;
	/* With IPv6 the identification alone matches fragments. */
	key->proto = packet->source.family == ADDR_V4 ? packet->proto : 0;
	key->id = fragment->id;
	key->netns = netns;
}

static __always_inline void add_up(struct ip_frag *data, const struct whole_key *key, const struct fragment *fragment)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct whole *whole = bpf_map_lookup_elem(&ip_frag_wholes, key),
		     first = {.since_ns = now, .since_jiffies = bpf_jiffies64()};

	if (!whole) {
		event_remember(&ip_frag_wholes, key, &first, &ip_frag_losses);
		whole = bpf_map_lookup_elem(&ip_frag_wholes, key);
		if (!whole)
			return;
	}
	whole->bytes += fragment->bytes;
	whole->fragments++;
	if (!fragment->more)
		whole->total = fragment->offset + fragment->bytes;
	data->fragments = whole->fragments;
	data->lat_ns = now - whole->since_ns;
	if (whole->total && whole->bytes >= whole->total) {
		data->whole = 1;
		bpf_map_delete_elem(&ip_frag_wholes, key);
	}
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(ip_frag_received, struct sk_buff *skb)
{
	__u32 network = (__u32)(skb->data - skb->head);
	struct net_device *dev = skb->dev;
	struct fragment fragment = {};
	struct arrival arrival = {};
	__u64 address = event_address(skb);
	struct whole_key key;
	struct packet packet;
	struct ip_frag_event *e;

	if (!read_fragment(&fragment, skb, network) || !dev ||
	    BPF_CORE_READ_BITFIELD(skb, pkt_type) == PACKET_OTHERHOST || !packet_read_at(&packet, skb, network))
		return 0;
	e = fragment_begin(&packet, &fragment, IP_FRAG_RX);
	if (!e)
		return 0;
	packet_set_dev(&e->head, e->data.dev, dev);
	arrival.net = BPF_CORE_READ(dev, nd_net.net);
	arrival.netns = e->head.netns;
	__builtin_memcpy(arrival.dev, e->data.dev, sizeof(arrival.dev));
	event_remember(&ip_frag_arrivals, &address, &arrival, &ip_frag_losses);
	set_memory(&e->data, limits_of(arrival.net, packet.source.family == ADDR_V6));
	set_key(&key, &packet, &fragment, arrival.netns);
	add_up(&e->data, &key, &fragment);
	return ip_frag_end(ctx, e);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(ip_frag_sent, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct fragment fragment = {};
	struct sock *sk = skb->sk;
	__u64 address = event_address(skb);
	struct ip_frag_event *e;
	struct packet packet;

	if (!read_fragment(&fragment, skb, skb->network_header) || !packet_read(&packet, skb))
		return 0;
	/* Forwarded as is: no reassembly here. */
	bpf_map_delete_elem(&ip_frag_arrivals, &address);
	e = fragment_begin(&packet, &fragment, IP_FRAG_TX);
	if (!e)
		return 0;
	packet_set_dev(&e->head, e->data.dev, dev);
	if (sk && is_whole(sk)) {
		event_set_owner(&ip_frag_config, &e->head, sk);
		e->head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	}
	return ip_frag_end(ctx, e);
}

/*
 * Since 6.3 the kernel reports the timeout. Before, nothing else drops a fragment so late: the timer starts with the
 * first fragment.
 */
static __always_inline bool is_timeout(__u32 reason, const struct whole *whole, struct fqdir *fqdir)
{
	if (bpf_core_enum_value_exists(enum skb_drop_reason___frag, SKB_DROP_REASON_FRAG_REASM_TIMEOUT___frag))
		return reason ==
		       bpf_core_enum_value(enum skb_drop_reason___frag, SKB_DROP_REASON_FRAG_REASM_TIMEOUT___frag);
	return fqdir && bpf_jiffies64() - whole->since_jiffies >= (__u64)BPF_CORE_READ(fqdir, timeout);
}

/* Reason of the drop. */
static __always_inline void set_reason(struct ip_frag *data, __u32 reason, const struct whole *whole,
				       struct fqdir *fqdir)
{
	data->reason = reason;
	if (is_timeout(reason, whole, fqdir))
		data->error = ETIMEDOUT;
	else if (data->mem_bytes != EVENT_UNKNOWN64 && data->mem_bytes > data->mem_limit)
		data->error = ENOMEM;
}

static __always_inline int lost(unsigned long long *ctx, struct sk_buff *skb)
{
	__u64 address = event_address(skb);
	struct arrival *arrival = bpf_map_lookup_elem(&ip_frag_arrivals, &address), from;
	struct fragment fragment = {};
	struct ip_frag_event *e;
	struct fqdir *fqdir;
	struct whole *whole;
	struct whole_key key;
	struct packet packet;

	if (!arrival)
		return 0;
	from = *arrival;
	bpf_map_delete_elem(&ip_frag_arrivals, &address);
	/* The address may belong to another packet by now. */
	if (!read_fragment(&fragment, skb, skb->network_header) || !packet_read(&packet, skb))
		return 0;
	set_key(&key, &packet, &fragment, from.netns);
	whole = bpf_map_lookup_elem(&ip_frag_wholes, &key);
	/* Of a completed packet, dropped as a whole later. */
	if (!whole)
		return 0;
	e = fragment_begin(&packet, &fragment, IP_FRAG_LOST);
	if (!e)
		return 0;
	e->head.netns = from.netns;
	__builtin_memcpy(e->data.dev, from.dev, sizeof(from.dev));
	e->data.lat_ns = bpf_ktime_get_boot_ns() - whole->since_ns;
	e->data.fragments = whole->fragments;
	fqdir = limits_of(from.net, packet.source.family == ADDR_V6);
	set_memory(&e->data, fqdir);
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason))
		set_reason(&e->data, (__u32)ctx[2], whole, fqdir);
	if (++whole->lost >= whole->fragments)
		bpf_map_delete_elem(&ip_frag_wholes, &key);
	return ip_frag_end(ctx, e);
}

/* Timers drop many at once and may interrupt this program: its twin handles that. The first one takes the entry. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(ip_frag_lost, struct sk_buff *skb)
{
	return lost(ctx, skb);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(ip_frag_lost_twin, struct sk_buff *skb)
{
	return lost(ctx, skb);
}
