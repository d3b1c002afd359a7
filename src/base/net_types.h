/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms that network addresses have in records; BPF programs and the program itself share them. */
#pragma once

#include <linux/types.h>

enum addr_family { ADDR_UNKNOWN = 0, ADDR_V4 = 4, ADDR_V6 = 6 };

struct addr {
	__u8 bytes[16]; /* network order, IPv4 as v4-mapped; all zero when the family is ADDR_UNKNOWN */
	__u8 family;    /* enum addr_family */
};

struct endpoint {
	struct addr addr;
	__u16 port; /* host order; 0 = none */
};
