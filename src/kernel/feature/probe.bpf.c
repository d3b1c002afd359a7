/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One program of each type that nest may use. Each only counts, to show that it runs; none changes
 * anything: those that return a verdict always let the packet pass.
 *
 * No program here reads a kernel field: an object with a single CO-RE relocation cannot be loaded where BTF is
 * missing, and types that do not need BTF would look as if they did. Those that read are in probe_fields.bpf.c.
 */
#include "kernel/feature/probe.bpf.h"

SEC("tp_btf/sched_switch")
int probe_tp_btf(void *ctx)
{
	return fired_if_ours(PROBE_TP_BTF);
}

SEC("raw_tp/sched_switch")
int probe_raw_tp(void *ctx)
{
	return fired_if_ours(PROBE_RAW_TP);
}

SEC("tracepoint/sched/sched_switch")
int probe_tracepoint(void *ctx)
{
	return fired_if_ours(PROBE_TRACEPOINT);
}

SEC("tp_btf/sys_enter")
int probe_syscall_tp_btf(void *ctx)
{
	return fired_if_ours(PROBE_SYSCALL_TP_BTF);
}

SEC("tracepoint/syscalls/sys_enter_getppid")
int probe_syscall_tracepoint(void *ctx)
{
	return fired_if_ours(PROBE_SYSCALL_TRACEPOINT);
}

SEC("fentry/tcp_sendmsg")
int probe_fentry(void *ctx)
{
	return fired_if_ours(PROBE_FENTRY);
}

SEC("fexit/tcp_sendmsg")
int probe_fexit(void *ctx)
{
	return fired_if_ours(PROBE_FEXIT);
}

SEC("kprobe/tcp_sendmsg")
int probe_kprobe(void *ctx)
{
	return fired_if_ours(PROBE_KPROBE);
}

SEC("kretprobe/tcp_sendmsg")
int probe_kretprobe(void *ctx)
{
	return fired_if_ours(PROBE_KRETPROBE);
}

SEC("kprobe.multi/tcp_sendmsg")
int probe_kprobe_multi(void *ctx)
{
	return fired_if_ours(PROBE_KPROBE_MULTI);
}

SEC("uprobe")
int probe_uprobe(void *ctx)
{
	return fired_if_ours(PROBE_UPROBE);
}

SEC("uretprobe")
int probe_uretprobe(void *ctx)
{
	return fired_if_ours(PROBE_URETPROBE);
}

SEC("lsm/socket_connect")
int probe_lsm(void *ctx)
{
	return fired_if_ours(PROBE_LSM);
}

SEC("perf_event")
int probe_perf_event(void *ctx)
{
	fired(PROBE_PERF_EVENT);
	return 0;
}

SEC("iter/tcp")
int probe_iter_tcp(struct bpf_iter__tcp *ctx)
{
	fired(PROBE_ITER_TCP);
	return 0;
}

SEC("iter/udp")
int probe_iter_udp(struct bpf_iter__udp *ctx)
{
	fired(PROBE_ITER_UDP);
	return 0;
}

SEC("iter/unix")
int probe_iter_unix(struct bpf_iter__unix *ctx)
{
	fired(PROBE_ITER_UNIX);
	return 0;
}

SEC("iter/task")
int probe_iter_task(struct bpf_iter__task *ctx)
{
	fired(PROBE_ITER_TASK);
	return 0;
}

SEC("iter/bpf_sk_storage_map")
int probe_iter_sk_storage(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	fired(PROBE_ITER_SK_STORAGE);
	return 0;
}

SEC("sockops")
int probe_sockops(struct bpf_sock_ops *ctx)
{
	fired(PROBE_SOCKOPS);
	/* No reply: continue as usual. */
	ctx->reply = -1;
	return 1;
}

SEC("cgroup_skb/egress")
int probe_cgroup_skb(struct __sk_buff *skb)
{
	fired(PROBE_CGROUP_SKB);
	return 1;
}

SEC("cgroup/connect4")
int probe_cgroup_connect(struct bpf_sock_addr *ctx)
{
	fired(PROBE_CGROUP_CONNECT);
	return 1;
}

SEC("cgroup/sock_release")
int probe_cgroup_release(struct bpf_sock *ctx)
{
	fired(PROBE_CGROUP_RELEASE);
	return 1;
}

SEC("socket")
int probe_socket_filter(struct __sk_buff *skb)
{
	fired(PROBE_SOCKET_FILTER);
	return (int)skb->len;
}

SEC("tc")
int probe_tc(struct __sk_buff *skb)
{
	fired(PROBE_TC);
	return -1; /* TC_ACT_UNSPEC: continue as configured */
}

SEC("tc")
int probe_tcx(struct __sk_buff *skb)
{
	fired(PROBE_TCX);
	return -1; /* TCX_NEXT */
}

SEC("xdp")
int probe_xdp(struct xdp_md *ctx)
{
	fired(PROBE_XDP);
	return XDP_PASS;
}

SEC("netfilter")
int probe_netfilter(void *ctx)
{
	fired(PROBE_NETFILTER);
	return 1; /* NF_ACCEPT */
}

SEC("sk_lookup")
int probe_sk_lookup(struct bpf_sk_lookup *ctx)
{
	fired(PROBE_SK_LOOKUP);
	return SK_PASS;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} probe_ring SEC(".maps");

SEC("raw_tp/sched_switch")
int probe_ringbuf(void *ctx)
{
	__u32 *mark;

	if (!is_ours())
		return 0;
	mark = bpf_ringbuf_reserve(&probe_ring, sizeof(*mark), 0);
	if (!mark)
		return 0;
	*mark = PROBE_RING_MARK;
	bpf_ringbuf_submit(mark, 0);
	fired(PROBE_RINGBUF);
	return 0;
}

__u64 probe_atomic;

/* An addition without a result works on every kernel. */
SEC("raw_tp/sched_switch")
int probe_atomics(void *ctx)
{
	if (is_ours() && __sync_val_compare_and_swap(&probe_atomic, 0, 1) == 0)
		fired(PROBE_ATOMICS);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} probe_storage SEC(".maps");

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(probe_sk_storage, struct sock *sk)
{
	__u64 *count = bpf_sk_storage_get(&probe_storage, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	/* Counts the second state change of a socket: what the first one stored was found. */
	if (count && (*count)++ > 0)
		fired(PROBE_SK_STORAGE);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 64);
	__type(key, __u32);
	__uint(value_size, 127 * sizeof(__u64));
} probe_stacks SEC(".maps");

SEC("raw_tp/sched_switch")
int probe_stack(void *ctx)
{
	if (is_ours() && bpf_get_stackid(ctx, &probe_stacks, 0) >= 0)
		fired(PROBE_STACK);
	return 0;
}

struct timer_value {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct timer_value);
} probe_timers SEC(".maps");

static int timer_rang(void *map, __u32 *key, struct timer_value *value)
{
	fired(PROBE_TIMER);
	return 0;
}

#define CLOCK_MONOTONIC 1

SEC("syscall")
int probe_timer(void *ctx)
{
	__u32 key = 0;
	struct timer_value *value = bpf_map_lookup_elem(&probe_timers, &key);

	if (!value || bpf_timer_init(&value->timer, &probe_timers, CLOCK_MONOTONIC))
		return 1;
	if (bpf_timer_set_callback(&value->timer, timer_rang))
		return 2;
	return bpf_timer_start(&value->timer, 1000, 0) ? 3 : 0;
}
