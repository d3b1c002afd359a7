/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/netlink/net_change.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "snapshot/core/netns_state.h"

static const struct enum_name change_items[] = {
	{NET_CHANGE_LINK_ADDED, "link-added", "an interface was created or moved here"},
	{NET_CHANGE_LINK_REMOVED, "link-removed", "an interface was deleted or moved away"},
	{NET_CHANGE_LINK_UP, "link-up", "an interface was set up"},
	{NET_CHANGE_LINK_DOWN, "link-down", "an interface was set down"},
	{NET_CHANGE_CARRIER_UP, "carrier-up", "an interface regained its carrier"},
	{NET_CHANGE_CARRIER_DOWN, "carrier-down", "an interface lost its carrier"},
	{NET_CHANGE_MTU, "mtu", "the MTU of an interface changed"},
	{NET_CHANGE_NEIGHBOUR_FAILED, "neighbour-failed", "a neighbour no longer answers ARP or NDP"},
	{NET_CHANGE_NEIGHBOUR_BACK, "neighbour-back", "a neighbour that had failed answers again"},
	{NET_CHANGE_ADDRESS_ADDED, "address-added", "an interface got an address"},
	{NET_CHANGE_ADDRESS_REMOVED, "address-removed", "an interface lost an address"},
	{NET_CHANGE_ROUTE_ADDED, "route-added", "a route was added or replaced"},
	{NET_CHANGE_ROUTE_REMOVED, "route-removed", "a route was deleted"},
};
static struct enum_names change_names = {change_items, ARRAY_SIZE(change_items), NULL};

#define C struct net_change_record
static const struct field net_change_fields[] = {
	FIELD(C, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(C, time_ns, TIME, "when it was seen, at most one sample after it happened"),
	FIELD(C, change, ENUM, "what changed", .names = &change_names),
	FIELD(C, ifindex, ID, "interface index", .zero_is_unknown = true, .hidden = true),
	FIELD(C, dev, TEXT, "interface"),
	FIELD(C, addr, ADDR, "neighbour, address, or destination of the route"),
	FIELD(C, prefix, ID, "prefix length"),
	FIELD(C, before, BYTES, "MTU before", .exact = true),
	FIELD(C, after, BYTES, "MTU after", .exact = true),
};
#undef C
RECORD_TYPE(net_change_type, "net_change", struct net_change_record, net_change_fields,
	    "a change of an interface, neighbour, address or route since the sample before");

/* A router that learns a full table must not keep a sample from ending; the rest is read in the next one. */
#define MESSAGES_MAX   4096
#define LINKS_MAX      65536
#define NEIGHBOURS_MAX 65536
#define CARRIER        (1U << 16) /* IFF_LOWER_UP */

struct link_state {
	char dev[16];
	uint32_t flags;
	uint32_t mtu;
};

struct neighbour_key {
	struct addr addr;
	uint32_t ifindex;
};

void net_changes_init(struct net_changes *changes)
{
	*changes = (struct net_changes){
		.links = MAP_INIT(sizeof(uint32_t), sizeof(struct link_state), LINKS_MAX),
		.neighbours = MAP_INIT(sizeof(struct neighbour_key), sizeof(uint8_t), NEIGHBOURS_MAX),
	};
}

void net_changes_done(struct net_changes *changes)
{
	map_done(&changes->links);
	map_done(&changes->neighbours);
}

static struct net_change_record *add_change(struct snapshot *snapshot, const struct net_changes *changes,
					    enum net_change_kind kind, uint32_t ifindex)
{
	const struct link_state *link = map_get(&changes->links, &ifindex);
	struct net_change_record *record = snapshot_table_add(snapshot_table(snapshot, &net_change_type));

	if (!record)
		return NULL;
	record->netns = snapshot->netns;
	record->time_ns = snapshot->begin_time_ns;
	record->change = (uint8_t)kind;
	record->ifindex = ifindex;
	if (link)
		memcpy(record->dev, link->dev, sizeof(record->dev));
	return record;
}

static void add_mtu(struct snapshot *snapshot, const struct net_changes *changes, uint32_t ifindex, uint32_t before,
		    uint32_t after)
{
	struct net_change_record *record = add_change(snapshot, changes, NET_CHANGE_MTU, ifindex);

	if (!record)
		return;
	record->before = before;
	record->after = after;
}

static void parse_link(struct snapshot *snapshot, const struct nlmsghdr *message, struct net_changes *changes)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[IFLA_MAX + 1];
	struct link_state *link, before;
	uint32_t ifindex;
	bool is_new;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*info) || info->ifi_family != AF_UNSPEC)
		return;
	ifindex = (uint32_t)info->ifi_index;
	if (message->nlmsg_type == RTM_DELLINK) {
		(void)add_change(snapshot, changes, NET_CHANGE_LINK_REMOVED, ifindex);
		(void)map_remove(&changes->links, &ifindex);
		return;
	}
	nl_attrs(message, sizeof(*info), attrs, IFLA_MAX);
	link = map_put(&changes->links, &ifindex, &is_new);
	if (!link)
		return;
	before = *link;
	nl_get_chars(attrs[IFLA_IFNAME], link->dev, sizeof(link->dev));
	nl_get_u32(attrs[IFLA_MTU], &link->mtu);
	link->flags = info->ifi_flags;
	if (changes->is_dump)
		return;
	if (is_new) {
		(void)add_change(snapshot, changes, NET_CHANGE_LINK_ADDED, ifindex);
		return;
	}
	if ((before.flags ^ link->flags) & IFF_UP)
		(void)add_change(snapshot, changes, link->flags & IFF_UP ? NET_CHANGE_LINK_UP : NET_CHANGE_LINK_DOWN,
				 ifindex);
	if ((before.flags ^ link->flags) & CARRIER)
		(void)add_change(snapshot, changes,
				 link->flags & CARRIER ? NET_CHANGE_CARRIER_UP : NET_CHANGE_CARRIER_DOWN, ifindex);
	if (before.mtu != link->mtu)
		add_mtu(snapshot, changes, ifindex, before.mtu, link->mtu);
}

/* The states of a neighbour that answers go round and round; only whether it answers is of interest. */
static void parse_neighbour(struct snapshot *snapshot, const struct nlmsghdr *message, struct net_changes *changes)
{
	const struct ndmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[NDA_MAX + 1];
	struct net_change_record *record = NULL;
	struct neighbour_key key;
	bool is_new;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	memset(&key, 0, sizeof(key));
	nl_attrs(message, sizeof(*info), attrs, NDA_MAX);
	nl_get_addr(attrs[NDA_DST], &key.addr);
	key.ifindex = (uint32_t)info->ndm_ifindex;
	if (key.addr.family == ADDR_UNKNOWN)
		return;
	if (message->nlmsg_type == RTM_DELNEIGH) {
		(void)map_remove(&changes->neighbours, &key);
	} else if (info->ndm_state & NUD_FAILED) {
		if (map_put(&changes->neighbours, &key, &is_new) && is_new)
			record = add_change(snapshot, changes, NET_CHANGE_NEIGHBOUR_FAILED, key.ifindex);
	} else if (info->ndm_state & NUD_REACHABLE) {
		if (map_remove(&changes->neighbours, &key))
			record = add_change(snapshot, changes, NET_CHANGE_NEIGHBOUR_BACK, key.ifindex);
	}
	if (record)
		record->addr = key.addr;
}

static void parse_address(struct snapshot *snapshot, const struct nlmsghdr *message, const struct net_changes *changes)
{
	bool added = message->nlmsg_type == RTM_NEWADDR;
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[IFA_MAX + 1];
	struct net_change_record *record;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	nl_attrs(message, sizeof(*info), attrs, IFA_MAX);
	record = add_change(snapshot, changes, added ? NET_CHANGE_ADDRESS_ADDED : NET_CHANGE_ADDRESS_REMOVED,
			    info->ifa_index);
	if (!record)
		return;
	record->prefix = info->ifa_prefixlen;
	nl_get_addr(attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS], &record->addr);
}

/* The local table follows the addresses. */
static void parse_route(struct snapshot *snapshot, const struct nlmsghdr *message, const struct net_changes *changes)
{
	bool added = message->nlmsg_type == RTM_NEWROUTE;
	const struct rtmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[RTA_MAX + 1];
	struct net_change_record *record;
	uint32_t ifindex = 0;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*info) || info->rtm_table == RT_TABLE_LOCAL ||
	    (info->rtm_flags & RTM_F_CLONED))
		return;
	nl_attrs(message, sizeof(*info), attrs, RTA_MAX);
	nl_get_u32(attrs[RTA_OIF], &ifindex);
	record = add_change(snapshot, changes, added ? NET_CHANGE_ROUTE_ADDED : NET_CHANGE_ROUTE_REMOVED, ifindex);
	if (!record)
		return;
	record->prefix = info->rtm_dst_len;
	nl_get_addr(attrs[RTA_DST], &record->addr);
}

void net_change_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	struct net_changes *changes = context;

	switch (message->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		parse_link(snapshot, message, changes);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		parse_neighbour(snapshot, message, changes);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		parse_address(snapshot, message, changes);
		break;
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		parse_route(snapshot, message, changes);
		break;
	default:
		break;
	}
}

/* --- listening --- */

struct listener {
	struct netns_state of;
	struct mnl_socket *socket; /* NULL: not yet */
	struct net_changes changes;
};

static void release_listener(struct netns_state *state)
{
	struct listener *listener = (struct listener *)state;

	nl_closep(&listener->socket);
	net_changes_done(&listener->changes);
}

static int join_groups(struct mnl_socket *socket)
{
	static const int groups[] = {RTNLGRP_LINK,        RTNLGRP_NEIGH,      RTNLGRP_IPV4_IFADDR,
				     RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};

	for (unsigned i = 0; i < ARRAY_SIZE(groups); i++)
		if (mnl_socket_setsockopt(socket, NETLINK_ADD_MEMBERSHIP, (void *)&groups[i], sizeof(groups[i])) < 0)
			return -errno;
	return 0;
}

/* What the interfaces are like now is asked on a socket of its own, after the first notification may have come. */
static int begin_listening(struct snapshot *snapshot, struct listener *listener, struct why *why)
{
	int r;

	listener->socket = nl_open(NETLINK_ROUTE, why);
	if (!listener->socket)
		return -errno;
	r = join_groups(listener->socket);
	if (r < 0)
		return why_set(why, r, "cannot join the rtnetlink groups: %s", strerror(-r));
	listener->changes.is_dump = true;
	r = nl_ask(snapshot,
		   &(struct nl_question){.protocol = NETLINK_ROUTE,
					 .request = nl_request_begin(&(struct nl_request){}, RTM_GETLINK,
								     NLM_F_REQUEST | NLM_F_DUMP,
								     sizeof(struct ifinfomsg), &(void *){NULL}),
					 .parse = net_change_parse_message,
					 .context = &listener->changes},
		   why);
	listener->changes.is_dump = false;
	return r;
}

/* One batch of notifications: 1, 0 when there are none, or negative. */
static int read_some(struct snapshot *snapshot, struct listener *listener, unsigned *messages)
{
	struct sockaddr_nl from = {};
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(mnl_socket_get_fd(listener->socket), snapshot->message, SNAPSHOT_MESSAGE_MAX, MSG_DONTWAIT,
			     (struct sockaddr *)&from, &from_len);
	int left = (int)n;

	if (n < 0)
		return errno == EAGAIN ? 0 : errno == EINTR ? 1 : -errno;
	/* Any process may send to a netlink socket; the kernel is port 0. */
	if (from.nl_pid != 0)
		return 1;
	for (const struct nlmsghdr *m = (const void *)snapshot->message; nl_message_ok(m, left);
	     m = mnl_nlmsg_next(m, &left)) {
		net_change_parse_message(snapshot, m, &listener->changes);
		(*messages)++;
	}
	return 1;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	unsigned messages = 0;
	struct listener *listener;
	bool is_new;
	int r;

	/* Between two samples; a single one has nothing before it. */
	if (!request->repeated)
		return 0;
	listener = netns_state_find(snapshot_state(snapshot), snapshot, sizeof(*listener), release_listener, &is_new);
	if (is_new)
		net_changes_init(&listener->changes);
	if (!listener->socket)
		return begin_listening(snapshot, listener, why);
	do
		r = read_some(snapshot, listener, &messages);
	while (r > 0 && messages < MESSAGES_MAX);
	if (r == -ENOBUFS) {
		snapshot_gap(snapshot, "some changes of interfaces, neighbours, addresses and routes",
			     "more notifications than the netlink socket holds");
		return 0;
	}
	return r < 0 ? why_set(why, r, "cannot read rtnetlink notifications: %s", strerror(-r)) : 0;
}

static void release(void *data)
{
	netns_states_done(data, release_listener);
}

static const struct record_type *const types[] = {&net_change_type, NULL};

static const struct snapshot_source net_change_source = {
	.name = "net_change",
	.lost = "changes of interfaces, neighbours, addresses and routes",
	.types = types,
	.stage = STAGE_REST,
	.per_netns = true,
	.state_size = sizeof(struct netns_states),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(net_change_source);
