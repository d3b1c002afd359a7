/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for neighbour resolution. */
#include "tool/core/tool.h"

static const struct output_column neighlat_columns[] = {
	{"time_ns"}, {"dev"}, {"raddr"}, {"probes"}, {"lat_ns"}, {"error"}, {},
};

static const char *const neighlat_examples[] = {
	"nest neighlat",
	"neighbour resolutions, with latency",
	"nest neighlat -x",
	"neighbours that did not answer",
	"nest neighlat --hist lat --by dev 10",
	"histogram per interface, every 10 seconds",
	NULL,
};

static const struct tool neighlat_tool = {
	.name = "neighlat",
	.layer = "neighbour",
	.summary = "ARP and IPv6 neighbour discovery latency",
	.description = "The first packet to a neighbour waits for its link-layer address. Reachability probes of known "
		       "neighbours delay no packet and are not shown.",
	.examples = neighlat_examples,
	.events = {"neigh.resolve"},
	.columns = neighlat_columns,
};
TOOL(neighlat_tool);
