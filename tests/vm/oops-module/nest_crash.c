/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel module for the emulated machine that fails on purpose: it warns about the first packet, in softirq, or with
 * fault=1 uses a device that is not there.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>

static bool fault;
module_param(fault, bool, 0);

static int nest_crash_receive(struct sk_buff *skb, struct net_device *dev, struct packet_type *type,
			      struct net_device *orig)
{
	WARN_ONCE(skb->len > 10, "nest_crash: %u bytes on %s\n", skb->len, dev->name);
	kfree_skb(skb);
	return 0;
}

static struct packet_type nest_crash_type = {.type = cpu_to_be16(ETH_P_IP), .func = nest_crash_receive};

static struct net_device *nobody;

static noinline int nest_crash_fault(struct net_device *dev)
{
	return (int)READ_ONCE(dev->mtu);
}

static int __init nest_crash_init(void)
{
	if (fault)
		return nest_crash_fault(READ_ONCE(nobody));
	dev_add_pack(&nest_crash_type);
	return 0;
}

static void __exit nest_crash_exit(void)
{
	dev_remove_pack(&nest_crash_type);
}

module_init(nest_crash_init);
module_exit(nest_crash_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("fails on purpose, for the tests of nest oops");
