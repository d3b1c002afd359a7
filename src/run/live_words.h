/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of the live source. */
#pragma once

#include "event/core/live.h"

/* At the end: how long programs were blind (pid 1), if they were. */
void live_warn_hidden(const struct live *live);
/* For live_options. */
void live_warn_refused(const char *reason);
