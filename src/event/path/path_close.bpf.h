/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Closing sockets: unread data is dropped silently, and ACKs for sent data are no longer visible. These hooks run once
 * per connection, not per packet.
 */
#pragma once

#include "event/path/path_deliver.bpf.h"
#include "event/path/path_leave.bpf.h"

/* While established, ACKs are traced; later, snd_una shows them when the state changes. */
static __always_inline void tx_settle(void *ctx, struct sock *sk)
{
	struct tcp_sock *tp = is_tcp(sk) ? bpf_skc_to_tcp_sock(sk) : NULL;
	struct path_mark now = {};

	if (tp)
		tx_ack(ctx, sk, tp->snd_una, &now);
}

static long lose_one(__u32 index, struct tx_acked *lost)
{
	struct tx_flying *flying = &lost->own->flying[lost->own->head++ & (TX_FLYING_MAX - 1)];
	struct path_way *way = way_find(flying->number);

	if (!way)
		return 0;
	way->event.data.hidden |= 1u << PATH_ACK;
	if (way->state == PATH_WAY_SENT)
		tx_report(lost->ctx, way, PATH_UNFINISHED);
	else
		/* Not yet at the interface: the journey ends there, as if it carried no data. */
		way->event.data.end_seq = way->event.data.seq;
	return 0;
}

/* No more ACKs will come. */
static __always_inline void tx_close(void *ctx, struct sock *sk)
{
	struct tx_sock *own = event_store_get(&path_tx_sock, sk, 0);
	struct tx_acked lost = {.ctx = ctx, .own = own};

	if (own && own->tail - own->head <= TX_FLYING_MAX)
		bpf_loop(own->tail - own->head, lose_one, &lost, 0);
}

struct rx_closing {
	void *ctx;
	struct sock *sk;
	struct rx_queue *queue;
	struct path_read info;
	__u32 at;
};

static long close_one(__u32 index, struct rx_closing *closing)
{
	__u64 *slot = &closing->queue->numbers[closing->at++ & (RX_QUEUE_MAX - 1)], number = *slot;
	struct path_way *way = number ? rx_pool_find(number) : NULL;

	if (!way || way->state != PATH_WAY_WAITING || __sync_val_compare_and_swap(slot, number, 0) != number)
		return 0;
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, -1);
	event_set_owner(&path_rx_config, &way->event.head, closing->sk);
	rx_report(closing->ctx, way, path_step_close(way, &closing->info, rx_counts()));
	return 0;
}

/* Data left in the receive queue. */
static __always_inline void rx_close(void *ctx, struct sock *sk)
{
	struct rx_closing closing = {.ctx = ctx, .sk = sk, .queue = rx_queue_find(sk)};
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct rx_queue *queue = closing.queue;
	struct path_read_event *e;

	if (!queue || !tp || (queue->head == queue->tail && !queue->spilled))
		return;
	closing.info.now = path_now(PATH_PROCESS);
	closing.info.is_tcp = 1;
	closing.info.copied = tp->copied_seq;
	closing.info.reason = PATH_REASON(TCP_CLOSE);
	bpf_loop(RX_QUEUE_MAX, close_one, &closing, 0);
	e = queue->spilled ? rx_message(PATH_CLOSED, (__u64)sk->__sk_common.skc_cookie.counter) : NULL;
	if (!e)
		return;
	event_set_owner(&path_rx_config, &e->head, sk);
	rx_send(e, &closing.info);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(path_state, struct sock *sk, int before, int after)
{
	if (TX && (after == SOCKET_FIN_WAIT2 || after == SOCKET_CLOSE))
		tx_settle(ctx, sk);
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(path_destroy, struct sock *sk)
{
	if (RX)
		rx_close(ctx, sk);
	if (TX) {
		tx_settle(ctx, sk);
		tx_close(ctx, sk);
	}
	return 0;
}
