/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The diagnosis of McCann's dissertation (FlowDiagnoser, 2012), apart from the windows it is used on. */
#pragma once

#include "layers.h"

enum flow_state {
	FLOW_DONT_CARE, /* silent, and no module depends on it now */
	FLOW_HEALTHY,
	FLOW_BLOCKED, /* silent, and something below it is the reason */
	FLOW_STALLED, /* silent, and the reason itself */
};

struct flow_diagnosis {
	enum flow_state of[LAYER_DIRECTIONS];
};

/* From this number of stuck connections over one silent network on, the network is blamed. */
#define FLOW_CONNECTIONS 2

/* An array as long as the layers have nodes, to be freed. */
struct flow_diagnosis *flowdiagnoser_judge(const struct layers *layers);
