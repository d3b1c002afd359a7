// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.connect. A TCP connect starts in process context and ends wherever the answer arrives, so it is traced by state
 * changes. All else is traced at the return of the system call: other protocols, and connects that fail before a packet
 * is sent. If both see a failure, the state change reports it.
 */
#include "event/sock/sock_connect.h"
#include "event/bpf/syscall.bpf.h"

#define ECANCELED     125
#define EINTR         4
#define EISCONN       106
#define EALREADY      114
#define EINPROGRESS   115
#define ERESTARTSYS   512
#define SHUTDOWN_MASK 3

#define IPPROTO_TCP   6
#define IPPROTO_MPTCP 262 /* its connections are TCP */

EVENT(sock_connect, struct sock_connect_event)

struct connecting {
	__u64 began_ns; /* 0: no connect in progress */
	/* The caller of connect(): the answer arrives in another context. */
	__s32 kstack_id;
	__s32 ustack_id;
};
EVENT_SOCK_STORE(sock_connect, began, struct connecting);

/*
 * Sockets whose failure was reported by a state change, until a call returns it. The exit of a call has no socket
 * storage, so the key is the address; the cookie detects a new socket at the same address.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} sock_connect_reported SEC(".maps");

/* Start of the call of a thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} sock_connect_calls SEC(".maps");

/* --- by the state --- */

static __always_inline int connect_ended(void *ctx, struct sock *sk, struct connecting *connecting, int newstate)
{
	struct sock_connect_event *e;
	__u64 began_ns = connecting->began_ns, address = event_address(sk);
	__u32 error = newstate == SOCKET_CLOSE ? (__u32)sk->sk_err : 0;
	__u64 cookie;

	/* Only one of two programs that see the same change reports it. */
	connecting->began_ns = 0;
	if (began_ns == 0)
		return 0;
	if (newstate == SOCKET_CLOSE && error == 0) {
		/* The call itself failed and reports the error. */
		if (sk->sk_shutdown != SHUTDOWN_MASK)
			return 0;
		/* Closed without an error: the application gave up. */
		error = ECANCELED;
	}
	if (error) {
		cookie = event_cookie(sk);
		bpf_map_update_elem(&sock_connect_reported, &address, &cookie, BPF_ANY);
	}
	e = sock_connect_begin();
	if (!e)
		return 0;
	event_set_sock(&sock_connect_config, &e->head, sk);
	e->head.kstack_id = connecting->kstack_id;
	e->head.ustack_id = connecting->ustack_id;
	e->data.lat_ns = bpf_ktime_get_boot_ns() - began_ns;
	e->data.error = error;
	return sock_connect_end(ctx, e);
}

static __always_inline void connect_began(void *ctx, struct connecting *connecting)
{
	struct event_head head = {.kstack_id = EVENT_STACK_OPEN, .ustack_id = EVENT_STACK_OPEN};

	event_set_stacks(&sock_connect_config, ctx, &head);
	connecting->kstack_id = head.kstack_id < 0 ? EVENT_STACK_NONE : head.kstack_id;
	connecting->ustack_id = head.ustack_id < 0 ? EVENT_STACK_NONE : head.ustack_id;
	connecting->began_ns = bpf_ktime_get_boot_ns();
}

static __always_inline int connect_state(void *ctx, struct sock *sk, int oldstate, int newstate)
{
	struct connecting *connecting;
	__u64 address = event_address(sk);

	if (newstate == SOCKET_SYN_SENT) {
		connecting = event_remember_sock(&sock_connect_began, sk, &sock_connect_losses);
		if (connecting)
			connect_began(ctx, connecting);
		bpf_map_delete_elem(&sock_connect_reported, &address);
		/* The owner tracking program may run after this one. */
		event_learn_owner(sk);
		return 0;
	}
	if (oldstate != SOCKET_SYN_SENT)
		return 0;
	connecting = event_store_get(&sock_connect_began, sk, 0);
	return connecting ? connect_ended(ctx, sk, connecting, newstate) : 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_connect_state, struct sock *sk, int oldstate, int newstate)
{
	return connect_state(ctx, sk, oldstate, newstate);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_connect_state_twin, struct sock *sk, int oldstate, int newstate)
{
	return connect_state(ctx, sk, oldstate, newstate);
}

/* --- by the call --- */

static __always_inline int call_began(void *ctx, struct pt_regs *regs)
{
	__u64 thread = bpf_get_current_pid_tgid(), now_ns = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&sock_connect_calls, &thread, &now_ns, BPF_ANY);
	return 0;
}

/* Results that a state change reports, or about a connection already reported. */
static __always_inline bool is_under_way(long result)
{
	return result == 0 || result == -EINPROGRESS || result == -EALREADY || result == -EISCONN || result == -EINTR ||
	       result == -ERESTARTSYS;
}

static __always_inline bool was_reported(struct sock *sk, long result)
{
	__u16 protocol = sk ? BPF_CORE_READ(sk, sk_protocol) : 0;
	__u16 family = sk ? BPF_CORE_READ(sk, __sk_common.skc_family) : 0;
	__u64 address = event_address(sk), *cookie;

	if ((family != AF_INET && family != AF_INET6) || (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP))
		return false;
	if (is_under_way(result))
		return true;
	cookie = bpf_map_lookup_elem(&sock_connect_reported, &address);
	if (!cookie || *cookie != (__u64)BPF_CORE_READ(sk, __sk_common.skc_cookie.counter))
		return false;
	bpf_map_delete_elem(&sock_connect_reported, &address);
	return true;
}

static __always_inline int call_ended(void *ctx, struct pt_regs *regs, long result)
{
	const void *address = (const void *)event_syscall_arg(regs, 1);
	struct sock *sk = event_fd_sock((__u32)event_syscall_arg(regs, 0));
	__u64 thread = bpf_get_current_pid_tgid(), *began_ns;
	struct sock_connect_event *e;

	began_ns = bpf_map_lookup_elem(&sock_connect_calls, &thread);
	if (was_reported(sk, result))
		goto out;
	e = sock_connect_begin();
	if (!e)
		goto out;
	event_set_found_sock(&sock_connect_config, &e->head, sk);
	/* An unconnected socket has no peer; take it from the arguments. */
	event_set_user_addr(&e->head, address, &e->head.raddr, &e->head.rport);
	event_set_user_path(e->data.path, address, event_syscall_arg(regs, 2));
	e->data.lat_ns = began_ns ? bpf_ktime_get_boot_ns() - *began_ns : EVENT_UNKNOWN64;
	e->data.error = result < 0 ? (__u32)-result : 0;
	sock_connect_end(ctx, e);
out:
	bpf_map_delete_elem(&sock_connect_calls, &thread);
	return 0;
}

EVENT_SYSCALL_ENTER(sock_connect, connect, call_began)
EVENT_SYSCALL(sock_connect, connect, call_ended)

/* --- sock.firstbyte: from the first packet of a connection to the first bytes that the application has read --- */

EVENT(sock_firstbyte, struct sock_firstbyte_event)

EVENT_SOCK_STORE(sock_firstbyte, began, struct connecting);

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(sock_firstbyte_state, struct sock *sk, int oldstate, int newstate)
{
	struct connecting *connecting;

	if (newstate != SOCKET_SYN_SENT)
		return 0;
	connecting = event_remember_sock(&sock_firstbyte_began, sk, &sock_firstbyte_losses);
	if (connecting)
		connecting->began_ns = bpf_ktime_get_boot_ns();
	return 0;
}

static __always_inline int first_received(void *ctx, struct sock *sk, int result)
{
	struct sock_firstbyte_event *e;
	struct connecting *connecting;
	__u64 began_ns;

	if (result <= 0)
		return 0;
	connecting = event_store_get(&sock_firstbyte_began, sk, 0);
	if (!connecting || !connecting->began_ns)
		return 0;
	began_ns = connecting->began_ns;
	connecting->began_ns = 0;
	e = sock_firstbyte_begin();
	if (!e)
		return 0;
	event_set_used_sock(&sock_firstbyte_config, &e->head, sk);
	e->data.lat_ns = bpf_ktime_get_boot_ns() - began_ns;
	e->data.bytes = (__u64)result;
	return sock_firstbyte_end(ctx, e);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(sock_firstbyte_recv, struct sock *sk, int result, int flags)
{
	return first_received(ctx, sk, result);
}

/* This tracepoint exists since 6.3. */
SEC("fexit/inet_recvmsg")
int BPF_PROG(sock_firstbyte_inet, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return first_received(ctx, socket->sk, result);
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(sock_firstbyte_inet6, struct socket *socket, void *message, __u64 size, int flags, int result)
{
	return first_received(ctx, socket->sk, result);
}

/*
 * Where functions cannot be traced (arm64 before 6.4): TCP adjusts its buffer after each segment that was read, and has
 * not counted the first one yet.
 */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(sock_firstbyte_adjust, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	return tp ? first_received(ctx, sk, (int)(tp->copied_seq - tp->rcvq_space.seq)) : 0;
}
