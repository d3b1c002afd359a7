/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of a function by kprobes, where functions cannot be traced otherwise (arm64 before 6.4): what a call was about
 * is kept until it returns. EVENT_CALLS(sock_send) has the calls of an event; EVENT_SEND_CALL and EVENT_RECEIVE_CALL
 * define the two programs at a function whose first argument is a struct socket:
 *
 *	EVENT_SEND_CALL(sock_send, sock_send_call, inet_sendmsg, any_sock, sent)
 *
 * defines sock_send_call and sock_send_call_done, which call bool any_sock(const struct sock *) at the begin, and
 * int sent(void *ctx, struct sock *, int result, int flags) at the end. The verifier does not know these pointers:
 * members are read one by one, and there is no socket storage.
 *
 * The kernel follows the returns of few calls of a function at a time, and drops the others silently. So a hook with
 * these programs also has sock_send_call_left, at the end of every system call: what is still there then was lost.
 * Kernel threads make no system calls; there the thread's next call finds it.
 */
#pragma once

#include "event/bpf/event.bpf.h"

#define EVENT_CALLS_MAX 65536

struct event_call {
	__u64 sk;
	__u64 flags;
};

/*
 * Storage per socket for such programs: by address, until the event deletes it. Only created where a kprobe is among
 * the event's programs (config.by_kprobe).
 */
#define EVENT_FOUND_STORE(event, name, value_type)                                                                     \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, EVENT_CALLS_MAX);                                                                  \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__type(key, __u64);                                                                                    \
		__type(value, value_type);                                                                             \
	} event##_found_##name SEC(".maps");                                                                           \
	_Static_assert(sizeof(value_type) <= sizeof(struct event_group), "an entry begins as an empty group")

/* Created if missing; NULL is counted as lost. */
static __always_inline __maybe_unused void *event_remember_found(void *store, __u64 address,
								 struct event_losses *losses)
{
	void *memory = bpf_map_lookup_elem(store, &address);

	if (memory)
		return memory;
	bpf_map_update_elem(store, &address, (const void *)&event_no_group, BPF_NOEXIST);
	memory = bpf_map_lookup_elem(store, &address);
	if (!memory)
		__sync_fetch_and_add(&losses->memory, 1);
	return memory;
}

static __always_inline __maybe_unused bool event_any_sock(const struct sock *sk)
{
	return true;
}

static __always_inline int event_call_began(void *calls, struct event_losses *losses, const struct sock *sk, int flags)
{
	struct event_call call = {.sk = (__u64)sk, .flags = (__u32)flags};
	__u64 thread = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(calls, &thread))
		__sync_fetch_and_add(&losses->memory, 1);
	event_remember(calls, &thread, &call, losses);
	return 0;
}

static __always_inline bool event_call_ended(void *calls, struct event_call *ret_call)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct event_call *call = bpf_map_lookup_elem(calls, &thread);

	if (!call)
		return false;
	*ret_call = *call;
	bpf_map_delete_elem(calls, &thread);
	return true;
}

static __always_inline int event_call_left(void *calls, struct event_losses *losses)
{
	__u64 thread = bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(calls, &thread) && bpf_map_delete_elem(calls, &thread) == 0)
		__sync_fetch_and_add(&losses->memory, 1);
	return 0;
}

#define EVENT_CALLS(event)                                                                                             \
	EVENT_FOUND_STORE(event, calls, struct event_call);                                                            \
	SEC("tp_btf/sys_exit")                                                                                         \
	int BPF_PROG(event##_call_left, struct pt_regs *regs, long result)                                             \
	{                                                                                                              \
		return event_call_left(&event##_found_calls, &event##_losses);                                         \
	}

#define EVENT_CALL_DONE(event, program, function, done)                                                                \
	SEC("kretprobe/" #function)                                                                                    \
	int BPF_KRETPROBE(program##_done, int result)                                                                  \
	{                                                                                                              \
		struct event_call call;                                                                                \
		return event_call_ended(&event##_found_calls, &call)                                                   \
			       ? done(ctx, (struct sock *)call.sk, result, (int)call.flags)                            \
			       : 0;                                                                                    \
	}

#define EVENT_SEND_CALL(event, program, function, wants, done)                                                         \
	SEC("kprobe/" #function)                                                                                       \
	int BPF_KPROBE(program, struct socket *socket)                                                                 \
	{                                                                                                              \
		struct sock *sk = BPF_CORE_READ(socket, sk);                                                           \
		return wants(sk) ? event_call_began(&event##_found_calls, &event##_losses, sk, 0) : 0;                 \
	}                                                                                                              \
	EVENT_CALL_DONE(event, program, function, done)

#define EVENT_RECEIVE_CALL(event, program, function, wants, done)                                                      \
	SEC("kprobe/" #function)                                                                                       \
	int BPF_KPROBE(program, struct socket *socket, void *message, __u64 size, int flags)                           \
	{                                                                                                              \
		struct sock *sk = BPF_CORE_READ(socket, sk);                                                           \
		return wants(sk) ? event_call_began(&event##_found_calls, &event##_losses, sk, flags) : 0;             \
	}                                                                                                              \
	EVENT_CALL_DONE(event, program, function, done)
