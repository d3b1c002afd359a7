/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/conn_minute.h"

#include <string.h>

#include "record/net_names.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"

#define M struct conn_minute_record
static const struct field conn_minute_fields[] = {
	FIELD(M, time_ns, TIME, "when the sample was taken"),
	FIELD(M, netns, ID, "network namespace", .zero_is_unknown = true),
	FIELD(M, cookie, ID, "socket cookie", .zero_is_unknown = true),
	FIELD(M, laddr, ADDR, "local address"),
	FIELD(M, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(M, raddr, ADDR, "remote address"),
	FIELD(M, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(M, pid, ID, "process that owns the socket", .zero_is_unknown = true),
	FIELD(M, comm, TEXT, "its name"),
	FIELD(M, state, ENUM, "TCP state", .names = &socket_state_names),
	FIELD(M, tx_bytes, BYTES, "sent since the start, without retransmissions"),
	FIELD(M, retrans_bytes, BYTES, "retransmitted since the start"),
	FIELD(M, acked_bytes, BYTES, "acknowledged since the start"),
	FIELD(M, rx_bytes, BYTES, "received since the start, in order"),
	FIELD(M, tx_segs, COUNT, "segments with data sent since the start, retransmissions included"),
	FIELD(M, retrans_segs, COUNT, "segments retransmitted since the start"),
	FIELD(M, rx_segs, COUNT, "segments with data received since the start"),
	FIELD(M, srtt_ns, DURATION, "smoothed RTT"),
	FIELD(M, min_rtt_ns, DURATION, "minimum RTT"),
	FIELD(M, rwnd_limited_ns, DURATION, "time limited by the receive window of the peer, since the start"),
	FIELD(M, sndbuf_limited_ns, DURATION, "time limited by the send buffer, since the start"),
	FIELD(M, recvq_bytes, BYTES, "received and not read by the program"),
	FIELD(M, sendq_bytes, BYTES, "not acknowledged or not sent"),
	FIELD(M, sent_time_ns, TIME, "last segment with data sent", .zero_is_unknown = true),
	FIELD(M, received_time_ns, TIME, "last segment with data received", .zero_is_unknown = true),
	FIELD(M, acked_time_ns, TIME, "last ACK received", .zero_is_unknown = true),
};
#undef M
RECORD_TYPE(conn_minute_type, "conn_minute", struct conn_minute_record, conn_minute_fields,
	    "a TCP connection, sampled once per minute");

static uint64_t moment_of(uint64_t now_ns, uint64_t age_ns)
{
	return age_ns > now_ns ? 0 : now_ns - age_ns;
}

static uint64_t age_of(uint64_t now_ns, uint64_t moment_ns)
{
	return moment_ns == 0 || moment_ns > now_ns ? UINT64_MAX : now_ns - moment_ns;
}

static void fill_owner(const struct snapshot *snapshot, const struct socket_record *socket,
		       struct conn_minute_record *minute)
{
	const struct snapshot_table *owners = snapshot_table(snapshot, &owner_type);
	const struct process_record *process;

	if (socket->owner >= owners->count)
		return;
	minute->pid = ((const struct owner_record *)owners->items)[socket->owner].pid;
	process = process_find(snapshot, minute->pid);
	if (process)
		memcpy(minute->comm, process->comm, sizeof(minute->comm));
}

bool conn_minute_fill(const struct snapshot *snapshot, const struct socket_record *socket,
		      struct conn_minute_record *ret_minute)
{
	const struct tcp_record *t = socket->proto == 6 && socket->rport ? socket_tcp(snapshot, socket) : NULL;
	uint64_t boot_ns = snapshot->sockets_boot_ns ?: snapshot->begin_boot_ns;
	uint64_t now_ns = snapshot->begin_time_ns + (boot_ns - snapshot->begin_boot_ns);

	if (!t || socket->state == SOCKET_LISTEN || t->bytes_sent == UINT64_MAX || t->bytes_retrans == UINT64_MAX)
		return false;
	*ret_minute = (struct conn_minute_record){
		.time_ns = now_ns,
		.netns = socket->netns,
		.cookie = socket->cookie,
		.laddr = socket->laddr,
		.raddr = socket->raddr,
		.lport = socket->lport,
		.rport = socket->rport,
		.state = socket->state,
		.tx_bytes = t->bytes_sent - min_of(t->bytes_retrans, t->bytes_sent),
		.retrans_bytes = t->bytes_retrans,
		/* The SYN counts as one. */
		.acked_bytes =
			t->bytes_acked == UINT64_MAX || t->bytes_acked == 0 ? t->bytes_acked : t->bytes_acked - 1,
		.rx_bytes = t->bytes_received,
		.tx_segs = t->data_segs_out,
		.retrans_segs = t->total_retrans,
		.rx_segs = t->data_segs_in,
		.srtt_ns = t->srtt_ns,
		.min_rtt_ns = t->min_rtt_ns,
		.rwnd_limited_ns = t->rwnd_limited_ns,
		.sndbuf_limited_ns = t->sndbuf_limited_ns,
		.recvq_bytes = socket->recvq_bytes,
		.sendq_bytes = socket->sendq_bytes,
		.sent_time_ns = moment_of(now_ns, t->last_sent_ns),
		.received_time_ns = moment_of(now_ns, t->last_received_ns),
		.acked_time_ns = moment_of(now_ns, t->last_ack_ns),
	};
	fill_owner(snapshot, socket, ret_minute);
	return true;
}

void conn_minute_show(const struct conn_minute_record *minute, struct snapshot *snapshot)
{
	struct socket_record *s;
	struct tcp_record *t;

	snapshot_clear(snapshot);
	snapshot->begin_time_ns = minute->time_ns;
	snapshot->begin_boot_ns = snapshot->sockets_boot_ns = minute->time_ns;
	s = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	t = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	if (!s || !t)
		return;
	s->proto = 6;
	s->state = minute->state;
	s->netns = minute->netns;
	s->cookie = minute->cookie;
	s->laddr = minute->laddr;
	s->raddr = minute->raddr;
	s->lport = minute->lport;
	s->rport = minute->rport;
	s->tcp = 0;
	t->bytes_sent = minute->tx_bytes == UINT64_MAX ? UINT64_MAX : minute->tx_bytes + minute->retrans_bytes;
	t->bytes_retrans = minute->retrans_bytes;
	t->bytes_acked = minute->acked_bytes == UINT64_MAX ? UINT64_MAX : minute->acked_bytes + 1;
	t->bytes_received = minute->rx_bytes;
	t->data_segs_out = minute->tx_segs;
	t->total_retrans = minute->retrans_segs;
	t->data_segs_in = minute->rx_segs;
	t->last_sent_ns = age_of(minute->time_ns, minute->sent_time_ns);
	t->last_received_ns = age_of(minute->time_ns, minute->received_time_ns);
	t->last_ack_ns = age_of(minute->time_ns, minute->acked_time_ns);
}
