// SPDX-License-Identifier: GPL-2.0-only
/* Socket setup, traced at the return of the system call: in process context, with the result known. */
#include "event/sock/sock_setup.h"
#include "event/bpf/syscall.bpf.h"

/* Positions in inet_flags. */
#define INET_FLAGS_FREEBIND             11
#define INET_FLAGS_TRANSPARENT          15
#define INET_FLAGS_BIND_ADDRESS_NO_PORT 18

#define SOCK_TYPE_MASK                  15

static __always_inline __u32 error_of(long result)
{
	return result < 0 ? (__u32)-result : 0;
}

/* --- sock.create --- */

EVENT(sock_create, struct sock_create_event)

static __always_inline void set_asked_family(struct event_head *head, unsigned long family)
{
	if (family == AF_INET)
		head->family = ADDR_V4;
	else if (family == AF_INET6)
		head->family = ADDR_V6;
	else
		head->family = EVENT_FAMILY_OTHER + (__u8)family;
}

static __always_inline int created(void *ctx, struct pt_regs *regs, long result)
{
	struct sock_create_event *e = sock_create_begin();
	struct sock *sk;

	if (!e)
		return 0;
	event_set_current(&sock_create_config, &e->head);
	set_asked_family(&e->head, event_syscall_arg(regs, 0));
	/* Other families have their own protocol numbers. */
	if (e->head.family < EVENT_FAMILY_OTHER)
		e->head.proto = (__u8)event_syscall_arg(regs, 2);
	e->data.type = event_syscall_arg(regs, 1) & SOCK_TYPE_MASK;
	e->data.error = error_of(result);
	e->data.fd = result < 0 ? EVENT_UNKNOWN32 : (__u32)result;
	e->head.netns = event_current_netns();
	sk = result < 0 ? NULL : event_fd_sock((__u32)result);
	/* The caller may leave the protocol to the kernel. No addresses yet. */
	if (sk && e->head.family < EVENT_FAMILY_OTHER)
		e->head.proto = (__u8)BPF_CORE_READ(sk, sk_protocol);
	return sock_create_end(ctx, e);
}

EVENT_SYSCALL(sock_create, socket, created)

/* --- sock.bind --- */

EVENT(sock_bind, struct sock_bind_event)

static __always_inline __u8 inet_options(struct sock *sk)
{
	unsigned long flags;
	__u8 options = 0;

	if (bpf_core_field_exists(struct inet_sock___flags, inet_flags)) {
		flags = BPF_CORE_READ((struct inet_sock___flags *)sk, inet_flags);
		options |= flags >> INET_FLAGS_FREEBIND & 1 ? SOCK_BIND_FREEBIND : 0;
		options |= flags >> INET_FLAGS_TRANSPARENT & 1 ? SOCK_BIND_TRANSPARENT : 0;
		options |= flags >> INET_FLAGS_BIND_ADDRESS_NO_PORT & 1 ? SOCK_BIND_NO_PORT : 0;
	} else {
		struct inet_sock___bits *bits = (struct inet_sock___bits *)sk;

		options |= BPF_CORE_READ_BITFIELD_PROBED(bits, freebind) ? SOCK_BIND_FREEBIND : 0;
		options |= BPF_CORE_READ_BITFIELD_PROBED(bits, transparent) ? SOCK_BIND_TRANSPARENT : 0;
		options |= BPF_CORE_READ_BITFIELD_PROBED(bits, bind_address_no_port) ? SOCK_BIND_NO_PORT : 0;
	}
	return options;
}

static __always_inline void set_bind(struct sock_bind *bind, struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct sock_common *common = &sk->__sk_common;

	if (family != AF_INET && family != AF_INET6)
		return;
	bind->options = inet_options(sk);
	bind->options |= BPF_CORE_READ_BITFIELD_PROBED(common, skc_reuse) ? SOCK_BIND_REUSEADDR : 0;
	bind->options |= BPF_CORE_READ_BITFIELD_PROBED(common, skc_reuseport) ? SOCK_BIND_REUSEPORT : 0;
	bind->ifindex = (__u32)BPF_CORE_READ(common, skc_bound_dev_if);
}

static __always_inline int bound(void *ctx, struct pt_regs *regs, long result)
{
	const void *address = (const void *)event_syscall_arg(regs, 1);
	struct sock *sk = event_fd_sock((__u32)event_syscall_arg(regs, 0));
	struct sock_bind_event *e = sock_bind_begin();
	struct addr asked = {};
	__u16 port = 0;

	if (!e)
		return 0;
	event_set_found_sock(&sock_bind_config, &e->head, sk);
	e->data.error = error_of(result);
	e->data.asked_port = EVENT_UNKNOWN32;
	event_set_user_addr(&e->head, address, &asked, &port);
	if (asked.family) {
		e->data.asked_port = port;
		/* An unbound socket has no address. */
		if (result < 0) {
			e->head.laddr = asked;
			e->head.lport = port;
		}
	}
	if (sk)
		set_bind(&e->data, sk);
	event_set_user_path(e->data.path, address, event_syscall_arg(regs, 2));
	return sock_bind_end(ctx, e);
}

EVENT_SYSCALL(sock_bind, bind, bound)

/* --- sock.listen --- */

EVENT(sock_listen, struct sock_listen_event)

static __always_inline int listening(void *ctx, struct pt_regs *regs, long result)
{
	struct sock *sk = event_fd_sock((__u32)event_syscall_arg(regs, 0));
	struct sock_listen_event *e = sock_listen_begin();

	if (!e)
		return 0;
	event_set_found_sock(&sock_listen_config, &e->head, sk);
	e->data.error = error_of(result);
	e->data.asked = (__s32)event_syscall_arg(regs, 1);
	e->data.backlog_max = sk && result == 0 ? BPF_CORE_READ(sk, sk_max_ack_backlog) : EVENT_UNKNOWN32;
	return sock_listen_end(ctx, e);
}

EVENT_SYSCALL(sock_listen, listen, listening)
