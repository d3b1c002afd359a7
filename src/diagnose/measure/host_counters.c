/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/host_counters.h"

#include <linux/netfilter.h>

#include "diagnose/graph/window.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/proc/host_limit.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/softnet.h"

#define H struct host_measures

static const struct field host_fields[] = {
	FIELD(H, host_no_routes, COUNT, "packets for which there was no route"),
	FIELD(H, host_listen_overflows, COUNT, "handshakes that found a full accept queue"),
	FIELD(H, host_syn_queue_full, COUNT, "SYNs that found a full SYN queue"),
	FIELD(H, host_syncookies, COUNT, "SYN cookies sent because the SYN queue was full"),
	FIELD(H, host_attempt_fails, COUNT, "connection attempts that failed"),
	FIELD(H, host_resets_in, COUNT, "established connections that were reset"),
	FIELD(H, host_resets_out, COUNT, "resets sent"),
	FIELD(H, host_memory_pressures, COUNT, "times that TCP entered memory pressure"),
	FIELD(H, host_memory_drops, COUNT, "segments dropped for lack of memory or buffer"),
	FIELD(H, host_timewait_overflows, COUNT, "TIME-WAIT sockets refused because there were too many"),
	FIELD(H, host_udp_no_port, COUNT, "datagrams for a port without a socket"),
	FIELD(H, host_udp_buffer_errors, COUNT, "datagrams dropped because a receive buffer was full"),
	FIELD(H, host_unreachable_in, COUNT, "ICMP messages received: destination unreachable"),
	FIELD(H, host_unreachable_out, COUNT, "ICMP messages sent: destination unreachable"),
	FIELD(H, host_frag_needed_in, COUNT, "ICMP messages received: packet too big"),
	FIELD(H, host_rp_filter, COUNT, "packets dropped by rp_filter"),
	FIELD(H, host_csum_errors, COUNT, "segments and datagrams with a wrong checksum"),
	FIELD(H, host_syn_retrans, COUNT, "SYNs and SYN-ACKs retransmitted"),
	FIELD(H, host_out_discards, COUNT, "outgoing packets discarded (OutDiscards)"),
	FIELD(H, host_local_retrans_fails, COUNT, "retransmissions that this host itself refused to send"),
	FIELD(H, host_zero_window_adv, COUNT, "zero windows advertised by this host"),
	FIELD(H, host_backlog_drops, COUNT, "segments dropped because a socket's backlog was full"),
	FIELD(H, host_rto_count, COUNT, "retransmission timeouts"),
	FIELD(H, host_dsack_sent, COUNT, "segments received twice, and reported as such to their senders"),
	FIELD(H, softnet_dropped, COUNT,
	      "packets dropped because the backlog of a CPU was full, if these interfaces lost any"),
	FIELD(H, softnet_squeezed, COUNT, "times that the softirq budget of a CPU ran out (time_squeeze)"),
	FIELD(H, softnet_cpu, ID, "CPU whose backlog dropped most packets"),
	FIELD(H, softnet_cpu_share, RATIO, "its share of the packets that backlogs dropped", .unit = "%"),
	FIELD(H, softnet_cpus, COUNT, "CPUs that can take received packets"),
	FIELD(H, softirq_cpu, ID, "CPU that spent most time in softirqs"),
	FIELD(H, softirq_cpu_share, RATIO, "share of the time that it spent in softirqs", .unit = "%"),
	FIELD(H, softirq_rest_share, RATIO, "the same of the other CPUs together", .unit = "%"),
	FIELD(H, tcp_memory_share, RATIO, "memory of TCP as a share of the pressure threshold", .unit = "%"),
	FIELD(H, tcp_memory_bytes, BYTES, "memory of TCP"),
	FIELD(H, tcp_pressure, BOOL, "TCP is under memory pressure"),
	FIELD(H, timewait_count, COUNT, "sockets in TIME-WAIT"),
	FIELD(H, timewait_max, COUNT, "limit of TIME-WAIT sockets"),
	FIELD(H, conntrack_share, RATIO, "share of the conntrack table in use", .unit = "%"),
	FIELD(H, conntrack_drops, COUNT, "packets dropped because the conntrack table was full"),
	FIELD(H, conntrack_invalid, COUNT, "packets marked invalid by conntrack"),
	FIELD(H, firewall_drops, COUNT, "packets dropped by firewall rules with a counter"),
	FIELD(H, firewall_rejects, COUNT, "packets rejected by firewall rules with a counter, but for input chains"),
	FIELD(H, ports_share, RATIO, "share of the local ports in use towards the busiest remote endpoint",
	      .unit = "%"),
	FIELD(H, ports_used, COUNT, "local ports in use towards it"),
};
RECORD_TYPE(host_measures_type, "measure.host", H, host_fields, "protocol counters of the host");

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

/* Of more CPUs the busiest is not looked for. */
#define CPUS_MAX 256

/* Counters of other tables, and states. */
struct figures {
	uint64_t dropped[CPUS_MAX];                      /* packets by CPU */
	uint64_t softirq_ns[CPUS_MAX], all_ns[CPUS_MAX]; /* time by CPU */
	uint64_t softnet_dropped, softnet_squeezed, links_rx_dropped;
	uint64_t conntrack_drops, conntrack_invalid;
	uint64_t firewall_drops, firewall_rejects;
	struct memory_record memory;
	uint8_t tcp_pressure;
	double conntrack_share, ports_share;
	uint64_t ports_used;
	uint32_t cpus;
};

struct state {
	bool has_base;
	struct reading {
		struct figures figures;
		uint64_t counters[ARRAY_SIZE(sources)];
	} base, last;
};

static void add_known(uint64_t *sum, uint64_t value)
{
	if (value != UINT64_MAX)
		*sum = *sum == UINT64_MAX ? value : *sum + value;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Others ask, and a reject is the polite no: whether it hits a service of this host is known by its drops. */
static bool is_input(const struct snapshot *snapshot, const struct firewall_rule_record *rule)
{
	if (rule->nf_family != NFPROTO_INET && rule->nf_family != NFPROTO_IPV4 && rule->nf_family != NFPROTO_IPV6)
		return false;
	snapshot_each(snapshot, firewall_chain_type, struct firewall_chain_record, chain)
		if (chain->nf_family == rule->nf_family && is_same(chain->nf_table, rule->nf_table) &&
		    is_same(chain->chain, rule->chain))
			return chain->hook == NF_INET_LOCAL_IN;
	return false;
}

static void gather(const struct snapshot *snapshot, struct figures *f)
{
	memset(f, 0xff, sizeof(*f));
	f->conntrack_share = f->ports_share = NAN;
	snapshot_each(snapshot, softnet_type, struct softnet_record, softnet) {
		add_known(&f->softnet_dropped, softnet->dropped);
		add_known(&f->softnet_squeezed, softnet->time_squeeze);
		if (softnet->cpu < CPUS_MAX)
			f->dropped[softnet->cpu] = softnet->dropped;
		f->cpus = f->cpus == UINT32_MAX ? 1 : f->cpus + 1;
	}
	snapshot_each(snapshot, cpu_type, struct cpu_record, cpu)
		if (cpu->cpu < CPUS_MAX) {
			f->softirq_ns[cpu->cpu] = cpu->softirq_ns;
			f->all_ns[cpu->cpu] = cpu->user_ns + cpu->nice_ns + cpu->system_ns + cpu->idle_ns +
					      cpu->iowait_ns + cpu->irq_ns + cpu->softirq_ns + cpu->steal_ns;
		}
	snapshot_each(snapshot, link_type, struct link_record, link)
		add_known(&f->links_rx_dropped, link->rx_dropped);
	snapshot_each(snapshot, conntrack_type, struct conntrack_record, conntrack) {
		add_known(&f->conntrack_drops, conntrack->dropped);
		add_known(&f->conntrack_drops, conntrack->insert_failed);
		add_known(&f->conntrack_drops, conntrack->early_drop);
		add_known(&f->conntrack_invalid, conntrack->invalid);
		if (conntrack->entries != UINT64_MAX && conntrack->entries_max != UINT64_MAX &&
		    conntrack->entries_max > 0)
			f->conntrack_share = (double)conntrack->entries / (double)conntrack->entries_max;
	}
	snapshot_each(snapshot, firewall_rule_type, struct firewall_rule_record, rule) {
		if (rule->verdict == VERDICT_DROP)
			add_known(&f->firewall_drops, rule->packets);
		if (rule->verdict == VERDICT_REJECT && !is_input(snapshot, rule))
			add_known(&f->firewall_rejects, rule->packets);
	}
	snapshot_each(snapshot, memory_type, struct memory_record, memory)
		f->memory = *memory;
	/* The limits can be read only in the initial namespace; that they are exceeded, in each. */
	snapshot_each(snapshot, protocol_type, struct protocol_record, protocol)
		if (strcmp(protocol->protocol, "TCP") == 0)
			f->tcp_pressure = protocol->pressure;
	snapshot_each(snapshot, host_limit_type, struct host_limit_record, limit)
		if (strcmp(limit->limit, "local-ports") == 0 && !(f->ports_share > limit->share)) {
			f->ports_share = limit->share;
			f->ports_used = limit->used;
		}
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;
	struct map index = MAP_INIT(0, sizeof(size_t), 0);

	if (window->samples == 1 && state->has_base)
		state->base = state->last;
	gather(snapshot, &state->last.figures);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		*(size_t *)map_put(&index, sources[i].counter, NULL) = i;
		state->last.counters[i] = UINT64_MAX;
	}
	snapshot_each(snapshot, counter_type, struct counter_record, counter) {
		const size_t *i = map_get(&index, counter->counter);

		if (i)
			state->last.counters[*i] = counter->value;
	}
	map_done(&index);
	if (!state->has_base)
		state->base = state->last;
	state->has_base = true;
}

/* The CPU whose backlog dropped most packets between the two. */
static void measure_cpus(const struct figures *a, const struct figures *b, struct host_measures *m)
{
	uint64_t total = 0, most = 0;

	m->softnet_cpus = b->cpus;
	m->softnet_cpu_share = NAN;
	if (b->cpus > CPUS_MAX)
		return;
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		uint64_t count = delta_between(a->dropped[cpu], b->dropped[cpu]);

		if (count == UINT64_MAX)
			continue;
		total += count;
		if (count > most) {
			most = count;
			m->softnet_cpu = cpu;
		}
	}
	if (total)
		m->softnet_cpu_share = (double)most / (double)total;
}

/* The CPU that spent the largest share of its time in softirqs, against all others. */
static void measure_softirqs(const struct figures *a, const struct figures *b, struct host_measures *m)
{
	uint64_t sum = 0, whole = 0, softirq_ns = 0, all_ns = 0;
	double most = -1;

	m->softirq_cpu_share = m->softirq_rest_share = NAN;
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		uint64_t softirq = delta_between(a->softirq_ns[cpu], b->softirq_ns[cpu]),
			 all = delta_between(a->all_ns[cpu], b->all_ns[cpu]);

		if (softirq == UINT64_MAX || all == UINT64_MAX || all == 0)
			continue;
		sum += softirq;
		whole += all;
		if ((double)softirq / (double)all <= most)
			continue;
		most = (double)softirq / (double)all;
		m->softirq_cpu = cpu;
		softirq_ns = softirq;
		all_ns = all;
	}
	if (most >= 0)
		m->softirq_cpu_share = min_of(most, 1.0);
	if (whole > all_ns)
		m->softirq_rest_share = (double)(sum - softirq_ns) / (double)(whole - all_ns);
}

static void measure_figures(const struct figures *a, const struct figures *b, struct host_measures *m)
{
	uint64_t lost_here;

	/* A CPU's backlog serves every namespace; the interface that lost the packet shows whose it was. */
	m->softnet_dropped = delta_between(a->softnet_dropped, b->softnet_dropped);
	lost_here = delta_between(a->links_rx_dropped, b->links_rx_dropped);
	if (m->softnet_dropped != UINT64_MAX && lost_here < m->softnet_dropped)
		m->softnet_dropped = lost_here;
	m->softnet_squeezed = delta_between(a->softnet_squeezed, b->softnet_squeezed);
	m->conntrack_drops = delta_between(a->conntrack_drops, b->conntrack_drops);
	m->conntrack_invalid = delta_between(a->conntrack_invalid, b->conntrack_invalid);
	m->firewall_drops = delta_between(a->firewall_drops, b->firewall_drops);
	m->firewall_rejects = delta_between(a->firewall_rejects, b->firewall_rejects);
	m->conntrack_share = b->conntrack_share;
	m->ports_share = b->ports_share;
	m->ports_used = b->ports_used;
	m->tcp_memory_share = NAN;
	m->tcp_memory_bytes = b->memory.tcp_bytes;
	m->tcp_pressure = b->tcp_pressure;
	if (b->memory.tcp_bytes != UINT64_MAX && b->memory.tcp_pressure_bytes != UINT64_MAX &&
	    b->memory.tcp_pressure_bytes > 0)
		m->tcp_memory_share = (double)b->memory.tcp_bytes / (double)b->memory.tcp_pressure_bytes;
	m->timewait_count = b->memory.tcp_time_wait == UINT32_MAX ? UINT64_MAX : b->memory.tcp_time_wait;
	m->timewait_max = b->memory.time_wait_max == UINT32_MAX ? UINT64_MAX : b->memory.time_wait_max;
}

static void finish(struct window *window _unused_, void *data, struct graph *graph)
{
	const struct state *state = data;
	struct host_measures *m = graph_alloc(graph, sizeof(*m));
	struct module *host = graph_module(graph, MODULE_HOST, "host", "this host"), *filter;

	memset(m, 0xff, sizeof(*m));
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		add_known((uint64_t *)((char *)m + sources[i].offset),
			  delta_between(state->base.counters[i], state->last.counters[i]));
	measure_figures(&state->base.figures, &state->last.figures, m);
	measure_cpus(&state->base.figures, &state->last.figures, m);
	measure_softirqs(&state->base.figures, &state->last.figures, m);
	filter = graph_module(graph, MODULE_FILTER, "filter:netfilter", "the firewall of this host");
	vec_each(&graph->modules, at) {
		(*at)->measures.host = m;
		(*at)->related[MODULE_HOST] = host;
		if (!(*at)->related[MODULE_FILTER])
			(*at)->related[MODULE_FILTER] = filter;
	}
}

static const struct measurer host_measurer = {
	.name = "host",
	.stage = MEASURE_HOST,
	.needs =
		MEASURER_NEEDS(&counter_type, &softnet_type, &conntrack_type, &firewall_rule_type, &firewall_chain_type,
			       &memory_type, &protocol_type, &host_limit_type, &link_type, &cpu_type),
	.state_size = sizeof(struct state),
	.sample = sample,
	.finish = finish,
};
MEASURER(host_measurer);
