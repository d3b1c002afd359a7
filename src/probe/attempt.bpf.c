// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP connects that fail without an answer: before a packet is sent (connect() was called, and the socket did not get
 * to SYN-SENT, or left it within the call), or because the program or the kernel gave up waiting. The programs only
 * take notes; every call goes on as it would.
 */
#include "probe/attempt.bpf.h"
#include "kernel/types.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define IPPROTO_TCP   6
#define TCP_SYN_SENT  2
#define TCP_CLOSE     7
#define SHUTDOWN_MASK 3
#define ETIMEDOUT     110
#define ALLOW         1

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct attempt_open);
} attempt_opens SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct attempt_left_key);
	__type(value, __u64);
} attempt_lefts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct attempt_service);
	__type(value, __u64);
} attempt_answers SEC(".maps");

static __always_inline void note(struct attempt_open *open, __u64 cookie, __u16 rport)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	open->began_ns = bpf_ktime_get_ns();
	open->netns = BPF_CORE_READ(task, nsproxy, net_ns, ns.inum);
	open->tgid = (__u32)BPF_CORE_READ(task, tgid);
	open->rport = rport;
	BPF_CORE_READ_INTO(&open->comm, task, comm);
	bpf_map_update_elem(&attempt_opens, &cookie, open, BPF_ANY);
}

SEC("cgroup/connect4")
int attempt_connect4(struct bpf_sock_addr *ctx)
{
	struct attempt_open open = {};

	if (ctx->protocol != IPPROTO_TCP)
		return ALLOW;
	open.raddr[2] = bpf_htonl(0xffff);
	open.raddr[3] = ctx->user_ip4;
	note(&open, bpf_get_socket_cookie(ctx), bpf_ntohs((__u16)ctx->user_port));
	return ALLOW;
}

SEC("cgroup/connect6")
int attempt_connect6(struct bpf_sock_addr *ctx)
{
	struct attempt_open open = {};

	if (ctx->protocol != IPPROTO_TCP)
		return ALLOW;
	open.raddr[0] = ctx->user_ip6[0];
	open.raddr[1] = ctx->user_ip6[1];
	open.raddr[2] = ctx->user_ip6[2];
	open.raddr[3] = ctx->user_ip6[3];
	note(&open, bpf_get_socket_cookie(ctx), bpf_ntohs((__u16)ctx->user_port));
	return ALLOW;
}

static __always_inline void note_sent(struct attempt_open *open)
{
	struct attempt_left_key key = {};
	__u64 now_ns = bpf_ktime_get_ns();

	key.tgid = open->tgid;
	key.rport = open->rport;
	open->sent_ns = now_ns;
	bpf_map_update_elem(&attempt_lefts, &key, &now_ns, BPF_ANY);
}

static __always_inline void note_answer(const struct attempt_open *open)
{
	struct attempt_service service = {};
	__u64 one = 1, *count;

	__builtin_memcpy(service.raddr, open->raddr, sizeof(service.raddr));
	service.netns = open->netns;
	service.rport = open->rport;
	count = bpf_map_lookup_elem(&attempt_answers, &service);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&attempt_answers, &service, &one, BPF_ANY);
}

/* A refusal is an answer as well. */
static __always_inline bool is_given_up(const struct sock *sk)
{
	return (sk->sk_err == 0 && sk->sk_shutdown == SHUTDOWN_MASK) || sk->sk_err == ETIMEDOUT;
}

/* connect() itself goes back: its ports are in use (EADDRNOTAVAIL). */
static __always_inline bool is_portless(const struct sock *sk)
{
	return sk->sk_err == 0 && sk->sk_shutdown == 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(attempt_state, const struct sock *sk, int oldstate, int newstate)
{
	struct attempt_open *open;
	__u64 cookie;

	if ((newstate != TCP_SYN_SENT && oldstate != TCP_SYN_SENT) || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	open = bpf_map_lookup_elem(&attempt_opens, &cookie);
	if (!open)
		return 0;
	if (newstate == TCP_SYN_SENT) {
		note_sent(open);
		return 0;
	}
	if (newstate == TCP_CLOSE && is_given_up(sk)) {
		open->ended_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (newstate == TCP_CLOSE && is_portless(sk)) {
		open->portless = 1;
		return 0;
	}
	note_answer(open);
	bpf_map_delete_elem(&attempt_opens, &cookie);
	return 0;
}
