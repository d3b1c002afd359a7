/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of one trace in terms of another. A name alone does not tell: a function of a header that is not inlined
 * stands in a program once for each source file, and files may have functions of their own with the same name.
 */
#pragma once

#include "flow/analyse/profile.h"

/*
 * For each function of the bad trace the good trace's, or the good one's number of functions and its own index if there
 * is none. In the same program (build id) that is the one at the same address, otherwise one of the same name: of
 * several the one with the same caller, else the one that comes as many places after the first, by address. To be freed
 * by the caller.
 */
uint32_t *function_match_profiles(const struct profile *good, const struct profile *bad);
