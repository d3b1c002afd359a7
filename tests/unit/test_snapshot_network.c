/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interfaces, queues, routes and rules of a network namespace, configured with ip, tc and nft: the snapshot has the
 * same settings.
 */
#include <sched.h>
#include <stdlib.h>

#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/netlink/route.h"
#include "unit.h"

static const char setup[] =
	"exec >/dev/null 2>&1; set -e; ip link set lo up; ip link add va type veth peer name vb;"
	"ip link add vc type veth peer name vd; for d in va vb vc vd; do ip link set $d up; done;"
	"ip addr add 10.99.1.1/24 dev va; ip route add 10.99.2.0/24 via 10.99.1.2 mtu 1300;"
	"tc qdisc add dev vc root handle 7: htb default 1;"
	"tc class add dev vc parent 7: classid 7:1 htb rate 8mbit;"
	"tc class add dev vc parent 7: classid 7:2 htb rate 16mbit;"
	"tc qdisc add dev va root handle 8: tbf rate 4mbit burst 10000 limit 100000;"
	"nft 'add table inet t { chain c { type filter hook input priority 5; policy accept; tcp dport 7 counter drop "
	"comment \"seven\"; }; }'";

static void private_network(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		SKIP("needs a network namespace of its own (root)");
	if (system(setup) != 0) /* NOLINT: words of this file */
		SKIP("ip, tc or nft cannot set the namespace up");
}

static const struct qdisc_record *find_qdisc(const struct snapshot *snapshot, const struct record_type *type,
					     const char *kind, const char *handle)
{
	const struct qdisc_record *items = snapshot_first(snapshot, type);
	size_t count = snapshot_table((struct snapshot *)snapshot, type)->count;

	for (size_t i = 0; i < count; i++)
		if (strcmp(items[i].kind, kind) == 0 && strcmp(items[i].handle, handle) == 0)
			return &items[i];
	return NULL;
}

TEST(a_namespace_as_it_was_set_up)
{
	static const struct record_type *const types[] = {
		&link_type, &qdisc_type, &class_type, &route_type, &firewall_rule_type, &firewall_chain_type, NULL};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct qdisc_record *htb, *tbf, *slow, *fast;
	uint32_t va = 0, vc = 0;
	unsigned links = 0, speeds = 0, routes = 0, rules = 0, chains = 0;
	struct why why = {};

	private_network();
	REQUIRE(snapshot_take(snapshot, &(struct snapshot_request){.types = types, .no_bpf = true}, &why) == 0);
	snapshot_each(snapshot, link_type, const struct link_record, link) {
		bool is_veth = strcmp(link->kind, "veth") == 0;

		links += is_veth;
		va = strcmp(link->dev, "va") == 0 ? link->ifindex : va;
		vc = strcmp(link->dev, "vc") == 0 ? link->ifindex : vc;
		/* What ethtool says of every veth: 10 Gbit/s. */
		speeds += is_veth && link->speed == UINT64_C(10000000000);
	}
	CHECK_EQ_UINT(links, 4);
	CHECK_EQ_UINT(speeds, 4);
	htb = find_qdisc(snapshot, &qdisc_type, "htb", "7:");
	tbf = find_qdisc(snapshot, &qdisc_type, "tbf", "8:");
	slow = find_qdisc(snapshot, &class_type, "htb", "7:1");
	fast = find_qdisc(snapshot, &class_type, "htb", "7:2");
	REQUIRE(htb && tbf && slow && fast);
	CHECK_EQ_UINT(htb->ifindex, vc);
	CHECK_EQ_UINT(tbf->ifindex, va);
	CHECK_EQ_UINT(tbf->rate, 500000);
	CHECK_EQ_UINT(slow->ifindex, vc);
	CHECK_EQ_UINT(slow->rate, 1000000);
	CHECK_EQ_UINT(fast->rate, 2000000);
	CHECK_EQ_TEXT(tbf->dev, "va");
	CHECK_EQ_TEXT(fast->dev, "vc");
	snapshot_each(snapshot, route_type, const struct route_record, route)
		routes += route->route_mtu == 1300 && route->ifindex == va;
	CHECK_EQ_UINT(routes, 1);
	snapshot_each(snapshot, firewall_rule_type, const struct firewall_rule_record, rule)
		rules += rule->verdict == VERDICT_DROP && rule->packets == 0 && rule->comment &&
			 strcmp(rule->comment, "seven") == 0;
	snapshot_each(snapshot, firewall_chain_type, const struct firewall_chain_record, chain)
		chains += chain->policy == VERDICT_ACCEPT && chain->priority == 5;
	CHECK_EQ_UINT(rules, 1);
	CHECK_EQ_UINT(chains, 1);
}

/* Classes are not asked for: the table stays empty even though qdisc vc has them. */
TEST(classes_that_were_not_asked_for)
{
	static const struct record_type *const types[] = {&qdisc_type, NULL};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct why why = {};

	private_network();
	REQUIRE(snapshot_take(snapshot, &(struct snapshot_request){.types = types, .no_bpf = true}, &why) == 0);
	CHECK(find_qdisc(snapshot, &qdisc_type, "htb", "7:") != NULL);
	CHECK_EQ_UINT(snapshot_table(snapshot, &class_type)->count, 0);
}
