/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.tx: a packet's way from the write to the interface and, of TCP, to the acknowledgement. With the socket is kept
 * when which bytes were written; a segment finds its beginning there when it leaves TCP. Journeys lie in one pool,
 * taken round and round: by a packet's address one finds those that are on their way to the interface, in the socket
 * those that wait for an acknowledgement.
 */
#pragma once

#include "event/bpf/dev.bpf.h"
#include "event/path/path.bpf.h"
#include "event/tcp/tcp_hold.bpf.h"

#define TX_POOL_MAX    8192
#define TX_PACKET_BITS 12
#define TX_WRITES_MAX  16
#define TX_FLYING_MAX  128
/* TCP's own work from its time stamp to the interface takes less, mostly. */
#define TX_ASIDE_MIN_NS 20000

EVENT(path_tx, struct path_event)

/* A journey by its number in the pool; the pool's place may have been given to another since. */
struct tx_packet {
	__u64 skb;
	__u64 number;
};

/* Bytes from this number on were written by a call that began then, and had room in the send buffer then. */
struct tx_write {
	__u32 seq;
	__u32 unused;
	__u64 call_ns;
	__u64 room_ns;
};

struct tx_flying {
	__u64 number;
	__u32 end_seq;
	__u32 unused;
};

struct tx_sock {
	__u64 call_ns; /* when the last write began; 0: none was seen */
	__u32 write_count;
	__u32 hold_seq; /* from here on TCP holds back, and why */
	__u32 hold_reason;
	__u32 head; /* of those that fly */
	__u32 tail;
	__u32 piece;    /* of those that fly: the one that a queue cut up last */
	__u32 sent_end; /* the end of what has left already, if anything has */
	__u32 sent;
	__u32 call_end; /* the number after the last byte that the write is to write */
	__u64 last_skb; /* with few hooks: the packet that a driver was given last, and when it left TCP */
	__u64 last_left_ns;
	struct sock_owner owner; /* who wrote last */
	struct tx_write writes[TX_WRITES_MAX];
	struct tx_flying flying[TX_FLYING_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TX_POOL_MAX);
	__type(key, __u32);
	__type(value, struct path_way);
} path_tx_pool SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << TX_PACKET_BITS);
	__type(key, __u32);
	__type(value, struct tx_packet);
} path_tx_packets SEC(".maps");

PATH_FREE_MAP(path_tx_free);
EVENT_SOCK_STORE(path_tx, sock, struct tx_sock);

const volatile struct event_config path_tx_early = {};
struct path_counts path_tx_counts[PATH_CPUS_MAX] = {};
__u32 path_tx_next = 0;

static __always_inline struct path_counts *tx_counts(void)
{
	return &path_tx_counts[bpf_get_smp_processor_id() & (PATH_CPUS_MAX - 1)];
}

/* --- the pool ----------------------------------------------------------------------------------------------------- */

static __noinline int path_tx_search(void);

static __always_inline struct path_pool tx_pool(void)
{
	return (struct path_pool){.ways = &path_tx_pool,
				  .free = &path_tx_free,
				  .next = &path_tx_next,
				  .search = path_tx_search,
				  .size = TX_POOL_MAX};
}

static __noinline int path_tx_search(void)
{
	struct path_pool pool = tx_pool();

	return path_search(&pool);
}

static __always_inline struct path_way *way_find(__u64 number)
{
	struct path_pool pool = tx_pool();

	return path_find(&pool, number);
}

static __always_inline struct path_way *way_take(void)
{
	struct path_pool pool = tx_pool();

	return path_take(&pool);
}

static __always_inline void way_give_back(struct path_way *way)
{
	struct path_pool pool = tx_pool();

	path_give_back(&pool, way);
}

static __always_inline struct tx_packet *packet_at(__u64 skb)
{
	__u32 place = path_place(skb, TX_PACKET_BITS);

	return bpf_map_lookup_elem(&path_tx_packets, &place);
}

static __always_inline struct path_way *packet_find(__u64 skb)
{
	struct tx_packet *packet = packet_at(skb);

	return packet && packet->skb == skb ? way_find(packet->number) : NULL;
}

/* The packet's address means nothing any more. */
static __always_inline void packet_forget(__u64 skb)
{
	struct tx_packet *packet = packet_at(skb);

	if (packet && packet->skb == skb)
		packet->skb = 0;
}

static __always_inline void tx_tell(void *ctx, struct path_way *way, __u8 end)
{
	struct path_event *e;
	bool passes = true;

	path_way_finish(way, end, tx_counts());
	way->event.head.time_ns = path_since_boot(way->event.head.time_ns);
	if (path_tx_config.mode == EVENT_STREAM) {
		if (!path_is_decided(&path_tx_config, &path_tx_early, way)) {
			path_set_waits(&way->event.data);
			passes = event_passes(&path_tx_config, (const char *)&way->event);
		}
		/* The program adds the waits up again. */
		if (passes)
			event_send(&way->event, path_event_size(&way->event), &path_tx_losses);
	} else {
		path_set_waits(&way->event.data);
		e = path_tx_begin();
		if (e) {
			__builtin_memcpy(e, &way->event, sizeof(*e));
			(void)path_tx_end(ctx, e);
		}
	}
	way_give_back(way);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* A write goes on, before it looks for room: again, if it had to wait for some. end: the number after its last byte. */
static __always_inline void note_write(struct tx_sock *own, struct tcp_sock *tp, __u32 end, bool sees_room)
{
	struct tx_write *write;
	__u64 now = path_clock();
	__u32 count;

	/* A write that goes on, or is tried again, ends where it was to end. */
	if (!own->call_ns || own->call_end != end)
		own->call_ns = now;
	own->call_end = end;
	if ((__u32)own->owner.pid_tgid != (__u32)bpf_get_current_task_btf()->pid)
		event_fill_owner(&own->owner);
	/* All that was written has left and was acknowledged: the first places again, which are in the cache. */
	if (own->head == own->tail && own->sent && tp->write_seq == own->sent_end)
		own->head = own->tail = own->write_count = 0;
	count = own->write_count;
	write = &own->writes[(count - 1) & (TX_WRITES_MAX - 1)];
	if (!count || write->seq != tp->write_seq || write->call_ns != own->call_ns) {
		write = &own->writes[count & (TX_WRITES_MAX - 1)];
		write->seq = tp->write_seq;
		write->call_ns = own->call_ns;
		own->write_count = count + 1;
	}
	write->room_ns = sees_room ? now : 0;
}

/* As tcp_small_queue_check has it: a queue below holds more of the socket than two packets and than a millisecond's. */
static __always_inline bool has_queued(const struct sock *sk, __u32 sent)
{
	unsigned long queued = (unsigned long)sk->sk_wmem_alloc.refs.counter;

	return queued > 2 * sent && (sk->sk_pacing_rate == NO_RATE || queued > sk->sk_pacing_rate >> 10);
}

/* TCP asks for pacing first, but that is over soon: what stands in the way after it is what the data waits for. */
static __always_inline __u32 lasting_reason(struct sock *sk, __u32 seq, __u32 unsent, __u32 sent)
{
	__u32 mss = READ(sk, mss_cache), segments = sent && mss ? (sent + mss - 1) / mss : 0;
	__u32 reason = hold_reason(sk, seq, unsent, segments);

	if (reason)
		return reason;
	return has_queued(sk, sent) ? TCP_HOLD_QUEUE : is_paced(sk) ? TCP_HOLD_PACING : 0;
}

/* What will keep the data of a write, if anything: what left before it is noted when that leaves (note_hold). */
static __always_inline void note_write_hold(struct tx_sock *own, struct sock *sk, struct tcp_sock *tp, __u32 end)
{
	bool paced = is_paced(sk) && tp->tcp_wstamp_ns > own->call_ns;

	if (own->hold_reason && own->hold_seq == tp->snd_nxt)
		return;
	own->hold_seq = tp->snd_nxt;
	own->hold_reason = 0;
	if (!tp->packets_out && !paced && !(BPF_CORE_READ_BITFIELD(tp, nonagle) & TCP_NAGLE_CORK) &&
	    (__s32)(end - tp->snd_una - tp->snd_wnd) <= 0)
		return;
	own->hold_reason = hold_reason(sk, tp->snd_nxt, end - tp->snd_nxt, 0);
	if (!own->hold_reason && paced)
		own->hold_reason = TCP_HOLD_PACING;
	/* Packets of this socket are still in a queue below: TCP waits for them to leave, unless they are few. */
	if (!own->hold_reason && tp->packets_out > 1 && sk->sk_wmem_alloc.refs.counter > 1)
		own->hold_reason = TCP_HOLD_QUEUE;
}

static __always_inline int was_written(struct sock *sk, __u32 bytes, bool sees_room)
{
	struct tx_sock *own;
	struct tcp_sock *tp;

	if (!path_is_sock_chosen(sk))
		return 0;
	own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	tp = tcp_of(sk);
	if (!own || !tp)
		return 0;
	note_write(own, tp, tp->write_seq + bytes, sees_room);
	note_write_hold(own, sk, tp, tp->write_seq + bytes);
	return 0;
}

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(path_tx_write, struct sock *sk, struct msghdr *message)
{
	return was_written(sk, (__u32)message->msg_iter.count, true);
}

/* Before Linux 6.16: its beginning only. */
SEC("fentry/tcp_sendmsg_locked")
int BPF_PROG(path_tx_write_call, struct sock *sk, struct msghdr *message, unsigned long size)
{
	return was_written(sk, (__u32)size, false);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(path_tx_written, struct sock *sk)
{
	if (!is_tcp(sk) && path_is_sock_chosen(sk))
		path_learn_owner(&path_tx_config, sk);
	return 0;
}

/* --- leaving TCP -------------------------------------------------------------------------------------------------- */

struct tx_search {
	const struct tx_sock *own;
	__u32 seq;
	__u32 at;
	__u64 call_ns;
	__u64 room_ns;
};

/* From the latest write back to the one that the byte belongs to. */
static long search_write(__u32 index, struct tx_search *search)
{
	const struct tx_write *write = &search->own->writes[--search->at & (TX_WRITES_MAX - 1)];

	if ((__s32)(search->seq - write->seq) < 0)
		return 0;
	search->call_ns = write->call_ns;
	search->room_ns = write->room_ns;
	return 1;
}

/* Stages of data before it left TCP. */
static __always_inline void step_tcp(struct path_way *way, struct sock *sk, struct tx_sock *own, struct path_mark *now)
{
	struct tx_search search = {.own = own, .seq = way->event.data.seq, .at = own->write_count};
	struct path_mark room = *now;

	/* The latest one is it, mostly. */
	if (own->write_count && search_write(0, &search) == 0)
		bpf_loop(own->write_count < TX_WRITES_MAX ? own->write_count : TX_WRITES_MAX, search_write, &search, 0);
	if (!search.call_ns) {
		way->event.data.hidden |= 1u << PATH_SNDBUF | 1u << PATH_TCP;
		return;
	}
	way->event.head.time_ns = way->last_ns = search.call_ns;
	if (search.room_ns) {
		room.ns = search.room_ns;
		room.context = PATH_PROCESS;
		path_step(way, PATH_SNDBUF, &room, tx_counts());
	} else {
		way->event.data.hidden |= 1u << PATH_SNDBUF;
	}
	if (own->hold_reason && (__s32)(own->hold_seq - way->event.data.end_seq) < 0)
		now->note = own->hold_reason;
	path_step(way, PATH_TCP, now, tx_counts());
	now->note = PATH_NO_NOTE;
}

/* What stays behind when this segment leaves, and why. */
static __always_inline void note_hold(struct sock *sk, struct tx_sock *own, const struct segment *segment)
{
	__u32 end = segment->seq + segment->bytes, unsent;

	/* What leaves is still the first of those that are to be sent; most are the only one. */
	unsent = sk->sk_write_queue.qlen > 1 ? READ(sk, write_seq) - end : 0;
	if (!unsent) {
		own->hold_reason = 0;
		return;
	}
	own->hold_seq = end;
	own->hold_reason = lasting_reason(sk, end, unsent, segment->bytes);
}

static __always_inline void fly(void *ctx, struct tx_sock *own, const struct path_way *way)
{
	struct tx_flying *flying;
	struct path_way *oldest;

	/* More is on its way than is kept: of the oldest, the acknowledgement will not be seen. */
	if (own->tail - own->head >= TX_FLYING_MAX) {
		oldest = way_find(own->flying[own->head & (TX_FLYING_MAX - 1)].number);
		own->head++;
		if (oldest) {
			oldest->event.data.hidden |= 1u << PATH_ACK;
			tx_tell(ctx, oldest, PATH_UNFINISHED);
		}
	}
	flying = &own->flying[own->tail & (TX_FLYING_MAX - 1)];
	flying->number = way->number;
	flying->end_seq = way->event.data.end_seq;
	own->tail++;
}

static __always_inline void set_writer(struct event_head *head, const struct sock_owner *owner)
{
	if (!owner->pid_tgid)
		return;
	head->pid = owner->pid_tgid >> 32;
	head->tid = (__u32)owner->pid_tgid;
	head->uid = owner->uid;
	head->cgroup_id = owner->cgroup_id;
	__builtin_memcpy(head->comm, owner->comm, sizeof(head->comm));
}

static __always_inline void begin_data(void *ctx, struct path_way *way, struct sock *sk, struct path_mark *now)
{
	struct tx_sock *own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	struct segment segment = {.seq = way->event.data.seq, .bytes = way->event.data.end_seq - way->event.data.seq};
	bool again;

	if (!own)
		return;
	again = own->sent ? (__s32)(segment.seq + segment.bytes - own->sent_end) <= 0
			  : (__s32)(segment.seq + segment.bytes - READ(sk, snd_nxt)) <= 0;
	if (!again) {
		own->sent = 1;
		own->sent_end = segment.seq + segment.bytes;
	}
	now->context = sk->sk_lock.owned ? PATH_PROCESS : PATH_SOFT;
	/* Sent again: what was before has been told with the first one. */
	if (again) {
		way->event.data.hidden |= 1u << PATH_SNDBUF | 1u << PATH_TCP;
	} else {
		step_tcp(way, sk, own, now);
		note_hold(sk, own, &segment);
	}
	set_writer(&way->event.head, &own->owner);
	fly(ctx, own, way);
}

/* Where it is to leave. A filter may throw it away before it knows; its route does. */
static __always_inline void set_dev_out(struct path_way *way, const struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	const struct sock *sk = skb->sk;
	const struct dst_entry *route;

	if (dev) {
		path_set_dev(way, dev);
		return;
	}
	if (sk)
		way->event.head.netns = sk->__sk_common.skc_net.net->ns.inum;
	route = (const struct dst_entry *)(skb->_skb_refdst & ~1ul);
	if (route)
		BPF_CORE_READ_INTO(&way->event.data.dev, route, dev, name);
}

/* A journey for a packet that somebody asked for; NULL: nobody did, or there is no room. */
static __always_inline struct path_way *begin_way_out(struct sk_buff *skb, const struct packet *packet,
						      const struct packet_tcp *tcp)
{
	struct path_way *way = way_take();

	if (!way)
		return NULL;
	path_begin(way, &path_tx_config, packet, PACKET_TX);
	way->passed_on = 0;
	set_dev_out(way, skb);
	way->event.data.bytes = skb->len - (__u32)(skb->network_header - (__u16)(skb->data - skb->head));
	way->event.data.seq = tcp->seq;
	way->event.data.end_seq = tcp->seq + tcp->bytes;
	if (!event_matches(&path_tx_early, (const char *)&way->event)) {
		way_give_back(way);
		return NULL;
	}
	return way;
}

/* It leaves TCP now, or whatever made it; sk: NULL where it belongs to no whole socket. */
static __always_inline void leave(void *ctx, struct path_way *way, struct sock *sk, struct path_mark *now)
{
	way->decided = 1;
	way->event.head.time_ns = way->last_ns = now->ns;
	way->event.head.cpu = now->cpu;
	way->event.data.hidden |= 1u << PATH_FILTER;
	__sync_fetch_and_add(&tx_counts()->begun, 1);
	if (!sk)
		return;
	way->event.head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	if (way->event.data.seq != way->event.data.end_seq)
		begin_data(ctx, way, sk, now);
	if (!way->event.head.pid)
		event_set_owner(&path_tx_config, &way->event.head, sk);
}

/* Whether data was seen to be written and TCP let go of it before, though nobody has seen it at an interface. */
static __always_inline bool was_put_aside(struct sock *sk, const struct packet_tcp *tcp)
{
	__u32 end = tcp->seq + tcp->bytes;
	struct tx_sock *own;

	/* What TCP is just sending comes after all that it has sent. */
	if (!tcp->bytes || !is_tcp(sk) || (__s32)(end - READ(sk, snd_nxt)) > 0)
		return false;
	own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, 0);
	if (!own)
		return false;
	/* The first that is seen of this socket. */
	if (!own->sent && own->write_count && own->write_count <= TX_WRITES_MAX &&
	    (__s32)(tcp->seq - own->writes[0].seq) >= 0) {
		own->sent = 1;
		own->sent_end = tcp->seq;
	}
	return own->sent && (__s32)(end - own->sent_end) > 0;
}

/* It comes from an interface that stands on another one: a tunnel, a bridge, a virtual interface. */
static __always_inline void go_down(struct path_way *way)
{
	struct path_mark now;

	if (way->state != PATH_WAY_SENDING)
		return;
	now = path_now(PATH_SOFT);
	path_step(way, PATH_DRIVER, &now, tx_counts());
	way->state = PATH_WAY_OPEN;
}

/*
 * Whether this host made a packet that has no socket: a reset, an error, a report. What a tunnel has wrapped up has
 * none either, and may have come from elsewhere.
 */
static __always_inline bool is_made_here(const struct packet *packet, const struct packet_tcp *tcp)
{
	return packet->proto == IPPROTO_ICMP || packet->proto == IPPROTO_ICMPV6 || packet->proto == IPPROTO_IGMP ||
	       (packet->proto == IPPROTO_TCP && !tcp->bytes);
}

/* A packet of this host that somebody asked for, and its headers. */
static __always_inline bool is_followed_out(struct sk_buff *skb, struct packet *packet, struct packet_tcp *tcp)
{
	struct sock *sk = skb->sk;
	bool whole = sk && is_whole(sk);

	if (whole && !path_is_sock_chosen(sk))
		return false;
	if (!path_read_headers(packet, tcp, skb, skb->network_header))
		return false;
	/* A socket with a peer has but one flow. */
	if (whole && sk->__sk_common.skc_dport)
		return true;
	return (sk || is_made_here(packet, tcp)) && path_is_chosen(packet);
}

/* Where drivers are not seen to begin: it does now, unless it goes into a queue. */
static __always_inline void go_straight(struct path_way *way, const struct net_device *dev)
{
	if (path_is_xmit_seen())
		return;
	way->state = PATH_WAY_SENDING;
	way->ifindex = (__u32)dev->ifindex;
	way->passed_on = path_hands_over(dev);
}

/* A packet that TCP, or whatever made it, has let go of; NULL: nobody asked for it. */
static __always_inline struct path_way *begin_leaving(void *ctx, struct sk_buff *skb, struct path_mark *ret_now)
{
	struct path_mark now, left;
	struct sock *sk = skb->sk;
	struct packet packet;
	struct packet_tcp tcp;
	struct path_way *way;

	if (!is_followed_out(skb, &packet, &tcp))
		return NULL;
	way = begin_way_out(skb, &packet, &tcp);
	if (!way)
		return NULL;
	if (sk && !is_whole(sk))
		sk = NULL;
	left = now = path_now(PATH_PROCESS);
	/* Somebody held it between TCP and the interface: a queue of the packet filter. */
	if (now.ns - skb->skb_mstamp_ns - TX_ASIDE_MIN_NS < PATH_STAMP_MAX_NS && sk && was_put_aside(sk, &tcp))
		left.ns = skb->skb_mstamp_ns;
	leave(ctx, way, sk, &left);
	if (left.ns != now.ns) {
		way->event.data.hidden &= ~(1u << PATH_FILTER);
		path_step(way, PATH_FILTER, &now, tx_counts());
	}
	*ret_now = now;
	return way;
}

static __always_inline void tx_queue(void *ctx, struct sk_buff *skb, struct path_mark *ret_now)
{
	struct path_way *way = packet_find(path_id(skb));
	struct tx_packet *place;

	if (way) {
		go_down(way);
		go_straight(way, skb->dev);
		return;
	}
	place = packet_at(path_id(skb));
	way = place ? begin_leaving(ctx, skb, ret_now) : NULL;
	if (!way)
		return;
	place->number = way->number;
	place->skb = path_id(skb);
	go_straight(way, skb->dev);
}

/* --- to the interface --------------------------------------------------------------------------------------------- */

static __always_inline void tx_enqueue(struct sk_buff *skb, __u64 ahead)
{
	struct path_way *way = packet_find(path_id(skb));

	if (!way)
		return;
	/* Kept until the packet leaves the queue, which counts it already; one without a lock counts elsewhere. */
	way->ready_ns = ahead;
	path_want_xmit();
	if (way->state == PATH_WAY_SENDING && !path_is_xmit_seen())
		way->state = PATH_WAY_OPEN;
}

struct tx_piece {
	const struct tx_sock *own;
	__u32 end;
	__u32 at;
	__u64 number;
};

/* From the packet that was cut up last to the one that ends where the piece does; most pieces end before it. */
static long search_piece(__u32 index, struct tx_piece *piece)
{
	const struct tx_flying *flying = &piece->own->flying[piece->at & (TX_FLYING_MAX - 1)];
	__s32 beyond = (__s32)(piece->end - flying->end_seq);

	if (beyond == 0)
		piece->number = flying->number;
	if (beyond <= 0 || piece->at == piece->own->tail - 1)
		return 1;
	piece->at++;
	return 0;
}

/* A queue may have cut a large packet up: its last piece carries the end of the data. */
static __always_inline struct path_way *find_piece(struct sk_buff *skb)
{
	struct tx_piece piece = {};
	struct sock *sk = skb->sk;
	struct segment segment;
	struct tx_sock *own;
	struct path_way *way;

	if (!sk || skb->skb_iif || !is_whole(sk) || !is_tcp(sk) || !path_is_sock_chosen(sk) ||
	    !read_segment(&segment, skb))
		return NULL;
	own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, 0);
	if (!own || own->head == own->tail)
		return NULL;
	piece.own = own;
	piece.end = segment.seq + segment.bytes;
	/* What was acknowledged already is out of the question. */
	piece.at = own->piece - own->head < own->tail - own->head ? own->piece : own->head;
	if (search_piece(0, &piece) == 0)
		bpf_loop(TX_FLYING_MAX, search_piece, &piece, 0);
	own->piece = piece.at;
	way = piece.number ? way_find(piece.number) : NULL;
	return way && way->state == PATH_WAY_OPEN ? way : NULL;
}

static __always_inline void tx_xmit(struct sk_buff *skb, struct path_mark *now)
{
	struct path_way *way = packet_find(path_id(skb));
	struct tx_packet *place;
	bool is_piece = !way;

	if (is_piece) {
		way = find_piece(skb);
		place = packet_at(path_id(skb));
		if (!way || !place)
			return;
		place->number = way->number;
		place->skb = path_id(skb);
	}
	/* A driver that was busy is asked again. */
	if (way->state != PATH_WAY_OPEN)
		return;
	way->state = PATH_WAY_SENDING;
	way->passed_on = path_hands_over(skb->dev);
	/* No queue: the clock was read a moment ago. A device of its own may put what it cannot take back unseen. */
	if (!way->ready_ns && !is_piece && way->passed_on && PATH_SEES_QUEUES) {
		*now = path_mark_at(way->last_ns, PATH_SOFT);
		return;
	}
	path_now_once(now);
	path_leave_queue(way, now, tx_counts());
}

/* The receiver is on this host: nobody will say that the packet was sent. */
static __always_inline void tx_taken(void *ctx, struct sk_buff *skb)
{
	struct path_way *way = packet_find(path_id(skb));

	if (!way)
		return;
	way->passed_on = 1;
	/* Its sender is through with it, and need not wait for an answer. */
	if (way->state == PATH_WAY_SENT && way->event.data.seq == way->event.data.end_seq)
		tx_tell(ctx, way, PATH_DELIVERED);
}

/* It has come out of a queue at this interface before anybody could see that. */
static __always_inline bool left_queue_unseen(const struct path_way *way, const struct net_device *dev)
{
	return way->state == PATH_WAY_OPEN && way->ready_ns && !path_is_xmit_seen() &&
	       way->ifindex == (__u32)dev->ifindex;
}

/* The driver has it, or has refused it. */
static __always_inline void tx_xmitted(void *ctx, struct sk_buff *skb, int result, const struct net_device *dev)
{
	struct path_way *way = packet_find(path_id(skb));
	struct path_mark now;
	bool unseen = false;

	if (!way)
		return;
	if (way->state != PATH_WAY_SENDING) {
		unseen = left_queue_unseen(way, dev);
		if (!unseen)
			return;
	}
	if (result != 0) {
		way->state = PATH_WAY_OPEN;
		/* From now on it waits for the driver, before all others. */
		way->ready_ns = 2;
		path_want_xmit();
		return;
	}
	now = path_now(PATH_SOFT);
	if (unseen) {
		path_leave_queue(way, &now, tx_counts());
		way->event.data.hidden |= 1u << PATH_DRIVER;
	} else {
		path_step(way, PATH_DRIVER, &now, tx_counts());
	}
	/* From here on the driver owns it. */
	way->state = PATH_WAY_SENT;
	if (way->passed_on) {
		packet_forget(path_id(skb));
		way->event.data.hidden |= 1u << PATH_COMPLETION;
		if (way->event.data.seq == way->event.data.end_seq)
			tx_tell(ctx, way, PATH_DELIVERED);
	}
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

/* Each of the pieces is a packet to the interface. */
static __always_inline void count_pieces(struct sk_buff *skb)
{
	__u16 pieces = dev_segs(skb);

	if (pieces > 1)
		__sync_fetch_and_add(&tx_counts()->cut, pieces - 1);
}

static __always_inline void tx_consume(void *ctx, struct sk_buff *skb)
{
	struct path_way *way = packet_find(path_id(skb));
	struct path_mark now;

	if (!way)
		return;
	packet_forget(path_id(skb));
	/* Cut up in a queue: its pieces go on, and are recognised where the driver begins with them. */
	if (way->state != PATH_WAY_SENT) {
		count_pieces(skb);
		way->state = PATH_WAY_OPEN;
		path_want_xmit();
		return;
	}
	now = path_now(PATH_SOFT);
	path_step(way, PATH_COMPLETION, &now, tx_counts());
	if (way->event.data.seq == way->event.data.end_seq)
		tx_tell(ctx, way, PATH_DELIVERED);
}

/* Where drivers are not seen to begin: they give no reasons, queues do. */
static __always_inline bool was_in_driver(const struct path_way *way, __u32 reason)
{
	if (way->state == PATH_WAY_OPEN)
		return false;
	if (path_is_xmit_seen())
		return true;
	path_want_xmit();
	return !reason || PATH_IS_REASON(reason, NOT_SPECIFIED);
}

/* Programs of their own, and two: only drops pass them, and one would be too long for the verifier of Linux 6.1. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(path_tx_drop, struct sk_buff *skb)
{
	struct path_way *way = packet_find(path_id(skb));
	__u32 reason = path_drop_reason(ctx);
	struct path_mark now;

	if (!way)
		return 0;
	packet_forget(path_id(skb));
	now = path_now(PATH_SOFT);
	path_step(way, was_in_driver(way, reason) ? PATH_DRIVER : PATH_QDISC, &now, tx_counts());
	way->event.data.reason = reason;
	tx_tell(ctx, way, PATH_DROPPED);
	return 0;
}

/* Thrown away by a filter before an interface had it. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(path_tx_filtered, struct sk_buff *skb)
{
	__u32 reason = path_drop_reason(ctx);
	struct path_way *way;
	struct path_mark now;

	if (!PATH_IS_REASON(reason, NETFILTER_DROP) || skb->skb_iif || packet_find(path_id(skb)))
		return 0;
	way = begin_leaving(ctx, skb, &now);
	if (!way)
		return 0;
	now = path_mark_at(way->last_ns, PATH_PROCESS);
	path_step(way, PATH_FILTER, &now, tx_counts());
	way->event.data.reason = reason;
	tx_tell(ctx, way, PATH_DROPPED);
	return 0;
}

struct tx_acked {
	void *ctx;
	struct tx_sock *own;
	struct path_mark now;
	__u32 ack;
};

static long ack_one(__u32 index, struct tx_acked *acked)
{
	struct tx_flying *flying = &acked->own->flying[acked->own->head & (TX_FLYING_MAX - 1)];
	struct path_way *way;

	if ((__s32)(acked->ack - flying->end_seq) < 0)
		return 1;
	acked->own->head++;
	way = way_find(flying->number);
	if (!way)
		return 0;
	/* Cut up, and the piece was not recognised: the time in the queue is part of what follows. */
	if (way->state == PATH_WAY_OPEN)
		way->event.data.hidden |= 1u << PATH_QDISC | 1u << PATH_DRIVER;
	path_step(way, PATH_ACK, &acked->now, tx_counts());
	tx_tell(acked->ctx, way, PATH_DELIVERED);
	return 0;
}

/* An acknowledgement comes in, before TCP has looked at it. */
static __always_inline void tx_ack(void *ctx, struct sock *sk, __u32 ack, struct path_mark *now)
{
	struct tx_acked acked = {.ctx = ctx, .ack = ack};
	struct tx_sock *own;
	__u32 count;

	own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, 0);
	if (!own || own->head == own->tail)
		return;
	acked.own = own;
	path_now_once(now);
	acked.now = *now;
	acked.now.note = PATH_NO_NOTE;
	count = own->tail - own->head;
	if (count > TX_FLYING_MAX)
		count = TX_FLYING_MAX;
	/* No further than the last: what lies behind it was acknowledged long ago. */
	if (ack_one(0, &acked) == 0 && count > 1)
		bpf_loop(count - 1, ack_one, &acked, 0);
}
