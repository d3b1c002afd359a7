/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wi-Fi tools. */
#include "tool/core/tool.h"

static const struct output_column scan_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"phy"}, {"dev"}, {"channels"}, {"lat_ns"}, {"error"}, {},
};

static const char *const scan_examples[] = {
	"nest ieee80211scan",
	"Wi-Fi scans with requester and duration",
	"nest ieee80211scan --stack",
	"include the kernel stack at the end of the scan",
	NULL,
};

static const struct tool scan_tool = {
	.name = "ieee80211scan",
	.layer = "wifi",
	.summary = "Wi-Fi scans with requester and duration",
	.description = "The radio leaves its channel during a scan, and packets wait. The process is the requester: "
		       "usually a network manager.",
	.examples = scan_examples,
	.events = {"wifi.scan"},
	.columns = scan_columns,
};
TOOL(scan_tool);
