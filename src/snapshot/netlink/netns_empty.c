/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/netlink/netns_empty.h"

#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "snapshot/core/nl.h"
#include "snapshot/core/scan.h"

bool netns_empty_sockstat(const char *text)
{
	static const char head[] = "sockets: used ";
	uint64_t used;

	if (strncmp(text, head, sizeof(head) - 1) != 0)
		return false;
	text += sizeof(head) - 1;
	return scan_u64(&text, &used) && used == 0;
}

static void parse_link(struct snapshot *snapshot _unused_, const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = nl_payload(message);
	bool *is_up = context;

	if (message->nlmsg_type == RTM_NEWLINK && nl_payload_len(message) >= sizeof(*info))
		*is_up |= (info->ifi_flags & IFF_UP) && !(info->ifi_flags & IFF_LOOPBACK);
}

static bool has_link_up(struct snapshot *snapshot)
{
	struct why ignored = {};
	_cleanup_(nl_closep) struct mnl_socket *socket = nl_open(NETLINK_ROUTE, &ignored);
	struct nl_request room;
	bool is_up = false;
	void *body;
	struct nl_question question = {
		.protocol = NETLINK_ROUTE,
		.request = nl_request_begin(&room, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg), &body),
		.parse = parse_link,
		.context = &is_up};

	return !socket || nl_ask_on(snapshot, socket, &question) < 0 || is_up;
}

/* The sockets first: the question about the links needs one. */
static bool is_empty(struct snapshot *snapshot, const struct netns *netns)
{
	struct netns_guard guard;
	struct why ignored = {};
	bool empty;

	if (netns->processes || netns_enter(netns, &guard, &ignored) < 0)
		return false;
	empty = snapshot_read(snapshot, "/proc/thread-self/net/sockstat") == 0 &&
		netns_empty_sockstat(buf_text(&snapshot->text)) && !has_link_up(snapshot);
	netns_leave(&guard);
	return empty;
}

void netns_empty_mark(struct snapshot *snapshot, struct netns_list *list)
{
	for (size_t i = 1; i < list->items.count; i++)
		list->items.items[i].is_empty = is_empty(snapshot, &list->items.items[i]);
}
