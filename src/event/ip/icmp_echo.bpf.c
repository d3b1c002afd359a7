// SPDX-License-Identifier: GPL-2.0-only
/*
 * icmp.echo: from transmit of an echo request to arrival of the reply, both in the kernel, then to the socket and to
 * the program. A request is kept until its reply arrives; a reply until the program has read it.
 */
#define EVENT_WITHOUT_STACKS
#include "event/bpf/calls.bpf.h"
#include "event/bpf/packet.bpf.h"
#include "event/ip/icmp.h"

EVENT(icmp_echo, struct icmp_echo_event)

#define ICMP_ECHO         8
#define ICMP_ECHOREPLY    0
#define ICMPV6_ECHO       128
#define ICMPV6_ECHO_REPLY 129
#define ETIMEDOUT         110
#define MSG_PEEK          0x02
#define MSG_ERRQUEUE      0x2000
#define ALLOW             1
/* Requests of one socket that are reported when it closes, or when as many followed. */
#define REQUESTS_KEPT 8

struct echo_header {
	__u8 type;
	__u8 code;
	__be16 checksum;
	__be16 id;
	__be16 seq;
};

struct echo_key {
	struct addr peer;
	__u8 proto;
	__be16 id;
	__be16 seq;
	__u16 unused;
	__u32 netns;
	__u32 unused2;
};

struct request {
	__u64 sent_ns;
	__u64 sk;
	struct icmp_echo_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct echo_key);
	__type(value, struct request);
} icmp_echo_requests SEC(".maps");

/* A reply on its way to the program, by address of its socket. */
struct answer {
	__u64 arrived_ns;
	__u64 ready_ns;
	__u32 ahead; /* messages in the socket up to and including this one */
	__u32 unused;
	struct icmp_echo_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct answer);
} icmp_echo_answers SEC(".maps");

struct asker {
	struct echo_key keys[REQUESTS_KEPT];
	__u64 sk;
	__u32 next;
	__u32 error; /* from ICMP */
};
EVENT_SOCK_STORE(icmp_echo, asker, struct asker);

static __always_inline bool is_icmp(__u32 proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

static __always_inline bool is_icmp_sock(struct sock *sk)
{
	return is_icmp(sk->sk_protocol);
}

static __always_inline bool is_found_icmp(const struct sock *sk)
{
	return is_icmp(BPF_CORE_READ(sk, sk_protocol));
}

/* Reports the saved event with the current time. */
static __always_inline struct icmp_echo_event *recall(const struct icmp_echo_event *kept)
{
	struct icmp_echo_event *e = icmp_echo_begin();
	__u64 time_ns;

	if (!e)
		return NULL;
	time_ns = e->head.time_ns;
	__builtin_memcpy(e, kept, sizeof(*e));
	e->head.time_ns = time_ns;
	return e;
}

/* No reply until now: give up. */
static __always_inline void unanswered(void *ctx, const struct echo_key *key, __u32 error)
{
	struct request *request = bpf_map_lookup_elem(&icmp_echo_requests, key);
	struct icmp_echo_event *e;

	if (!request)
		return;
	e = recall(&request->event);
	if (e) {
		e->data.error = error ?: ETIMEDOUT;
		e->data.lat_ns = bpf_ktime_get_boot_ns() - request->sent_ns;
		icmp_echo_end(ctx, e);
	}
	bpf_map_delete_elem(&icmp_echo_requests, key);
}

static __always_inline bool read_echo(struct packet *packet, struct echo_header *echo, struct sk_buff *skb, __u32 at)
{
	if (!packet_read_at(packet, skb, at) || !packet->transport ||
	    (packet->proto != IPPROTO_ICMP && packet->proto != IPPROTO_ICMPV6) ||
	    packet->transport + sizeof(*echo) > packet_linear_end(skb))
		return false;
	return bpf_probe_read_kernel(echo, sizeof(*echo), skb->head + packet->transport) == 0;
}

static __always_inline void set_key(struct echo_key *key, const struct addr *peer, const struct echo_header *echo,
				    __u8 proto, struct net_device *dev)
{
	key->peer = *peer;
	key->proto = proto;
	key->id = echo->id;
	key->seq = echo->seq;
	key->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

/* Remember the request for the close of its socket. */
static __always_inline void remember(void *ctx, struct sock *sk, const struct echo_key *key)
{
	struct asker *asker = event_remember_sock(&icmp_echo_asker, sk, &icmp_echo_losses);
	struct echo_key *slot, old;

	if (!asker)
		return;
	slot = &asker->keys[asker->next % REQUESTS_KEPT];
	old = *slot;
	*slot = *key;
	asker->next++;
	asker->sk = event_address(sk);
	if (old.netns)
		unanswered(ctx, &old, asker->error);
	asker->error = 0;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(icmp_echo_sent, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct echo_header echo = {};
	struct sock *sk = skb->sk;
	struct request request = {};
	struct icmp_echo_event *e;
	struct packet packet;
	struct echo_key key = {};

	if (!sk || !dev || !is_icmp_sock(sk) || !read_echo(&packet, &echo, skb, skb->network_header) ||
	    echo.type != (packet.proto == IPPROTO_ICMP ? ICMP_ECHO : ICMPV6_ECHO))
		return 0;
	e = icmp_echo_begin();
	if (!e)
		return 0;
	event_set_owner(&icmp_echo_config, &e->head, sk);
	packet_set_dev(&e->head, e->data.dev, dev);
	packet_set_endpoints(&e->head, &packet, PACKET_TX);
	e->head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	e->data.id = bpf_ntohs(echo.id);
	e->data.seq = bpf_ntohs(echo.seq);
	e->data.bytes = packet.bytes;
	e->data.lat_ns = e->data.stack_ns = e->data.sched_ns = EVENT_UNKNOWN64;
	__builtin_memcpy(&request.event, e, sizeof(*e));
	icmp_echo_cancel(e);
	set_key(&key, &packet.destination, &echo, packet.proto, dev);
	remember(ctx, sk, &key);
	request.sk = event_address(sk);
	request.sent_ns = bpf_ktime_get_boot_ns();
	event_remember(&icmp_echo_requests, &key, &request, &icmp_echo_losses);
	return 0;
}

static __always_inline void report_answer(void *ctx, const struct answer *answer, __u64 read_ns)
{
	struct icmp_echo_event *e = recall(&answer->event);

	if (!e)
		return;
	if (answer->ready_ns) {
		e->data.stack_ns = answer->ready_ns - answer->arrived_ns;
		if (read_ns)
			e->data.sched_ns = read_ns - answer->ready_ns;
	}
	icmp_echo_end(ctx, e);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(icmp_echo_answered, struct sk_buff *skb)
{
	__u64 now = bpf_ktime_get_boot_ns(), reader;
	struct net_device *dev = skb->dev;
	struct answer *before, answer = {};
	struct echo_header echo = {};
	struct request *request;
	struct packet packet;
	struct echo_key key = {};

	if (!packet_arrives_with(skb, IPPROTO_ICMP, IPPROTO_ICMPV6) || !dev ||
	    !read_echo(&packet, &echo, skb, (__u32)(skb->data - skb->head)) ||
	    echo.type != (packet.proto == IPPROTO_ICMP ? ICMP_ECHOREPLY : ICMPV6_ECHO_REPLY))
		return 0;
	set_key(&key, &packet.source, &echo, packet.proto, dev);
	request = bpf_map_lookup_elem(&icmp_echo_requests, &key);
	if (!request)
		return 0;
	answer.event = request->event;
	answer.event.data.lat_ns = now - request->sent_ns;
	answer.arrived_ns = now;
	bpf_probe_read_kernel(&answer.event.data.ttl, 1, skb->data + (packet.proto == IPPROTO_ICMP ? 8 : 7));
	reader = request->sk;
	bpf_map_delete_elem(&icmp_echo_requests, &key);
	/* The program has not read the previous reply: report it as far as it got. */
	before = bpf_map_lookup_elem(&icmp_echo_answers, &reader);
	if (before)
		report_answer(ctx, before, 0);
	event_remember(&icmp_echo_answers, &reader, &answer, &icmp_echo_losses);
	return 0;
}

/* waiting: messages in the receive queue of an ICMP socket. */
static __always_inline int queued(__u64 reader, __u32 waiting)
{
	struct answer *answer = bpf_map_lookup_elem(&icmp_echo_answers, &reader);

	if (!answer || answer->ready_ns)
		return 0;
	/* A raw socket also gets replies to pings of others: ours is the last in its queue now. */
	answer->ahead = waiting;
	answer->ready_ns = bpf_ktime_get_boot_ns();
	return 0;
}

static __always_inline int ready(struct sock *sk)
{
	return is_icmp_sock(sk) ? queued(event_address(sk), sk->sk_receive_queue.qlen) : 0;
}

static __always_inline int read_by(void *ctx, __u64 reader, int result, int flags)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct answer *answer;

	if (result < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	answer = bpf_map_lookup_elem(&icmp_echo_answers, &reader);
	if (!answer || !answer->ready_ns)
		return 0;
	if (answer->ahead > 1) {
		answer->ahead--;
		return 0;
	}
	report_answer(ctx, answer, now);
	bpf_map_delete_elem(&icmp_echo_answers, &reader);
	return 0;
}

static __always_inline int has_read(void *ctx, struct sock *sk, int result, int flags)
{
	return is_icmp_sock(sk) ? read_by(ctx, event_address(sk), result, flags) : 0;
}

/* A twin, for a reply that interrupts this program: the first one sets the time. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(icmp_echo_ready, struct sock *sk)
{
	return ready(sk);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(icmp_echo_ready_twin, struct sock *sk)
{
	return ready(sk);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(icmp_echo_read, struct sock *sk, int result, int flags)
{
	return has_read(ctx, sk, result, flags);
}

SEC("fentry/sock_def_readable")
int BPF_PROG(icmp_echo_ready_function, struct sock *sk)
{
	return ready(sk);
}

SEC("fexit/inet_recvmsg")
int BPF_PROG(icmp_echo_read_inet, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return has_read(ctx, socket->sk, result, flags);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(icmp_echo_read_inet6, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return has_read(ctx, socket->sk, result, flags);
}

/* IPv6 raw sockets. */
SEC("fexit/sock_common_recvmsg")
int BPF_PROG(icmp_echo_read_raw6, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return has_read(ctx, socket->sk, result, flags);
}

/* By kprobes. */
EVENT_CALLS(icmp_echo)

static __always_inline int read_call_done(void *ctx, struct sock *sk, int result, int flags)
{
	return read_by(ctx, (__u64)sk, result, flags);
}

SEC("kprobe/sock_def_readable")
int BPF_KPROBE(icmp_echo_ready_call, struct sock *sk)
{
	return is_found_icmp(sk) ? queued((__u64)sk, BPF_CORE_READ(sk, sk_receive_queue.qlen)) : 0;
}

EVENT_RECEIVE_CALL(icmp_echo, icmp_echo_call, inet_recvmsg, is_found_icmp, read_call_done)
EVENT_RECEIVE_CALL(icmp_echo, icmp_echo_call6, inet6_recvmsg, is_found_icmp, read_call_done)
EVENT_RECEIVE_CALL(icmp_echo, icmp_echo_call_raw6, sock_common_recvmsg, is_found_icmp, read_call_done)

SEC("tp_btf/inet_sk_error_report")
int BPF_PROG(icmp_echo_error, struct sock *sk)
{
	struct asker *asker;

	if (!is_icmp_sock(sk))
		return 0;
	asker = event_store_get(&icmp_echo_asker, sk, 0);
	if (asker)
		asker->error = (__u32)sk->sk_err;
	return 0;
}

SEC("cgroup/sock_release")
int icmp_echo_closed(struct bpf_sock *ctx)
{
	struct answer *answer;
	struct asker *asker;
	__u64 reader;

	if (ctx->protocol != IPPROTO_ICMP && ctx->protocol != IPPROTO_ICMPV6)
		return ALLOW;
	asker = event_store_get(&icmp_echo_asker, ctx, 0);
	if (!asker)
		return ALLOW;
	reader = asker->sk;
	answer = bpf_map_lookup_elem(&icmp_echo_answers, &reader);
	if (answer) {
		report_answer(ctx, answer, 0);
		bpf_map_delete_elem(&icmp_echo_answers, &reader);
	}
	for (__u32 i = 0; i < REQUESTS_KEPT; i++) {
		struct echo_key key = asker->keys[i];

		if (key.netns)
			unanswered(ctx, &key, asker->error);
	}
	return ALLOW;
}
