/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool/core/tool.h"

static const struct output_column columns[] = {{"pid"}, {"comm"}, {"dummies"}, {}};

static const struct tool dummylook_tool = {
	.name = "dummylook",
	.layer = "tcp",
	.summary = "seven at a time",
	.events = {"dummy.look"},
	.columns = columns,
};
TOOL(dummylook_tool);
