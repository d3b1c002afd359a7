/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.tx: from the write to the interface and, for TCP, to the ACK. The socket's storage records when which bytes were
 * written; a segment finds its start there when it leaves TCP. Journeys are in one pool: packets on their way to the
 * interface are found by address, those waiting for an ACK through the socket.
 */
#pragma once

#include "event/bpf/dev.bpf.h"
#include "event/path/path.bpf.h"
#include "event/tcp/tcp_hold.bpf.h"

#define TX_POOL_MAX    8192
#define TX_PACKET_BITS 12
#define TX_WRITES_MAX  16
#define TX_FLYING_MAX  128
/* TCP itself usually needs less from its timestamp to the interface. */
#define TX_ASIDE_MIN_NS 20000

EVENT(path_tx, struct path_event)

/* A journey by number; the pool slot may have been reused since. */
struct tx_packet {
	__u64 skb;
	__u64 number;
};

/* Bytes from seq on: start of the write call, and time when the send buffer had room. */
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
	__u64 call_ns; /* start of the last write; 0: none seen */
	__u32 write_count;
	__u32 hold_seq; /* TCP holds data from here on, and why */
	__u32 hold_reason;
	__u32 head; /* oldest segment in flight */
	__u32 tail;
	__u32 piece;    /* in flight: the last one that a qdisc segmented */
	__u32 sent_end; /* end of what was already sent, if anything */
	__u32 sent;
	__u32 call_end; /* sequence number after the last byte of the write */
	__u64 last_skb; /* few hooks: last packet given to a driver, and when it left TCP */
	__u64 last_left_ns;
	struct sock_owner owner; /* last writer */
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

/* The packet's address is no longer valid. */
static __always_inline void packet_forget(__u64 skb)
{
	struct tx_packet *packet = packet_at(skb);

	if (packet && packet->skb == skb)
		packet->skb = 0;
}

static __always_inline void tx_report(void *ctx, struct path_way *way, __u8 end)
{
	struct path_event *e;
	bool passes = true;

	path_way_finish(way, end, tx_counts());
	way->event.head.time_ns = path_since_boot(way->event.head.time_ns);
	if (path_tx_config.mode == EVENT_STREAM) {
		if (!path_is_decided(&path_tx_config, &path_tx_early, way)) {
			(void)path_set_waits(&way->event.data);
			passes = event_passes(&path_tx_config, (const char *)&way->event);
		}
		/* User space sums up the waits again. */
		if (passes)
			event_send(&way->event, path_event_size(&way->event), &path_tx_losses);
	} else {
		(void)path_set_waits(&way->event.data);
		e = path_tx_begin();
		if (e) {
			__builtin_memcpy(e, &way->event, sizeof(*e));
			(void)path_tx_end(ctx, e);
		}
	}
	way_give_back(way);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* A write continues, before it checks for room; again if it had to wait. end: sequence number after its last byte. */
static __always_inline void note_write(struct tx_sock *own, struct tcp_sock *tp, __u32 end, bool sees_room)
{
	struct tx_write *write;
	__u64 now = path_clock();
	__u32 count;

	/* A continued or retried write has the same end. */
	if (!own->call_ns || own->call_end != end)
		own->call_ns = now;
	own->call_end = end;
	if ((__u32)own->owner.pid_tgid != (__u32)bpf_get_current_task_btf()->pid)
		event_fill_owner(&own->owner);
	/* Everything was sent and acknowledged: reuse the first slots, which are in the cache. */
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

/* As tcp_small_queue_check: more queued below the socket than two packets and than 1 ms at the pacing rate. */
static __always_inline bool has_queued(const struct sock *sk, __u32 sent)
{
	unsigned long queued = (unsigned long)sk->sk_wmem_alloc.refs.counter;

	return queued > 2 * sent && (sk->sk_pacing_rate == NO_RATE || queued > sk->sk_pacing_rate >> 10);
}

/* TCP checks pacing first, but that ends soon: report what holds the data after it. */
static __always_inline __u32 lasting_reason(struct sock *sk, __u32 seq, __u32 unsent, __u32 sent)
{
	__u32 mss = READ(sk, mss_cache), segments = sent && mss ? (sent + mss - 1) / mss : 0;
	__u32 reason = hold_reason(sk, seq, unsent, segments);

	if (reason)
		return reason;
	return has_queued(sk, sent) ? TCP_HOLD_QUEUE : is_paced(sk) ? TCP_HOLD_PACING : 0;
}

/* What will hold the data of a write, if anything; note_hold handles data that left before. */
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
	/* Packets of this socket are still queued below: TCP waits for them, unless they are few. */
	if (!own->hold_reason && tp->packets_out > 1 && sk->sk_wmem_alloc.refs.counter > 1)
		own->hold_reason = TCP_HOLD_QUEUE;
}

static __always_inline int was_written(struct sock *sk, __u32 bytes, bool sees_room)
{
	struct tx_sock *own;
	struct tcp_sock *tp;

	if (!path_is_sock_chosen(sk))
		return 0;
	own = event_store_get(&path_tx_sock, sk, BPF_SK_STORAGE_GET_F_CREATE);
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

/* Before Linux 6.16: only the start. */
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

/* Searches back from the latest write to the one that contains the byte. */
static long search_write(__u32 index, struct tx_search *search)
{
	const struct tx_write *write = &search->own->writes[--search->at & (TX_WRITES_MAX - 1)];

	if ((__s32)(search->seq - write->seq) < 0)
		return 0;
	search->call_ns = write->call_ns;
	search->room_ns = write->room_ns;
	return 1;
}

/* Stages before the data left TCP. */
static __always_inline void step_tcp(struct path_way *way, struct sock *sk, struct tx_sock *own, struct path_mark *now)
{
	struct tx_search search = {.own = own, .seq = way->event.data.seq, .at = own->write_count};
	struct path_mark room = *now;

	/* Usually it is the latest write. */
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

	/* The leaving segment is still at the head of the write queue, usually alone. */
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

	/* More in flight than tracked: the ACK of the oldest will not be seen. */
	if (own->tail - own->head >= TX_FLYING_MAX) {
		oldest = way_find(own->flying[own->head & (TX_FLYING_MAX - 1)].number);
		own->head++;
		if (oldest) {
			oldest->event.data.hidden |= 1u << PATH_ACK;
			tx_report(ctx, oldest, PATH_UNFINISHED);
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
	struct tx_sock *own = event_store_get(&path_tx_sock, sk, BPF_SK_STORAGE_GET_F_CREATE);
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
	/* Retransmission: the earlier stages belong to the original. */
	if (again) {
		way->event.data.hidden |= 1u << PATH_SNDBUF | 1u << PATH_TCP;
	} else {
		step_tcp(way, sk, own, now);
		note_hold(sk, own, &segment);
	}
	set_writer(&way->event.head, &own->owner);
	fly(ctx, own, way);
}

/* Outgoing interface. A filter may drop the packet before it is set; its route has it. */
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

/* Starts a journey; NULL: not followed, or the pool is full. */
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

/* It leaves TCP, or its other origin; sk: NULL without a full socket. */
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

/* Whether the data was written and left TCP earlier without reaching an interface. */
static __always_inline bool was_put_aside(struct sock *sk, const struct packet_tcp *tcp)
{
	__u32 end = tcp->seq + tcp->bytes;
	struct tx_sock *own;

	/* What TCP is sending now comes after all that it has sent. */
	if (!tcp->bytes || !is_tcp(sk) || (__s32)(end - READ(sk, snd_nxt)) > 0)
		return false;
	own = event_store_get(&path_tx_sock, sk, 0);
	if (!own)
		return false;
	/* First packet seen of this socket. */
	if (!own->sent && own->write_count && own->write_count <= TX_WRITES_MAX &&
	    (__s32)(tcp->seq - own->writes[0].seq) >= 0) {
		own->sent = 1;
		own->sent_end = tcp->seq;
	}
	return own->sent && (__s32)(end - own->sent_end) > 0;
}

/* It comes from a stacked interface: tunnel, bridge, virtual interface. */
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
 * Whether a packet without a socket was generated here: RST, ICMP error, report. Encapsulated packets have none either,
 * and may be forwarded.
 */
static __always_inline bool is_made_here(const struct packet *packet, const struct packet_tcp *tcp)
{
	return packet->proto == IPPROTO_ICMP || packet->proto == IPPROTO_ICMPV6 || packet->proto == IPPROTO_IGMP ||
	       (packet->proto == IPPROTO_TCP && !tcp->bytes);
}

/* Whether an outgoing packet is followed; reads its headers. */
static __always_inline bool is_followed_out(struct sk_buff *skb, struct packet *packet, struct packet_tcp *tcp)
{
	struct sock *sk = skb->sk;
	bool whole = sk && is_whole(sk);

	if (whole && !path_is_sock_chosen(sk))
		return false;
	if (!path_read_headers(packet, tcp, skb, skb->network_header))
		return false;
	/* A connected socket has a single flow. */
	if (whole && sk->__sk_common.skc_dport)
		return true;
	return (sk || is_made_here(packet, tcp)) && path_is_chosen(packet);
}

/* When driver starts are not traced: it starts now, unless the packet is queued. */
static __always_inline void go_straight(struct path_way *way, const struct net_device *dev)
{
	if (path_is_xmit_seen())
		return;
	way->state = PATH_WAY_SENDING;
	way->ifindex = (__u32)dev->ifindex;
	way->passed_on = path_hands_over(dev);
}

/* A packet that left TCP, or its other origin; NULL: not followed. */
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
	/* Held between TCP and the interface: NFQUEUE. */
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
	/* Kept until dequeue; the queue already counts the packet. A lockless qdisc counts elsewhere. */
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

/* Searches from the last segmented packet for the one that ends where the piece does; most pieces end before it. */
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

/* A qdisc may have segmented a large packet: its last piece carries the end of the data. */
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
	own = event_store_get(&path_tx_sock, sk, 0);
	if (!own || own->head == own->tail)
		return NULL;
	piece.own = own;
	piece.end = segment.seq + segment.bytes;
	/* Skip what was already acknowledged. */
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
	/* A busy driver is retried. */
	if (way->state != PATH_WAY_OPEN)
		return;
	way->state = PATH_WAY_SENDING;
	way->passed_on = path_hands_over(skb->dev);
	/* Not queued: the clock was just read. Local links only: a real device may requeue a packet unseen. */
	if (!way->ready_ns && !is_piece && way->passed_on && PATH_SEES_QUEUES) {
		*now = path_mark_at(way->last_ns, PATH_SOFT);
		return;
	}
	path_now_once(now);
	path_leave_queue(way, now, tx_counts());
}

/* The receiver is on this host: no completion will be reported. */
static __always_inline void tx_taken(void *ctx, struct sk_buff *skb)
{
	struct path_way *way = packet_find(path_id(skb));

	if (!way)
		return;
	way->passed_on = 1;
	/* The sender is done, and no ACK is expected. */
	if (way->state == PATH_WAY_SENT && way->event.data.seq == way->event.data.end_seq)
		tx_report(ctx, way, PATH_DELIVERED);
}

/* It left a queue at this interface before dequeues were traced. */
static __always_inline bool left_queue_unseen(const struct path_way *way, const struct net_device *dev)
{
	return way->state == PATH_WAY_OPEN && way->ready_ns && !path_is_xmit_seen() &&
	       way->ifindex == (__u32)dev->ifindex;
}

/* The driver accepted or refused it. */
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
		/* From now on it waits for the driver, at the head of the queue. */
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
			tx_report(ctx, way, PATH_DELIVERED);
	}
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

/* Each piece is a packet to the interface. */
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
	/* Segmented in a queue: its pieces continue and are matched at the driver. */
	if (way->state != PATH_WAY_SENT) {
		count_pieces(skb);
		way->state = PATH_WAY_OPEN;
		path_want_xmit();
		return;
	}
	now = path_now(PATH_SOFT);
	path_step(way, PATH_COMPLETION, &now, tx_counts());
	if (way->event.data.seq == way->event.data.end_seq)
		tx_report(ctx, way, PATH_DELIVERED);
}

/* When driver starts are not traced: drivers free without a reason, qdiscs with one. */
static __always_inline bool was_in_driver(const struct path_way *way, __u32 reason)
{
	if (way->state == PATH_WAY_OPEN)
		return false;
	if (path_is_xmit_seen())
		return true;
	path_want_xmit();
	return !reason || PATH_IS_REASON(reason, NOT_SPECIFIED);
}

/* Separate programs: only drops run them, and one would exceed the verifier limit of Linux 6.1. */
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
	tx_report(ctx, way, PATH_DROPPED);
	return 0;
}

/* Dropped by a filter before an interface. */
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
	tx_report(ctx, way, PATH_DROPPED);
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
	/* Segmented, and the piece was not matched: time in the qdisc is part of the next stage. */
	if (way->state == PATH_WAY_OPEN)
		way->event.data.hidden |= 1u << PATH_QDISC | 1u << PATH_DRIVER;
	path_step(way, PATH_ACK, &acked->now, tx_counts());
	tx_report(acked->ctx, way, PATH_DELIVERED);
	return 0;
}

/* An ACK arrives, before TCP processes it. */
static __always_inline void tx_ack(void *ctx, struct sock *sk, __u32 ack, struct path_mark *now)
{
	struct tx_acked acked = {.ctx = ctx, .ack = ack};
	struct tx_sock *own;
	__u32 count;

	own = event_store_get(&path_tx_sock, sk, 0);
	if (!own || own->head == own->tail)
		return;
	acked.own = own;
	path_now_once(now);
	acked.now = *now;
	acked.now.note = PATH_NO_NOTE;
	count = own->tail - own->head;
	if (count > TX_FLYING_MAX)
		count = TX_FLYING_MAX;
	/* Stop at the last match: older ones were acknowledged earlier. */
	if (ack_one(0, &acked) == 0 && count > 1)
		bpf_loop(count - 1, ack_one, &acked, 0);
}
