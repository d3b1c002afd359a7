/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The selected part of the graph. All of it is judged (several stuck connections over one path are evidence
 * about each of them); only what the selected sockets use is reported.
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
