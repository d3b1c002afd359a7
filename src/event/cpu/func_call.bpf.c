// SPDX-License-Identifier: GPL-2.0-only
/*
 * func.call: entry of kernel functions chosen at attach time. They run in any context, also in interrupts: no process
 * is reported.
 */
#include "event/cpu/func_call.h"
#include "event/bpf/event.bpf.h"

EVENT(func_call, struct func_call_event)

static __always_inline int called(struct pt_regs *ctx)
{
	struct func_call_event *e = func_call_begin();

	if (!e)
		return 0;
	e->data.address = bpf_get_func_ip(ctx);
	return func_call_end(ctx, e);
}

SEC("kprobe.multi")
int func_call_many(struct pt_regs *ctx)
{
	return called(ctx);
}

SEC("kprobe")
int func_call_single(struct pt_regs *ctx)
{
	return called(ctx);
}
