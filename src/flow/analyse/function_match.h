/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches functions of two traces. A name alone is ambiguous: a header function that is not inlined exists once per
 * source file, and files may have static functions of the same name.
 */
#pragma once

#include "flow/analyse/profile.h"

/*
 * For each function of the bad trace the matching one of the good trace, or the number of good functions plus its own
 * index if there is none. Within the same build by address, otherwise by name: among several the one with the same
 * caller, else the one with the same position by address. The caller frees it.
 */
uint32_t *function_match_profiles(const struct profile *good, const struct profile *bad);
