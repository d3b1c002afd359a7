/* SPDX-License-Identifier: GPL-2.0-only */
/* What all probe programs have: counters, and whom to count. */
#pragma once

#include "kernel/types.bpf.h"

#include "kernel/feature/probe.h"

char LICENSE[] SEC("license") = "GPL";

__u64 probe_fired[PROBE_SLOTS];
/* The thread group that makes the noise; programs that run for everybody count only it. */
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
