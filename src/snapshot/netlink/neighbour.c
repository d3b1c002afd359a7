/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "base/clock.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"

static const struct enum_name state_items[] = {
	{NUD_NONE, "NONE", NULL},
	{NUD_INCOMPLETE, "INCOMPLETE", "resolution in progress, no reply yet"},
	{NUD_REACHABLE, "REACHABLE", "recently confirmed"},
	{NUD_STALE, "STALE", "not recently confirmed"},
	{NUD_DELAY, "DELAY", "in use; probed soon unless confirmed"},
	{NUD_PROBE, "PROBE", "being probed"},
	{NUD_FAILED, "FAILED", "resolution failed: no reply"},
	{NUD_NOARP, "NOARP", "needs no resolution"},
	{NUD_PERMANENT, "PERMANENT", "static entry"},
};
struct enum_names neighbour_state_names = {state_items, ARRAY_SIZE(state_items), NULL};

#define N struct neighbour_record
static const struct field neighbour_fields[] = {
	FIELD(N, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(N, ifindex, ID, "interface index", .zero_is_unknown = true, .hidden = true),
	FIELD(N, dev, TEXT, "interface"),
	FIELD(N, raddr, ADDR, "IP address of the neighbour"),
	FIELD(N, lladdr, TEXT, "link-layer address"),
	FIELD(N, neigh_state, ENUM, "NUD state", .names = &neighbour_state_names),
	FIELD(N, probes, COUNT, "unanswered probes", .hidden = true),
	FIELD(N, confirmed_ns, DURATION, "time since confirmed", .moment = MOMENT_SINCE),
	FIELD(N, used_ns, DURATION, "time since used", .moment = MOMENT_SINCE),
	FIELD(N, updated_ns, DURATION, "time since the state changed", .moment = MOMENT_SINCE, .hidden = true),
};
#undef N
RECORD_TYPE(neighbour_type, "neighbour", struct neighbour_record, neighbour_fields, "a neighbour (ARP or NDP entry)");

static uint64_t from_ticks(uint32_t ticks)
{
	return (uint64_t)ticks * NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

void neighbour_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct ndmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[NDA_MAX + 1];
	struct neighbour_record *neighbour;
	struct nda_cacheinfo cache;
	uint8_t bytes[8];
	size_t n, at = 0;

	(void)context;
	if (message->nlmsg_type != RTM_NEWNEIGH || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	neighbour = snapshot_table_add(snapshot_table(snapshot, &neighbour_type));
	if (!neighbour)
		return;
	nl_attrs(message, sizeof(*info), attrs, NDA_MAX);
	neighbour->netns = snapshot->netns;
	neighbour->ifindex = (uint32_t)info->ndm_ifindex;
	neighbour->neigh_state = info->ndm_state;
	nl_get_addr(attrs[NDA_DST], &neighbour->raddr);
	n = nl_get_bytes(attrs[NDA_LLADDR], bytes, sizeof(bytes));
	for (size_t i = 0; i < n && at + 3 < sizeof(neighbour->lladdr); i++)
		at += (size_t)snprintf(neighbour->lladdr + at, sizeof(neighbour->lladdr) - at, "%s%02x", i ? ":" : "",
				       bytes[i]);
	nl_get_u32(attrs[NDA_PROBES], &neighbour->probes);
	if (nl_get_bytes(attrs[NDA_CACHEINFO], &cache, sizeof(cache)) == sizeof(cache)) {
		neighbour->confirmed_ns = from_ticks(cache.ndm_confirmed);
		neighbour->used_ns = from_ticks(cache.ndm_used);
		neighbour->updated_ns = from_ticks(cache.ndm_updated);
	}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_dev_names_ struct dev_names names = {};
	struct snapshot_table *table = snapshot_table(snapshot, &neighbour_type);
	size_t from = table->count;
	int r = nl_dump(snapshot, RTM_GETNEIGH, sizeof(struct ndmsg), neighbour_parse_message, why);

	(void)request;
	for (size_t i = from; i < table->count; i++) {
		struct neighbour_record *neighbour = (struct neighbour_record *)table->items + i;

		dev_name_get(&names, neighbour->ifindex, neighbour->dev);
	}
	return r;
}

static const struct record_type *const types[] = {&neighbour_type, NULL};

static const struct snapshot_source neighbour_source = {
	.name = "neighbour",
	.lost = "neighbours (ARP and NDP)",
	.types = types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(neighbour_source);
