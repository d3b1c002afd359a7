/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * How steps are put together, the same in the kernel and in the program: of a socket in which more waits than the
 * kernel keeps, the program finishes the journeys.
 */
#pragma once

#include "event/path/path.h"

/*
 * Of a place for a journey. One that waits in a socket is taken out by whoever reads; until that is done nobody else
 * may use its place.
 */
enum path_state {
	PATH_WAY_NONE,
	PATH_WAY_TAKEN, /* somebody has the place, but nothing is in it yet */
	PATH_WAY_OPEN,
	PATH_WAY_SENDING,
	PATH_WAY_SENT,
	PATH_WAY_WAITING,
	PATH_WAY_READING
};

struct path_way {
	__u64 skb;
	__u64 number;   /* in the pool; no other has it */
	__u64 last_ns;  /* up to when the steps reach */
	__u64 ready_ns; /* when the reader was told; 0: not yet */
	__u32 state;    /* enum path_state */
	__u8 tunnel;    /* there is another packet in it */
	__u8 tentative; /* the filter is asked again when that comes out */
	__u8 passed_on; /* of one that leaves: its receiver is on this host and has it */
	__u8 decided;   /* the filter need not be asked again */
	__u32 ack;      /* of TCP, as it stood in the header */
	__u32 hash;     /* of the flow */
	__u32 ifindex;  /* where it arrived */
	__u8 few;       /* of a run with few hooks: what its reader did is reckoned, not seen */
	__u8 asleep;    /* and slept when the data came */
	__u16 unused;
	__u64 delay_ns; /* and had waited so long for processors by then, all in all; 0: unknown */
	__u64 next;     /* number of the next of its flow that was put aside; 0: none yet */
	__u64 address;  /* of the packet, for those who must look whether it is still there */
	struct path_event event;
};

struct path_mark {
	__u64 ns;
	__u32 note;
	__u16 cpu;
	__u8 context;
};

enum rx_task_state { RX_TASK_NONE, RX_TASK_WAKING, RX_TASK_WOKEN, RX_TASK_RUNS };

/* A wait for a processor. */
struct rx_wait {
	__u64 waking_ns; /* 0: there was none */
	__u64 switch_ns;
	__u32 ahead;
	__u16 cpu;
	__u16 unused;
};

/* A thread that reads: when it was woken, when it came to run, when it began to copy. */
struct rx_task {
	__u32 tid;
	__u8 state;
	__u8 reader;   /* has read from a socket that is followed */
	__u8 stashed;  /* journeys that wait for the end of its system call */
	__u8 returned; /* a system call has ended since it came to run */
	__u64 cause;   /* socket whose data woke it */
	__u64 waking_ns;
	__u64 wakeup_ns; /* when it was in a run queue; 0: unknown */
	__u64 switch_ns;
	__u64 copy_ns;
	__u64 delay_ns; /* how long it had waited for processors when it was woken, all in all */
	__u32 ahead;
	__u32 waits_in; /* system call in which it was woken last, and one; 0: unknown */
	__u16 wakeup_cpu;
	__u16 switch_cpu;
	__u32 ahead_cpu; /* whose tasks are counted there */
	__u32 unused;
	struct rx_wait before[2]; /* of the waits before that one the longest, in no order */
};

/* Data was read: what is known about it. */
struct path_read {
	struct path_mark now; /* the end of copying */
	struct rx_task task;  /* the reader */
	__u32 copied;         /* of TCP: everything before this number has been read */
	__u8 is_tcp;
	__u8 for_sock;   /* the socket's own data woke the reader */
	__u8 sees_calls; /* it is known whether a system call has ended meanwhile */
	__u8 unused;
	__u32 reason; /* of a socket that ends: enum skb_drop_reason for what nobody has read */
	__u32 unused_too;
};

/* Ends that are none, for the program alone. */
enum path_message {
	PATH_SPILLED = 16, /* a journey that waits in a socket; the program keeps it */
	PATH_READ,         /* struct path_read_event: data of a socket was read */
	PATH_CLOSED,       /* the same: its socket has ended */
};

struct path_read_event {
	struct event_head head;
	union {
		struct path_journey as_journey; /* the same size and place of the end */
		struct {
			__u8 before_end[__builtin_offsetof(struct path_journey, end)];
			__u8 end;
			__u8 after_end[7];
			struct path_read info;
		};
	};
};

/* Where ends of system calls are not seen: who copies this soon after it was woken had waited for the data itself. */
#define PATH_AT_ONCE_NS 50000

static __always_inline void path_wait(struct path_journey *journey, __u8 stage, __u64 ns)
{
	switch (stage) {
	case PATH_SNDBUF:
		journey->sndbuf_ns += ns;
		break;
	case PATH_TCP:
		journey->tcp_ns += ns;
		break;
	case PATH_QDISC:
		journey->qdisc_ns += ns;
		break;
	case PATH_DRIVER:
		journey->driver_ns += ns;
		break;
	case PATH_ACK:
		journey->ack_ns += ns;
		break;
	case PATH_BACKLOG:
		journey->backlog_ns += ns;
		break;
	case PATH_SOCKET:
		journey->socket_ns += ns;
		break;
	case PATH_WAKEUP:
		journey->wakeup_ns += ns;
		break;
	case PATH_SCHED:
		journey->sched_ns += ns;
		break;
	default:
		break;
	}
}

/* Once all steps are there: journeys that nobody asks for waits go without. */
static __always_inline void path_add_waits(struct path_journey *journey)
{
	for (__u32 i = 0; i < PATH_STEPS_MAX && i < journey->step_count; i++)
		path_wait(journey, journey->steps[i].stage, journey->steps[i].ns);
}

/* A stage ended at this mark. */
static __always_inline void path_step(struct path_way *way, __u8 stage, const struct path_mark *mark,
				      struct path_counts *counts)
{
	struct path_journey *journey = &way->event.data;
	__u32 n = journey->step_count & (PATH_STEPS_MAX - 1);
	struct path_step *step = &journey->steps[n];
	__s64 ns = (__s64)(mark->ns - way->last_ns);

	/* Clocks of two processors may differ by a little. */
	if (ns < 0) {
		__sync_fetch_and_add(&counts->clamped, 1);
		ns = 0;
	} else {
		way->last_ns = mark->ns;
	}
	step->ns = (__u64)ns;
	step->note = mark->note;
	step->cpu = mark->cpu;
	step->stage = stage;
	step->context = mark->context;
	/* The last place is used over and over; no way that is known is that long. */
	if (n < PATH_STEPS_MAX - 1)
		journey->step_count = (__u8)(n + 1);
}

/* Once there are so many steps, waits before the last one are left out: those that come after must have room. */
#define PATH_STEPS_BEFORE 7

static __always_inline void path_way_finish(struct path_way *way, __u8 end, struct path_counts *counts)
{
	way->event.data.end = end;
	way->event.data.total_ns = way->last_ns - way->event.head.time_ns;
	__sync_fetch_and_add(&counts->ended[end], 1);
}

/* Of TCP, what lies before the reader; of datagrams, the next one. */
static __always_inline bool path_was_read(const struct path_way *way, const struct path_read *read)
{
	return !read->is_tcp || (__s32)(read->copied - way->event.data.end_seq) >= 0;
}

/* A stage up to a mark of the reader's, if it is later than what is known already. */
static __always_inline void path_step_up_to(struct path_way *way, __u8 stage, const struct path_mark *mark,
					    struct path_counts *counts)
{
	if (mark->ns > way->last_ns)
		path_step(way, stage, mark, counts);
}

/* The reader ran and had to wait again before it read; true when that was after the data came. */
static __always_inline bool path_step_wait(struct path_way *way, const struct rx_wait *wait, struct path_counts *counts)
{
	struct path_mark mark = {
		.ns = wait->waking_ns, .note = PATH_NO_NOTE, .cpu = wait->cpu, .context = PATH_PROCESS};

	if (wait->switch_ns <= way->last_ns || way->event.data.step_count > PATH_STEPS_BEFORE)
		return false;
	path_step_up_to(way, PATH_SOCKET, &mark, counts);
	mark.ns = wait->switch_ns;
	mark.note = wait->ahead;
	path_step(way, PATH_SCHED, &mark, counts);
	return true;
}

/* Waits of the reader before its last one; true when there were any since the data came. */
static __always_inline bool path_step_before(struct path_way *way, const struct rx_task *task,
					     struct path_counts *counts)
{
	bool swapped = task->before[0].switch_ns > task->before[1].switch_ns, waited;

	if (task->before[!swapped].switch_ns <= way->last_ns)
		return false;
	waited = path_step_wait(way, &task->before[swapped], counts);
	return path_step_wait(way, &task->before[!swapped], counts) || waited;
}

/* From the data's arrival in the socket to the moment in which its reader ran; true when it had to be woken for it. */
static __always_inline bool path_step_wake(struct path_way *way, const struct path_read *read, bool before,
					   struct path_counts *counts)
{
	const struct rx_task *task = &read->task;
	struct path_mark mark = {
		.ns = task->waking_ns, .note = PATH_NO_NOTE, .cpu = task->wakeup_cpu, .context = PATH_SOFT};

	if (task->state != RX_TASK_RUNS || task->switch_ns <= way->last_ns)
		return before;
	if (!read->for_sock || before)
		path_step_up_to(way, PATH_SOCKET, &mark, counts);
	mark.ns = task->wakeup_ns;
	if (mark.ns)
		path_step_up_to(way, PATH_WAKEUP, &mark, counts);
	else
		way->event.data.hidden |= 1u << PATH_WAKEUP;
	mark.ns = task->switch_ns;
	mark.cpu = task->switch_cpu;
	mark.context = PATH_PROCESS;
	mark.note = task->ahead;
	path_step_up_to(way, PATH_SCHED, &mark, counts);
	return true;
}

/* The reader waited in the very call that reads, rather than elsewhere. */
static __always_inline bool path_had_waited(const struct path_read *read, __u64 copy_ns)
{
	if (read->sees_calls)
		return !read->task.returned;
	return copy_ns - read->task.switch_ns < PATH_AT_ONCE_NS;
}

/* Steps of the reader, up to the end of copying, after those of path_step_before. */
static __always_inline void path_step_read(struct path_way *way, const struct path_read *read, bool before,
					   struct path_counts *counts)
{
	struct path_mark mark = read->now;
	__u64 copy_ns = read->task.copy_ns;
	bool woken = path_step_wake(way, read, before, counts);

	mark.ns = copy_ns ? copy_ns : read->now.ns;
	if (!woken || !path_had_waited(read, mark.ns)) {
		/* It had other things to do, in another call or outside. */
		if (!copy_ns)
			way->event.data.hidden |= 1u << PATH_COPY;
		path_step_up_to(way, PATH_SOCKET, &mark, counts);
	}
	if (copy_ns || woken)
		path_step_up_to(way, PATH_COPY, &read->now, counts);
}

/* The socket of what waits has ended. Of TCP it is known what was read by somebody whom nobody saw. */
static __always_inline __u8 path_step_close(struct path_way *way, const struct path_read *read,
					    struct path_counts *counts)
{
	if (read->is_tcp && path_was_read(way, read)) {
		way->event.data.hidden |=
			1u << PATH_SOCKET | 1u << PATH_WAKEUP | 1u << PATH_SCHED | 1u << PATH_COPY | 1u << PATH_RETURN;
		return PATH_DELIVERED;
	}
	path_step_up_to(way, PATH_SOCKET, &read->now, counts);
	way->event.data.reason = read->reason;
	return PATH_DROPPED;
}
