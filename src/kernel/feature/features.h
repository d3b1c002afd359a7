/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel, this host and this user allow. Everything is tested or read, nothing inferred from a version
 * number; a missing file is also a result.
 */
#pragma once

#include "kernel/feature/feature_check.h"

/* Appends all checks, group by group in display order. Takes about 0.5 s as root. */
void features_look(struct check_list *list);
