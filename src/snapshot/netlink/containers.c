/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/netlink/containers.h"

#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/stat.h>

#include "snapshot/netlink/route.h"

/* Namespaces that are examined for it. */
#define LINKED_MAX 512
#define NO_ID      ((uint32_t)NETNSA_NSID_NOT_ASSIGNED)

/* --- the decision --- */

static const struct link_record *link_of(const struct snapshot *snapshot, uint32_t netns, uint32_t ifindex)
{
	snapshot_each(snapshot, link_type, const struct link_record, link)
		if (link->netns == netns && link->ifindex == ifindex)
			return link;
	return NULL;
}

static bool is_default(const struct route_record *route, uint32_t netns)
{
	return route->netns == netns && route->prefix == 0 && route->route_type == RTN_UNICAST &&
	       route->table == RT_TABLE_MAIN;
}

/* A default route through this interface, of any (0); NULL: none. */
static const struct route_record *way_out(const struct snapshot *snapshot, uint32_t netns, uint32_t ifindex)
{
	snapshot_each(snapshot, route_type, const struct route_record, route)
		if (is_default(route, netns) && (!ifindex || route->ifindex == ifindex))
			return route;
	return NULL;
}

static bool has_address(const struct snapshot *snapshot, const struct link_record *link)
{
	snapshot_each(snapshot, address_type, const struct address_record, address)
		if (address->netns == link->netns && address->ifindex == link->ifindex)
			return true;
	return false;
}

static bool is_switch(const struct link_record *link)
{
	return strcmp(link->kind, "bridge") == 0 || strcmp(link->kind, "openvswitch") == 0;
}

/* An interface of its own on top of one of the host's. */
static bool is_child(const struct link_record *link)
{
	static const char *const kinds[] = {"macvlan", "macvtap", "ipvlan", "ipvtap"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(link->kind, kinds[i]) == 0)
			return true;
	return false;
}

/* The host's end of a veth pair; NULL: this is no end of one. */
static const struct link_record *host_end(const struct snapshot *snapshot, const struct netns_pair *pair,
					  const struct link_record *link)
{
	const struct link_record *end =
		strcmp(link->kind, "veth") == 0 ? link_of(snapshot, pair->host, link->lower) : NULL;

	return end && strcmp(end->kind, "veth") == 0 && end->lower == link->ifindex &&
			       end->lower_netns == pair->other_in_host
		       ? end
		       : NULL;
}

/*
 * By the ways out. A container's leads through the pair, and the host's does not; or both are ports of one network and
 * use the same gateway. A container without one, cut off perhaps, is a port of a bridge on which the host has an
 * address.
 */
static bool hangs_off(const struct snapshot *snapshot, const struct link_record *end, const struct link_record *link)
{
	const struct link_record *master = end->master ? link_of(snapshot, end->netns, end->master) : NULL;
	const struct route_record *host = way_out(snapshot, end->netns, (master ?: end)->ifindex),
				  *other = way_out(snapshot, link->netns, link->ifindex);

	if (host)
		return master && other && addr_equal(&host->gateway, &other->gateway);
	return other ||
	       (!way_out(snapshot, link->netns, 0) && master && is_switch(master) && has_address(snapshot, master));
}

const struct link_record *containers_port(const struct snapshot *snapshot, const struct netns_pair *pair)
{
	/* Who has no way out itself is the router of a network of its own, and what hangs off it are hosts. */
	if (!pair->host_is_first && !way_out(snapshot, pair->host, 0))
		return NULL;
	snapshot_each(snapshot, link_type, const struct link_record, link) {
		const struct link_record *end;

		if (link->netns != pair->other || link->lower_netns == NO_ID ||
		    link->lower_netns != pair->host_in_other)
			continue;
		if (is_child(link))
			return link_of(snapshot, pair->host, link->lower);
		end = host_end(snapshot, pair, link);
		if (end && hangs_off(snapshot, end, link))
			return end;
	}
	return NULL;
}

/* --- the kernel --- */

static void parse_id(struct snapshot *snapshot _unused_, const struct nlmsghdr *message, void *context)
{
	const struct nlattr *attrs[NETNSA_MAX + 1];

	if (message->nlmsg_type != RTM_NEWNSID || mnl_nlmsg_get_payload_len(message) < sizeof(struct rtgenmsg))
		return;
	nl_attrs(message, sizeof(struct rtgenmsg), attrs, NETNSA_MAX);
	nl_get_u32(attrs[NETNSA_NSID], context);
}

/* What the namespace of the caller calls another one. */
static uint32_t id_of(struct snapshot *scout, int fd)
{
	_cleanup_(nl_closep) struct mnl_socket *socket = nl_open(NETLINK_ROUTE, &(struct why){});
	uint32_t id = NO_ID;
	struct nl_request room;
	void *extra;
	struct nlmsghdr *request = nl_request_begin(&room, RTM_GETNSID, 0, sizeof(struct rtgenmsg), &extra);
	struct nl_question question = {
		.protocol = NETLINK_ROUTE, .request = request, .parse = parse_id, .context = &id};

	mnl_attr_put_u32(request, NETNSA_FD, (uint32_t)fd);
	return socket && nl_ask_on(scout, socket, &question) == 0 ? id : NO_ID;
}

static uint32_t id_inside(struct snapshot *scout, const struct netns *inside, int fd)
{
	uint32_t id = NO_ID;
	struct netns_guard guard;
	struct why ignored;

	if (netns_enter(inside, &guard, &ignored) == 0) {
		id = id_of(scout, fd);
		netns_leave(&guard);
	}
	return id;
}

static bool is_of_first_process(uint32_t inum)
{
	struct stat first;

	/* The second one is of the kernel, where the first one may not be looked at. */
	return (stat("/proc/1/ns/net", &first) == 0 || stat("/proc/2/ns/net", &first) == 0) && first.st_ino == inum;
}

static int look(struct snapshot *scout, const struct netns_list *list, const struct record_type *const *types)
{
	struct why ignored;

	return snapshot_take(
		scout, &(struct snapshot_request){.namespaces = list, .types = types, .no_bpf = true, .repeated = true},
		&ignored);
}

static uint64_t stamp_of(const struct snapshot *scout, uint32_t netns)
{
	uint64_t stamp = 0;

	snapshot_each(scout, link_type, const struct link_record, link)
		if (link->netns == netns && link->lower_netns != NO_ID)
			stamp = (stamp ^ (((uint64_t)link->ifindex << 32) + link->lower)) * 0x9e3779b97f4a7c15U +
				link->lower_netns + link->master;
	return stamp;
}

static int by_processes(const void *a, const void *b)
{
	const struct netns *x = a, *y = b;

	return x->processes != y->processes ? (x->processes < y->processes ? 1 : -1)
					    : (x->inum > y->inum) - (x->inum < y->inum);
}

/* Takes those of the list that are containers over. */
static void move_containers(const struct snapshot *scout, const struct netns_pair *pairs, struct netns_list *from,
			    struct netns_list *list)
{
	for (size_t i = 1; i < from->items.count; i++) {
		struct netns *netns = &from->items.items[i];
		const struct link_record *port = containers_port(scout, &pairs[i]);

		if (!port)
			continue;
		if (list->items.count > CONTAINERS_MAX) {
			list->left_out++;
			continue;
		}
		netns->container_of = pairs[i].host;
		/* One on top of the host's own interface shares that with the host. */
		if (port->lower_netns != NO_ID)
			memcpy(netns->port, port->dev, sizeof(netns->port));
		vec_push(&list->items, *netns);
		netns->fd = -1;
	}
}

/* Those with processes to which there is some link, after the one of the caller. */
static void find_linked(struct snapshot *scout, const struct netns *own, struct netns_list *ret_list,
			struct netns_pair *pairs)
{
	_cleanup_netns_ struct netns_list all = {};
	bool first = is_of_first_process(own->inum);
	struct why ignored;

	vec_push(&ret_list->items, *own);
	/* Its descriptor stays with the caller. */
	ret_list->items.items[0].fd = -1;
	if (netns_find("all", &all, &ignored) < 0)
		return;
	vec_sort(&all.items, by_processes);
	vec_each(&all.items, netns) {
		struct netns_pair pair = {.host = own->inum, .other = netns->inum, .host_is_first = first};

		if (netns->inum == own->inum || netns->processes == 0 || ret_list->items.count > LINKED_MAX)
			continue;
		pair.other_in_host = id_of(scout, netns->fd);
		pair.host_in_other = id_inside(scout, netns, own->fd);
		if (pair.other_in_host == NO_ID && pair.host_in_other == NO_ID)
			continue;
		pairs[ret_list->items.count] = pair;
		vec_push(&ret_list->items, *netns);
		netns->fd = -1;
	}
}

static const struct record_type *const link_types[] = {&link_type, NULL};
static const struct record_type *const all_types[] = {&link_type, &address_type, &route_type, NULL};

void containers_add(struct snapshot *scout, struct netns_list *list)
{
	_cleanup_netns_ struct netns_list linked = {};
	_cleanup_free_ struct netns_pair *pairs = xzalloc((LINKED_MAX + 1) * sizeof(*pairs));

	/* The kernel names a namespace when it lists a link that leads there: links come first. */
	if (look(scout, list, link_types) < 0)
		return;
	find_linked(scout, &list->items.items[0], &linked, pairs);
	if (linked.items.count == 1 || look(scout, &linked, all_types) < 0)
		return;
	for (size_t i = 1; i < linked.items.count; i++)
		pairs[i].host_in_other = id_inside(scout, &linked.items.items[i], list->items.items[0].fd);
	move_containers(scout, pairs, &linked, list);
}

/* Only its descriptor may keep it. */
static bool is_alive(const struct netns *netns)
{
	char path[sizeof("/proc//ns/net") + 80];
	struct stat now;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", netns->pid);
	if (stat(path, &now) == 0 && now.st_ino == netns->inum)
		return true;
	snprintf(path, sizeof(path), "/run/netns/%.63s", netns->name);
	return netns->name[0] && stat(path, &now) == 0 && now.st_ino == netns->inum;
}

bool containers_changed(struct snapshot *scout, const struct netns_list *list)
{
	struct netns own = list->items.items[0];
	struct netns_list alone = {.items = {.items = &own, .count = 1, .room = 1}};
	uint64_t before = stamp_of(scout, own.inum);

	for (size_t i = 1; i < list->items.count; i++)
		if (!is_alive(&list->items.items[i]))
			return true;
	return look(scout, &alone, link_types) == 0 && stamp_of(scout, own.inum) != before;
}
