/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests without a reply where no rule finds a cause. Whether a reply is late needs a baseline; that a program waits
 * does not, and is what a user wants to know whose request hangs.
 */
#pragma once

#include "diagnose/graph/module.h"

#define WAITS_MAX 3

/* One sentence for each program and peer, the first few, to be freed; returns the number of all. */
size_t waits_sentences(const struct graph *graph, char *ret_sentences[WAITS_MAX]);
