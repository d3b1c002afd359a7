/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The smallest page of nest top. */
#include "snapshot/netlink/link.h"
#include "top/tables/top_plain.h"

static const struct record_type *const types[] = {&link_type, NULL};

static const struct top_table dummy_page = {
	.name = "dummy-page",
	.help = "a new page",
	.types = types,
	.shape = {1, {&link_type}},
	.id = {"dev"},
	.fill = top_plain_fill,
};
TOP_TABLE(dummy_page);
