/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of wireless networks. */
#include "tool/core/tool.h"

static const struct output_column scan_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"phy"}, {"dev"}, {"channels"}, {"lat_ns"}, {"error"}, {},
};

static const char *const scan_examples[] = {
	"nest ieee80211scan",
	"who searches for wireless networks, and how long it takes",
	"nest ieee80211scan --stack",
	"and by which functions of the driver it ended",
	NULL,
};

static const struct tool scan_tool = {
	.name = "ieee80211scan",
	.layer = "wifi",
	.summary = "searches for wireless networks: who asked, how long they took",
	.description =
		"While it searches, a radio leaves its channel, and packets wait. The process is the one that asked: a "
		"network manager, or a person.",
	.examples = scan_examples,
	.events = {"wifi.scan"},
	.columns = scan_columns,
};
TOOL(scan_tool);
