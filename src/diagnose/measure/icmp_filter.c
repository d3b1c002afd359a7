/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path MTU black hole made by this host: it forwards to a smaller MTU, and its firewall drops the ICMP errors that
 * say so. Senders back off to one segment in two minutes, so a look may see none; but the counters since boot agree:
 * packets too large, ICMP errors sent, and the drops of a rule in the output chain.
 */
#include "diagnose/measure/icmp_filter.h"

#include <linux/if.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/host_counters.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"

#define I struct icmp_filter_measures
static const struct field icmp_filter_fields[] = {
	FIELD(I, icmp_rule, TEXT, "rule of an output chain that drops"),
	FIELD(I, icmp_rule_packets, COUNT, "packets that it dropped since boot"),
	FIELD(I, icmp_errors, COUNT, "ICMP destination unreachable messages that this host made since boot"),
	FIELD(I, icmp_too_big, COUNT, "packets too large for the MTU since boot (IpFragFails)"),
	FIELD(I, icmp_rule_share, RATIO, "packets that the rule dropped, as a share of these messages", .unit = "%"),
	FIELD(I, icmp_too_big_share, RATIO, "packets too large, as a share of these messages", .unit = "%"),
	FIELD(I, mtu_min, BYTES, "smallest MTU of the interfaces in use", .exact = true),
	FIELD(I, mtu_max, BYTES, "largest MTU of the interfaces in use", .exact = true),
};
#undef I
RECORD_TYPE(icmp_filter_measures_type, "measure.icmp_filter", struct icmp_filter_measures, icmp_filter_fields,
	    "a firewall rule that drops this host's ICMP errors");

/* enum nf_inet_hooks */
#define HOOK_OUTPUT 3

struct state {
	struct icmp_filter_measures now; /* of the last sample */
};

static bool is_output_chain(const struct snapshot *snapshot, const struct firewall_rule_record *rule)
{
	snapshot_each(snapshot, firewall_chain_type, struct firewall_chain_record, chain)
		if (chain->hook == HOOK_OUTPUT && chain->nf_family == rule->nf_family && chain->chain && rule->chain &&
		    chain->nf_table && rule->nf_table && strcmp(chain->chain, rule->chain) == 0 &&
		    strcmp(chain->nf_table, rule->nf_table) == 0)
			return true;
	return false;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Of the rules that drop output, the one that counts most nearly as many as ICMP errors were made. */
static void find_rule(const struct snapshot *snapshot, struct icmp_filter_measures *m)
{
	snapshot_each(snapshot, firewall_rule_type, struct firewall_rule_record, rule) {
		if (rule->verdict != VERDICT_DROP || rule->packets == 0 || rule->packets == UINT64_MAX ||
		    !is_output_chain(snapshot, rule))
			continue;
		if (m->icmp_rule[0] &&
		    apart(m->icmp_rule_packets, m->icmp_errors) <= apart(rule->packets, m->icmp_errors))
			continue;
		m->icmp_rule_packets = rule->packets;
		snprintf(m->icmp_rule, sizeof(m->icmp_rule), "rule %llu of chain %s (table %s)",
			 (unsigned long long)rule->handle, rule->chain, rule->nf_table);
	}
}

static void find_mtu(const struct snapshot *snapshot, struct icmp_filter_measures *m)
{
	m->mtu_min = m->mtu_max = UINT64_MAX;
	snapshot_each(snapshot, link_type, struct link_record, link) {
		if (link->flags == UINT32_MAX || !(link->flags & IFF_UP) || link->flags & IFF_LOOPBACK ||
		    link->mtu == UINT32_MAX)
			continue;
		m->mtu_min = min_of(m->mtu_min, link->mtu);
		m->mtu_max = m->mtu_max == UINT64_MAX ? link->mtu : max_of(m->mtu_max, link->mtu);
	}
}

static void sample(struct window *window _unused_, void *data, const struct snapshot *snapshot)
{
	struct icmp_filter_measures *m = &((struct state *)data)->now;

	*m = (struct icmp_filter_measures){};
	snapshot_each(snapshot, counter_type, struct counter_record, counter)
		if (counter->value == UINT64_MAX)
			continue;
		else if (strcmp(counter->counter, "IcmpOutDestUnreachs") == 0)
			m->icmp_errors = counter->value;
		else if (strcmp(counter->counter, "IpFragFails") == 0)
			m->icmp_too_big = counter->value;
	if (m->icmp_errors == 0 || m->icmp_too_big == 0)
		return;
	m->icmp_too_big_share = (double)m->icmp_too_big / (double)m->icmp_errors;
	find_rule(snapshot, m);
	m->icmp_rule_share = (double)m->icmp_rule_packets / (double)m->icmp_errors;
	find_mtu(snapshot, m);
}

static void finish(struct window *window _unused_, void *data, struct graph *graph)
{
	const struct icmp_filter_measures *m = &((struct state *)data)->now;
	struct module *filter;

	if (!m->icmp_rule[0])
		return;
	filter = graph_module(graph, MODULE_FILTER, "filter:netfilter", "the firewall of this host");
	filter->measures.icmp_filter = memcpy(graph_alloc(graph, sizeof(*m)), m, sizeof(*m));
}

static const struct measurer icmp_filter_measurer = {
	.name = "icmp-filter",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&counter_type, &firewall_rule_type, &firewall_chain_type, &link_type),
	.state_size = sizeof(struct state),
	.sample = sample,
	.finish = finish,
};
MEASURER(icmp_filter_measurer);

static const struct module_scope filter_scope = {.kind = MODULE_FILTER,
						 .parts = {MODULE_PART(icmp_filter), MODULE_PART(host)}};
MODULE_SCOPE(filter_scope);
