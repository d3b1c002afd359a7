/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions without an answer, where nothing is to blame. Whether an answer is late cannot be said without having seen
 * earlier ones; that somebody waits for it can, and is what a person wants to know whose request hangs.
 */
#pragma once

#include "diagnose/graph/module.h"

#define WAITS_MAX 3

/* A sentence each for the first few connections, to be freed; returns how many there are of all. */
size_t waits_sentences(const struct graph *graph, char *ret_sentences[WAITS_MAX]);
