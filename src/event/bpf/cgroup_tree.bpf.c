// SPDX-License-Identifier: GPL-2.0-only
/* Followed cgroups: adds those created inside them, before a process can enter. */
#include "event/bpf/event.bpf.h"

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(event_cgroup_made, struct cgroup *made)
{
	__u64 parent, id;
	__u8 yes = 1;

	/* Ids of other hierarchies are not cgroup2 ids. */
	if (made->root->hierarchy_id != 0 || !made->self.parent)
		return 0;
	parent = made->self.parent->cgroup->kn->id;
	id = made->kn->id;
	if (bpf_map_lookup_elem(&event_cgroups, &parent) && bpf_map_update_elem(&event_cgroups, &id, &yes, BPF_ANY) < 0)
		__sync_fetch_and_add(&event_unfollowed, 1);
	return 0;
}
