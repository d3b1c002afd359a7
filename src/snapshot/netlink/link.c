/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/map.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/link_modes.h"
#include "snapshot/netlink/pcie_link.h"

static const struct enum_name flag_items[] = {
	{IFF_UP, "UP", "administratively up"},
	{IFF_BROADCAST, "BROADCAST", NULL},
	{IFF_LOOPBACK, "LOOPBACK", NULL},
	{IFF_POINTOPOINT, "POINTOPOINT", NULL},
	{IFF_RUNNING, "RUNNING", "operational: ready to carry packets"},
	{IFF_NOARP, "NOARP", NULL},
	{IFF_PROMISC, "PROMISC", "promiscuous mode"},
	{IFF_ALLMULTI, "ALLMULTI", NULL},
	{IFF_MASTER, "MASTER", NULL},
	{IFF_SLAVE, "SLAVE", NULL},
	{IFF_MULTICAST, "MULTICAST", NULL},
	{1 << 16, "LOWER_UP", "carrier present"},
	{1 << 17, "DORMANT", "waits for an external event such as 802.1X authentication"},
};
static struct enum_names link_flag_names = {flag_items, ARRAY_SIZE(flag_items), NULL};

/* RFC 2863; linux/if.h, which names them, conflicts with net/if.h. */
static const struct enum_name operstate_items[] = {
	{0, "UNKNOWN", "not reported by the driver"},
	{1, "NOTPRESENT", NULL},
	{2, "DOWN", NULL},
	{3, "LOWERLAYERDOWN", "the interface below is down"},
	{4, "TESTING", NULL},
	{5, "DORMANT", NULL},
	{6, "UP", NULL},
};
static struct enum_names operstate_names = {operstate_items, ARRAY_SIZE(operstate_items), NULL};

static const struct enum_name duplex_items[] = {{DUPLEX_HALF, "half", NULL}, {DUPLEX_FULL, "full", NULL}};
static struct enum_names duplex_names = {duplex_items, ARRAY_SIZE(duplex_items), NULL};

static const struct enum_name scope_items[] = {
	{RT_SCOPE_UNIVERSE, "global", NULL}, {RT_SCOPE_SITE, "site", NULL},       {RT_SCOPE_LINK, "link", NULL},
	{RT_SCOPE_HOST, "host", NULL},       {RT_SCOPE_NOWHERE, "nowhere", NULL},
};
static struct enum_names scope_names = {scope_items, ARRAY_SIZE(scope_items), NULL};

#define L struct link_record
static const struct field link_fields[] = {
	FIELD(L, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(L, ifindex, ID, "interface index", .zero_is_unknown = true),
	FIELD(L, dev, TEXT, "interface name"),
	FIELD(L, kind, TEXT, "link type: veth, bridge, vxlan, ..."),
	FIELD(L, operstate, ENUM, "operational state (RFC 2863)", .names = &operstate_names),
	FIELD(L, carrier, BOOL, "carrier present", .hidden = true),
	FIELD(L, carrier_changes, COUNT, "carrier changes", .hidden = true),
	FIELD(L, mtu, BYTES, "MTU", .exact = true),
	FIELD(L, qdisc, TEXT, "root qdisc"),
	FIELD(L, tx_queue_len, COUNT, "transmit queue length, packets (txqueuelen)", .hidden = true),
	FIELD(L, speed, COUNT, "link speed", .unit = "bit/s", .hidden = true),
	FIELD(L, speed_max, COUNT, "highest link speed that the device supports", .unit = "bit/s", .hidden = true),
	FIELD(L, bus_rate, COUNT, "rate of its PCIe link in one direction", .unit = "bit/s", .hidden = true),
	FIELD(L, duplex, ENUM, "duplex mode", .names = &duplex_names, .hidden = true),
	FIELD(L, rx_bytes, BYTES, "received", .drift = 4096),
	FIELD(L, rx_packets, COUNT, "packets received", .drift = 20),
	FIELD(L, rx_errors, COUNT, "receive errors"),
	FIELD(L, rx_dropped, COUNT, "packets received and dropped: no memory, unknown protocol, ..."),
	FIELD(L, tx_bytes, BYTES, "sent", .drift = 4096),
	FIELD(L, tx_packets, COUNT, "packets sent", .drift = 20),
	FIELD(L, tx_errors, COUNT, "transmit errors"),
	FIELD(L, tx_dropped, COUNT, "packets dropped on transmit"),
	FIELD(L, flags, FLAGS, "flags", .names = &link_flag_names, .hidden = true),
	FIELD(L, master, ID, "index of its bridge, bond or VRF", .zero_is_unknown = true, .hidden = true),
	FIELD(L, lower, ID, "index of the lower interface, or of the veth peer", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(L, lower_netns, ID, "namespace id (nsid) of the lower interface or peer, if it is in another namespace",
	      .hidden = true),
	FIELD(L, mac, TEXT, "link-layer address", .hidden = true),
	FIELD(L, multicast, COUNT, "multicast packets received", .hidden = true, .drift = 20),
	FIELD(L, collisions, COUNT, "collisions", .hidden = true),
	FIELD(L, rx_length_errors, COUNT, "receive length errors", .hidden = true),
	FIELD(L, rx_over_errors, COUNT, "receiver overruns", .hidden = true),
	FIELD(L, rx_crc_errors, COUNT, "receive CRC errors", .hidden = true),
	FIELD(L, rx_frame_errors, COUNT, "receive frame alignment errors", .hidden = true),
	FIELD(L, rx_fifo_errors, COUNT, "receive FIFO overruns", .hidden = true),
	FIELD(L, rx_missed_errors, COUNT, "packets missed by the NIC: no receive buffer", .hidden = true),
	FIELD(L, rx_nohandler, COUNT, "packets received and dropped on an inactive bond port", .hidden = true),
	FIELD(L, tx_aborted_errors, COUNT, "transmissions aborted", .hidden = true),
	FIELD(L, tx_carrier_errors, COUNT, "transmissions that failed without carrier", .hidden = true),
	FIELD(L, tx_fifo_errors, COUNT, "transmit FIFO errors", .hidden = true),
	FIELD(L, tx_heartbeat_errors, COUNT, "heartbeat errors", .hidden = true),
	FIELD(L, tx_window_errors, COUNT, "late collisions", .hidden = true),
};
#undef L
RECORD_TYPE(link_type, "link", struct link_record, link_fields, "a network interface");

static const struct field address_fields[] = {
	FIELD(struct address_record, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(struct address_record, ifindex, ID, "interface index", .zero_is_unknown = true),
	FIELD(struct address_record, dev, TEXT, "interface name"),
	FIELD(struct address_record, laddr, ADDR, "address"),
	FIELD(struct address_record, prefix, COUNT, "prefix length"),
	FIELD(struct address_record, scope, ENUM, "address scope", .names = &scope_names),
};
RECORD_TYPE(address_type, "address", struct address_record, address_fields, "an address of an interface");

static void parse_stats(struct link_record *link, const struct nlattr *attr)
{
	struct rtnl_link_stats64 s;
	/* rx_nohandler is the last member that every kernel has. */
	size_t whole = offsetof(struct rtnl_link_stats64, rx_nohandler) + sizeof(s.rx_nohandler);

	if (nl_get_bytes(attr, &s, sizeof(s)) < whole)
		return;
	link->rx_bytes = s.rx_bytes;
	link->tx_bytes = s.tx_bytes;
	link->rx_packets = s.rx_packets;
	link->tx_packets = s.tx_packets;
	link->rx_errors = s.rx_errors;
	link->tx_errors = s.tx_errors;
	link->rx_dropped = s.rx_dropped;
	link->tx_dropped = s.tx_dropped;
	link->multicast = s.multicast;
	link->collisions = s.collisions;
	link->rx_length_errors = s.rx_length_errors;
	link->rx_over_errors = s.rx_over_errors;
	link->rx_crc_errors = s.rx_crc_errors;
	link->rx_frame_errors = s.rx_frame_errors;
	link->rx_fifo_errors = s.rx_fifo_errors;
	link->rx_missed_errors = s.rx_missed_errors;
	link->tx_aborted_errors = s.tx_aborted_errors;
	link->tx_carrier_errors = s.tx_carrier_errors;
	link->tx_fifo_errors = s.tx_fifo_errors;
	link->tx_heartbeat_errors = s.tx_heartbeat_errors;
	link->tx_window_errors = s.tx_window_errors;
	link->rx_nohandler = s.rx_nohandler;
}

static void parse_mac(struct link_record *link, const struct nlattr *attr)
{
	uint8_t bytes[8];
	size_t n = nl_get_bytes(attr, bytes, sizeof(bytes)), at = 0;

	for (size_t i = 0; i < n && at + 3 < sizeof(link->mac); i++)
		at += (size_t)snprintf(link->mac + at, sizeof(link->mac) - at, "%s%02x", i ? ":" : "", bytes[i]);
}

void link_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[IFLA_MAX + 1], *nested[IFLA_INFO_MAX + 1];
	struct link_record *link;

	(void)context;
	if (message->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	link = snapshot_table_add(snapshot_table(snapshot, &link_type));
	if (!link)
		return;
	nl_attrs(message, sizeof(*info), attrs, IFLA_MAX);
	link->netns = snapshot->netns;
	link->ifindex = (uint32_t)info->ifi_index;
	link->flags = info->ifi_flags;
	nl_get_chars(attrs[IFLA_IFNAME], link->dev, sizeof(link->dev));
	nl_get_u8(attrs[IFLA_OPERSTATE], &link->operstate);
	nl_get_u8(attrs[IFLA_CARRIER], &link->carrier);
	nl_get_u32(attrs[IFLA_CARRIER_CHANGES], &link->carrier_changes);
	nl_get_u32(attrs[IFLA_MTU], &link->mtu);
	nl_get_u32(attrs[IFLA_TXQLEN], &link->tx_queue_len);
	nl_get_chars(attrs[IFLA_QDISC], link->qdisc, sizeof(link->qdisc));
	nl_get_u32(attrs[IFLA_MASTER], &link->master);
	nl_get_u32(attrs[IFLA_LINK], &link->lower);
	nl_get_u32(attrs[IFLA_LINK_NETNSID], &link->lower_netns);
	nl_attrs_nested(attrs[IFLA_LINKINFO], nested, IFLA_INFO_MAX);
	nl_get_chars(nested[IFLA_INFO_KIND], link->kind, sizeof(link->kind));
	parse_mac(link, attrs[IFLA_ADDRESS]);
	parse_stats(link, attrs[IFLA_STATS64]);
}

void address_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[IFA_MAX + 1];
	struct address_record *address;

	(void)context;
	if (message->nlmsg_type != RTM_NEWADDR || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	address = snapshot_table_add(snapshot_table(snapshot, &address_type));
	if (!address)
		return;
	nl_attrs(message, sizeof(*info), attrs, IFA_MAX);
	address->netns = snapshot->netns;
	address->ifindex = info->ifa_index;
	address->prefix = info->ifa_prefixlen;
	address->scope = info->ifa_scope;
	/* On a point-to-point interface IFA_ADDRESS is the peer's. */
	nl_get_addr(attrs[IFA_LOCAL] ? attrs[IFA_LOCAL] : attrs[IFA_ADDRESS], &address->laddr);
}

void dev_names_done(struct dev_names *names)
{
	vec_done(&names->items);
}

void dev_name_get(struct dev_names *names, uint32_t ifindex, char *name)
{
	struct dev_name *known;

	if (ifindex == 0 || ifindex == UINT32_MAX)
		return;
	vec_each(&names->items, item)
		if (item->ifindex == ifindex) {
			memcpy(name, item->name, sizeof(item->name));
			return;
		}
	known = vec_add(&names->items);
	known->ifindex = ifindex;
	if (!if_indextoname(ifindex, known->name))
		known->name[0] = '\0';
	memcpy(name, known->name, sizeof(known->name));
}

/* From the driver; most virtual interfaces do not report a speed. */
static void read_speed(int fd, struct link_record *link)
{
	/* The settings, then three link mode masks of at most 127 words each. */
	_Alignas(8) uint8_t room[sizeof(struct ethtool_link_settings) + 3 * 127 * sizeof(uint32_t)] = {};
	struct ethtool_link_settings *settings = (struct ethtool_link_settings *)room;
	struct ifreq request = {.ifr_data = (void *)room};
	uint64_t modes;

	memcpy(request.ifr_name, link->dev, sizeof(request.ifr_name));
	settings->cmd = ETHTOOL_GLINKSETTINGS;
	/* The first reply only reports the mask length, as a negative number. */
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 || settings->link_mode_masks_nwords >= 0)
		return;
	settings->link_mode_masks_nwords = (int8_t)-settings->link_mode_masks_nwords;
	settings->cmd = ETHTOOL_GLINKSETTINGS;
	if (ioctl(fd, SIOCETHTOOL, &request) < 0 || settings->link_mode_masks_nwords <= 0)
		return;
	if (settings->speed != 0 && settings->speed != (uint32_t)SPEED_UNKNOWN)
		link->speed = (uint64_t)settings->speed * 1000000;
	modes = link_modes_fastest(settings->link_mode_masks, (unsigned)settings->link_mode_masks_nwords);
	if (modes)
		link->speed_max = modes;
	if (settings->duplex == DUPLEX_HALF || settings->duplex == DUPLEX_FULL)
		link->duplex = settings->duplex;
}

/* A file of the interface in sysfs, its first line; "": there is none. */
static const char *sysfs_line(struct snapshot *snapshot, const char *dev, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/class/net/%.16s/%s", dev, name);
	if (snapshot_read(snapshot, path) < 0 || snapshot->text.len == 0)
		return "";
	snapshot->text.data[strcspn(snapshot->text.data, "\n")] = '\0';
	return snapshot->text.data;
}

/* sysfs shows the namespace in which it was mounted: an interface of another one may have the same name. */
static void read_bus(struct snapshot *snapshot, struct link_record *link)
{
	char speed[32], index[16];
	struct pcie_link pcie;

	if (link->kind[0] || strchr(link->dev, '/') || link->dev[0] == '.')
		return;
	snprintf(speed, sizeof(speed), "%.31s", sysfs_line(snapshot, link->dev, "device/current_link_speed"));
	if (!speed[0])
		return;
	snprintf(index, sizeof(index), "%u", link->ifindex);
	if (strcmp(sysfs_line(snapshot, link->dev, "ifindex"), index) != 0 ||
	    strncmp(sysfs_line(snapshot, link->dev, "address"), link->mac, sizeof(link->mac)) != 0)
		return;
	pcie = pcie_link_parse(speed, sysfs_line(snapshot, link->dev, "device/current_link_width"));
	if (pcie.width)
		link->bus_rate = (uint64_t)pcie_link_rate(&pcie);
}

/* Speed as reported by the driver; constant while the link stays up, so queried once. */
struct known_key {
	uint32_t netns;
	uint32_t ifindex;
};

struct known_speed {
	uint64_t speed, speed_max, bus_rate;
	uint32_t carrier_changes;
	uint8_t duplex;
	char dev[16];
};

struct link_state {
	struct map speeds;
};

static void release_links(void *state)
{
	map_done(&((struct link_state *)state)->speeds);
}

static void find_speed(struct snapshot *snapshot, int fd, struct link_record *link)
{
	struct link_state *state = snapshot_state(snapshot);
	struct known_key key = {link->netns, link->ifindex};
	struct known_speed *known;
	bool is_new;

	if (!state->speeds.key_size)
		state->speeds = MAP_INIT(sizeof(struct known_key), sizeof(struct known_speed), 65536);
	known = map_put(&state->speeds, &key, &is_new);
	if (known && !is_new && known->carrier_changes == link->carrier_changes &&
	    memcmp(known->dev, link->dev, sizeof(link->dev)) == 0) {
		link->speed = known->speed;
		link->speed_max = known->speed_max;
		link->bus_rate = known->bus_rate;
		link->duplex = known->duplex;
		return;
	}
	read_speed(fd, link);
	read_bus(snapshot, link);
	if (!known)
		return;
	*known = (struct known_speed){.speed = link->speed,
				      .speed_max = link->speed_max,
				      .bus_rate = link->bus_rate,
				      .carrier_changes = link->carrier_changes,
				      .duplex = link->duplex};
	memcpy(known->dev, link->dev, sizeof(link->dev));
}

static int collect_links(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct snapshot_table *table = snapshot_table(snapshot, &link_type);
	size_t from = table->count;
	_cleanup_close_ int fd = -1;
	int r = nl_dump(snapshot, RTM_GETLINK, sizeof(struct ifinfomsg), link_parse_message, why);

	(void)request;
	if (r < 0)
		return r;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (size_t i = from; fd >= 0 && i < table->count; i++)
		find_speed(snapshot, fd, (struct link_record *)table->items + i);
	return 0;
}

static int collect_addresses(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	_cleanup_dev_names_ struct dev_names names = {};
	struct snapshot_table *table = snapshot_table(snapshot, &address_type);
	size_t from = table->count;
	int r = nl_dump(snapshot, RTM_GETADDR, sizeof(struct ifaddrmsg), address_parse_message, why);

	(void)request;
	for (size_t i = from; i < table->count; i++) {
		struct address_record *address = (struct address_record *)table->items + i;

		dev_name_get(&names, address->ifindex, address->dev);
	}
	return r;
}

static const struct record_type *const link_types[] = {&link_type, NULL};
static const struct record_type *const address_types[] = {&address_type, NULL};

static const struct snapshot_source link_source = {
	.name = "link",
	.lost = "interfaces and their counters",
	.types = link_types,
	.stage = STAGE_COUNTERS,
	.per_netns = true,
	.state_size = sizeof(struct link_state),
	.collect = collect_links,
	.release = release_links,
};
SNAPSHOT_SOURCE(link_source);

static const struct snapshot_source address_source = {
	.name = "address",
	.lost = "interface addresses",
	.types = address_types,
	.stage = STAGE_REST,
	.per_netns = true,
	.collect = collect_addresses,
};
SNAPSHOT_SOURCE(address_source);
