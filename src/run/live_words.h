/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live source says to a person. */
#pragma once

#include "event/core/live.h"

/* After the end: for how long nothing could be seen because of who ran, where that was so. */
void live_warn_hidden(const struct live *live);
/* For live_options. */
void live_warn_refused(const char *reason);
