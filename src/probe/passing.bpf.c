// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follows the sequence numbers of forwarded TCP segments where they leave: a segment that passes again was lost behind
 * this host, and one that fills a gap was lost before it. Only the highest sequence number is kept, so a retransmission
 * is what begins below it. Two CPUs that forward one direction at the same moment may lose a count.
 */
#include "probe/passing.bpf.h"
#include "kernel/types.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define AF_INET     2
#define AF_INET6    10
#define ETH_P_IP    0x0800
#define ETH_P_IPV6  0x86dd
#define IPPROTO_TCP 6
#define FIN_SYN     3
#define SYN         2
#define ACK         16
/* What fills a gap sooner was overtaken on its way. */
#define REORDERED_NS 3000000

/* Network namespaces that somebody asks about, with the forwarded packets that are in no flow. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} passing_watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct passing_key);
	__type(value, struct passing_figures);
} passing_flows SEC(".maps");

struct segment {
	__u32 seq, bytes;
	__u8 flags;
};

struct tcp_start {
	__be16 source, dest;
	__be32 seq, ack;
	__u8 offset; /* upper half */
	__u8 flags;
};

/* Offset of the TCP header from skb->head, and the bytes from there; 0: no TCP, or not the first fragment. */
static __always_inline __u32 read_network(struct sk_buff *skb, struct passing_key *key, __u32 *bytes)
{
	const unsigned char *network = skb->head + skb->network_header;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		__u8 ip[20];
		__u32 header;

		if (bpf_probe_read_kernel(ip, sizeof(ip), network) < 0 || ip[9] != IPPROTO_TCP || ip[6] & 0x1f || ip[7])
			return 0;
		header = (ip[0] & 15) * 4;
		*bytes = (__u32)(ip[2] << 8 | ip[3]) - header;
		__builtin_memcpy(&key->source[3], ip + 12, 4);
		__builtin_memcpy(&key->target[3], ip + 16, 4);
		key->family = AF_INET;
		return skb->network_header + header;
	}
	if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		__u8 ip[40];

		if (bpf_probe_read_kernel(ip, sizeof(ip), network) < 0 || ip[6] != IPPROTO_TCP)
			return 0;
		*bytes = (__u32)(ip[4] << 8 | ip[5]);
		__builtin_memcpy(key->source, ip + 8, 16);
		__builtin_memcpy(key->target, ip + 24, 16);
		key->family = AF_INET6;
		return skb->network_header + sizeof(ip);
	}
	return 0;
}

static __always_inline bool read_segment(struct sk_buff *skb, struct passing_key *key, struct segment *segment)
{
	__u32 bytes = 0, transport = read_network(skb, key, &bytes), header;
	struct tcp_start tcp;

	if (!transport || bpf_probe_read_kernel(&tcp, sizeof(tcp), skb->head + transport) < 0)
		return false;
	key->sport = bpf_ntohs(tcp.source);
	key->dport = bpf_ntohs(tcp.dest);
	header = (tcp.offset >> 4) * 4;
	segment->seq = bpf_ntohl(tcp.seq);
	segment->flags = tcp.flags;
	/* Packets of more than 64 KiB have no length in their header; they are never retransmissions. */
	segment->bytes = bytes > header && bytes < 65536 ? bytes - header : 0;
	return true;
}

/* Below the highest sequence number: again, or for the first time. */
static __always_inline void note_old(struct passing_figures *flow, const struct segment *segment, __u64 now_ns)
{
	if (flow->missing < segment->bytes) {
		flow->repeats++;
		flow->repeat_bytes += segment->bytes;
		return;
	}
	flow->missing -= segment->bytes;
	if (now_ns - flow->gap_ns < REORDERED_NS) {
		flow->reordered++;
		return;
	}
	flow->fills++;
	flow->fill_bytes += segment->bytes;
}

static __always_inline void note(struct passing_figures *flow, const struct segment *segment, __u64 now_ns)
{
	__u32 end = segment->seq + segment->bytes;

	flow->packets++;
	flow->last_ns = now_ns;
	if (segment->flags & SYN && !(segment->flags & ACK))
		flow->syns++;
	/* A keep-alive may carry one byte that was acknowledged before. */
	if (segment->flags & FIN_SYN || segment->bytes <= 1)
		return;
	flow->segments++;
	flow->bytes += segment->bytes;
	if (flow->segments == 1) {
		flow->next = end;
	} else if ((__s32)(segment->seq - flow->next) < 0) {
		note_old(flow, segment, now_ns);
		if ((__s32)(end - flow->next) > 0)
			flow->next = end;
	} else {
		if (segment->seq != flow->next) {
			flow->missing += segment->seq - flow->next;
			flow->gap_ns = now_ns;
		}
		flow->next = end;
	}
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(passing_forwarded, struct sk_buff *skb)
{
	struct passing_figures *flow, fresh = {};
	struct passing_key key = {};
	struct segment segment = {};
	struct net_device *dev;
	__u64 now_ns, *others;

	/* What this host sends itself came in nowhere. */
	if (!skb->skb_iif)
		return 0;
	dev = skb->dev;
	key.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	others = bpf_map_lookup_elem(&passing_watched, &key.netns);
	if (!others)
		return 0;
	if (!read_segment(skb, &key, &segment)) {
		__sync_fetch_and_add(others, 1);
		return 0;
	}
	key.ifindex = (__u32)dev->ifindex;
	now_ns = bpf_ktime_get_boot_ns();
	flow = bpf_map_lookup_elem(&passing_flows, &key);
	if (flow) {
		note(flow, &segment, now_ns);
		return 0;
	}
	fresh.first_ns = now_ns;
	note(&fresh, &segment, now_ns);
	if (bpf_map_update_elem(&passing_flows, &key, &fresh, BPF_NOEXIST) < 0)
		__sync_fetch_and_add(others, 1);
	return 0;
}
