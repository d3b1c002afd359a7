/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Outgoing connections that are opened by calls which touch no client: a task that a scheduler of the program runs. For
 * whom, other calls show: one that touches both; or, if there is none, that only one client of the thread waits for an
 * answer and has no other connection meanwhile.
 */
#pragma once

#include "flow/analyse/walk.h"

/* Fills demux->ties. Reads the trace; all of it for dispatchers, unless these are known. */
void stray_learn(struct demux *demux);
