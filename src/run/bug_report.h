/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest doctor --report: what a bug report needs, as text to paste. */
#pragma once

#include "base/buf.h"
#include "kernel/feature/feature_check.h"

/* Addresses, the host's name and the user's name are replaced unless unmasked. */
void bug_report_add(struct buf *text, const struct check_list *checks, bool unmasked);
