// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether data sent or data received was the last. TCP sets its clock (tcp_mstamp) when it sends, receives, and is read
 * from: while that is still the time of the last ACK of sent data (delivered_mstamp), no data has been received, and
 * nothing read, since. Where something else has arrived since, as the reply to a keep-alive probe, the age of that ACK
 * tells: a delayed ACK comes later than the data received before the request.
 */
#include "probe/asking.bpf.h"
#include "kernel/types.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define ESTABLISHED 1
#define SHORTEST_US 10000
#define LONGEST_US  60000000

SEC("iter/tcp")
int asking_find(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct asking_row row = {};
	struct tcp_sock *tp;
	__u64 age_us, now_us;

	tp = common && common->skc_state == ESTABLISHED ? bpf_skc_to_tcp_sock(common) : NULL;
	if (!tp || tp->lsndtime != tp->inet_conn.icsk_ack.lrcvtime || tp->snd_una != tp->write_seq ||
	    tp->rcv_nxt != tp->copied_seq || !tp->bytes_received)
		return 0;
	now_us = bpf_ktime_get_ns() / 1000;
	age_us = now_us - tp->tcp_mstamp;
	if (age_us < SHORTEST_US || age_us > LONGEST_US)
		return 0;
	row.sent_last = tp->tcp_mstamp == tp->delivered_mstamp;
	row.delivered_us = now_us - tp->delivered_mstamp;
	row.cookie = (__u64)common->skc_cookie.counter;
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
