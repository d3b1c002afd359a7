// SPDX-License-Identifier: GPL-2.0-only
/* Followed processes: adds the children of followed ones. */
#include "event/bpf/event.bpf.h"

SEC("tp_btf/sched_process_fork")
int BPF_PROG(event_tree_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 from = (__u32)parent->tgid, to = (__u32)child->tgid;
	__u8 yes = 1;

	if (from != to && bpf_map_lookup_elem(&event_tree, &from) &&
	    bpf_map_update_elem(&event_tree, &to, &yes, BPF_ANY) < 0)
		__sync_fetch_and_add(&event_unfollowed, 1);
	return 0;
}
