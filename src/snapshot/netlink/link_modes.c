/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/netlink/link_modes.h"

#include <linux/ethtool.h>

/* Megabits per second of the modes that a device may support; what is missing here is not the fastest of any. */
static const struct {
	uint32_t bit;
	uint32_t mbit;
} modes[] = {
	{ETHTOOL_LINK_MODE_10baseT_Half_BIT, 10},           {ETHTOOL_LINK_MODE_10baseT_Full_BIT, 10},
	{ETHTOOL_LINK_MODE_100baseT_Half_BIT, 100},         {ETHTOOL_LINK_MODE_100baseT_Full_BIT, 100},
	{ETHTOOL_LINK_MODE_1000baseT_Half_BIT, 1000},       {ETHTOOL_LINK_MODE_1000baseT_Full_BIT, 1000},
	{ETHTOOL_LINK_MODE_1000baseX_Full_BIT, 1000},       {ETHTOOL_LINK_MODE_1000baseKX_Full_BIT, 1000},
	{ETHTOOL_LINK_MODE_2500baseT_Full_BIT, 2500},       {ETHTOOL_LINK_MODE_2500baseX_Full_BIT, 2500},
	{ETHTOOL_LINK_MODE_5000baseT_Full_BIT, 5000},       {ETHTOOL_LINK_MODE_10000baseT_Full_BIT, 10000},
	{ETHTOOL_LINK_MODE_10000baseKX4_Full_BIT, 10000},   {ETHTOOL_LINK_MODE_10000baseKR_Full_BIT, 10000},
	{ETHTOOL_LINK_MODE_10000baseCR_Full_BIT, 10000},    {ETHTOOL_LINK_MODE_10000baseSR_Full_BIT, 10000},
	{ETHTOOL_LINK_MODE_10000baseLR_Full_BIT, 10000},    {ETHTOOL_LINK_MODE_25000baseCR_Full_BIT, 25000},
	{ETHTOOL_LINK_MODE_25000baseKR_Full_BIT, 25000},    {ETHTOOL_LINK_MODE_25000baseSR_Full_BIT, 25000},
	{ETHTOOL_LINK_MODE_40000baseKR4_Full_BIT, 40000},   {ETHTOOL_LINK_MODE_40000baseCR4_Full_BIT, 40000},
	{ETHTOOL_LINK_MODE_40000baseSR4_Full_BIT, 40000},   {ETHTOOL_LINK_MODE_40000baseLR4_Full_BIT, 40000},
	{ETHTOOL_LINK_MODE_50000baseCR2_Full_BIT, 50000},   {ETHTOOL_LINK_MODE_50000baseKR2_Full_BIT, 50000},
	{ETHTOOL_LINK_MODE_50000baseSR2_Full_BIT, 50000},   {ETHTOOL_LINK_MODE_50000baseCR_Full_BIT, 50000},
	{ETHTOOL_LINK_MODE_100000baseKR4_Full_BIT, 100000}, {ETHTOOL_LINK_MODE_100000baseSR4_Full_BIT, 100000},
	{ETHTOOL_LINK_MODE_100000baseCR4_Full_BIT, 100000}, {ETHTOOL_LINK_MODE_100000baseLR4_ER4_Full_BIT, 100000},
	{ETHTOOL_LINK_MODE_100000baseCR2_Full_BIT, 100000}, {ETHTOOL_LINK_MODE_100000baseCR_Full_BIT, 100000},
	{ETHTOOL_LINK_MODE_200000baseCR4_Full_BIT, 200000}, {ETHTOOL_LINK_MODE_200000baseSR4_Full_BIT, 200000},
	{ETHTOOL_LINK_MODE_200000baseCR2_Full_BIT, 200000}, {ETHTOOL_LINK_MODE_400000baseCR8_Full_BIT, 400000},
	{ETHTOOL_LINK_MODE_400000baseSR8_Full_BIT, 400000}, {ETHTOOL_LINK_MODE_400000baseCR4_Full_BIT, 400000},
};

uint64_t link_modes_fastest(const uint32_t *mask, unsigned words)
{
	uint64_t mbit = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (modes[i].bit / 32 < words && mask[modes[i].bit / 32] >> modes[i].bit % 32 & 1)
			mbit = max_of(mbit, (uint64_t)modes[i].mbit);
	return mbit * 1000000;
}
