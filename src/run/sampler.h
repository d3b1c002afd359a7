/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of the live host, taken by a process of their own that keeps the privilege for it: it reads netlink, /proc
 * and packets, and opens no file for writing. The process that asks gets finished snapshots
 * (snapshot/core/handover.h) and gives up everything.
 *
 *	r = sampler_start(&sampler, &namespaces, netns, &why);
 *	r = sampler_ask(sampler, &request);
 *	... sampler_fd() is readable
 *	r = sampler_take(sampler, snapshot, &why);
 *	sampler_stop(sampler);
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct sampler;

/*
 * From this many TCP sockets on, a thrifty request leaves idle connections out, and says so in the table of gaps. Of
 * all namespaces, it only lists those that are empty (snapshot/netlink/netns_empty.h).
 */
#define SAMPLER_MANY 5000

/*
 * netns is how -N names the namespaces (netns_find). scout: NULL, or the list has containers that it found
 * (containers.h). They are closed here: one that is held open outlives its owner. To be called before threads are
 * started and files are opened.
 */
int sampler_start(struct sampler **ret_sampler, struct netns_list *namespaces, const char *netns,
		  struct snapshot *scout, struct why *why) _must_check_;
/* NULL: nothing. */
void sampler_stop(struct sampler *sampler);
int sampler_fd(const struct sampler *sampler);
/*
 * Asks for a sample; namespaces of the request are not used. One at a time: -EBUSY while another is under way.
 * refresh: with -N all or containers, looks for namespaces first, which come and go.
 */
int sampler_ask(struct sampler *sampler, const struct snapshot_request *request, bool refresh,
		struct why *why) _must_check_;
bool sampler_is_asked(const struct sampler *sampler);
/* The sample that was asked for; waits for it. */
int sampler_take(struct sampler *sampler, struct snapshot *snapshot, struct why *why) _must_check_;
/* CPU time that the process has used up to its last sample. */
uint64_t sampler_cpu_ns(const struct sampler *sampler);
