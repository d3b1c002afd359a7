/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/if.h>

#include "diagnose/measure/network.h"
#include "snapshot/netlink/link.h"

void networks_sample(struct networks *networks, const struct snapshot *snapshot)
{
	networks_done(networks);
	networks->any_down = false;
	snapshot_each(snapshot, link_type, struct link_record, link) {
		struct outlet *outlet =
			link->flags == UINT32_MAX ? NULL : map_put(&networks->outlets, &link->ifindex, NULL);

		if (!outlet)
			continue;
		outlet->ifindex = link->ifindex;
		memcpy(outlet->dev, link->dev, sizeof(outlet->dev));
		outlet->up = link->flags & IFF_UP;
		outlet->carrier = link->carrier != 0;
		networks->any_down = networks->any_down || !outlet->up;
	}
	snapshot_each(snapshot, address_type, struct address_record, address)
		vec_push(&networks->all,
			 (struct network){{address->laddr,
					   (uint8_t)(address->prefix + (address->laddr.family == ADDR_V4 ? 96 : 0))},
					  address->ifindex});
}

void networks_done(struct networks *networks)
{
	map_done(&networks->outlets);
	vec_done(&networks->all);
}

bool outlet_has_link(const struct outlet *outlet)
{
	return outlet && outlet->up && outlet->carrier;
}

const struct outlet *networks_find(const struct networks *networks, const struct addr *target)
{
	const struct outlet *best = NULL;
	uint8_t bits = 0;

	vec_each(&networks->all, network) {
		const struct outlet *outlet = map_get(&networks->outlets, &network->ifindex);

		if (!outlet || network->prefix.addr.family != target->family ||
		    !prefix_contains(&network->prefix, target) || network->prefix.bits < bits)
			continue;
		if (best && network->prefix.bits == bits && outlet_has_link(best))
			continue;
		best = outlet;
		bits = network->prefix.bits;
	}
	return best;
}
