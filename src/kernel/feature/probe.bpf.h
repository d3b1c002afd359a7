/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by all probe programs: counters, and the process to count. */
#pragma once

#include "kernel/types.bpf.h"

#include "kernel/feature/probe.h"

char LICENSE[] SEC("license") = "GPL";

__u64 probe_fired[PROBE_SLOTS];
/* The process that triggers the programs; programs that run for every process count only this one. */
__u32 probe_tgid;

static __always_inline void fired(enum probe_slot slot)
{
	__sync_fetch_and_add(&probe_fired[slot], 1);
}

static __always_inline bool is_ours(void)
{
	return (__u32)(bpf_get_current_pid_tgid() >> 32) == probe_tgid;
}

static __always_inline int fired_if_ours(enum probe_slot slot)
{
	if (is_ours())
		fired(slot);
	return 0;
}
