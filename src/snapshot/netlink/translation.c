/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/core/netns_state.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/translation.h"

/* The table is read once per second, and rarely enough that this takes a hundredth of the time. */
#define PERIOD_NS NSEC_PER_SEC
#define SPARING   100

#define T         struct translation_record
static const struct field translation_fields[] = {
	FIELD(T, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(T, laddr, ADDR, "address of the client, as the client sees it"),
	FIELD(T, lport, ID, "port of the client, as the client sees it"),
	FIELD(T, raddr, ADDR, "address that the client connects to"),
	FIELD(T, rport, ID, "port that the client connects to"),
	FIELD(T, nat_laddr, ADDR, "address of the client, as the server sees it"),
	FIELD(T, nat_lport, ID, "port of the client, as the server sees it"),
	FIELD(T, nat_raddr, ADDR, "address of the server, as the server sees it"),
	FIELD(T, nat_rport, ID, "port of the server, as the server sees it"),
};
#undef T
RECORD_TYPE(translation_type, "translation", struct translation_record, translation_fields,
	    "a TCP connection that this host translates (NAT)");

struct tuple {
	struct addr src, dst;
	uint16_t sport, dport;
	uint8_t proto;
};

static bool get_be16(const struct nlattr *attr, uint16_t *value)
{
	uint16_t raw;

	if (nl_get_bytes(attr, &raw, sizeof(raw)) != sizeof(raw))
		return false;
	*value = ntohs(raw);
	return true;
}

static bool parse_tuple(const struct nlattr *attr, struct tuple *tuple)
{
	const struct nlattr *parts[CTA_TUPLE_MAX + 1], *ip[CTA_IP_MAX + 1], *proto[CTA_PROTO_MAX + 1];

	*tuple = (struct tuple){};
	nl_attrs_nested(attr, parts, CTA_TUPLE_MAX);
	nl_attrs_nested(parts[CTA_TUPLE_IP], ip, CTA_IP_MAX);
	nl_attrs_nested(parts[CTA_TUPLE_PROTO], proto, CTA_PROTO_MAX);
	nl_get_addr(ip[CTA_IP_V4_SRC] ?: ip[CTA_IP_V6_SRC], &tuple->src);
	nl_get_addr(ip[CTA_IP_V4_DST] ?: ip[CTA_IP_V6_DST], &tuple->dst);
	nl_get_u8(proto[CTA_PROTO_NUM], &tuple->proto);
	return get_be16(proto[CTA_PROTO_SRC_PORT], &tuple->sport) &&
	       get_be16(proto[CTA_PROTO_DST_PORT], &tuple->dport) && tuple->src.family && tuple->dst.family;
}

void translation_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct translation_filter *filter = context;
	const struct nlattr *attrs[CTA_MAX + 1];
	struct translation_record *translation;
	struct tuple original, reply;
	uint32_t status = 0;

	if (message->nlmsg_type != (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW) ||
	    nl_payload_len(message) < sizeof(struct nfgenmsg))
		return;
	nl_attrs(message, sizeof(struct nfgenmsg), attrs, CTA_MAX);
	nl_get_u32(attrs[CTA_STATUS], &status);
	if ((ntohl(status) & filter->mask) != filter->status || !parse_tuple(attrs[CTA_TUPLE_ORIG], &original) ||
	    !parse_tuple(attrs[CTA_TUPLE_REPLY], &reply) || original.proto != IPPROTO_TCP)
		return;
	translation = snapshot_table_add(snapshot_table(snapshot, &translation_type));
	if (!translation)
		return;
	*translation = (struct translation_record){
		.netns = snapshot->netns,
		.laddr = original.src,
		.lport = original.sport,
		.raddr = original.dst,
		.rport = original.dport,
		.nat_laddr = reply.dst,
		.nat_lport = reply.dport,
		.nat_raddr = reply.src,
		.nat_rport = reply.sport,
	};
}

static int dump(struct snapshot *snapshot, struct translation_filter *filter, struct why *why)
{
	struct nl_request room;
	struct nfgenmsg *info;
	struct nlmsghdr *message = nl_request_begin(&room, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP,
						    sizeof(*info), (void **)&info);
	struct nl_question question = {.protocol = NETLINK_NETFILTER,
				       .request = message,
				       .parse = translation_parse_message,
				       .context = filter,
				       .once = true};

	info->version = NFNETLINK_V0;
	mnl_attr_put_u32(message, CTA_STATUS, htonl(filter->status));
	mnl_attr_put_u32(message, CTA_STATUS_MASK, htonl(filter->mask));
	return nl_ask(snapshot, &question, why);
}

/* What was read last in a namespace, and when to read again. */
struct remembered {
	struct netns_state state;
	struct translation_record *items;
	size_t count;
	uint64_t due_ns;
};

static void release_remembered(struct netns_state *state)
{
	free(((struct remembered *)state)->items);
}

static void release(void *states)
{
	netns_states_done(states, release_remembered);
}

static int read_table(struct snapshot *snapshot, struct remembered *remembered, struct why *why)
{
	/* A connection with both is in the first dump. */
	struct translation_filter filters[] = {{IPS_SRC_NAT, IPS_SRC_NAT}, {IPS_DST_NAT, IPS_NAT_MASK}};
	struct snapshot_table *table = snapshot_table(snapshot, &translation_type);
	uint64_t begin_ns = clock_monotonic_ns(), end_ns;
	size_t from = table->count;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(filters) && r == 0; i++)
		r = dump(snapshot, &filters[i], why);
	remembered->count = table->count - from;
	remembered->items = xrealloc_array(remembered->items, remembered->count, sizeof(*remembered->items));
	if (remembered->count)
		memcpy(remembered->items, (struct translation_record *)table->items + from,
		       remembered->count * sizeof(*remembered->items));
	end_ns = clock_monotonic_ns();
	remembered->due_ns = begin_ns + max_of((uint64_t)PERIOD_NS, SPARING * (end_ns - begin_ns));
	return r;
}

static void repeat(struct snapshot_table *table, const struct remembered *remembered)
{
	for (size_t i = 0; i < remembered->count; i++) {
		struct translation_record *translation = snapshot_table_add(table);

		if (!translation)
			return;
		*translation = remembered->items[i];
	}
}

static bool is_tracked(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, conntrack_type, const struct conntrack_record, conntrack)
		if (conntrack->netns == snapshot->netns && conntrack->entries != 0)
			return true;
	return false;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct remembered *remembered;
	bool is_new;
	int r;

	if (!is_tracked(snapshot))
		return 0;
	remembered =
		netns_state_find(snapshot_state(snapshot), snapshot, sizeof(*remembered), release_remembered, &is_new);
	if (request->repeated && !is_new && clock_monotonic_ns() < remembered->due_ns) {
		repeat(snapshot_table(snapshot, &translation_type), remembered);
		return 0;
	}
	r = read_table(snapshot, remembered, why);
	if (r == -EPERM || r == -EACCES)
		return why_set(why, r, "no permission to read conntrack entries (needs CAP_NET_ADMIN)");
	/* A kernel without ctnetlink. */
	if (r == -EINVAL || r == -EOPNOTSUPP || r == -EPROTONOSUPPORT)
		return why_set(why, r, "this kernel does not list conntrack entries (nf_conntrack_netlink)");
	return r;
}

static const struct record_type *const types[] = {&translation_type, NULL};
static const struct record_type *const needs[] = {&conntrack_type, NULL};

static const struct snapshot_source translation_source = {
	.name = "translation",
	.lost = "connections that NAT translates",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.on_demand = true,
	.per_netns = true,
	.state_size = sizeof(struct netns_states),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(translation_source);
