/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record types of a report. */
#include "oops/oops.h"

static const struct enum_name kind_items[] = {
	{OOPS_NONE, "unknown", "a report whose headline is missing"},
	{OOPS_FAULT, "oops", "the kernel accessed an invalid address or executed an invalid instruction"},
	{OOPS_BUG, "bug", "a kernel check failed and the task was killed (BUG)"},
	{OOPS_WARN, "warn", "a kernel check failed and the kernel continued (WARN)"},
	{OOPS_LOCKUP, "lockup",
	 "a CPU did not schedule (soft lockup) or take interrupts (hard lockup) for a long time"},
	{OOPS_RCU_STALL, "rcu-stall", "a CPU or task blocked an RCU grace period"},
	{OOPS_HUNG_TASK, "hung-task", "a task slept uninterruptibly for a long time"},
	{OOPS_NETDEV_WATCHDOG, "netdev-watchdog", "a transmit queue exceeded the watchdog timeout"},
	{OOPS_TX_HANG, "tx-hang", "the driver found its transmit unit stopped"},
	{OOPS_NETDEV_UNREGISTER, "netdev-unregister", "an interface cannot be unregistered: it still has references"},
	{OOPS_PAGE_ALLOC, "page-alloc", "an allocation of pages failed"},
	{OOPS_REFCOUNT, "refcount", "a reference count over- or underflowed"},
	{OOPS_KASAN, "kasan", "invalid memory access found by KASAN"},
	{OOPS_KFENCE, "kfence", "invalid memory access found by KFENCE"},
	{OOPS_KCSAN, "kcsan", "data race found by KCSAN"},
	{OOPS_UBSAN, "ubsan", "undefined behaviour found by UBSAN"},
	{OOPS_LOCKDEP, "lockdep", "wrong use of locks or RCU found by lockdep"},
	{OOPS_IRQ, "irq-unhandled", "an unhandled interrupt was disabled"},
	{OOPS_PANIC, "panic", "the kernel stopped"},
};
struct enum_names oops_kind_names = {.items = kind_items, .count = ARRAY_SIZE(kind_items)};

#define F struct oops_frame
static const struct field frame_fields[] = {
	FIELD(F, function, TEXT, "function"),
	FIELD(F, offset, ID, "offset in the function"),
	FIELD(F, size, ID, "size of the function"),
	FIELD(F, module, TEXT, "module; unknown: the kernel itself"),
	FIELD(F, reliable, BOOL, "reliable according to the unwinder (no ? in the log)"),
	FIELD(F, layer, TEXT, "layer of the network stack"),
	FIELD(F, file, TEXT, "source file, with --debug"),
	FIELD(F, line, ID, "source line", .zero_is_unknown = true),
};
#undef F
RECORD_TYPE(oops_frame_type, "oops_frame", struct oops_frame, frame_fields, "a function of a kernel call trace");

#define R struct oops_register
static const struct field register_fields[] = {
	FIELD(R, name, TEXT, "register"),
	FIELD(R, value, HEX, "value"),
	FIELD(R, holds, TEXT, "variable that it held"),
};
#undef R
RECORD_TYPE(oops_register_type, "oops_register", struct oops_register, register_fields, "a register at the fault");

#define I struct oops_instruction
static const struct field instruction_fields[] = {
	FIELD(I, bytes, TEXT, "bytes"),
	FIELD(I, text, TEXT, "instruction"),
	FIELD(I, fault, BOOL, "whether it is the one that failed"),
};
#undef I
RECORD_TYPE(oops_instruction_type, "oops_instruction", struct oops_instruction, instruction_fields,
	    "an instruction around the fault");

#define K struct oops_finding
static const struct field finding_fields[] = {
	FIELD(K, cause, TEXT, "cause"),
	FIELD(K, module, TEXT, "module of the network stack"),
	FIELD(K, because, TEXT, "evidence"),
};
#undef K
RECORD_TYPE(oops_finding_type, "oops_finding", struct oops_finding, finding_fields,
	    "a finding recorded at the time of a kernel report");

#define O struct oops_report
static const struct field report_fields[] = {
	FIELD(O, log_line, ID, "line of the log where the report starts", .zero_is_unknown = true, .hidden = true),
	FIELD(O, time_ns, TIME, "wall clock time, where the log has it", .hidden = true),
	FIELD(O, uptime_ns, DURATION, "time since boot"),
	FIELD(O, kind, ENUM, "kind of report", .names = &oops_kind_names),
	FIELD(O, what, TEXT, "what happened"),
	FIELD(O, function, TEXT, "function where it happened"),
	FIELD(O, offset, ID, "offset in the function", .hidden = true),
	FIELD(O, size, ID, "size of the function", .hidden = true),
	FIELD(O, module, TEXT, "module of the function; unknown: the kernel itself"),
	FIELD(O, layer, TEXT, "layer of the network stack, of the innermost function that has one"),
	FIELD(O, file, TEXT, "source file, from the report or with --debug", .hidden = true),
	FIELD(O, line, ID, "source line", .zero_is_unknown = true, .hidden = true),
	FIELD(O, address, HEX, "address that was used", .hidden = true),
	FIELD(O, access, TEXT, "read, write or execute", .hidden = true),
	FIELD(O, member, TEXT, "structure member that was accessed", .hidden = true),
	FIELD(O, context, TEXT, "process, softirq, irq, nmi or idle"),
	FIELD(O, napi, TEXT, "NAPI poll function that ran", .hidden = true),
	FIELD(O, cpu, ID, "CPU"),
	FIELD(O, pid, ID, "process; of softirq and irq: the interrupted one"),
	FIELD(O, comm, TEXT, "its name"),
	FIELD(O, workqueue, TEXT, "workqueue and function of a kworker", .hidden = true),
	FIELD(O, dev, TEXT, "interface that the report names", .hidden = true),
	FIELD(O, allocated, TEXT, "where the memory was allocated", .hidden = true),
	FIELD(O, freed, TEXT, "where the memory was freed", .hidden = true),
	FIELD(O, kernel, TEXT, "kernel release", .hidden = true),
	FIELD(O, arch, TEXT, "architecture, from the registers", .hidden = true),
	FIELD(O, tainted, TEXT, "taint flags of the kernel; empty: not tainted", .hidden = true),
	FIELD(O, taint_modules, TEXT, "loaded modules that taint the kernel", .hidden = true),
	FIELD(O, after, TEXT, "earlier report that this one may be a consequence of; unknown: it is the first",
	      .hidden = true),
	FIELD(O, panic, TEXT, "reason of the panic that followed", .hidden = true),
	FIELD(O, trace, LIST, "call trace, innermost first", .element = &oops_frame_type, .hidden = true),
	FIELD(O, registers, LIST, "registers", .element = &oops_register_type, .hidden = true),
	FIELD(O, code, LIST, "instructions around the fault", .element = &oops_instruction_type, .hidden = true),
	FIELD(O, known, LIST, "findings recorded at that time (-f)", .element = &oops_finding_type, .hidden = true),
	FIELD(O, signature, TEXT, "hash of kind, cause and functions: the same for the same failure"),
};
#undef O
RECORD_TYPE(oops_type, "oops", struct oops_report, report_fields, "a report in a kernel log");

static const struct field log_fields[] = {
	FIELD(struct oops_log_line, time_ns, TIME, "wall clock time"),
	FIELD(struct oops_log_line, text, TEXT, "line in the format of /dev/kmsg"),
};
RECORD_TYPE(oops_log_type, "kernel_log", struct oops_log_line, log_fields, "a line of the kernel log");
