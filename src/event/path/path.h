/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * path.rx and path.tx: one packet's way through this host. The kernel's side puts the journey together and tells it
 * once, when it is over: a step is a stage with the time that it took, in the order in which they happened, so the
 * times of the steps add up to the whole.
 */
#pragma once

#include "event/core/head.h"

/* In the order in which a packet usually meets them. */
enum path_stage {
	PATH_IRQ = 1,
	PATH_SOFTIRQ,
	PATH_GRO,
	PATH_BACKLOG,
	PATH_FILTER, /* of both directions */
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
	PATH_UNFINISHED, /* the run ended before the journey did, or the packet was lost sight of */
};

enum path_context { PATH_HARDIRQ = 1, PATH_SOFT, PATH_PROCESS };

/* A power of two: the verifier understands masks. */
#define PATH_STEPS_MAX 16
/* Of path_step.note: nothing is known. */
#define PATH_NO_NOTE 0xffffffffu

struct path_step {
	__u64 ns;
	__u32 note; /* a number whose meaning the stage says: see src/path/journey/journey.c */
	__u16 cpu;  /* where the stage ended */
	__u8 stage;
	__u8 context; /* enum path_context, at its end */
};

struct path_journey {
	__u64 total_ns;
	__u32 bytes; /* length of the packet at the interface, or of the data on its way out */
	__u32 seq;   /* first byte's number, TCP only */
	__u32 end_seq;
	__u32 reason; /* enum skb_drop_reason */
	__u32 hidden; /* bits 1 << stage: passed, but not seen apart */
	__u32 reader; /* thread that read it */
	__u8 dir;     /* enum packet_dir */
	__u8 end;
	__u8 step_count;
	__u8 unused[5];
	char dev[16];
	struct path_step steps[PATH_STEPS_MAX];
	/* Steps that wait, added up by stage, for filters and figures (path_add_waits). 0: it did not wait there. */
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
	struct event_head head; /* time_ns: when the journey began */
	struct path_journey data;
};

/* How many packets went where, one of these per processor (and direction). */
struct path_counts {
	__u64 begun;
	__u64 ended[PATH_UNFINISHED + 1]; /* by enum path_end */
	__u64 merged;
	__u64 cut; /* pieces of packets that were cut up, but for one of each */
	__u64 clamped;
};

#define PATH_CPUS_MAX 256
