// SPDX-License-Identifier: GPL-2.0-only
/*
 * neigh.resolve: from the first solicitation for a neighbour (ARP, IPv6 neighbour discovery) to its answer or failure.
 * Only for unknown neighbours: probes of known ones delay no packet.
 */
#include "event/ip/neigh_resolve.h"
#include "event/bpf/event.bpf.h"

EVENT(neigh_resolve, struct neigh_resolve_event)

#define NUD_INCOMPLETE 0x01
#define NUD_FAILED     0x20
#define NUD_VALID      0xde /* permanent, noarp, reachable, probe, stale, delay */

#define EHOSTUNREACH   113

/* Index of UCAST_PROBES in the neighbour parameters. */
#define NEIGH_VAR_UCAST_PROBES 1

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u64);
} neigh_resolve_since SEC(".maps");

/* A new neighbour is solicited at once. Over a virtual link the answer can arrive before the solicitation is traced. */
SEC("tp_btf/neigh_create")
int BPF_PROG(neigh_resolve_create, struct neigh_table *table, struct net_device *dev, const void *address,
	     const struct neighbour *neigh)
{
	__u64 key = event_address(neigh), now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&neigh_resolve_since, &key, &now, BPF_ANY);
	return 0;
}

/* A failed neighbour that is solicited again. */
SEC("tp_btf/neigh_event_send_done")
int BPF_PROG(neigh_resolve_ask, struct neighbour *neigh)
{
	__u64 key = event_address(neigh), now = bpf_ktime_get_boot_ns();

	if (neigh->nud_state == NUD_INCOMPLETE)
		bpf_map_update_elem(&neigh_resolve_since, &key, &now, BPF_NOEXIST);
	return 0;
}

static __always_inline void set_neighbour(struct event_head *head, struct neighbour *neigh)
{
	__u32 words[4] = {};
	int family = BPF_CORE_READ(neigh, tbl, family);

	if (family == AF_INET6) {
		bpf_probe_read_kernel(words, sizeof(words), neigh->primary_key);
		event_set_v6(&head->raddr, words);
	} else if (family == AF_INET) {
		bpf_probe_read_kernel(words, sizeof(words[0]), neigh->primary_key);
		event_set_v4(&head->raddr, words[0]);
	}
	head->family = head->raddr.family;
}

/* The kernel's probe counter starts at the unicast probes of known neighbours. */
static __always_inline __u32 questions(struct neighbour *neigh)
{
	int direct = BPF_CORE_READ(neigh, parms, data[NEIGH_VAR_UCAST_PROBES]);
	int probes = neigh->probes.counter;

	return probes > direct ? (__u32)(probes - direct) : EVENT_UNKNOWN32;
}

static __always_inline int report(void *ctx, struct neighbour *neigh, __u32 error)
{
	__u64 key = event_address(neigh), *since = bpf_map_lookup_elem(&neigh_resolve_since, &key);
	struct net_device *dev = neigh->dev;
	struct neigh_resolve_event *e;
	__u64 lat_ns = since ? bpf_ktime_get_boot_ns() - *since : EVENT_UNKNOWN64;

	bpf_map_delete_elem(&neigh_resolve_since, &key);
	e = neigh_resolve_begin();
	if (!e)
		return 0;
	set_neighbour(&e->head, neigh);
	if (dev) {
		bpf_probe_read_kernel_str(e->data.dev, sizeof(e->data.dev), dev->name);
		e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	}
	e->data.lat_ns = lat_ns;
	e->data.probes = questions(neigh);
	e->data.error = error;
	return neigh_resolve_end(ctx, e);
}

SEC("tp_btf/neigh_update")
int BPF_PROG(neigh_resolve_answer, struct neighbour *neigh, const __u8 *address, __u8 state)
{
	__u64 key = event_address(neigh);

	if (!(state & NUD_VALID))
		return 0;
	if (neigh->nud_state == NUD_INCOMPLETE)
		return report(ctx, neigh, 0);
	/* Not solicited: learnt from a packet of the neighbour. */
	bpf_map_delete_elem(&neigh_resolve_since, &key);
	return 0;
}

SEC("tp_btf/neigh_timer_handler")
int BPF_PROG(neigh_resolve_timer, struct neighbour *neigh)
{
	__u64 key = event_address(neigh);

	/* No packet waits for a known neighbour that stops answering. */
	if (!(neigh->nud_state & NUD_FAILED) || !bpf_map_lookup_elem(&neigh_resolve_since, &key))
		return 0;
	return report(ctx, neigh, EHOSTUNREACH);
}

/* Freed before an answer: the address may be reused for another neighbour. */
SEC("tp_btf/neigh_cleanup_and_release")
int BPF_PROG(neigh_resolve_release, struct neighbour *neigh)
{
	__u64 key = event_address(neigh);

	bpf_map_delete_elem(&neigh_resolve_since, &key);
	return 0;
}
