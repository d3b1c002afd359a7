/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The graphs of a host and of its containers as one: what is measured in each namespace stays, and a connection that
 * two of them see is known as one.
 */
#pragma once

#include "diagnose/graph/module.h"

/* Takes the graph of a container over, with what was not seen there. */
void inside_add(struct graph *graph, struct graph *container, const struct module_place *place);
/* After the last one: finds the other ends of connections, and the connections that forwarded flows are part of. */
void inside_link(struct graph *graph);
