/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The field tables of routes and destinations, the parsers, and the source of the routing tables. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/route.h"

/* A router of the Internet has a million; nobody reads them in a table. */
#define ROUTES_MAX 100000

static const struct enum_name kind_items[] = {
	{RTN_UNSPEC, "unspec", NULL},
	{RTN_UNICAST, "unicast", "packets are sent on"},
	{RTN_LOCAL, "local", "packets are for this host"},
	{RTN_BROADCAST, "broadcast", NULL},
	{RTN_ANYCAST, "anycast", NULL},
	{RTN_MULTICAST, "multicast", NULL},
	{RTN_BLACKHOLE, "blackhole", "packets are dropped without a word"},
	{RTN_UNREACHABLE, "unreachable", "packets are refused: host unreachable"},
	{RTN_PROHIBIT, "prohibit", "packets are refused: prohibited"},
	{RTN_THROW, "throw", "the next routing table is to be asked"},
	{RTN_NAT, "nat", NULL},
};
struct enum_names route_kind_names = {kind_items, ARRAY_SIZE(kind_items), NULL};

static const struct enum_name protocol_items[] = {
	{RTPROT_UNSPEC, "unspec", NULL}, {RTPROT_REDIRECT, "redirect", NULL}, {RTPROT_KERNEL, "kernel", NULL},
	{RTPROT_BOOT, "boot", NULL},     {RTPROT_STATIC, "static", NULL},     {RTPROT_RA, "ra", NULL},
	{RTPROT_DHCP, "dhcp", NULL},     {RTPROT_ZEBRA, "zebra", NULL},       {RTPROT_BIRD, "bird", NULL},
	{RTPROT_BGP, "bgp", NULL},       {RTPROT_OSPF, "ospf", NULL},         {RTPROT_ISIS, "isis", NULL},
};
static struct enum_names protocol_names = {protocol_items, ARRAY_SIZE(protocol_items), NULL};

static const struct enum_name scope_items[] = {
	{RT_SCOPE_UNIVERSE, "global", NULL}, {RT_SCOPE_SITE, "site", NULL},       {RT_SCOPE_LINK, "link", NULL},
	{RT_SCOPE_HOST, "host", NULL},       {RT_SCOPE_NOWHERE, "nowhere", NULL},
};
static struct enum_names scope_names = {scope_items, ARRAY_SIZE(scope_items), NULL};

static const struct enum_name table_items[] = {
	{RT_TABLE_DEFAULT, "default", NULL}, {RT_TABLE_MAIN, "main", NULL}, {RT_TABLE_LOCAL, "local", NULL}};
static struct enum_names table_names = {table_items, ARRAY_SIZE(table_items), NULL};

static const struct enum_name family_items[] = {{ADDR_V4, "ipv4", NULL}, {ADDR_V6, "ipv6", NULL}};
static struct enum_names family_names = {family_items, ARRAY_SIZE(family_items), NULL};

#define R struct route_record
static const struct field route_fields[] = {
	FIELD(R, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(R, family, ENUM, "address family", .names = &family_names, .hidden = true),
	FIELD(R, dst, ADDR, "network that it leads to; unknown: any", .unknown = "default"),
	FIELD(R, prefix, ID, "bits of it that count"),
	FIELD(R, route_type, ENUM, "what happens to packets", .names = &route_kind_names),
	FIELD(R, gateway, ADDR, "router that they are sent to"),
	FIELD(R, ifindex, ID, "number of the interface", .zero_is_unknown = true, .hidden = true),
	FIELD(R, dev, TEXT, "interface that they leave by"),
	FIELD(R, prefsrc, ADDR, "source address that they get", .hidden = true),
	FIELD(R, metric, ID, "the smaller is taken"),
	FIELD(R, table, ID, "routing table; 254 is main, 255 local", .names = &table_names),
	FIELD(R, protocol, ENUM, "who set it", .names = &protocol_names),
	FIELD(R, scope, ENUM, "how far it leads", .names = &scope_names, .hidden = true),
	FIELD(R, route_mtu, BYTES, "largest packet, where the route says so", .exact = true, .hidden = true),
	FIELD(R, nexthops, COUNT, "routers that share the load", .hidden = true),
};
#undef R
RECORD_TYPE(route_type, "route", struct route_record, route_fields, "a route");

#define D struct destination_record
static const struct field destination_fields[] = {
	FIELD(D, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(D, raddr, ADDR, "remote address that sockets use"),
	FIELD(D, laddr, ADDR, "their local address"),
	FIELD(D, sockets, COUNT, "how many sockets use it"),
	FIELD(D, error, ENUM, "why there is no way to it", .names = &errno_names, .zero_is_unknown = true),
	FIELD(D, route_type, ENUM, "what happens to packets", .names = &route_kind_names),
	FIELD(D, gateway, ADDR, "router that they are sent to"),
	FIELD(D, ifindex, ID, "number of the interface", .zero_is_unknown = true, .hidden = true),
	FIELD(D, dev, TEXT, "interface that they leave by"),
	FIELD(D, prefsrc, ADDR, "source address that a new socket would get", .hidden = true),
	FIELD(D, table, ID, "routing table that knew the way", .names = &table_names, .hidden = true),
	FIELD(D, path_mtu, BYTES, "largest packet, learnt from the path or set on the route", .exact = true),
	FIELD(D, expires_ns, DURATION, "how long what was learnt will be believed", .hidden = true),
};
#undef D
RECORD_TYPE(destination_type, "destination", struct destination_record, destination_fields,
	    "the way that packets to a remote address take");

static uint32_t metric_mtu(const struct nlattr *metrics)
{
	const struct nlattr *attrs[RTAX_MAX + 1];
	uint32_t mtu = UINT32_MAX;

	nl_attrs_nested(metrics, attrs, RTAX_MAX);
	nl_get_u32(attrs[RTAX_MTU], &mtu);
	return mtu;
}

/* The gateway may be of the other family, then it is under another name with the family in front. */
static void parse_gateway(const struct nlattr **attrs, struct addr *gateway)
{
	struct {
		uint16_t family;
		uint8_t bytes[16];
	} via;
	size_t n = nl_get_bytes(attrs[RTA_VIA], &via, sizeof(via));

	nl_get_addr(attrs[RTA_GATEWAY], gateway);
	if (n >= 2 + 4 && via.family == AF_INET)
		*gateway = addr_from_v4(via.bytes);
	else if (n >= 2 + 16 && via.family == AF_INET6)
		*gateway = addr_from_v6(via.bytes);
}

static void parse_nexthops(struct route_record *route, const struct nlattr *attr)
{
	const struct rtnexthop *hop = attr ? mnl_attr_get_payload(attr) : NULL;
	int left = attr ? mnl_attr_get_payload_len(attr) : 0;

	if (!attr)
		return;
	route->nexthops = 0;
	while (RTNH_OK(hop, left)) {
		if (route->nexthops++ == 0) {
			const struct nlattr *attrs[RTA_MAX + 1] = {}, *inner;

			route->ifindex = (uint32_t)hop->rtnh_ifindex;
			for (inner = (const void *)RTNH_DATA(hop);
			     mnl_attr_ok(inner, (int)((const char *)hop + hop->rtnh_len - (const char *)inner));
			     inner = mnl_attr_next(inner))
				if (mnl_attr_get_type(inner) <= RTA_MAX)
					attrs[mnl_attr_get_type(inner)] = inner;
			parse_gateway(attrs, &route->gateway);
		}
		left -= RTNH_ALIGN(hop->rtnh_len);
		hop = RTNH_NEXT(hop);
	}
}

void route_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[RTA_MAX + 1];
	struct route_record *route;

	(void)context;
	/* What was learnt from the path is no entry of a table. */
	if (message->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(message) < sizeof(*info) ||
	    info->rtm_flags & RTM_F_CLONED || (info->rtm_family != AF_INET && info->rtm_family != AF_INET6))
		return;
	route = snapshot_table_add(snapshot_table(snapshot, &route_type));
	if (!route)
		return;
	nl_attrs(message, sizeof(*info), attrs, RTA_MAX);
	route->netns = snapshot->netns;
	route->family = info->rtm_family == AF_INET6 ? ADDR_V6 : ADDR_V4;
	route->prefix = info->rtm_dst_len;
	route->route_type = info->rtm_type;
	route->table = info->rtm_table;
	route->protocol = info->rtm_protocol;
	route->scope = info->rtm_scope;
	nl_get_addr(attrs[RTA_DST], &route->dst);
	parse_gateway(attrs, &route->gateway);
	nl_get_u32(attrs[RTA_OIF], &route->ifindex);
	nl_get_addr(attrs[RTA_PREFSRC], &route->prefsrc);
	nl_get_u32(attrs[RTA_PRIORITY], &route->metric);
	nl_get_u32(attrs[RTA_TABLE], &route->table);
	route->route_mtu = metric_mtu(attrs[RTA_METRICS]);
	parse_nexthops(route, attrs[RTA_MULTIPATH]);
}

void destination_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct rtmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[RTA_MAX + 1];
	struct destination_record *destination = context;
	struct rta_cacheinfo cache;

	(void)snapshot;
	if (message->nlmsg_type != RTM_NEWROUTE || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	nl_attrs(message, sizeof(*info), attrs, RTA_MAX);
	destination->route_type = info->rtm_type;
	destination->table = info->rtm_table;
	parse_gateway(attrs, &destination->gateway);
	nl_get_u32(attrs[RTA_OIF], &destination->ifindex);
	nl_get_addr(attrs[RTA_PREFSRC], &destination->prefsrc);
	nl_get_u32(attrs[RTA_TABLE], &destination->table);
	destination->path_mtu = metric_mtu(attrs[RTA_METRICS]);
	if (nl_get_bytes(attrs[RTA_CACHEINFO], &cache, sizeof(cache)) == sizeof(cache)) {
		if (cache.rta_expires > 0)
			destination->expires_ns =
				(uint64_t)cache.rta_expires * NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
		/* IPv6 says a refusal here and not as the answer's error. */
		if (cache.rta_error)
			destination->error =
				(uint16_t)(cache.rta_error > UINT16_MAX ? -cache.rta_error : cache.rta_error);
	}
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_dev_names_ struct dev_names names = {};
	struct snapshot_table *table = snapshot_table(snapshot, &route_type);
	size_t from = table->count;
	int r;

	(void)request;
	table->cap = ROUTES_MAX;
	r = nl_dump(snapshot, RTM_GETROUTE, sizeof(struct rtmsg), route_parse_message, why);
	for (size_t i = from; i < table->count; i++) {
		struct route_record *route = (struct route_record *)table->items + i;

		dev_name_get(&names, route->ifindex, route->dev);
	}
	if (r == 0 && table->refused)
		snapshot_gap(snapshot, "the other routes", "there are %llu routes more than the %d that are kept",
			     (unsigned long long)table->refused, ROUTES_MAX);
	return r;
}

static const struct record_type *const types[] = {&route_type, NULL};

static const struct snapshot_source route_source = {
	.name = "route",
	.lost = "the routing tables",
	.types = types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(route_source);
