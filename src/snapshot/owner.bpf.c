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
	struct socket *socket;
	struct sock *sk;
	u16 family;

	/* Plain reads: the verifier knows these pointers, and a checked copy of each would cost more than all the rest. */
	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	family = sk->__sk_common.skc_family;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	found.inode = (u32)file->f_inode->i_ino;
	found.pid = task->tgid;
	found.fd = ctx->fd;
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

char _license[] SEC("license") = "GPL";
