// SPDX-License-Identifier: GPL-2.0-only
/* Who holds which socket: walks all descriptors of all processes and writes down those that are sockets of IP. */
#include "kernel/types.bpf.h"
#include "snapshot/owner_bpf.h"

SEC("iter/task_file")
int list_owners(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct owner_found found = {};

	/*
	 * Plain reads: the verifier knows these pointers, and a checked copy of each would cost more than all the rest. And
	 * as few as will do: memory that is not in any cache is all that this costs, so a socket is not looked at, not even
	 * for its family. Who reads this knows the inodes that matter.
	 */
	if (!task || !file || !bpf_sock_from_file(file))
		return 0;
	found.inode = (u32)file->f_inode->i_ino;
	found.pid = task->tgid;
	found.fd = ctx->fd;
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

char _license[] SEC("license") = "GPL";
