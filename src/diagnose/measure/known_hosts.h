/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts with which this host ever had a connection, as far as the kernel remembers (probe/remembered.h). A host
 * that was never a peer may be kept out on purpose.
 */
#pragma once

#include "base/addr.h"
#include "base/map.h"
#include "diagnose/graph/module.h"
#include "snapshot/core/snapshot.h"

#define KNOWN      1
#define KNOWN_NOT  0
#define KNOWN_DONT UINT8_MAX /* unknown, as a field has it */

struct known_hosts {
	struct map hosts; /* struct addr -> struct known_host */
};

struct known_host {
	bool remembered;
	bool connected; /* in this window */
	unsigned age;   /* windows since the kernel was last asked */
};

#define KNOWN_HOSTS_INIT                                                                                               \
	{                                                                                                              \
		.hosts = MAP_INIT(sizeof(struct addr), sizeof(struct known_host), 10000),                              \
	}

void known_hosts_sample(struct known_hosts *known, const struct snapshot *snapshot);
/* At the end of a window, before the others: a connection of the graph counts as well. */
void known_hosts_judge(struct known_hosts *known, const struct graph *graph);
/* KNOWN, KNOWN_NOT or KNOWN_DONT. */
uint8_t known_hosts_find(const struct known_hosts *known, const struct addr *raddr);
/* Then: forgets hosts that were not asked about for long. */
void known_hosts_age(struct known_hosts *known);
void known_hosts_done(struct known_hosts *known);
