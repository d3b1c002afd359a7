/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oops/oops_layer.h"

#include <string.h>

#include "base/text.h"
#include "tool/core/net_layers.h"

struct place_name {
	const char *pattern;
	const char *layer;
};

/* Modules whose functions have no prefix of their own. */
static const struct place_name modules[] = {
	{"bridge", "bridge"},    {"virtio_net", "driver"}, {"openvswitch", "bridge"}, {"8021q", "driver"},
	{"sch_*", "qdisc"},      {"cls_*", "filter"},      {"act_*", "filter"},       {"x_tables", "filter"},
	{"ip_tables", "filter"}, {"ip6_tables", "filter"}, {"af_packet", "device"},   {"r8169", "driver"},
	{"sunrpc", "socket"},    {"tls", "socket"},        {"sctp", "socket"},
};

/* Parts of a layer that a trace of calls distinguishes and a share of CPU time does not. */
static const struct place_name parts[] = {
	{"bpf_prog_*", "bpf"}, {"*_gro_*", "gro"},   {"napi_gro*", "gro"}, {"gro_*", "gro"},
	{"br_*", "bridge"},    {"__br_*", "bridge"}, {"ovs_*", "bridge"},
};

static const char *find_layer(const struct place_name *names, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (text_glob_match(names[i].pattern, text))
			return names[i].layer;
	return NULL;
}

static const char *layer_of_module(const char *module)
{
	const char *layer = find_layer(modules, ARRAY_SIZE(modules), module);
	char pattern[80];

	if (layer)
		return layer;
	/* igb_ has the layer of igb_poll. */
	snprintf(pattern, sizeof(pattern), "%.70s_", module);
	return net_layer_of(pattern);
}

const char *oops_layer_of(const char *function, const char *module)
{
	const char *layer = find_layer(parts, ARRAY_SIZE(parts), function);

	if (!layer)
		layer = net_layer_of(function);
	return layer || !module ? layer : layer_of_module(module);
}

static const char *const machinery[] = {
	/* Printing and trapping. */
	"dump_stack*",
	"__dump_stack",
	"show_stack*",
	"show_regs*",
	"__show_regs",
	"dump_backtrace*",
	"__warn*",
	"warn_slowpath*",
	"report_bug",
	"handle_bug",
	"bug_handler*",
	"brk_handler",
	"call_break_hook",
	"do_debug_exception",
	"exc_*",
	"asm_exc_*",
	"do_error_trap",
	"do_trap*",
	"do_invalid_op",
	"invalid_op",
	"die*",
	"__die*",
	"oops_end",
	"oops_exit",
	"no_context",
	"bad_area*",
	"__bad_area*",
	"do_page_fault",
	"__do_page_fault",
	"page_fault*",
	"async_page_fault",
	"do_user_addr_fault",
	"do_kern_addr_fault",
	"fixup_exception",
	"general_protection",
	"do_general_protection",
	"el1_*",
	"el1h_*",
	"do_mem_abort",
	"do_translation_fault",
	"panic*",
	"vpanic",
	"nmi_*",
	"trigger_*backtrace*",
	"watchdog*",
	"__const_udelay",
	"print_*",
	"kasan_*",
	"__kasan_*",
	"__asan_*",
	"kfence_*",
	"__kfence_*",
	"check_memory_region*",
	"ubsan_*",
	"__ubsan_*",
	"handle_overflow",
	"refcount_*",
	"rcu_dump_*",
	"lockdep_*",
	"lock_acquire*",
	"__lock_acquire",
	"check_*circular*",
	"validate_chain",
	"mark_lock*",
	"___might_sleep",
	"__might_*",
	"__schedule_bug",
	"skb_panic",
	"__report_bad_irq",
	"note_interrupt",
	"skb_over_panic",
	"skb_under_panic",
	"stack_trace_*",
	/* Waiting. */
	"__schedule",
	"schedule*",
	"io_schedule*",
	"preempt_schedule*",
	"mutex_lock*",
	"__mutex_lock*",
	"mutex_optimistic*",
	"rwsem_*",
	"down_*",
	"__down_*",
	"wait_for_completion*",
	"__wait_for_common",
	"__wait_rcu_gp",
	"synchronize_rcu*",
	"synchronize_net",
	"*_raw_spin_lock*",
	"*queued_spin_lock*",
	"_raw_*lock*",
	"native_queued_*",
	"bit_wait*",
	/* Allocating and freeing. */
	"warn_alloc*",
	"__alloc_pages*",
	"alloc_pages*",
	"__alloc_frozen_pages*",
	"new_slab*",
	"allocate_slab*",
	"___slab_alloc",
	"__slab_alloc*",
	"*kmalloc*",
	"kmem_cache_*",
	"cache_*alloc*",
	"page_frag_alloc*",
	"__page_frag_*",
	"kfree",
	"kfree_*rcu*",
	"__kfree",
	"slab_free*",
	"__slab_free*",
	"___cache_free",
	"*_slab_*",
	"set_track*",
	"save_stack*",
	"__get_free_pages",
	/* Generic lists, found out by their check. */
	"__list_*_valid*",
	"list_del_*",
	"*__list_add_valid*",
};

bool oops_layer_is_machinery(const char *function)
{
	char name[128];

	/* Without what the compiler appended: .cold, .isra.0 */
	snprintf(name, sizeof(name), "%.*s", (int)min_of(strcspn(function, "."), sizeof(name) - 1), function);
	for (size_t i = 0; i < ARRAY_SIZE(machinery); i++)
		if (text_glob_match(machinery[i], name))
			return true;
	return false;
}

enum place { PLACE_NONE, PLACE_SOFTIRQ, PLACE_IRQ, PLACE_IDLE, PLACE_PROCESS };

/* What the function says about the context that called it. */
static const struct {
	const char *pattern;
	enum place place;
} places[] = {
	{"__do_softirq", PLACE_SOFTIRQ},   {"handle_softirqs", PLACE_SOFTIRQ},  {"____do_softirq", PLACE_SOFTIRQ},
	{"net_rx_action", PLACE_SOFTIRQ},  {"net_tx_action", PLACE_SOFTIRQ},    {"run_ksoftirqd", PLACE_SOFTIRQ},
	{"call_softirq", PLACE_SOFTIRQ},   {"do_softirq*", PLACE_SOFTIRQ},      {"call_timer_fn", PLACE_SOFTIRQ},
	{"handle_irq_event*", PLACE_IRQ},  {"__handle_irq_event*", PLACE_IRQ},  {"handle_*_irq", PLACE_IRQ},
	{"__common_interrupt", PLACE_IRQ}, {"common_interrupt", PLACE_IRQ},     {"do_IRQ", PLACE_IRQ},
	{"hrtimer_interrupt", PLACE_IRQ},  {"__hrtimer_run_queues", PLACE_IRQ}, {"gic_handle_irq", PLACE_IRQ},
	{"sysvec_*", PLACE_IRQ},           {"generic_handle_*irq*", PLACE_IRQ}, {"do_idle", PLACE_IDLE},
	{"cpu_startup_entry", PLACE_IDLE}, {"do_syscall_64", PLACE_PROCESS},    {"el0_svc*", PLACE_PROCESS},
	{"sysenter_*", PLACE_PROCESS},     {"system_call*", PLACE_PROCESS},     {"entry_SYSCALL*", PLACE_PROCESS},
	{"kthread", PLACE_PROCESS},        {"worker_thread", PLACE_PROCESS},    {"process_one_work", PLACE_PROCESS},
	{"entry_INT80*", PLACE_PROCESS},   {"do_int80*", PLACE_PROCESS},        {"__x64_sys_*", PLACE_PROCESS},
	{"__arm64_sys_*", PLACE_PROCESS},
};

static enum place place_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_glob_match(places[i].pattern, function))
			return places[i].place;
	return PLACE_NONE;
}

static bool is_idle_task(const struct oops_report *report)
{
	return report->pid == 0 && report->comm && strncmp(report->comm, "swapper", 7) == 0;
}

/* Of the innermost frame that says something; a frame on the IRQ stack without a word is of an interrupt. */
static const char *context_of(const struct oops *oops, bool with_unreliable)
{
	bool on_irq = false;

	for (size_t i = 0; i < oops->frames.count; i++) {
		const struct oops_frame *frame = &oops->frames.items[i];

		if (frame->section == OOPS_ON_NMI || (!frame->reliable && !with_unreliable))
			continue;
		if (on_irq && frame->section == OOPS_ON_TASK)
			return "irq";
		on_irq = frame->section == OOPS_ON_IRQ;
		switch (place_of(frame->function)) {
		case PLACE_SOFTIRQ:
			return "softirq";
		case PLACE_IRQ:
			return "irq";
		case PLACE_IDLE:
			return "idle";
		case PLACE_PROCESS:
			return "process";
		case PLACE_NONE:
			break;
		}
	}
	return on_irq ? "irq" : NULL;
}

static void set_context(struct oops *oops)
{
	struct oops_report *report = &oops->report;

	report->context = context_of(oops, false);
	if (!report->context)
		report->context = context_of(oops, true);
	if (!report->context && report->kind == OOPS_HUNG_TASK)
		report->context = "process";
	/* A task that is named is what ran, unless the trace says otherwise. The idle task runs nothing else. */
	if (!report->context && report->pid != UINT32_MAX && !is_idle_task(report))
		report->context = "process";
}

/* The function that net_rx_action called: the driver's poll. */
static void set_napi(struct oops *oops)
{
	const struct oops_frame *last = NULL;

	for (size_t i = 0; i < oops->frames.count; i++) {
		const struct oops_frame *frame = &oops->frames.items[i];

		if (!frame->reliable)
			continue;
		if (last && (strcmp(frame->function, "net_rx_action") == 0 ||
			     strncmp(frame->function, "__napi_poll", 11) == 0)) {
			oops->report.napi = last->function;
			return;
		}
		last = frame;
	}
}

/* The report's function where its line names machinery, or nothing. */
static void set_function(struct oops *oops)
{
	struct oops_report *report = &oops->report;

	/* KASAN names where its check returns to. */
	oops->is_return = report->kind == OOPS_KASAN;
	if (report->function && !oops_layer_is_machinery(report->function))
		return;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < oops->frames.count; i++) {
			const struct oops_frame *frame = &oops->frames.items[i];

			if ((!frame->reliable && pass == 0) || oops_layer_is_machinery(frame->function) ||
			    frame->offset == UINT32_MAX)
				continue;
			report->function = frame->function;
			oops->is_return = true;
			report->offset = frame->offset;
			report->size = frame->size;
			report->module = frame->module;
			/* The line of the check is not the caller's. */
			report->file = frame->file;
			report->line = frame->line;
			return;
		}
}

void oops_layer_place(struct oops *oops)
{
	struct oops_report *report = &oops->report;

	set_function(oops);
	if (report->function)
		report->layer = oops_layer_of(report->function, report->module);
	for (size_t i = 0; i < oops->frames.count; i++) {
		struct oops_frame *frame = &oops->frames.items[i];

		frame->layer = oops_layer_of(frame->function, frame->module);
		if (!report->layer && frame->reliable)
			report->layer = frame->layer;
	}
	set_context(oops);
	set_napi(oops);
}
