// SPDX-License-Identifier: GPL-2.0-only
/*
 * napi.poll: a NAPI poll of an interface. The tracepoint is at the end of a poll. The poll began when the previous one
 * ended, or with the softirq; it was scheduled by the interface, which only some kernels show, or, for the first poll
 * of a run, when the softirq was raised.
 */
#include "event/bpf/dev.bpf.h"
#include "event/cpu/softirq.h"

EVENT(napi_poll, struct napi_poll_event)

struct round {
	__u64 raised_ns;
	__u64 wait_ns;  /* of the first poll; EVENT_UNKNOWN64 for the others */
	__u64 began_ns; /* 0: not a softirq but threaded NAPI or busy polling */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct round);
} napi_poll_rounds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} napi_poll_scheduled SEC(".maps");

static __always_inline struct round *this_round(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&napi_poll_rounds, &zero);
}

static __always_inline int note_schedule(struct napi_struct *napi)
{
	__u64 key = event_address(napi), now = bpf_ktime_get_boot_ns();

	bpf_map_update_elem(&napi_poll_scheduled, &key, &now, BPF_ANY);
	return 0;
}

SEC("fentry/__napi_schedule")
int BPF_PROG(napi_poll_schedule, struct napi_struct *napi)
{
	return note_schedule(napi);
}

SEC("fentry/__napi_schedule_irqoff")
int BPF_PROG(napi_poll_schedule_irqoff, struct napi_struct *napi)
{
	return note_schedule(napi);
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(napi_poll_raised, unsigned int vec)
{
	struct round *round = this_round();

	if (vec == SOFTIRQ_NET_RX && round && !round->raised_ns)
		round->raised_ns = bpf_ktime_get_boot_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(napi_poll_entered, unsigned int vec)
{
	struct round *round = this_round();

	if (vec != SOFTIRQ_NET_RX || !round)
		return 0;
	round->began_ns = bpf_ktime_get_boot_ns();
	round->wait_ns = round->raised_ns ? round->began_ns - round->raised_ns : EVENT_UNKNOWN64;
	round->raised_ns = 0;
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(napi_poll_left, unsigned int vec)
{
	struct round *round = this_round();

	if (vec == SOFTIRQ_NET_RX && round)
		round->began_ns = 0;
	return 0;
}

/* Time from schedule to poll. */
static __always_inline __u64 wait_of(struct napi_struct *napi, const struct round *round)
{
	__u64 key = event_address(napi), *scheduled = bpf_map_lookup_elem(&napi_poll_scheduled, &key), since;

	if (!scheduled)
		return round->wait_ns;
	since = *scheduled;
	bpf_map_delete_elem(&napi_poll_scheduled, &key);
	/* Scheduled again during the poll: that wait is still to come. */
	return round->began_ns >= since ? round->began_ns - since : EVENT_UNKNOWN64;
}

SEC("tp_btf/napi_poll")
int BPF_PROG(napi_poll_done, struct napi_struct *napi, int work, int budget)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct round *round = this_round();
	struct net_device *dev = napi->dev;
	struct napi_poll_event *e;

	e = napi_poll_begin();
	if (!e)
		return 0;
	e->data.lat_ns = e->data.run_ns = EVENT_UNKNOWN64;
	if (round && round->began_ns) {
		e->data.lat_ns = wait_of(napi, round);
		e->data.run_ns = now - round->began_ns;
		round->began_ns = now;
		round->wait_ns = EVENT_UNKNOWN64;
	}
	e->data.napi_id = napi->napi_id;
	e->data.packets = (__u32)work;
	e->data.budget = (__u32)budget;
	/* The per-CPU backlog of virtual interfaces belongs to no interface. */
	if (dev)
		dev_set_name(e->data.dev, &e->head, dev);
	else
		__builtin_memcpy(e->data.dev, "(backlog)", sizeof("(backlog)"));
	return napi_poll_end(ctx, e);
}
