/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of the graph is asked about. All of it is judged (several stuck connections over one path say something
 * about each of them); what is told is what the chosen sockets use.
 */
#pragma once

#include "base/option.h"
#include "diagnose/graph/module.h"

/* All that is given must hold; nothing given selects everything. */
struct selection {
	uint64_t pid;           /* 0: any */
	const char *cgroup;     /* this group or below */
	const char *dev;        /* interface that the packets leave through */
	struct port_list ports; /* on either side */
};

bool selection_is_empty(const struct selection *selection);
/*
 * Marks the modules that no chosen socket uses, and none at the other end of one, as hidden: all, where no socket is
 * chosen.
 */
void selection_apply(struct graph *graph, const struct selection *selection);
