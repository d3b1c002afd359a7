// SPDX-License-Identifier: GPL-2.0-only
/*
 * irq: duration of an interrupt handler. A network interrupt is one whose handler has raised NET_RX or NET_TX: true for
 * every driver, whatever it names its interrupts.
 */
#include "event/bpf/event.bpf.h"
#include "event/cpu/softirq.h"

EVENT(irq, struct irq_event)

struct handler {
	__u64 entered_ns;
	__u32 irq;
	__u32 vec; /* network softirq that it raised; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct handler);
} irq_handlers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} irq_vecs SEC(".maps");

static __always_inline struct handler *this_handler(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&irq_handlers, &zero);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_entered, int irq)
{
	struct handler *handler = this_handler();

	if (!handler)
		return 0;
	handler->irq = (__u32)irq;
	handler->vec = 0;
	handler->entered_ns = bpf_ktime_get_boot_ns();
	return 0;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(irq_raises, unsigned int vec)
{
	struct handler *handler = this_handler();

	if (handler && handler->entered_ns && (vec == SOFTIRQ_NET_RX || vec == SOFTIRQ_NET_TX))
		handler->vec = vec;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_left, int irq, struct irqaction *action, int result)
{
	struct handler *handler = this_handler();
	__u32 key = (__u32)irq, *vec;
	struct irq_event *e;

	if (!handler || !handler->entered_ns || handler->irq != key)
		return 0;
	if (handler->vec)
		bpf_map_update_elem(&irq_vecs, &key, &handler->vec, BPF_ANY);
	e = irq_begin();
	if (!e) {
		handler->entered_ns = 0;
		return 0;
	}
	vec = bpf_map_lookup_elem(&irq_vecs, &key);
	e->data.irq = key;
	e->data.vec = vec ? (__u8)*vec : 0xff;
	e->data.result = (__u8)result;
	e->data.lat_ns = bpf_ktime_get_boot_ns() - handler->entered_ns;
	bpf_probe_read_kernel_str(e->data.name, sizeof(e->data.name), BPF_CORE_READ(action, name));
	handler->entered_ns = 0;
	return irq_end(ctx, e);
}
