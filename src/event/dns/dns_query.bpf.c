// SPDX-License-Identifier: GPL-2.0-only
/*
 * dns.query: queries over UDP port 53, traced as packets and so independent of the resolver. A query of a local socket
 * is kept until its response arrives in the same network namespace, or its socket is closed.
 */
#define EVENT_WITHOUT_STACKS
#include "event/bpf/event.bpf.h"
#include "event/dns/dns.h"

#define DNS_PORT      53
#define IPPROTO_UDP   17
#define ETH_P_IP      0x0800
#define ETH_P_IPV6    0x86dd
#define ETIMEDOUT     110
#define NSEC_PER_SEC  1000000000ull
#define QUERY_OLD_NS  (60 * NSEC_PER_SEC) /* then the ID belongs to another query */
#define QUERIES_KEPT  8                   /* of one socket, reported when it closes */
#define UDP_HEADER    8
#define DNS_HEADER    12
#define DNS_ANSWER    0x8000
#define DNS_TRUNCATED 0x0200
#define ALLOW         1

EVENT(dns_query, struct dns_query_event)

struct dns_key {
	struct addr server;
	__u8 unused;
	__u16 lport;
	__u16 id;
	__u16 unused2;
	__u32 netns;
	__u32 unused3;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct dns_key);
	__type(value, struct dns_query_event); /* lat_ns holds the time of the first packet */
} dns_query_pending SEC(".maps");

struct dns_asker {
	struct dns_key keys[QUERIES_KEPT];
	__u32 next;
	__u32 error; /* from ICMP */
};
EVENT_SOCK_STORE(dns_query, asker, struct dns_asker);

/* Offsets in a packet; both headers are in the linear part. */
struct dns_packet {
	struct addr from;
	struct addr to;
	__be16 from_port;
	__be16 to_port;
	const unsigned char *payload;
	struct {
		__be16 id;
		__be16 flags;
		__be16 questions;
		__be16 answers;
	} header;
};

static __always_inline bool parse_packet(struct sk_buff *skb, const unsigned char *ip, struct dns_packet *packet)
{
	__be16 protocol = skb->protocol;
	const unsigned char *udp;
	__u8 first = 0, next = 0;
	__u32 six[8];
	__be32 four[2];

	if (protocol == bpf_htons(ETH_P_IP)) {
		bpf_probe_read_kernel(&first, sizeof(first), ip);
		bpf_probe_read_kernel(&next, sizeof(next), ip + 9);
		if (next != IPPROTO_UDP)
			return false;
		bpf_probe_read_kernel(four, sizeof(four), ip + 12);
		event_set_v4(&packet->from, four[0]);
		event_set_v4(&packet->to, four[1]);
		udp = ip + (first & 15) * 4;
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		bpf_probe_read_kernel(&next, sizeof(next), ip + 6);
		if (next != IPPROTO_UDP)
			return false;
		bpf_probe_read_kernel(six, sizeof(six), ip + 8);
		event_set_v6(&packet->from, six);
		event_set_v6(&packet->to, six + 4);
		udp = ip + 40;
	} else {
		return false;
	}
	bpf_probe_read_kernel(&packet->from_port, sizeof(packet->from_port), udp);
	bpf_probe_read_kernel(&packet->to_port, sizeof(packet->to_port), udp + 2);
	packet->payload = udp + UDP_HEADER;
	return true;
}

/* Converts length-prefixed labels to a dotted name; returns its length, DNS_HOST_LEN if it does not end. */
static __always_inline __u32 read_name(char *host, const unsigned char *question)
{
	__u32 len = DNS_HOST_LEN;
	__u8 left = 0;

	bpf_probe_read_kernel(&left, sizeof(left), question);
	bpf_probe_read_kernel(host, DNS_HOST_LEN, question + 1);
	if (left == 0)
		len = 0;
	for (__u32 i = 0; i < DNS_HOST_LEN; i++) {
		if (len < DNS_HOST_LEN) {
			/* Clear what follows the name. */
			host[i] = 0;
		} else if (left > 0) {
			left--;
		} else {
			left = (__u8)host[i];
			host[i] = left ? '.' : 0;
			if (left == 0)
				len = i;
		}
	}
	host[DNS_HOST_LEN - 1] = 0;
	return len;
}

static __always_inline void set_question(struct dns_query *data, const struct dns_packet *packet)
{
	const unsigned char *question = packet->payload + DNS_HEADER;
	__u32 len = read_name(data->host, question);
	__be16 type = 0;

	data->id = bpf_ntohs(packet->header.id);
	if (len >= DNS_HOST_LEN)
		return;
	bpf_probe_read_kernel(&type, sizeof(type), question + len + (len ? 2 : 1));
	data->type = bpf_ntohs(type);
	/* The root zone. */
	if (len == 0)
		data->host[0] = '.';
}

static __always_inline void remember(struct sock *sk, const struct dns_key *key)
{
	struct dns_asker *asker = event_remember_sock(&dns_query_asker, sk, &dns_query_losses);

	if (!asker)
		return;
	asker->keys[asker->next % QUERIES_KEPT] = *key;
	asker->next++;
	asker->error = 0;
}

static __always_inline void asked(struct sock *sk, const struct dns_packet *packet)
{
	struct dns_key key = {.server = packet->to,
			      .lport = bpf_ntohs(packet->from_port),
			      .id = packet->header.id,
			      .netns = event_netns_of(sk)};
	struct dns_query_event *pending = bpf_map_lookup_elem(&dns_query_pending, &key), *e;
	__u64 now_ns = bpf_ktime_get_boot_ns();

	if (pending && now_ns - pending->data.lat_ns < QUERY_OLD_NS) {
		__sync_fetch_and_add(&pending->data.retries, 1);
		return;
	}
	e = dns_query_begin();
	if (!e)
		return;
	event_set_owner(&dns_query_config, &e->head, sk);
	e->head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	e->head.netns = key.netns;
	e->head.proto = IPPROTO_UDP;
	/* An unconnected socket has neither. */
	e->head.laddr = packet->from;
	e->head.raddr = packet->to;
	e->head.family = packet->to.family;
	e->head.lport = bpf_ntohs(packet->from_port);
	e->head.rport = DNS_PORT;
	e->data.lat_ns = now_ns;
	e->data.answers = 0xffff;
	e->data.rcode = 0xff;
	set_question(&e->data, packet);
	event_remember(&dns_query_pending, &key, e, &dns_query_losses);
	dns_query_cancel(e);
	remember(sk, &key);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(dns_query_sent, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct dns_packet packet = {};

	if (!sk || sk->sk_protocol != IPPROTO_UDP || !parse_packet(skb, skb->head + skb->network_header, &packet) ||
	    packet.to_port != bpf_htons(DNS_PORT))
		return 0;
	bpf_probe_read_kernel(&packet.header, sizeof(packet.header), packet.payload);
	if (!(packet.header.flags & bpf_htons(DNS_ANSWER)) && packet.header.questions)
		asked(sk, &packet);
	return 0;
}

/* Reports the saved event with the current time. */
static __always_inline struct dns_query_event *recall(const struct dns_query_event *pending)
{
	struct dns_query_event *e = dns_query_begin();
	__u64 time_ns;
	__u32 cpu;

	if (!e)
		return NULL;
	time_ns = e->head.time_ns;
	cpu = e->head.cpu;
	__builtin_memcpy(e, pending, sizeof(*e));
	e->head.time_ns = time_ns;
	e->head.cpu = cpu;
	e->data.lat_ns = bpf_ktime_get_boot_ns() - pending->data.lat_ns;
	return e;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(dns_query_answered, struct sk_buff *skb)
{
	struct dns_query_event *pending, *e;
	struct dns_packet packet = {};
	struct dns_key key = {};

	if (!parse_packet(skb, skb->data, &packet) || packet.from_port != bpf_htons(DNS_PORT))
		return 0;
	bpf_probe_read_kernel(&packet.header, sizeof(packet.header), packet.payload);
	if (!(packet.header.flags & bpf_htons(DNS_ANSWER)))
		return 0;
	key.server = packet.from;
	key.lport = bpf_ntohs(packet.to_port);
	key.id = packet.header.id;
	key.netns = skb->dev->nd_net.net->ns.inum;
	pending = bpf_map_lookup_elem(&dns_query_pending, &key);
	if (!pending)
		return 0;
	e = recall(pending);
	if (e) {
		e->data.rcode = bpf_ntohs(packet.header.flags) & 15;
		e->data.truncated = !!(packet.header.flags & bpf_htons(DNS_TRUNCATED));
		e->data.answers = bpf_ntohs(packet.header.answers);
		dns_query_end(ctx, e);
	}
	bpf_map_delete_elem(&dns_query_pending, &key);
	return 0;
}

/* --- no answer --- */

SEC("tp_btf/inet_sk_error_report")
int BPF_PROG(dns_query_error, struct sock *sk)
{
	struct dns_asker *asker = event_store_get(&dns_query_asker, sk, 0);

	if (asker)
		asker->error = (__u32)sk->sk_err;
	return 0;
}

static __always_inline void unanswered(void *ctx, const struct dns_key *key, __u32 error)
{
	struct dns_query_event *pending = bpf_map_lookup_elem(&dns_query_pending, key), *e;

	if (!pending)
		return;
	e = recall(pending);
	if (e) {
		e->data.error = error ?: ETIMEDOUT;
		dns_query_end(ctx, e);
	}
	bpf_map_delete_elem(&dns_query_pending, key);
}

SEC("cgroup/sock_release")
int dns_query_closed(struct bpf_sock *ctx)
{
	struct dns_asker *asker;

	if (ctx->protocol != IPPROTO_UDP)
		return ALLOW;
	asker = event_store_get(&dns_query_asker, ctx, 0);
	if (!asker)
		return ALLOW;
	for (__u32 i = 0; i < QUERIES_KEPT; i++) {
		struct dns_key key = asker->keys[i];

		if (key.lport)
			unanswered(ctx, &key, asker->error);
	}
	return ALLOW;
}
