/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One journey as a waterfall. */
#pragma once

#include "base/out.h"
#include "path/journey/journey_words.h"

void waterfall_print(const struct journey *journey, struct out *out);
