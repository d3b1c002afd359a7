/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PCIe link of a device, from what sysfs says about it. */
#pragma once

#include "base/macros.h"

/* width 0: unknown. */
struct pcie_link {
	double gt; /* GT/s per lane */
	unsigned width;
};

/* "8.0 GT/s PCIe" and "8"; the width of an unknown link is 0. */
struct pcie_link pcie_link_parse(const char *speed, const char *width);
/* Bits per second in one direction, after the encoding of the lanes; 0: unknown. */
double pcie_link_rate(const struct pcie_link *pcie);
