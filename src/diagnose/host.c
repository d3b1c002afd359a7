/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/conn.h"
#include "diagnose/host.h"
#include "diagnose/window.h"
#include "snapshot/counter.h"
#include "snapshot/delta.h"

#define H struct host_measures

static const struct field host_fields[] = {
	FIELD(H, host_no_routes, COUNT, "packets for which there was no route"),
	FIELD(H, host_listen_overflows, COUNT, "handshakes that met a full accept queue"),
	FIELD(H, host_syn_queue_full, COUNT, "SYNs that met a full SYN queue"),
	FIELD(H, host_syncookies, COUNT, "SYN cookies sent because the SYN queue was full"),
	FIELD(H, host_attempt_fails, COUNT, "connection attempts that failed"),
	FIELD(H, host_resets_in, COUNT, "established connections that were reset"),
	FIELD(H, host_resets_out, COUNT, "resets sent"),
	FIELD(H, host_memory_pressures, COUNT, "times that TCP came under memory pressure"),
	FIELD(H, host_memory_drops, COUNT, "segments dropped for lack of memory or buffer"),
	FIELD(H, host_timewait_overflows, COUNT, "TIME-WAIT sockets refused because there were too many"),
	FIELD(H, host_udp_no_port, COUNT, "datagrams for a port that nobody listens on"),
	FIELD(H, host_udp_buffer_errors, COUNT, "datagrams dropped for lack of room in a receive buffer"),
	FIELD(H, host_unreachable_in, COUNT, "ICMP messages received: destination unreachable"),
	FIELD(H, host_unreachable_out, COUNT, "ICMP messages sent: destination unreachable"),
	FIELD(H, host_frag_needed_in, COUNT, "ICMP messages received: packet too big"),
	FIELD(H, host_rp_filter, COUNT, "packets refused because their source would be answered elsewhere"),
	FIELD(H, host_csum_errors, COUNT, "segments and datagrams with a wrong check sum"),
	FIELD(H, host_syn_retrans, COUNT, "SYNs and SYN-ACKs sent again"),
	FIELD(H, host_out_discards, COUNT, "packets discarded on the way out"),
	FIELD(H, host_local_retrans_fails, COUNT, "retransmissions that this host itself refused to send"),
	FIELD(H, host_zero_window_adv, COUNT, "times that this host closed its own window"),
	FIELD(H, host_backlog_drops, COUNT, "segments dropped because a socket's backlog was full"),
	FIELD(H, host_rto_count, COUNT, "retransmission time-outs"),
	FIELD(H, host_dsack_sent, COUNT, "segments received twice, and reported as such to their senders"),
};
RECORD_TYPE(host_measures_type, "measure.host", H, host_fields, "what the protocol counters of the host say");

/* Which counters make up a measure; several are added. */
static const struct {
	const char *counter;
	size_t offset;
} sources[] = {
	{"IpOutNoRoutes", offsetof(H, host_no_routes)},
	{"Ip6OutNoRoutes", offsetof(H, host_no_routes)},
	{"TcpExtListenOverflows", offsetof(H, host_listen_overflows)},
	{"TcpExtTCPReqQFullDrop", offsetof(H, host_syn_queue_full)},
	{"TcpExtTCPReqQFullDoCookies", offsetof(H, host_syn_queue_full)},
	{"TcpExtSyncookiesSent", offsetof(H, host_syncookies)},
	{"TcpAttemptFails", offsetof(H, host_attempt_fails)},
	{"TcpEstabResets", offsetof(H, host_resets_in)},
	{"TcpOutRsts", offsetof(H, host_resets_out)},
	{"TcpExtTCPMemoryPressures", offsetof(H, host_memory_pressures)},
	{"TcpExtPruneCalled", offsetof(H, host_memory_drops)},
	{"TcpExtRcvPruned", offsetof(H, host_memory_drops)},
	{"TcpExtTCPRcvQDrop", offsetof(H, host_memory_drops)},
	{"TcpExtTCPTimeWaitOverflow", offsetof(H, host_timewait_overflows)},
	{"UdpNoPorts", offsetof(H, host_udp_no_port)},
	{"UdpRcvbufErrors", offsetof(H, host_udp_buffer_errors)},
	{"IcmpInDestUnreachs", offsetof(H, host_unreachable_in)},
	{"Icmp6InDestUnreachs", offsetof(H, host_unreachable_in)},
	{"IcmpOutDestUnreachs", offsetof(H, host_unreachable_out)},
	{"Icmp6InPktTooBigs", offsetof(H, host_frag_needed_in)},
	{"TcpExtIPReversePathFilter", offsetof(H, host_rp_filter)},
	{"TcpInCsumErrors", offsetof(H, host_csum_errors)},
	{"UdpInCsumErrors", offsetof(H, host_csum_errors)},
	{"TcpExtTCPSynRetrans", offsetof(H, host_syn_retrans)},
	{"IpOutDiscards", offsetof(H, host_out_discards)},
	{"TcpExtTCPRetransFail", offsetof(H, host_local_retrans_fails)},
	{"TcpExtTCPToZeroWindowAdv", offsetof(H, host_zero_window_adv)},
	{"TcpExtTCPBacklogDrop", offsetof(H, host_backlog_drops)},
	{"TcpExtTCPTimeouts", offsetof(H, host_rto_count)},
	{"TcpExtTCPDSACKOldSent", offsetof(H, host_dsack_sent)},
	{"TcpExtTCPDSACKOfoSent", offsetof(H, host_dsack_sent)},
};

struct state {
	bool has_base;
	uint64_t base[ARRAY_SIZE(sources)], last[ARRAY_SIZE(sources)];
};

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;
	struct map index = MAP_INIT(0, sizeof(size_t), 0);

	if (window->samples == 1 && state->has_base)
		memcpy(state->base, state->last, sizeof(state->base));
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		*(size_t *)map_put(&index, sources[i].counter, NULL) = i;
		state->last[i] = UINT64_MAX;
	}
	snapshot_each(snapshot, counter_type, struct counter_record, counter)
	{
		const size_t *i = map_get(&index, counter->counter);

		if (i)
			state->last[*i] = counter->value;
	}
	map_done(&index);
	if (!state->has_base)
		memcpy(state->base, state->last, sizeof(state->base));
	state->has_base = true;
}

static void finish(struct window *window _unused_, void *data, struct graph *graph)
{
	const struct state *state = data;
	struct host_measures *m = graph_alloc(graph, sizeof(*m));
	struct module *host = graph_module(graph, MODULE_HOST, "host", "this host");

	memset(m, 0xff, sizeof(*m));
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		uint64_t *measure = (uint64_t *)((char *)m + sources[i].offset);
		uint64_t moved = counter_delta(state->base[i], state->last[i]);

		if (moved != UINT64_MAX)
			*measure = *measure == UINT64_MAX ? moved : *measure + moved;
	}
	host->measures.parts[0] = m;
	vec_each(&graph->modules, at)
	{
		(*at)->related[MODULE_HOST] = host;
		if ((*at)->kind == MODULE_CONN)
			(*at)->measures.parts[CONN_PART_HOST] = m;
	}
}

static const struct record_type *const needs[] = {&counter_type, NULL};

static const struct measurer host_measurer = {
	.name = "host",
	.stage = MEASURE_HOST,
	.needs = needs,
	.state_size = sizeof(struct state),
	.sample = sample,
	.finish = finish,
};
MEASURER(host_measurer);
