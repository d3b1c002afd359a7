/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions without an answer, where nothing is to blame. Whether an answer is late cannot be said without having seen earlier
 * ones; that somebody waits for it can, and is what a person wants to know whose request hangs.
 */
#pragma once

#include "base/out.h"
#include "diagnose/graph/module.h"

/* A line each for the first few connections, and what to make of it; nothing when nobody waits. */
void waits_print(const struct graph *graph, struct out *out);
