/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of nest doctor as text: a verdict, then a tree. */
#pragma once

#include "base/out.h"
#include "kernel/feature/feature_check.h"

/* The verdict covers all checks, the tree only those in wanted. */
void doctor_print(const struct check_list *all, const struct check_list *wanted, bool unfolded, struct out *out);
/* The verdict alone, one line without a newline. */
void doctor_add_verdict(const struct check_list *list, struct buf *text);
