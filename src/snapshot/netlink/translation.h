/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP connections whose addresses or ports this host rewrites (NAT), from conntrack: type "translation". What the
 * client calls laddr:lport > raddr:rport, the server calls nat_laddr:nat_lport > nat_raddr:nat_rport.
 */
#pragma once

#include "snapshot/core/nl.h"

struct translation_record {
	uint32_t netns;
	struct addr laddr, raddr;
	uint16_t lport, rport;
	struct addr nat_laddr, nat_raddr;
	uint16_t nat_lport, nat_rport;
};

extern const struct record_type translation_type;

/* Which entries: those whose status has these bits, of those in the mask. */
struct translation_filter {
	uint32_t status, mask;
};

/* context: struct translation_filter; kernels before 5.17 send all entries. */
nl_parse_fn translation_parse_message;
