/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Field tables and parsers of routes and destinations, and the source of the routing tables. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/route.h"

/* A full Internet routing table has a million entries; more than this is a gap. */
#define ROUTES_MAX 100000

static const struct enum_name kind_items[] = {
	{RTN_UNSPEC, "unspec", NULL},
	{RTN_UNICAST, "unicast", "forwarded to the next hop"},
	{RTN_LOCAL, "local", "address of this host"},
	{RTN_BROADCAST, "broadcast", NULL},
	{RTN_ANYCAST, "anycast", NULL},
	{RTN_MULTICAST, "multicast", NULL},
	{RTN_BLACKHOLE, "blackhole", "silently dropped"},
	{RTN_UNREACHABLE, "unreachable", "rejected: host unreachable"},
	{RTN_PROHIBIT, "prohibit", "rejected: administratively prohibited"},
	{RTN_THROW, "throw", "lookup continues in the next routing table"},
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
	FIELD(R, dst, ADDR, "destination network; unknown: default", .unknown = "default"),
	FIELD(R, prefix, ID, "prefix length"),
	FIELD(R, route_type, ENUM, "route type", .names = &route_kind_names),
	FIELD(R, gateway, ADDR, "gateway"),
	FIELD(R, ifindex, ID, "index of the outgoing interface", .zero_is_unknown = true, .hidden = true),
	FIELD(R, dev, TEXT, "outgoing interface"),
	FIELD(R, prefsrc, ADDR, "preferred source address", .hidden = true),
	FIELD(R, metric, ID, "metric; the lowest wins"),
	FIELD(R, table, ID, "routing table; 254 is main, 255 local", .names = &table_names),
	FIELD(R, protocol, ENUM, "origin: kernel, boot, static, dhcp, ...", .names = &protocol_names),
	FIELD(R, scope, ENUM, "scope", .names = &scope_names, .hidden = true),
	FIELD(R, route_mtu, BYTES, "MTU set on the route", .exact = true, .hidden = true),
	FIELD(R, nexthops, COUNT, "number of next hops (multipath)", .hidden = true),
};
#undef R
RECORD_TYPE(route_type, "route", struct route_record, route_fields, "a route");

#define D struct destination_record
static const struct field destination_fields[] = {
	FIELD(D, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(D, raddr, ADDR, "remote address in use"),
	FIELD(D, laddr, ADDR, "local address of the sockets"),
	FIELD(D, sockets, COUNT, "sockets that use it"),
	FIELD(D, error, ENUM, "error of the route lookup", .names = &errno_names, .zero_is_unknown = true),
	FIELD(D, route_type, ENUM, "route type", .names = &route_kind_names),
	FIELD(D, gateway, ADDR, "gateway"),
	FIELD(D, ifindex, ID, "index of the outgoing interface", .zero_is_unknown = true, .hidden = true),
	FIELD(D, dev, TEXT, "outgoing interface"),
	FIELD(D, prefsrc, ADDR, "source address selected for a new socket", .hidden = true),
	FIELD(D, table, ID, "routing table that matched", .names = &table_names, .hidden = true),
	FIELD(D, path_mtu, BYTES, "path MTU: learnt by path MTU discovery or set on the route", .exact = true),
	FIELD(D, expires_ns, DURATION, "time until the learnt path MTU expires", .moment = MOMENT_UNTIL,
	      .hidden = true),
};
#undef D
RECORD_TYPE(destination_type, "destination", struct destination_record, destination_fields,
	    "the route to a remote address in use");

static uint32_t metric_mtu(const struct nlattr *metrics)
{
	const struct nlattr *attrs[RTAX_MAX + 1];
	uint32_t mtu = UINT32_MAX;

	nl_attrs_nested(metrics, attrs, RTAX_MAX);
	nl_get_u32(attrs[RTAX_MTU], &mtu);
	return mtu;
}

/* A gateway of the other family is in RTA_VIA, with the family in front. */
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
	/* Cached exceptions (path MTU) are not table entries. */
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
		/* IPv6 reports the error here, not as a netlink error. */
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
		snapshot_gap(snapshot, "the other routes", "%llu route%s beyond the limit of %d not kept",
			     (unsigned long long)table->refused, text_plural(table->refused), ROUTES_MAX);
	return r;
}

static const struct record_type *const types[] = {&route_type, NULL};

static const struct snapshot_source route_source = {
	.name = "route",
	.lost = "routing tables",
	.types = types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(route_source);
