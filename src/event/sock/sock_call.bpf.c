// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.call: network system calls, reported when they return. One program at entry and one at exit serve all of them,
 * at the raw system call tracepoints.
 */
#include "event/sock/sock_call.h"
#include "event/bpf/syscall.bpf.h"

EVENT(sock_call, struct sock_call_event)

/* Start of the current call of a thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} sock_call_began SEC(".maps");

struct user_msghdr {
	const void *name;
	__s32 name_len;
	__s32 unused;
};

#define CALL_OF(number, name)                                                                                          \
	case __NR_##name:                                                                                              \
		return number;

static __always_inline __u8 call_of(long number)
{
	switch (number) {
		SOCK_CALLS(CALL_OF)
	default:
		return SOCK_CALL_NONE;
	}
}

static __always_inline int entered(void)
{
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_boot_ns();
	__u64 *began = bpf_map_lookup_elem(&sock_call_began, &thread);

	/* Reusing the entry costs far less than a new one per call. */
	if (began)
		*began = now;
	else
		bpf_map_update_elem(&sock_call_began, &thread, &now, BPF_ANY);
	return 0;
}

static __always_inline __u64 took(void)
{
	__u64 thread = bpf_get_current_pid_tgid(), *began = bpf_map_lookup_elem(&sock_call_began, &thread), lat_ns;

	if (!began || !*began)
		return EVENT_UNKNOWN64;
	lat_ns = bpf_ktime_get_boot_ns() - *began;
	*began = 0;
	return lat_ns;
}

static __always_inline bool moves_bytes(__u8 call)
{
	return call == SOCK_CALL_sendto || call == SOCK_CALL_recvfrom || call == SOCK_CALL_sendmsg ||
	       call == SOCK_CALL_recvmsg || call == SOCK_CALL_sendfile;
}

/* For an address returned by the kernel, the length is in another argument. */
static __always_inline const void *address_given(const struct sock_call *call, int at, unsigned long *len)
{
	__u32 given = 0;

	if (call->error || bpf_probe_read_user(&given, sizeof(given), (const void *)call->raw[at + 1]) < 0)
		return NULL;
	*len = given;
	return (const void *)call->raw[at];
}

/* User pointer to the address argument; NULL: none. */
static __always_inline const void *address_of(const struct sock_call *call, unsigned long *len)
{
	struct user_msghdr message = {};

	*len = 0;
	switch (call->call) {
	case SOCK_CALL_connect:
	case SOCK_CALL_bind:
		*len = call->raw[2];
		return (const void *)call->raw[1];
	case SOCK_CALL_sendto:
		*len = call->raw[5];
		return (const void *)call->raw[4];
	case SOCK_CALL_recvfrom:
		return address_given(call, 4, len);
	case SOCK_CALL_accept:
	case SOCK_CALL_accept4:
	case SOCK_CALL_getsockname:
	case SOCK_CALL_getpeername:
		return address_given(call, 1, len);
	case SOCK_CALL_sendmsg:
	case SOCK_CALL_recvmsg:
		if (bpf_probe_read_user(&message, sizeof(message), (const void *)call->raw[1]) < 0)
			return NULL;
		*len = (unsigned long)message.name_len;
		return message.name;
	default:
		return NULL;
	}
}

static __always_inline void set_values(struct sock_call *call)
{
	__s32 pair[2] = {};

	call->value = SOCK_CALL_NO_VALUE;
	if (call->call == SOCK_CALL_socketpair && !call->error) {
		bpf_probe_read_user(pair, sizeof(pair), (const void *)call->raw[3]);
		call->value = pair[0];
		call->pair = pair[1];
	} else if ((call->call == SOCK_CALL_setsockopt && call->raw[4] == sizeof(__s32)) ||
		   (call->call == SOCK_CALL_getsockopt && !call->error)) {
		if (bpf_probe_read_user(&call->value, sizeof(call->value), (const void *)call->raw[3]) < 0)
			call->value = SOCK_CALL_NO_VALUE;
	}
}

/* The socket's own addresses take precedence over those of the call. */
static __always_inline void set_address(struct sock_call_event *e)
{
	unsigned long len;
	const void *address = address_of(&e->data, &len);
	__u8 family = e->head.family;

	if (!address)
		return;
	event_set_user_addr(&e->head, address, &e->data.addr, &e->data.port);
	event_set_user_path(e->data.path, address, len);
	if (family)
		e->head.family = family;
	if (!e->data.addr.family)
		return;
	if (e->data.call == SOCK_CALL_bind) {
		if (e->data.error) {
			e->head.laddr = e->data.addr;
			e->head.lport = e->data.port;
		}
	} else if (e->data.call != SOCK_CALL_getsockname && !e->head.rport) {
		e->head.raddr = e->data.addr;
		e->head.rport = e->data.port;
	}
}

static __always_inline __u32 socket_of(const struct sock_call *call)
{
	bool new_one =
		call->call == SOCK_CALL_socket || call->call == SOCK_CALL_accept || call->call == SOCK_CALL_accept4;

	if (call->call == SOCK_CALL_socketpair)
		return call->error ? EVENT_UNKNOWN32 : (__u32)call->value;
	if (!new_one)
		return (__u32)call->raw[0];
	if (!call->error)
		return (__u32)call->result;
	return call->call == SOCK_CALL_socket ? EVENT_UNKNOWN32 : (__u32)call->raw[0];
}

static __always_inline int ended(void *ctx, __u8 call, struct pt_regs *regs, long result)
{
	__u64 lat_ns = took();
	struct sock_call_event *e = sock_call_begin();

	if (!e)
		return 0;
	e->data.call = call;
	e->data.lat_ns = lat_ns;
	e->data.result = result < 0 ? -1 : result;
	e->data.error = result < 0 ? (__u32)-result : 0;
	e->data.bytes = moves_bytes(call) && result >= 0 ? (__u64)result : EVENT_UNKNOWN64;
	e->data.raw[0] = event_syscall_arg(regs, 0);
	e->data.raw[1] = event_syscall_arg(regs, 1);
	e->data.raw[2] = event_syscall_arg(regs, 2);
	e->data.raw[3] = event_syscall_arg(regs, 3);
	e->data.raw[4] = event_syscall_arg(regs, 4);
	e->data.raw[5] = event_syscall_arg(regs, 5);
	set_values(&e->data);
	e->data.fd = socket_of(&e->data);
	event_set_found_sock(&sock_call_config, &e->head, event_fd_sock(e->data.fd));
	set_address(e);
	return sock_call_end(ctx, e);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sock_call_enter, struct pt_regs *regs, long number)
{
	return call_of(number) ? entered() : 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sock_call_exit, struct pt_regs *regs, long result)
{
	__u8 call = call_of(event_syscall_number(regs));

	return call ? ended(ctx, call, regs, result) : 0;
}
