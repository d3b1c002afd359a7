/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports in a kernel log: what the kernel prints when it finds itself broken or stuck. A report is a record (type
 * "oops"); oops_read finds them, oops_debug.h adds what debug information knows, oops_text.h shows them to a person.
 */
#pragma once

#include "base/vec.h"
#include "oops/log_line.h"
#include "record/field.h"

enum oops_kind {
	OOPS_NONE, /* begun ("cut here"), and nothing said yet */
	OOPS_FAULT,
	OOPS_BUG,
	OOPS_WARN,
	OOPS_LOCKUP,
	OOPS_RCU_STALL,
	OOPS_HUNG_TASK,
	OOPS_NETDEV_WATCHDOG,
	OOPS_TX_HANG,
	OOPS_NETDEV_UNREGISTER,
	OOPS_PAGE_ALLOC,
	OOPS_REFCOUNT,
	OOPS_KASAN,
	OOPS_KFENCE,
	OOPS_KCSAN,
	OOPS_UBSAN,
	OOPS_LOCKDEP,
	OOPS_IRQ,
	OOPS_PANIC,
};
extern struct enum_names oops_kind_names;

/* More are cut off, and counted. */
#define OOPS_FRAMES_MAX  256
#define OOPS_REPORTS_MAX 10000

struct oops_frame {
	const char *function;
	uint32_t offset;
	uint32_t size;
	const char *module;
	bool reliable;
	const char *layer;
	const char *file;
	uint32_t line;
	uint8_t section; /* enum oops_section */
};

/* On which stack of the CPU a frame stands. */
enum oops_section { OOPS_ON_TASK, OOPS_ON_IRQ, OOPS_ON_NMI };

struct oops_register {
	const char *name;
	uint64_t value;
	const char *holds; /* "skb (struct sk_buff *)"; NULL: unknown */
};

struct oops_instruction {
	const char *bytes;
	const char *text;
	bool fault;
};

/* What was found on the host at that moment, from a recording. */
struct oops_finding {
	const char *cause;
	const char *module;
	const char *because;
};

struct oops_report {
	uint8_t kind;
	const char *what;
	const char *function;
	uint32_t offset;
	uint32_t size;
	const char *module;
	const char *layer;
	const char *file;
	uint32_t line;
	uint64_t address; /* that was used */
	const char *access;
	const char *member;
	const char *context;
	const char *napi;
	uint32_t cpu;
	uint32_t pid;
	const char *comm;
	const char *workqueue;
	const char *dev;
	const char *allocated;
	const char *freed;
	const char *kernel;
	const char *arch;
	const char *tainted;
	const char *taint_modules;
	const char *after;
	const char *panic;
	uint64_t time_ns;
	uint64_t uptime_ns;
	uint32_t log_line;
	struct list trace;     /* oops_frame */
	struct list registers; /* oops_register */
	struct list code;      /* oops_instruction */
	struct list known;     /* oops_finding */
	const char *signature;
};

/* A line of the kernel log as a recording keeps it: in the format of /dev/kmsg. */
struct oops_log_line {
	uint64_t time_ns;
	const char *text;
};

extern const struct record_type oops_type, oops_frame_type, oops_register_type, oops_instruction_type,
	oops_finding_type, oops_log_type;

/* The bytes of a "Code:" line. */
#define OOPS_CODE_MAX 256
struct oops_bytes {
	uint8_t bytes[OOPS_CODE_MAX];
	size_t count;
	size_t fault; /* of the instruction that failed; SIZE_MAX: not marked */
};

/* A report with what its lists point to. */
struct oops {
	struct oops_report report;
	VEC(struct oops_frame) frames;
	VEC(struct oops_register) registers;
	VEC(struct oops_instruction) instructions;
	VEC(struct oops_finding) findings;
	VEC(char *) texts;
	struct oops_bytes code;
	const char *message; /* of a warning or a BUG */
	uint32_t number;     /* of the oops since boot ("[#2]"); 0: not said */
	uint32_t frames_cut;
	bool is_return; /* the place is where a call returns to, not the instruction itself */
};

struct oops_list {
	VEC(struct oops *) items;
	uint32_t lines;
	uint64_t dropped; /* messages that the kernel says it dropped */
	uint32_t cut;     /* reports beyond OOPS_REPORTS_MAX */
};

/* Finds the reports of a log. */
void oops_read(const char *text, size_t len, struct oops_list *ret_list);
/* Wall clock times of a log that counts from this moment. */
void oops_date(struct oops_list *list, uint64_t start_ns);
void oops_list_done(struct oops_list *list);
#define _cleanup_oops_ _cleanup_(oops_list_done)

/* A copy that lives as long as the report. */
const char *oops_keep(struct oops *oops, const char *text, size_t len);
const char *oops_keep_format(struct oops *oops, const char *format, ...) _printf_(2, 3);
/* Lets the lists of the record point at their items. */
void oops_settle(struct oops *oops);
