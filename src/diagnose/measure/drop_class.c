/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/measure/drop_class.h"

#include <string.h>

struct meaning {
	const char *word;
	enum drop_class class;
};

/*
 * Reasons that are exact. CPU_BACKLOG is not here: the packet has no direction yet, and softnet counts it. Nor is what
 * active queue management drops to signal congestion (QDISC_CONGESTED): that is its work.
 */
static const struct meaning reasons[] = {
	{"NETFILTER_DROP", DROP_FIREWALL},
	{"TC_INGRESS", DROP_TC},
	{"TC_EGRESS", DROP_TC},
	{"XDP", DROP_TC},
	{"BPF_CGROUP_EGRESS", DROP_TC},
	{"QDISC_DROP", DROP_QDISC},
	{"QDISC_OVERLIMIT", DROP_QDISC},
	{"CAKE_FLOOD", DROP_QDISC},
	{"FQ_BAND_LIMIT", DROP_QDISC},
	{"FQ_HORIZON_LIMIT", DROP_QDISC},
	{"FQ_FLOW_LIMIT", DROP_QDISC},
	{"IP_RPFILTER", DROP_RP_FILTER},
	{"NEIGH_CREATEFAIL", DROP_NEIGH},
	{"NEIGH_FAILED", DROP_NEIGH},
	{"NEIGH_QUEUEFULL", DROP_NEIGH},
	{"NEIGH_DEAD", DROP_NEIGH},
	{"QUEUE_PURGE", DROP_PURGED},
	{"IP_INNOROUTES", DROP_ROUTE},
	{"IP_OUTNOROUTES", DROP_ROUTE},
	{"IP_INADDRERRORS", DROP_UNFORWARDED},
	{"PKT_TOO_BIG", DROP_TOO_BIG},
	{"SOCKET_RCVBUFF", DROP_BUFFER},
	{"TCP_OFO_QUEUE_PRUNE", DROP_BUFFER},
	{"TCP_OFO_DROP", DROP_BUFFER},
	{"PROTO_MEM", DROP_MEMORY},
	{"TCP_LISTEN_OVERFLOW", DROP_ACCEPT},
	{"IP_CSUM", DROP_DAMAGED},
	{"TCP_CSUM", DROP_DAMAGED},
	{"UDP_CSUM", DROP_DAMAGED},
	{"ICMP_CSUM", DROP_DAMAGED},
	{"SKB_CSUM", DROP_DAMAGED},
};

/* Functions that drop for one reason alone; all that kernels before 5.17 have. */
static const struct meaning places[] = {
	{"nf_hook_slow", DROP_FIREWALL},     {"nft_do_chain", DROP_FIREWALL},   {"sch_handle_ingress", DROP_TC},
	{"sch_handle_egress", DROP_TC},      {"__dev_xmit_skb", DROP_QDISC},    {"kfree_skb_list", DROP_QDISC},
	{"__neigh_event_send", DROP_NEIGH},  {"arp_error_report", DROP_NEIGH},  {"ndisc_error_report", DROP_NEIGH},
	{"ip_error", DROP_UNROUTED},         {"ip6_pkt_drop", DROP_UNROUTED},   {"dst_discard_out", DROP_UNROUTED},
	{"neigh_invalidate", DROP_NEIGH},    {"dst_discard", DROP_UNROUTED},    {"br_dev_queue_push_xmit", DROP_PORT},
	{"br_nf_dev_queue_xmit", DROP_PORT}, {"__dev_forward_skb2", DROP_PORT},
};

static enum drop_class find(const struct meaning *meanings, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(meanings[i].word, word) == 0)
			return meanings[i].class;
	return DROP_NONE;
}

enum drop_class drop_class_of(const char *reason, const char *place)
{
	if (reason && *reason && strcmp(reason, "NOT_SPECIFIED") != 0)
		return find(reasons, ARRAY_SIZE(reasons), reason);
	return place && *place ? find(places, ARRAY_SIZE(places), place) : DROP_NONE;
}
