// SPDX-License-Identifier: GPL-2.0-only
/*
 * softirq: raise, start and end of a run, and the change of the CPU's receive counters during it. A softirq runs on the
 * CPU that raised it, so all state is per CPU.
 */
#include "event/cpu/softirq.h"
#include "event/bpf/event.bpf.h"

EVENT(softirq, struct softirq_event)

/* Weak: absent from the BTF of kernels that describe no per-CPU variables; softirq_find_backlog does without. */
extern const struct softnet_data softnet_data __ksym __weak;

struct softnet {
	__u32 processed;
	__u32 squeezed;
	__u32 dropped;
	__u32 backlog;
};

struct run {
	__u64 raised_ns;
	__u64 entered_ns;
	__u64 lat_ns;
	struct softnet before; /* dropped: at the end of the last run, as packets are dropped between runs */
	__u32 with_before;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOFTIRQ_COUNT);
	__type(key, __u32);
	__type(value, struct run);
} softirq_runs SEC(".maps");

/* Counters of this CPU; NULL until known. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} softirq_softnet SEC(".maps");

static __always_inline int note_softnet(__u64 at)
{
	__u32 zero = 0;
	__u64 *known = bpf_map_lookup_elem(&softirq_softnet, &zero);

	if (known)
		*known = at;
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_find_symbol, unsigned int vec)
{
	return vec == SOFTIRQ_NET_RX ? note_softnet((__u64)bpf_this_cpu_ptr(&softnet_data)) : 0;
}

/* Without data symbols: the tracepoint still shows the backlog NAPI, which is part of softnet_data. */
SEC("tp_btf/napi_poll")
int BPF_PROG(softirq_find_backlog, struct napi_struct *napi)
{
	return napi->dev ? 0 : note_softnet((__u64)napi - bpf_core_field_offset(struct softnet_data, backlog));
}

static __always_inline __u32 read_drops(const struct softnet_data *data)
{
	if (bpf_core_field_exists(((struct softnet_data___split_drops *)0)->drop_counters)) {
		const struct softnet_data___split_drops *split = (const void *)data;

		return (__u32)BPF_CORE_READ(split, drop_counters.drops0.counter) +
		       (__u32)BPF_CORE_READ(split, drop_counters.drops1.counter);
	}
	if (bpf_core_field_exists(((struct softnet_data___atomic_drops *)0)->dropped.counter))
		return (__u32)BPF_CORE_READ((const struct softnet_data___atomic_drops *)data, dropped.counter);
	return BPF_CORE_READ((const struct softnet_data___plain_drops *)data, dropped);
}

static __always_inline bool read_softnet(struct softnet *softnet)
{
	const struct softnet_data *data;
	__u32 zero = 0;
	__u64 *known = bpf_map_lookup_elem(&softirq_softnet, &zero);

	if (!known || !*known)
		return false;
	data = (const void *)*known;
	softnet->processed = BPF_CORE_READ(data, processed);
	softnet->squeezed = BPF_CORE_READ(data, time_squeeze);
	softnet->dropped = read_drops(data);
	softnet->backlog = BPF_CORE_READ(data, input_pkt_queue.qlen) + BPF_CORE_READ(data, process_queue.qlen);
	return true;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raised, unsigned int vec)
{
	__u32 key = vec;
	struct run *run = bpf_map_lookup_elem(&softirq_runs, &key);

	if (run && !run->raised_ns)
		run->raised_ns = bpf_ktime_get_boot_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entered, unsigned int vec)
{
	__u32 key = vec;
	struct run *run = bpf_map_lookup_elem(&softirq_runs, &key);
	struct softnet now = {};

	if (!run)
		return 0;
	run->entered_ns = bpf_ktime_get_boot_ns();
	run->lat_ns = run->raised_ns ? run->entered_ns - run->raised_ns : EVENT_UNKNOWN64;
	run->raised_ns = 0;
	if (vec == SOFTIRQ_NET_RX && read_softnet(&now)) {
		run->before.processed = now.processed;
		run->before.squeezed = now.squeezed;
		run->before.backlog = now.backlog;
		if (!run->with_before)
			run->before.dropped = now.dropped;
		run->with_before = 1;
	}
	return 0;
}

static __always_inline void set_softnet(struct softirq *data, struct run *run)
{
	struct softnet now = {};

	data->packets = data->squeezed = data->dropped = data->backlog = EVENT_UNKNOWN32;
	if (data->vec != SOFTIRQ_NET_RX || !run->with_before || !read_softnet(&now))
		return;
	data->packets = now.processed - run->before.processed;
	data->squeezed = now.squeezed - run->before.squeezed;
	data->dropped = now.dropped - run->before.dropped;
	data->backlog = run->before.backlog;
	run->before.dropped = now.dropped;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_left, unsigned int vec)
{
	__u32 key = vec;
	struct run *run = bpf_map_lookup_elem(&softirq_runs, &key);
	struct softirq_event *e;

	if (!run || !run->entered_ns)
		return 0;
	e = softirq_begin();
	if (!e)
		return 0;
	e->data.vec = (__u8)vec;
	e->data.lat_ns = run->lat_ns;
	e->data.run_ns = bpf_ktime_get_boot_ns() - run->entered_ns;
	set_softnet(&e->data, run);
	run->entered_ns = 0;
	return softirq_end(ctx, e);
}
