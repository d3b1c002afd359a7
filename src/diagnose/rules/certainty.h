/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certainty factors: how sure we are that something is to blame, from -1 (surely not) over 0 (no idea) to +1 (surely).
 * Pieces of evidence combine as EMYCIN and NeST do; the operation is commutative and, between the absolutes,
 * associative, so the order in which evidence comes does not matter.
 */
#pragma once

#include "base/macros.h"

/* No amount of indirect evidence makes certain; only a fact seen directly (carrier down, process stopped) is 1. */
#define CERTAINTY_CLAMP 0.95

/* +1 and -1 together contradict each other: 0, and nothing can be said. */
double certainty_combine(double a, double b);
