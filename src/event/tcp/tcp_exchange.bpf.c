// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.exchange: a change of direction on a connection. What the client sends until the server sends is a request; the
 * first byte of the server after it is the answer. Data of the server without a request is none.
 *
 * One program run per received segment is all that a request costs: the time of what was sent since the last segment is
 * in the socket. tcp_clock_cache is the clock at TCP's last activity, first_tx_mstamp the time of the first segment
 * sent when nothing was in flight.
 */
#define EVENT_IS_FREQUENT
#include "event/tcp/tcp_exchange.h"
#include "event/bpf/tcp.bpf.h"
#include "event/tcp/tcp.h"

#define NSEC_PER_MSEC 1000000ull
#define RCV_SHUTDOWN  1
#define TCP_FIN       1
#define ECONNRESET    104
#define EPIPE         32
#define ETIMEDOUT     110

/* A client that closes this soon after it wrote did not wait for an answer (QUIT, close_notify). */
#define GOODBYE_NS (10 * NSEC_PER_MSEC)

EVENT(tcp_exchange, struct tcp_exchange_event)

struct exchange_state {
	__u64 asked_ns; /* last byte of the request that waits for an answer; 0: none */
	__u64 left_ns;  /* the peer's FIN; 0: none */
	__u32 sent;     /* snd_nxt as last seen */
	__u32 begin;    /* of the request; at the server in the peer's numbers */
	__u32 end;
	__u32 retransmits;
	__u8 role;
	__u8 known;   /* the numbers above are set */
	__u8 partial; /* the request began before the run */
	__u8 half;    /* this end has shut down its sending side; end is then rcv_nxt */
	__u32 unused;
};
EVENT_SOCK_STORE(tcp_exchange, about, struct exchange_state);

/* What is to be reported. */
struct finding {
	__u64 lat_ns;
	__u32 request_bytes;
	__u32 answer_bytes;
	__u32 outcome; /* 0: nothing */
};

#define WANTED(member) EVENT_WANTS(&tcp_exchange_config, struct tcp_exchange, member)

/* Three words, each written at once: they are the key. */
static __always_inline void set_service(struct tcp_exchange *data, struct sock *sk, __u32 role, __u32 outcome)
{
	const struct sock_common *common = &sk->__sk_common;
	__u64 *words = __builtin_assume_aligned(&data->service, 8);
	__u64 high = 0, low = 0, rest = (__u64)role << 8 | (__u64)outcome << 32;
	__u16 port = bpf_ntohs(common->skc_dport);

	if (role == TCP_ROLE_SERVER) {
		port = common->skc_num;
		if (!port)
			port = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	} else if (common->skc_family == AF_INET) {
		low = (__u64)common->skc_daddr << 32 | bpf_htonl(0xffff);
		rest |= ADDR_V4;
	} else {
		const __u32 *at = common->skc_v6_daddr.in6_u.u6_addr32;

		high = (__u64)at[1] << 32 | at[0];
		low = (__u64)at[3] << 32 | at[2];
		rest |= high == 0 && (__u32)low == bpf_htonl(0xffff) ? ADDR_V4 : ADDR_V6;
	}
	words[0] = high;
	words[1] = low;
	words[2] = rest | (__u64)port << 16;
}

static __always_inline int report(void *ctx, struct sock *sk, struct tcp_sock *tp, __u32 role,
				  const struct finding *found)
{
	struct tcp_exchange_event *e = tcp_exchange_begin();

	if (!e)
		return 0;
	event_set_owner(&tcp_exchange_config, &e->head, sk);
	/* The namespace of an untrusted socket is quicker to verify (event_netns_of). */
	event_set_socket(&tcp_exchange_config, &e->head, (struct sock *)tp);
	e->data.lat_ns = found->lat_ns;
	if (WANTED(srtt_ns))
		e->data.srtt_ns = srtt_ns(tp);
	if (WANTED(min_rtt_ns))
		e->data.min_rtt_ns = min_rtt_ns(tp);
	if (WANTED(request_bytes)) {
		e->data.request_bytes = found->request_bytes;
		e->data.answer_bytes = found->answer_bytes;
	}
	if (WANTED(service))
		set_service(&e->data, sk, role, found->outcome);
	return tcp_exchange_end(ctx, e);
}

/* --- what happened since this connection was last seen ------------------------------------------------------------ */

static __always_inline __u64 since(__u64 ns, __u64 now_ns)
{
	return now_ns > ns ? now_ns - ns : 0;
}

static __always_inline __u32 request_bytes(const struct exchange_state *state)
{
	return state->partial ? EVENT_UNKNOWN32 : state->end - state->begin;
}

/* A connection established before the run: connect() chose the port of a client, unless it was bound. */
static __always_inline __u8 guess_role(const struct tcp_sock *tp)
{
	return BPF_CORE_READ(tp, inet_conn.icsk_bind_hash, fastreuse) < 0 ? TCP_ROLE_CLIENT : TCP_ROLE_SERVER;
}

/*
 * Whether a request waits already: the kernel's times of the last data sent and received are in ticks. Of sent data TCP
 * knows when the last that was acknowledged, or the first in flight, was sent. Of received data it knows only the time
 * of its latest activity: such a latency is a lower bound.
 */
static __noinline void begin_state(struct exchange_state *state, const struct tcp_sock *tp)
{
	__u32 sent = (__u32)(tp->bytes_sent - tp->bytes_retrans), received = (__u32)tp->bytes_received;
	__s32 ahead = (__s32)(tp->lsndtime - tp->inet_conn.icsk_ack.lrcvtime);
	__u64 asked_ns = tp->tcp_clock_cache;
	__u32 asked, answered;

	if (!state->role)
		state->role = guess_role(tp);
	if (state->role == TCP_ROLE_SERVER) {
		asked = received;
		answered = sent;
		ahead = -ahead;
		state->end = tp->rcv_nxt;
	} else {
		asked = sent;
		answered = received;
		asked_ns = tp->first_tx_mstamp * NSEC_PER_USEC ?: asked_ns;
		state->end = tp->snd_nxt;
	}
	state->begin = state->end - asked;
	state->partial = answered != 0;
	state->asked_ns = asked && (!answered || ahead > 0) ? asked_ns : 0;
	state->sent = tp->snd_nxt;
	state->retransmits = tp->total_retrans;
	state->known = 1;
}

/* The client has sent, most recently now unless it is a retransmission. */
static __always_inline void note_request(struct exchange_state *state, const struct tcp_sock *tp, __u32 sent)
{
	if (!state->asked_ns) {
		state->begin = state->sent;
		state->partial = 0;
	}
	state->asked_ns = tp->tcp_clock_cache;
	state->end = sent;
	if (tp->total_retrans != state->retransmits) {
		state->retransmits = tp->total_retrans;
		state->asked_ns = tp->first_tx_mstamp * NSEC_PER_USEC;
	}
}

/* The server has sent: when the first of it left, unless older data was in flight. */
static __always_inline void note_answer(struct exchange_state *state, const struct tcp_sock *tp, __u32 sent,
					struct finding *found)
{
	__u64 first_ns = tp->first_tx_mstamp * NSEC_PER_USEC;

	if (first_ns < state->asked_ns)
		first_ns = tp->tcp_clock_cache;
	found->lat_ns = since(state->asked_ns, first_ns);
	found->request_bytes = request_bytes(state);
	found->answer_bytes = sent - state->sent;
	found->outcome = TCP_EXCHANGE_ANSWERED;
	state->asked_ns = 0;
}

/* --- received segments -------------------------------------------------------------------------------------------- */

/* New payload, and where it ends. TCP has filled in its part of the packet; a FIN counts there. */
static __always_inline __u32 new_bytes(struct sk_buff *skb, const struct tcp_sock *tp, __u32 *ret_end)
{
	const struct tcp_skb_cb *cb = (const struct tcp_skb_cb *)skb->cb;
	__u32 end = cb->end_seq - (((const struct tcp_skb_cb___flags *)cb)->tcp_flags & TCP_FIN);

	*ret_end = end;
	return (__s32)(end - tp->rcv_nxt) > 0 ? end - cb->seq : 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_exchange_segment, struct sock *sk, struct sk_buff *skb)
{
	struct exchange_state *state = event_store_get(&tcp_exchange_about, sk, 0);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct finding found = {};
	__u32 bytes, end = 0, sent;
	__u64 now_ns;

	if (!tp)
		return 0;
	if (!state || !state->known) {
		state = event_remember_sock(&tcp_exchange_about, sk, &tcp_exchange_losses);
		if (!state)
			return 0;
		begin_state(state, tp);
	}
	sent = tp->snd_nxt;
	bytes = new_bytes(skb, tp, &end);
	if (sent != state->sent) {
		if (state->role == TCP_ROLE_CLIENT)
			note_request(state, tp, sent);
		else if (state->asked_ns)
			note_answer(state, tp, sent, &found);
		state->sent = sent;
	}
	if (bytes) {
		now_ns = bpf_ktime_get_ns();
		if (state->role != TCP_ROLE_CLIENT) {
			if (!state->asked_ns) {
				state->begin = end - bytes;
				state->partial = 0;
			}
			state->asked_ns = now_ns;
			state->end = end;
		} else if (state->asked_ns) {
			found.lat_ns = since(state->asked_ns, now_ns);
			found.request_bytes = request_bytes(state);
			found.answer_bytes = bytes;
			found.outcome = TCP_EXCHANGE_ANSWERED;
			state->asked_ns = 0;
		}
	}
	return found.outcome ? report(ctx, sk, tp, state->role, &found) : 0;
}

/* --- the end of a connection -------------------------------------------------------------------------------------- */

static __always_inline __u32 outcome_of(int error, __u32 otherwise)
{
	if (error == ECONNRESET || error == EPIPE)
		return TCP_EXCHANGE_RESET;
	return error == ETIMEDOUT ? TCP_EXCHANGE_TIMED_OUT : otherwise;
}

/* The server leaves: its answer may have left, or be left to be sent. */
static __always_inline void end_server(struct exchange_state *state, struct sock *sk, const struct tcp_sock *tp,
				       int newstate, __u64 now_ns, struct finding *found)
{
	__u64 end_ns = state->left_ns ?: now_ns;

	if (newstate == SOCKET_CLOSE_WAIT) {
		state->left_ns = now_ns;
		return;
	}
	if (tp->write_seq != state->sent) {
		note_answer(state, tp, tp->write_seq, found);
		return;
	}
	found->outcome = outcome_of(sk->sk_err, state->left_ns ? TCP_EXCHANGE_PEER_CLOSED : TCP_EXCHANGE_CLOSED);
	found->lat_ns = since(state->asked_ns, end_ns);
	found->request_bytes = request_bytes(state);
	state->asked_ns = 0;
	if (found->outcome == TCP_EXCHANGE_PEER_CLOSED && found->lat_ns < GOODBYE_NS)
		found->outcome = 0;
}

static __always_inline void end_client(struct exchange_state *state, struct sock *sk, const struct tcp_sock *tp,
				       int newstate, __u64 now_ns, struct finding *found)
{
	/* Its request ends here; the answer that follows does not pass tcp_probe. */
	if (newstate == SOCKET_FIN_WAIT1 && !(sk->sk_shutdown & RCV_SHUTDOWN)) {
		state->half = 1;
		state->left_ns = tp->bytes_received;
		return;
	}
	found->outcome =
		outcome_of(sk->sk_err, newstate == SOCKET_CLOSE_WAIT ? TCP_EXCHANGE_PEER_CLOSED : TCP_EXCHANGE_CLOSED);
	found->lat_ns = since(state->asked_ns, now_ns);
	found->request_bytes = request_bytes(state);
	state->asked_ns = 0;
	/* The FIN counts as a byte. */
	if (state->half && tp->bytes_received > state->left_ns + 1)
		found->outcome = 0;
	else if (state->half && !sk->sk_err)
		found->outcome = TCP_EXCHANGE_PEER_CLOSED;
	else if (found->outcome == TCP_EXCHANGE_CLOSED && found->lat_ns < GOODBYE_NS)
		found->outcome = 0;
}

static __always_inline void begin_client(struct sock *sk)
{
	struct exchange_state *state = event_remember_sock(&tcp_exchange_about, sk, &tcp_exchange_losses);

	if (!state)
		return;
	state->asked_ns = 0;
	state->left_ns = 0;
	state->half = 0;
	state->known = 0;
	state->role = TCP_ROLE_CLIENT;
}

static __always_inline int state_changed(void *ctx, struct sock *sk, int oldstate, int newstate)
{
	struct exchange_state *state;
	struct finding found = {};
	struct tcp_sock *tp;

	if (newstate == SOCKET_SYN_SENT && is_tcp(sk))
		begin_client(sk);
	if (oldstate != SOCKET_ESTABLISHED && newstate != SOCKET_LAST_ACK && newstate != SOCKET_CLOSE)
		return 0;
	tp = is_tcp(sk) ? bpf_skc_to_tcp_sock(sk) : NULL;
	state = tp ? event_store_get(&tcp_exchange_about, sk,
				     oldstate == SOCKET_ESTABLISHED ? BPF_SK_STORAGE_GET_F_CREATE : 0)
		   : NULL;
	if (!state)
		return 0;
	/* No segment was seen: none came, or they are not traced. */
	if (!state->known && oldstate == SOCKET_ESTABLISHED)
		begin_state(state, tp);
	if (oldstate == SOCKET_ESTABLISHED && state->role == TCP_ROLE_CLIENT && tp->snd_nxt != state->sent) {
		note_request(state, tp, tp->snd_nxt);
		state->sent = tp->snd_nxt;
	}
	if (!state->asked_ns)
		return 0;
	if (state->role == TCP_ROLE_CLIENT)
		end_client(state, sk, tp, newstate, bpf_ktime_get_ns(), &found);
	else
		end_server(state, sk, tp, newstate, bpf_ktime_get_ns(), &found);
	return found.outcome ? report(ctx, sk, tp, state->role, &found) : 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_exchange_leave, struct sock *sk, int oldstate, int newstate)
{
	return state_changed(ctx, sk, oldstate, newstate);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_exchange_leave_twin, struct sock *sk, int oldstate, int newstate)
{
	return state_changed(ctx, sk, oldstate, newstate);
}

/* --- what has begun and not ended --------------------------------------------------------------------------------- */

/* Connections established before the run. */
SEC("iter/task_file")
int tcp_exchange_seed(struct bpf_iter__task_file *ctx)
{
	struct exchange_state *state;
	struct file *file = ctx->file;
	struct socket *socket;
	struct tcp_sock *tp;
	struct sock *sk;

	socket = file ? bpf_sock_from_file(file) : NULL;
	sk = socket ? socket->sk : NULL;
	tp = sk && is_tcp(sk) && sk->__sk_common.skc_state == SOCKET_ESTABLISHED ? bpf_skc_to_tcp_sock(sk) : NULL;
	if (!tp)
		return 0;
	state = event_store_get(&tcp_exchange_about, sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (state && !state->known)
		begin_state(state, tp);
	return 0;
}

SEC("iter/bpf_sk_storage_map")
int tcp_exchange_open(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct exchange_state *stored = ctx->value;
	struct finding found = {.outcome = TCP_EXCHANGE_OPEN};
	struct exchange_state state;
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;

	tp = sk && stored && sk->__sk_common.skc_state == SOCKET_ESTABLISHED ? bpf_skc_to_tcp_sock(sk) : NULL;
	if (!tp)
		return 0;
	state = *stored;
	if (!state.known)
		begin_state(&state, tp);
	if (tp->snd_nxt != state.sent) {
		/* Answered, which the next segment will show. */
		if (state.role != TCP_ROLE_CLIENT)
			return 0;
		note_request(&state, tp, tp->snd_nxt);
	}
	if (!state.asked_ns)
		return 0;
	found.lat_ns = since(state.asked_ns, bpf_ktime_get_ns());
	found.request_bytes = request_bytes(&state);
	return report(ctx, sk, tp, state.role, &found);
}
