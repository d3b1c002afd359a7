// SPDX-License-Identifier: GPL-2.0-only
/*
 * Socket owners. Events in a softirq know the socket but not the process, and the current process is usually the wrong
 * one; so every use of a socket in process context records the owner in socket storage. A connection inherits the owner
 * of its listener until it is used; after a fork, or when the descriptor is passed on, the last user is the owner.
 */
#include "event/bpf/fd.bpf.h"

#define PF_KTHREAD 0x00200000

static __always_inline bool is_kernel_thread(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags) & PF_KTHREAD;
}

/* Inherited by connections. */
static __always_inline void mark_listener(struct sock *sk)
{
	struct sock_owner *owner = event_store_get(&event_owners, sk, 0);

	if (owner)
		owner->of_listener = 1;
}

/*
 * The closing process is the owner only if the connection was not used before: the process that accepted it, which may
 * differ from the listener's. The kernel closes some sockets in its own threads.
 */
static __always_inline void learn_from_close(struct sock *sk)
{
	struct sock_owner *owner = event_store_get(&event_owners, sk, 0);

	if ((!owner || owner->of_listener) && !is_kernel_thread())
		event_learn_owner(sk);
}

/* These changes happen in system calls only: connect, listen, close and shutdown. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_owner_state, struct sock *sk, int oldstate, int newstate)
{
	if (newstate == SOCKET_SYN_SENT || newstate == SOCKET_LISTEN)
		event_learn_owner(sk);
	if (newstate == SOCKET_LISTEN)
		mark_listener(sk);
	if (newstate == SOCKET_FIN_WAIT1 || newstate == SOCKET_LAST_ACK)
		learn_from_close(sk);
	return 0;
}

/* The creator, until first use: a server that only waits shows nothing else. */
SEC("cgroup/sock_create")
int sock_owner_create(struct bpf_sock *ctx)
{
	struct sock_owner *owner = event_store_get(&event_owners, ctx, BPF_SK_STORAGE_GET_F_CREATE);

	if (owner)
		event_fill_owner(owner);
	return 1; /* Return value: allow. */
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(sock_owner_send, struct sock *sk, int result, int flags)
{
	event_learn_owner(sk);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_owner_recv, struct sock *sk, int result, int flags)
{
	event_learn_owner(sk);
	return 0;
}

/* Before 6.3, without these tracepoints. */
#define LEARN_AT(program, function)                                                                                    \
	SEC("fentry/" #function)                                                                                       \
	int BPF_PROG(program, struct socket *socket)                                                                   \
	{                                                                                                              \
		event_learn_owner(socket->sk);                                                                         \
		return 0;                                                                                              \
	}

LEARN_AT(sock_owner_send_inet, inet_sendmsg)
LEARN_AT(sock_owner_send_inet6, inet6_sendmsg)
LEARN_AT(sock_owner_recv_inet, inet_recvmsg)
LEARN_AT(sock_owner_recv_inet6, inet6_recvmsg)

/* Existing sockets: the holder of a descriptor. An owner recorded meanwhile takes precedence. */
SEC("iter/task_file")
int sock_owner_seed(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sock_owner *owner;
	struct sock *sk;

	if (!task || !file)
		return 0;
	sk = event_file_sock(file);
	if (!sk || event_store_get(&event_owners, sk, 0))
		return 0;
	owner = event_store_get(&event_owners, sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (!owner)
		return 0;
	owner->pid_tgid = (__u64)task->tgid << 32 | (__u32)task->tgid;
	owner->uid = BPF_CORE_READ(sk, sk_uid.val);
	owner->of_listener = BPF_CORE_READ(sk, __sk_common.skc_state) == SOCKET_LISTEN;
	owner->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	BPF_CORE_READ_STR_INTO(&owner->comm, task, comm);
	return 0;
}
