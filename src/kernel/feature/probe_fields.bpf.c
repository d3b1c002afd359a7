/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes that read kernel fields through CO-RE relocations. */
#include "kernel/feature/probe.bpf.h"

SEC("tp_btf/sched_switch")
int probe_relocation(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	/* The helper and the field must agree. */
	if (is_ours() && BPF_CORE_READ(task, tgid) == (int)probe_tgid)
		fired(PROBE_RELOCATION);
	return 0;
}

SEC("iter/task_file")
int probe_iter_task_file(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;

	/* nest finds socket owners with this helper. */
	if (file && bpf_sock_from_file(file))
		fired(PROBE_ITER_TASK_FILE);
	return 0;
}
