// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whom a socket belongs to. Events that fire in a softirq know the socket but not the process, and the process that
 * happens to run is the wrong answer more often than not; so every use of a socket in process context is remembered
 * with the socket. A connection inherits the owner of its listener until somebody uses it, and after a fork or when the
 * descriptor is handed over, the process that used the socket last is the owner.
 */
#include "event/bpf/event.bpf.h"

#define PF_KTHREAD 0x00200000

/* Connections inherit from here. */
static __always_inline void mark_listener(struct sock *sk)
{
	struct sock_owner *owner = bpf_sk_storage_get(&event_owners, sk, NULL, 0);

	if (owner)
		owner->of_listener = 1;
}

/*
 * Whoever closes is the owner only when nobody has used the connection before: the process that accepted it, then,
 * which may be another than the one that listens. The kernel closes some sockets in threads of its own.
 */
static __always_inline void learn_from_close(struct sock *sk)
{
	struct sock_owner *owner = bpf_sk_storage_get(&event_owners, sk, NULL, 0);

	if ((!owner || owner->of_listener) && !(bpf_get_current_task_btf()->flags & PF_KTHREAD))
		event_learn_owner(sk);
}

/* These changes are made by system calls only: connect, listen, close and shutdown. */
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

/* Who made it, until somebody uses it: a server that only waits has done nothing else that is seen. */
SEC("cgroup/sock_create")
int sock_owner_create(struct bpf_sock *ctx)
{
	struct sock_owner *owner = bpf_sk_storage_get(&event_owners, ctx, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (owner)
		event_fill_owner(owner);
	return 1; /* It may be made. */
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

/* Before 6.3, where there are no such tracepoints. */
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

/* Sockets that were there before: whoever holds a descriptor. What was learnt in the meantime is better. */
SEC("iter/task_file")
int sock_owner_seed(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct sock_owner *owner;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk || bpf_sk_storage_get(&event_owners, sk, NULL, 0))
		return 0;
	owner = bpf_sk_storage_get(&event_owners, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (!owner)
		return 0;
	owner->pid_tgid = (__u64)task->tgid << 32 | (__u32)task->tgid;
	owner->uid = sk->sk_uid.val;
	owner->of_listener = sk->__sk_common.skc_state == SOCKET_LISTEN;
	owner->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	BPF_CORE_READ_STR_INTO(&owner->comm, task, comm);
	return 0;
}
