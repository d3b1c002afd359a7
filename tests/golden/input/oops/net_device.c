/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types that name the member at the fault of debian-6.1.log; compiled for BPF, since that compiler writes BTF. */
struct net_device {
	char pad[8];
	const struct net_device_ops *netdev_ops;
	char more[176];
	unsigned int flags, mtu;
};

unsigned int dev_get_flags(const struct net_device *dev)
{
	return dev->flags;
}
