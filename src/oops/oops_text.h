/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report as text. */
#pragma once

#include "base/out.h"
#include "oops/oops.h"

/* again: how many later reports have the same signature; they are not shown. */
void oops_text_print(const struct oops *oops, uint32_t again, bool all, struct out *out);
