/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel, this host and this user allow. Everything is tried or read, nothing is concluded from a version
 * number; a file that is not there is an answer like any other.
 */
#pragma once

#include "kernel/feature/feature_check.h"

/* Appends all checks, group by group in the order in which they are shown. Takes about half a second as root. */
void features_look(struct check_list *list);
