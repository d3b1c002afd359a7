// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu.sample: runs on every CPU at each tick of its clock. The process is the interrupted one, even if the CPU
 * processes packets of others.
 */
#define EVENT_BRINGS_STACK

#include <linux/bpf_perf_event.h>

#include "event/bpf/fd.bpf.h"
#include "event/cpu/cpu_sample.h"

EVENT(cpu_sample, struct cpu_sample_event)

static __always_inline bool in_user_mode(struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return ctx->regs.cs & 3;
#elif defined(__TARGET_ARCH_arm64)
	return (ctx->regs.pstate & 0xf) == 0;
#else
#error "how does this architecture tell user mode?"
#endif
}

SEC("perf_event")
int cpu_sample_tick(struct bpf_perf_event_data *ctx)
{
	struct cpu_sample_event *e = cpu_sample_begin();
	long bytes;

	if (!e)
		return 0;
	event_set_current(&cpu_sample_config, &e->head);
	if (cpu_sample_config.needs & EVENT_NEED_NETNS)
		e->head.netns = event_current_netns();
	e->data.cpu_ns = ctx->sample_period;
	e->data.mode = in_user_mode(ctx) ? CPU_SAMPLE_USER : CPU_SAMPLE_KERNEL;
	e->head.kstack_id = EVENT_STACK_NONE;
	if (cpu_sample_config.needs & EVENT_NEED_KSTACK && e->data.mode == CPU_SAMPLE_KERNEL) {
		bytes = bpf_get_stack(ctx, e->data.frames.addresses, sizeof(e->data.frames.addresses), 0);
		if (bytes > 0)
			e->data.frames.count = (__u32)bytes / sizeof(__u64);
	}
	return cpu_sample_end(ctx, e);
}
