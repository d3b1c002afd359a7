/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a system call to its socket. The resulting pointer is read-only for the verifier: socket storage and cookie
 * helpers refuse it, so members are read one by one (event_set_found_sock).
 */
#pragma once

#include "event/bpf/event.bpf.h"
#include "kernel/registers.bpf.h"

#define S_IFMT   0170000
#define S_IFSOCK 0140000

/* File of a descriptor of the current process; NULL: none. */
static __always_inline struct file *event_fd_file(__u32 fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

/* Socket of an open file; NULL: not a socket. */
static __always_inline struct sock *event_read_file_sock(struct file *file)
{
	struct socket *socket;

	if ((BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	socket = BPF_CORE_READ(file, private_data);
	return socket ? BPF_CORE_READ(socket, sk) : NULL;
}

/* Socket of a descriptor of the current process; NULL if closed or not a socket. */
static __always_inline struct sock *event_fd_sock(__u32 fd)
{
	struct file *file = event_fd_file(fd);

	return file ? event_read_file_sock(file) : NULL;
}

/* Socket of a file that an iterator is at, for its storage. */
static __always_inline __maybe_unused struct sock *event_file_sock(struct file *file)
{
#ifdef BPF_BASIC
	return event_read_file_sock(file);
#else
	struct socket *socket = bpf_sock_from_file(file);

	return socket ? socket->sk : NULL;
#endif
}

static __always_inline void event_set_found_tuple(struct event_head *head, struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u32 words[4];

	if (family == AF_INET) {
		event_set_v4(&head->laddr, BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
		event_set_v4(&head->raddr, BPF_CORE_READ(sk, __sk_common.skc_daddr));
	} else if (family == AF_INET6) {
		BPF_CORE_READ_INTO(&words, sk, __sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32);
		event_set_v6(&head->laddr, words);
		BPF_CORE_READ_INTO(&words, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr32);
		event_set_v6(&head->raddr, words);
	} else {
		head->family = EVENT_FAMILY_OTHER + (__u8)family;
		return;
	}
	head->proto = (__u8)BPF_CORE_READ(sk, sk_protocol);
	head->lport = BPF_CORE_READ(sk, __sk_common.skc_num);
	head->rport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	event_finish_endpoints(head);
}

/* Namespace of the current process: if there is no socket. */
static __always_inline __u32 event_current_netns(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, nsproxy, net_ns, ns.inum);
}

/* As event_set_socket. A socket whose cookie was never requested has none. */
static __always_inline void event_set_found_socket(const volatile struct event_config *config, struct event_head *head,
						   struct sock *sk)
{
	if (config->needs & EVENT_NEED_ENDPOINTS)
		event_set_found_tuple(head, sk);
	if (config->needs & EVENT_NEED_NETNS)
		head->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	if (config->needs & EVENT_NEED_COOKIE)
		head->cookie = (__u64)BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

/* As event_set_used_sock. */
static __always_inline void event_set_found_sock(const volatile struct event_config *config, struct event_head *head,
						 struct sock *sk)
{
	event_set_current(config, head);
	if (sk)
		event_set_found_socket(config, head, sk);
	else
		head->netns = event_current_netns();
}

/* Context of a tracepoint syscalls/sys_exit_*. */
struct event_sys_exit {
	__u64 common;
	__s64 number;
	__s64 result;
};

/* Number of the returning system call, for programs at tp_btf/sys_exit. */
static __always_inline long event_syscall_number(struct pt_regs *regs)
{
	return BPF_CORE_READ((struct pt_regs___kernel *)regs, REGISTER_CALL);
}
