/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/if_tunnel.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "snapshot/core/scan.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/tun_owner.h"
#include "snapshot/netlink/tunnel.h"

#define T struct tunnel_record
static const struct field tunnel_fields[] = {
	FIELD(T, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(T, ifindex, ID, "interface index", .zero_is_unknown = true, .hidden = true),
	FIELD(T, dev, TEXT, "interface"),
	FIELD(T, kind, TEXT, "tunnel type"),
	FIELD(T, laddr, ADDR, "local endpoint"),
	FIELD(T, raddr, ADDR, "remote endpoint"),
	FIELD(T, rport, ID, "destination port of encapsulated packets", .zero_is_unknown = true),
	FIELD(T, key, ID, "key or VNI"),
	FIELD(T, lower, ID, "index of the lower interface", .zero_is_unknown = true, .hidden = true),
	FIELD(T, pid, ID, "process that reads and writes the TUN device", .zero_is_unknown = true),
	FIELD(T, fd, ID, "its file descriptor of the TUN device", .hidden = true),
};
#undef T
RECORD_TYPE(tunnel_type, "tunnel", struct tunnel_record, tunnel_fields, "a tunnel");

/* Attribute numbers of each kind; 0: not present. */
struct layout {
	const char *kind;
	uint16_t local, local6, remote, remote6, key, port, lower;
	bool key_swapped; /* key in network byte order */
};

static const struct layout layouts[] = {
	{"vxlan", IFLA_VXLAN_LOCAL, IFLA_VXLAN_LOCAL6, IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6, IFLA_VXLAN_ID,
	 IFLA_VXLAN_PORT, IFLA_VXLAN_LINK, false},
	{"geneve", 0, 0, IFLA_GENEVE_REMOTE, IFLA_GENEVE_REMOTE6, IFLA_GENEVE_ID, IFLA_GENEVE_PORT, 0, false},
	{"gre", IFLA_GRE_LOCAL, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_OKEY, 0, IFLA_GRE_LINK, true},
	{"gretap", IFLA_GRE_LOCAL, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_OKEY, 0, IFLA_GRE_LINK, true},
	{"erspan", IFLA_GRE_LOCAL, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_OKEY, 0, IFLA_GRE_LINK, true},
	{"ip6gre", IFLA_GRE_LOCAL, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_OKEY, 0, IFLA_GRE_LINK, true},
	{"ip6gretap", IFLA_GRE_LOCAL, 0, IFLA_GRE_REMOTE, 0, IFLA_GRE_OKEY, 0, IFLA_GRE_LINK, true},
	{"ipip", IFLA_IPTUN_LOCAL, 0, IFLA_IPTUN_REMOTE, 0, 0, 0, IFLA_IPTUN_LINK, false},
	{"sit", IFLA_IPTUN_LOCAL, 0, IFLA_IPTUN_REMOTE, 0, 0, 0, IFLA_IPTUN_LINK, false},
	{"ip6tnl", IFLA_IPTUN_LOCAL, 0, IFLA_IPTUN_REMOTE, 0, 0, 0, IFLA_IPTUN_LINK, false},
	{"vti", IFLA_VTI_LOCAL, 0, IFLA_VTI_REMOTE, 0, IFLA_VTI_OKEY, 0, IFLA_VTI_LINK, true},
	{"vti6", IFLA_VTI_LOCAL, 0, IFLA_VTI_REMOTE, 0, IFLA_VTI_OKEY, 0, IFLA_VTI_LINK, true},
	{"xfrm", 0, 0, 0, 0, IFLA_XFRM_IF_ID, 0, IFLA_XFRM_LINK, false},
	{"wireguard", 0, 0, 0, 0, 0, 0, 0, false},
	{"tun", 0, 0, 0, 0, 0, 0, 0, false},
};

static const struct layout *layout_of(const char *kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (strcmp(layouts[i].kind, kind) == 0)
			return &layouts[i];
	return NULL;
}

bool tunnel_is_kind(const char *kind)
{
	return layout_of(kind) != NULL;
}

#define DATA_MAX 64

static void parse_data(struct tunnel_record *tunnel, const struct layout *layout, const struct nlattr *data)
{
	const struct nlattr *attrs[DATA_MAX + 1];
	uint32_t key = UINT32_MAX;
	uint16_t port = 0;

	nl_attrs_nested(data, attrs, DATA_MAX);
	attrs[0] = NULL; /* attribute 0: not present */
	nl_get_addr(attrs[layout->local], &tunnel->laddr);
	nl_get_addr(attrs[layout->local6], &tunnel->laddr);
	nl_get_addr(attrs[layout->remote], &tunnel->raddr);
	nl_get_addr(attrs[layout->remote6], &tunnel->raddr);
	nl_get_u32(attrs[layout->lower], &tunnel->lower);
	nl_get_u16(attrs[layout->port], &port);
	tunnel->rport = ntohs(port);
	if (attrs[layout->key]) {
		nl_get_u32(attrs[layout->key], &key);
		tunnel->key = layout->key_swapped ? ntohl(key) : key;
	}
}

void tunnel_parse_message(struct snapshot *snapshot, const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct nlattr *attrs[IFLA_MAX + 1], *nested[IFLA_INFO_MAX + 1];
	struct tunnel_record *tunnel;
	char kind[16] = "";

	(void)context;
	if (message->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return;
	nl_attrs(message, sizeof(*info), attrs, IFLA_MAX);
	nl_attrs_nested(attrs[IFLA_LINKINFO], nested, IFLA_INFO_MAX);
	nl_get_chars(nested[IFLA_INFO_KIND], kind, sizeof(kind));
	if (!tunnel_is_kind(kind))
		return;
	tunnel = snapshot_table_add(snapshot_table(snapshot, &tunnel_type));
	if (!tunnel)
		return;
	tunnel->netns = snapshot->netns;
	tunnel->ifindex = (uint32_t)info->ifi_index;
	nl_get_chars(attrs[IFLA_IFNAME], tunnel->dev, sizeof(tunnel->dev));
	memcpy(tunnel->kind, kind, sizeof(kind));
	parse_data(tunnel, layout_of(kind), nested[IFLA_INFO_DATA]);
}

bool tunnel_parse_fdinfo(const char *text, char *dev, size_t size)
{
	do {
		const char *line = text, *word;
		size_t n;

		if (!scan_word(&line, &word, &n) || n != 4 || memcmp(word, "iff:", 4) != 0)
			continue;
		if (!scan_word(&line, &word, &n) || n >= size)
			return false;
		memcpy(dev, word, n);
		memset(dev + n, 0, size - n);
		return true;
	} while (scan_next_line(&text));
	return false;
}

static bool any_tunnel(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, link_type, const struct link_record, link)
		if (link->netns == snapshot->netns && tunnel_is_kind(link->kind))
			return true;
	return false;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct snapshot_table *table = snapshot_table(snapshot, &tunnel_type);
	size_t from = table->count;
	struct tun_owners *owners = snapshot_state(snapshot);
	int r;

	if (!any_tunnel(snapshot))
		return 0;
	r = nl_dump(snapshot, RTM_GETLINK, sizeof(struct ifinfomsg), tunnel_parse_message, why);
	for (size_t i = from; i < table->count; i++) {
		struct tunnel_record *tunnel = (struct tunnel_record *)table->items + i;

		if (strcmp(tunnel->kind, "tun") == 0)
			tun_owner_find(owners, request->repeated, tunnel);
	}
	return r;
}

static void release(void *state)
{
	tun_owners_done(state);
}

static const struct record_type *const needs[] = {&link_type, NULL};
static const struct record_type *const types[] = {&tunnel_type, NULL};

static const struct snapshot_source tunnel_source = {
	.name = "tunnel",
	.lost = "tunnel endpoints and the processes behind TUN devices",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.state_size = sizeof(struct tun_owners),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(tunnel_source);
