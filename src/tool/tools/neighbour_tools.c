/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about neighbours on the link. */
#include "tool/core/tool.h"

static const struct output_column neighlat_columns[] = {
	{"time_ns"}, {"dev"}, {"raddr"}, {"probes"}, {"lat_ns"}, {"error"}, {},
};

static const char *const neighlat_examples[] = {
	"nest neighlat",
	"neighbours whose address on the link was asked for, and how long the answer took",
	"nest neighlat -x",
	"only those that did not answer",
	"nest neighlat --hist lat --by dev 10",
	"as a histogram for each interface, every ten seconds",
	NULL,
};

static const struct tool neighlat_tool = {
	.name = "neighlat",
	.layer = "neighbour",
	.summary = "how long ARP and IPv6 neighbour discovery take",
	.description =
		"The first packet to a neighbour waits for its address on the link. Checks of a neighbour that is "
		"known hold nobody up and are not shown.",
	.examples = neighlat_examples,
	.events = {"neigh.resolve"},
	.columns = neighlat_columns,
};
TOOL(neighlat_tool);
