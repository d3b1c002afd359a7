/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network namespaces besides the one that is sampled, with programs and interfaces of their own: containers, mostly.
 * Type "other_netns". Only for a snapshot of the host's namespace, that of process 1, which nobody chose: on a host
 * whose programs all run in containers, that one alone says little.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct other_netns_record {
	uint32_t netns;
	uint32_t pid; /* a process inside */
	char comm[16];
};

extern const struct record_type other_netns_type;
