/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/netlink/pcie_link.h"

#include <string.h>

#include "base/parse.h"

struct pcie_link pcie_link_parse(const char *speed, const char *width)
{
	struct pcie_link pcie = {};
	char number[16];
	size_t n = strspn(speed, "0123456789.");
	uint64_t lanes;
	double gt;

	if (n == 0 || n >= sizeof(number) || strncmp(speed + n, " GT/s", 5) != 0)
		return pcie;
	memcpy(number, speed, n);
	number[n] = '\0';
	/* 255 lanes: the link is down. */
	if (parse_double(number, 0.1, 1000, &gt) < 0 || parse_decimal(width, 1, 64, &lanes) < 0)
		return pcie;
	return (struct pcie_link){.gt = gt, .width = (unsigned)lanes};
}

double pcie_link_rate(const struct pcie_link *pcie)
{
	/* 8b/10b up to 5 GT/s, 128b/130b up to 32, FLIT mode above. */
	double share = pcie->gt < 6 ? 0.8 : pcie->gt < 40 ? 128.0 / 130 : 242.0 / 256;

	return pcie->gt * 1e9 * share * pcie->width;
}
