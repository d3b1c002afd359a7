// SPDX-License-Identifier: GPL-2.0-only
/* A new socket has no storage of an earlier one at its address; a connection inherits the owner from its listener. */
#include "event/bpf/event.bpf.h"

#ifdef BPF_BASIC
SEC("fentry/sock_init_data")
int BPF_PROG(sock_number_made, struct socket *socket, struct sock *sk)
{
	__u64 address = event_address(sk);

	bpf_map_delete_elem(&event_sock_numbers, &address);
	return 0;
}

SEC("fexit/sk_clone_lock")
int BPF_PROG(sock_number_cloned, struct sock *sk, int priority, struct sock *child)
{
	struct sock_owner *owner, *inherited;
	__u64 address = event_address(child);

	if (!address)
		return 0;
	bpf_map_delete_elem(&event_sock_numbers, &address);
	owner = event_store_get(&event_owners, sk, 0);
	inherited = owner ? event_store_get(&event_owners, child, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
	if (inherited)
		*inherited = *owner;
	return 0;
}

/* Where functions cannot be traced: the end of a TCP socket. Others keep their number, and no owner is inherited. */
SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(sock_number_ended, struct sock *sk)
{
	__u64 address = event_address(sk);

	bpf_map_delete_elem(&event_sock_numbers, &address);
	return 0;
}
#endif
