/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which network namespace is a container of this host: by links, addresses and routes made by hand. */
#include "unit.h"

#include <linux/rtnetlink.h>

#include "snapshot/netlink/containers.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/route.h"

#define HOST  100U
#define OTHER 200U

#define PAIR                                                                                                           \
	{                                                                                                              \
		.host = HOST, .other = OTHER, .other_in_host = 7, .host_in_other = 3                                   \
	}

static void add_link(struct snapshot *s, uint32_t netns, uint32_t ifindex, const char *kind, uint32_t master,
		     uint32_t lower, uint32_t lower_netns)
{
	struct link_record *link = snapshot_table_add(snapshot_table(s, &link_type));

	link->netns = netns;
	link->ifindex = ifindex;
	memcpy(link->kind, kind, strlen(kind) + 1);
	link->master = master;
	link->lower = lower;
	link->lower_netns = lower_netns;
}

static struct addr gateway(uint8_t last)
{
	return addr_from_v4((const uint8_t[]){10, 0, 0, last});
}

static void add_default(struct snapshot *s, uint32_t netns, uint32_t ifindex, uint8_t last)
{
	struct route_record *route = snapshot_table_add(snapshot_table(s, &route_type));

	route->netns = netns;
	route->prefix = 0;
	route->route_type = RTN_UNICAST;
	route->table = RT_TABLE_MAIN;
	route->ifindex = ifindex;
	route->gateway = gateway(last);
}

static void add_address(struct snapshot *s, uint32_t netns, uint32_t ifindex)
{
	struct address_record *address = snapshot_table_add(snapshot_table(s, &address_type));

	address->netns = netns;
	address->ifindex = ifindex;
	address->laddr = gateway(1);
}

/* A host with an uplink (2), a bridge (3) with an address, and a port (4) whose peer is 2 in the other namespace. */
static struct snapshot *bridged(void)
{
	struct snapshot *s = snapshot_new();

	add_link(s, HOST, 2, "", 0, 0, UINT32_MAX);
	add_link(s, HOST, 3, "bridge", 0, 0, UINT32_MAX);
	add_link(s, HOST, 4, "veth", 3, 2, 7);
	add_link(s, OTHER, 2, "veth", 0, 4, 3);
	add_address(s, HOST, 3);
	return s;
}

static bool is_one(const struct snapshot *s, const struct netns_pair *pair)
{
	return containers_port(s, pair) != NULL;
}

TEST(a_container_behind_a_bridge)
{
	_cleanup_snapshot_ struct snapshot *s = bridged();
	struct netns_pair pair = PAIR, first = PAIR;

	first.host_is_first = true;
	/* A namespace without a way out is a router, but for the first one. */
	CHECK(!is_one(s, &pair));
	CHECK(is_one(s, &first));
	add_default(s, HOST, 2, 254);
	/* Cut off: no default route. */
	CHECK(is_one(s, &pair));
	add_default(s, OTHER, 2, 1);
	CHECK_EQ_INT(containers_port(s, &pair)->ifindex, 4);
}

TEST(the_same_numbers_in_another_namespace_are_no_pair)
{
	_cleanup_snapshot_ struct snapshot *s = bridged();
	struct netns_pair here = PAIR, there = PAIR, unknown = PAIR;

	add_default(s, HOST, 2, 254);
	add_default(s, OTHER, 2, 1);
	CHECK(is_one(s, &here));
	here.other_in_host = 8;
	CHECK(!is_one(s, &here));
	there.host_in_other = 4;
	CHECK(!is_one(s, &there));
	unknown.host_in_other = UINT32_MAX;
	CHECK(!is_one(s, &unknown));
}

/* A pair alone: whose default route leads through it is the container. */
TEST(a_router_is_no_container_of_its_hosts)
{
	_cleanup_snapshot_ struct snapshot *s = snapshot_new();
	struct netns_pair pair = PAIR, back = {.host = OTHER, .other = HOST, .other_in_host = 3, .host_in_other = 7};

	add_link(s, HOST, 4, "veth", 0, 2, 7);
	add_link(s, HOST, 5, "", 0, 0, UINT32_MAX);
	add_link(s, OTHER, 2, "veth", 0, 4, 3);
	add_default(s, OTHER, 2, 1);
	/* HOST has no way out: the router of OTHER. */
	CHECK(!is_one(s, &pair));
	CHECK(!is_one(s, &back));
	add_default(s, HOST, 5, 254);
	/* Routed to, as some container networks do. */
	CHECK(is_one(s, &pair));
	CHECK(!is_one(s, &back));
}

/* Another link beside the way out, to somebody who has a way out of his own or none. */
TEST(a_second_link_does_not_make_a_container)
{
	_cleanup_snapshot_ struct snapshot *s = snapshot_new();
	struct netns_pair pair = PAIR;

	add_link(s, HOST, 4, "veth", 0, 2, 7);
	add_link(s, HOST, 5, "", 0, 0, UINT32_MAX);
	add_link(s, OTHER, 2, "veth", 0, 4, 3);
	add_link(s, OTHER, 3, "", 0, 0, UINT32_MAX);
	add_default(s, HOST, 5, 254);
	CHECK(!is_one(s, &pair));
	add_default(s, OTHER, 3, 254);
	CHECK(!is_one(s, &pair));
}

/* The bridge is the way out: a container on it uses the same gateway, which itself is on it as well. */
TEST(a_bridge_that_leads_out)
{
	_cleanup_snapshot_ struct snapshot *same = bridged(), *router = bridged(), *relay = bridged();
	struct netns_pair pair = PAIR;

	add_default(same, HOST, 3, 254);
	add_default(router, HOST, 3, 254);
	add_default(relay, HOST, 3, 254);
	add_default(same, OTHER, 2, 254);
	add_default(router, OTHER, 2, 253);
	CHECK(is_one(same, &pair));
	CHECK(!is_one(router, &pair));
	CHECK(!is_one(relay, &pair));
}

TEST(an_interface_on_top_of_one_of_the_host)
{
	_cleanup_snapshot_ struct snapshot *s = snapshot_new();
	struct netns_pair pair = PAIR,
			  back = {.host = OTHER, .other = HOST, .other_in_host = 3, .host_in_other = UINT32_MAX};

	pair.other_in_host = UINT32_MAX;
	add_link(s, HOST, 2, "", 0, 0, UINT32_MAX);
	add_link(s, OTHER, 5, "macvlan", 0, 2, 3);
	add_default(s, HOST, 2, 254);
	add_default(s, OTHER, 5, 254);
	CHECK(is_one(s, &pair));
	CHECK(!is_one(s, &back));
}
