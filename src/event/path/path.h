/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * path.rx and path.tx: the path of one packet through this host. The kernel assembles the journey and reports it once,
 * at its end: each step is a stage with its duration, in order of time, so the steps sum up to the total.
 */
#pragma once

#include "event/core/head.h"

/* In usual path order. */
enum path_stage {
	PATH_IRQ = 1,
	PATH_SOFTIRQ,
	PATH_GRO,
	PATH_BACKLOG,
	PATH_FILTER, /* both directions */
	PATH_IP,
	PATH_TRANSPORT,
	PATH_SOCKET,
	PATH_WAKEUP,
	PATH_SCHED,
	PATH_COPY,
	PATH_RETURN,
	PATH_SNDBUF,
	PATH_TCP,
	PATH_QDISC,
	PATH_DRIVER,
	PATH_COMPLETION,
	PATH_ACK,
	PATH_STAGES,
};

enum path_end {
	PATH_DELIVERED = 1,
	PATH_DROPPED,
	PATH_FORWARDED,
	PATH_UNFINISHED, /* the run ended first, or the packet was lost */
};

enum path_context { PATH_HARDIRQ = 1, PATH_SOFT, PATH_PROCESS };

/* A power of two: the verifier needs a mask. */
#define PATH_STEPS_MAX 16
/* path_step.note: unknown. */
#define PATH_NO_NOTE 0xffffffffu

struct path_step {
	__u64 ns;
	__u32 note; /* detail, meaning depends on the stage: src/path/journey/journey.c */
	__u16 cpu;  /* at the end of the stage */
	__u8 stage;
	__u8 context; /* enum path_context, at the end of the stage */
};

struct path_journey {
	__u64 total_ns;
	__u32 bytes; /* packet length at the interface, or data length on transmit */
	__u32 seq;   /* TCP sequence number of the first byte */
	__u32 end_seq;
	__u32 reason; /* enum skb_drop_reason */
	__u32 hidden; /* bits 1 << stage: passed, but not visible */
	__u32 reader; /* thread that read it */
	__u8 dir;     /* enum packet_dir */
	__u8 end;
	__u8 step_count;
	__u8 unused[5];
	char dev[16];
	struct path_step steps[PATH_STEPS_MAX];
	/* Sum of waiting steps by stage, for filters and figures (path_add_waits). 0: no wait. */
	__u64 sndbuf_ns;
	__u64 tcp_ns;
	__u64 qdisc_ns;
	__u64 driver_ns;
	__u64 ack_ns;
	__u64 backlog_ns;
	__u64 socket_ns;
	__u64 wakeup_ns;
	__u64 sched_ns;
};

struct path_event {
	struct event_head head; /* time_ns: start of the journey */
	struct path_journey data;
};

/* Packets by end, per CPU (and direction). */
struct path_counts {
	__u64 begun;
	__u64 ended[PATH_UNFINISHED + 1]; /* by enum path_end */
	__u64 merged;
	__u64 cut; /* extra segments of packets split on transmit */
	__u64 clamped;
};

#define PATH_CPUS_MAX 256
