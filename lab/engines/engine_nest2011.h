/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The diagnosis of the NeST paper (McCann and Hicks, 2011), apart from the windows it is used on. */
#pragma once

#include "layers.h"

/* Certainty that a module is unresponsive, in each direction; in the order of the nodes. */
struct nest2011_certainty {
	double of[LAYER_DIRECTIONS];
};

/* An array as long as the layers have nodes, to be freed. */
struct nest2011_certainty *nest2011_judge(const struct layers *layers);
