/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The events are built twice: as they are, and with BPF_BASIC for kernels without atomic operations that return a value
 * (before 5.12). Sources use the functions here and in sock_store.bpf.h, and need not know which build they are in.
 *
 * Without atomics, plain reads and writes do: programs of those kernels are not preempted, so on one CPU they interrupt
 * each other whole, and what is exchanged here belongs to one CPU. Only a minimum or maximum can lose a value, if a
 * program is interrupted between the read and the write.
 *
 * Uses no helpers, for the unit test of group.bpf.h.
 */
#pragma once

#include "event/core/config.h"

/* Sets a word; returns what it was. */
static __always_inline __u64 basic_swap(__u64 *at, __u64 value)
{
#ifdef BPF_BASIC
	__u64 old = *(volatile __u64 *)at;

	*(volatile __u64 *)at = value;
	return old;
#else
	return __sync_lock_test_and_set(at, value);
#endif
}

/* Sets a word that has the expected value; returns what it was. */
static __always_inline __u64 basic_swap_if(__u64 *at, __u64 expected, __u64 value)
{
#ifdef BPF_BASIC
	__u64 old = *(volatile __u64 *)at;

	if (old == expected)
		*(volatile __u64 *)at = value;
	return old;
#else
	return __sync_val_compare_and_swap(at, expected, value);
#endif
}
