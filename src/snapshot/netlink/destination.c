/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source of destinations: a route lookup (RTM_GETROUTE) for each remote address in use. */
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/route.h"
#include "snapshot/socket/socket.h"

#define DESTINATIONS_MAX 4096

/* Policy routing may depend on the source address, so the key is the pair. */
struct pair {
	struct addr raddr;
	struct addr laddr;
};

static bool is_set(const struct addr *addr)
{
	static const uint8_t zero[16];

	if (addr->family == ADDR_UNKNOWN)
		return false;
	/* IPv4-mapped: the last four bytes. */
	return memcmp(addr->bytes + (addr->family == ADDR_V4 ? 12 : 0), zero, addr->family == ADDR_V4 ? 4 : 16) != 0;
}

/* Loopback connections need no route. */
static bool needs_route(const struct socket_record *socket)
{
	return socket->state != SOCKET_LISTEN && socket->state != SOCKET_TIME_WAIT && is_set(&socket->raddr) &&
	       !addr_is_loopback(&socket->raddr) && !addr_equal(&socket->raddr, &socket->laddr);
}

static int gather(struct snapshot *snapshot, struct map *known, uint64_t *ret_left_out)
{
	struct snapshot_table *table = snapshot_table(snapshot, &destination_type);

	*ret_left_out = 0;
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		struct destination_record *destination;
		struct pair pair = {};
		uint32_t *index;
		bool new;

		if (socket->netns != snapshot->netns || !needs_route(socket))
			continue;
		pair.raddr = socket->raddr;
		if (is_set(&socket->laddr))
			pair.laddr = socket->laddr;
		index = map_put(known, &pair, &new);
		if (!index) {
			(*ret_left_out)++;
			continue;
		}
		if (!new) {
			((struct destination_record *)table->items)[*index].sockets++;
			continue;
		}
		destination = snapshot_table_add(table);
		if (!destination)
			return -E2BIG;
		*index = (uint32_t)(table->count - 1);
		destination->netns = snapshot->netns;
		destination->raddr = pair.raddr;
		destination->laddr = pair.laddr;
		destination->sockets = 1;
	}
	return 0;
}

static void put_addr(struct nlmsghdr *message, uint16_t type, const struct addr *addr)
{
	if (addr->family == ADDR_V4)
		mnl_attr_put(message, type, 4, addr->bytes + 12);
	else
		mnl_attr_put(message, type, 16, addr->bytes);
}

static int query_once(struct snapshot *snapshot, struct mnl_socket *socket, struct destination_record *destination,
		      const struct addr *source)
{
	struct nl_request room;
	struct rtmsg *info;
	struct nlmsghdr *message = nl_request_begin(&room, RTM_GETROUTE, 0, sizeof(*info), (void **)&info);
	struct nl_question question = {.protocol = NETLINK_ROUTE,
				       .request = message,
				       .parse = destination_parse_message,
				       .context = destination};

	info->rtm_family = destination->raddr.family == ADDR_V6 ? AF_INET6 : AF_INET;
	info->rtm_dst_len = destination->raddr.family == ADDR_V6 ? 128 : 32;
	info->rtm_flags = RTM_F_LOOKUP_TABLE;
	put_addr(message, RTA_DST, &destination->raddr);
	if (source) {
		info->rtm_src_len = info->rtm_dst_len;
		put_addr(message, RTA_SRC, source);
	}
	return nl_ask_on(snapshot, socket, &question);
}

static void query(struct snapshot *snapshot, struct mnl_socket *socket, struct destination_record *destination)
{
	bool with_source = destination->laddr.family == destination->raddr.family;
	int r;

	destination->error = 0;
	r = query_once(snapshot, socket, destination, with_source ? &destination->laddr : NULL);
	/* EINVAL: a blackhole route, or the source is no longer an address of this host. */
	if (r == -EINVAL && with_source && query_once(snapshot, socket, destination, NULL) == 0)
		r = -EADDRNOTAVAIL;
	if (r < 0)
		destination->error = (uint16_t)-r;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_(nl_closep) struct mnl_socket *socket = NULL;
	_cleanup_dev_names_ struct dev_names names = {};
	_cleanup_(map_done) struct map known = MAP_INIT(sizeof(struct pair), sizeof(uint32_t), DESTINATIONS_MAX);
	struct snapshot_table *table = snapshot_table(snapshot, &destination_type);
	size_t from = table->count;
	uint64_t left_out;
	int r;

	(void)request;
	r = gather(snapshot, &known, &left_out);
	if (r < 0 || table->count == from)
		return r;
	socket = nl_open(NETLINK_ROUTE, why);
	if (!socket)
		return -errno;
	for (size_t i = from; i < table->count; i++) {
		struct destination_record *destination = (struct destination_record *)table->items + i;

		query(snapshot, socket, destination);
		dev_name_get(&names, destination->ifindex, destination->dev);
	}
	if (left_out)
		snapshot_gap(
			snapshot, "routes to the other addresses",
			"routes looked up for the first %d remote addresses only; others are used by %llu socket%s",
			DESTINATIONS_MAX, (unsigned long long)left_out, text_plural(left_out));
	return 0;
}

static const struct record_type *const needs[] = {&socket_type, NULL};
static const struct record_type *const types[] = {&destination_type, NULL};

static const struct snapshot_source destination_source = {
	.name = "destination",
	.lost = "routes to remote addresses",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(destination_source);
