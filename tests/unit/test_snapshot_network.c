/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interfaces, queues, routes and rules of a network namespace, configured with ip, tc and nft: the snapshot has the
 * same settings.
 */
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>

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
	"tc qdisc add dev vc parent 7:2 handle 10: htb; tc class add dev vc parent 10: classid 10:1 htb rate 4mbit;"
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

static void set_speed(const char *command)
{
	if (system(command) != 0) /* NOLINT: words of this file */
		SKIP("ethtool cannot set the speed of a TAP device");
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
	unsigned links = 0, speeds = 0, routes = 0, rules = 0, chains = 0, classes = 0;
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
	/* Once, also where an interface has two qdiscs with classes. */
	snapshot_each(snapshot, class_type, const struct qdisc_record, class)
		classes += strcmp(class->handle, "10:1") == 0;
	CHECK_EQ_UINT(classes, 1);
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

static const struct link_record *find_link(struct snapshot *snapshot, const char *dev)
{
	static const struct record_type *const types[] = {&link_type, NULL};
	struct why why = {};

	REQUIRE(snapshot_take(snapshot, &(struct snapshot_request){.types = types, .no_bpf = true}, &why) == 0);
	snapshot_each(snapshot, link_type, const struct link_record, link)
		if (strcmp(link->dev, dev) == 0)
			return link;
	return NULL;
}

static void check_speed(struct snapshot *snapshot, const char *dev, uint64_t speed)
{
	const struct link_record *link = find_link(snapshot, dev);

	unit_note("%s", dev);
	REQUIRE(link);
	CHECK_EQ_UINT(link->speed, speed);
}

/* A driver is asked again when the carrier changed, or the index is that of another interface. */
TEST(the_speed_of_a_link_is_asked_for_when_it_may_have_changed)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_close_ int fd = -1;
	struct ifreq request = {.ifr_name = "t0", .ifr_flags = IFF_TAP | IFF_NO_PI};
	int off = 0, on = 1;

	private_network();
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
		SKIP("needs a TAP device");
	set_speed("ip link set t0 up; ethtool -s t0 speed 1000 duplex half autoneg off");
	check_speed(snapshot, "t0", UINT64_C(1000000000));
	CHECK_EQ_UINT(find_link(snapshot, "t0")->duplex, DUPLEX_HALF);
	set_speed("ethtool -s t0 speed 2500 duplex full autoneg off");
	check_speed(snapshot, "t0", UINT64_C(1000000000));
	REQUIRE(ioctl(fd, TUNSETCARRIER, &off) == 0 && ioctl(fd, TUNSETCARRIER, &on) == 0);
	check_speed(snapshot, "t0", UINT64_C(2500000000));
	CHECK_EQ_UINT(find_link(snapshot, "t0")->duplex, DUPLEX_FULL);
	/* One that is not known yet does not get the speed of the last one. */
	check_speed(snapshot, "va", UINT64_C(10000000000));
	set_speed("ip link set t0 down; ip link set t0 name t1; ethtool -s t1 speed 100 duplex full autoneg off");
	check_speed(snapshot, "t1", 100000000);
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
