/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Construction of steps, shared by kernel and user space: for sockets that hold more packets than the kernel tracks,
 * user space finishes the journeys.
 */
#pragma once

#include "event/path/path.h"

/*
 * State of a pool slot. A journey in a socket is taken by its reader; until that is done nobody else may reuse the
 * slot.
 */
enum path_state {
	PATH_WAY_NONE,
	PATH_WAY_TAKEN, /* claimed, still empty */
	PATH_WAY_OPEN,
	PATH_WAY_SENDING,
	PATH_WAY_SENT,
	PATH_WAY_WAITING,
	PATH_WAY_READING
};

struct path_way {
	__u64 skb;
	__u64 number;   /* unique within the pool */
	__u64 last_ns;  /* end of the last step */
	__u64 ready_ns; /* when the reader was notified; 0: not yet */
	__u32 state;    /* enum path_state */
	__u8 tunnel;    /* encapsulates another packet */
	__u8 tentative; /* evaluate the filter again after decapsulation */
	__u8 passed_on; /* transmit: the receiver is on this host and has it */
	__u8 decided;   /* the filter is decided */
	__u32 ack;      /* TCP ACK number from the header */
	__u32 hash;     /* of the flow */
	__u32 ifindex;  /* receiving interface */
	__u8 few;       /* run with few hooks: the reader's stages are computed, not traced */
	__u8 asleep;    /* the reader slept when the data arrived */
	__u16 unused;
	__u64 delay_ns; /* the reader's total run queue delay at that time; 0: unknown */
	__u64 next;     /* number of the next held packet of the flow; 0: none yet */
	__u64 address;  /* of the packet, to check that it still exists */
	struct path_event event;
};

struct path_mark {
	__u64 ns;
	__u32 note;
	__u16 cpu;
	__u8 context;
};

enum rx_task_state { RX_TASK_NONE, RX_TASK_WAKING, RX_TASK_WOKEN, RX_TASK_RUNS };

/* One wait on a run queue. */
struct rx_wait {
	__u64 waking_ns; /* 0: none */
	__u64 switch_ns;
	__u32 ahead;
	__u16 cpu;
	__u16 unused;
};

/* A reading thread: when it was woken, ran, and started to copy. */
struct rx_task {
	__u32 tid;
	__u8 state;
	__u8 reader;   /* has read from a followed socket */
	__u8 stashed;  /* journeys waiting for the return of its system call */
	__u8 returned; /* a system call has returned since it was scheduled */
	__u64 cause;   /* socket whose data woke it */
	__u64 waking_ns;
	__u64 wakeup_ns; /* when it was put on a run queue; 0: unknown */
	__u64 switch_ns;
	__u64 copy_ns;
	__u64 delay_ns; /* its total run queue delay when it was woken */
	__u32 ahead;
	__u32 waits_in; /* system call in which it was woken last, plus 1; 0: unknown */
	__u16 wakeup_cpu;
	__u16 switch_cpu;
	__u32 ahead_cpu; /* CPU of that count */
	__u32 unused;
	struct rx_wait before[2]; /* the longest of the earlier waits, unordered */
};

/* Facts about a read. */
struct path_read {
	struct path_mark now; /* end of the copy */
	struct rx_task task;  /* the reader */
	__u32 copied;         /* TCP: all bytes before this sequence number are read */
	__u8 is_tcp;
	__u8 for_sock;   /* woken by data of this socket */
	__u8 sees_calls; /* returns of system calls are traced */
	__u8 unused;
	__u32 reason; /* socket closed: enum skb_drop_reason of the unread data */
	__u32 unused_too;
};

/* Messages to user space in place of an end. */
enum path_message {
	PATH_SPILLED = 16, /* journey in a socket, user space keeps it */
	PATH_READ,         /* struct path_read_event: data was read */
	PATH_CLOSED,       /* the same: the socket was closed */
};

struct path_read_event {
	struct event_head head;
	union {
		struct path_journey as_journey; /* same size, and end at the same offset */
		struct {
			__u8 before_end[__builtin_offsetof(struct path_journey, end)];
			__u8 end;
			__u8 after_end[7];
			struct path_read info;
		};
	};
};

/* When system call returns are not traced: a copy this soon after a wake-up was waiting for the data itself. */
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

/* When all steps are known; skipped for journeys whose waits are not needed. */
static __always_inline void path_add_waits(struct path_journey *journey)
{
	for (__u32 i = 0; i < PATH_STEPS_MAX && i < journey->step_count; i++)
		path_wait(journey, journey->steps[i].stage, journey->steps[i].ns);
}

/* Ends a stage at this mark. */
static __always_inline void path_step(struct path_way *way, __u8 stage, const struct path_mark *mark,
				      struct path_counts *counts)
{
	struct path_journey *journey = &way->event.data;
	__u32 n = journey->step_count & (PATH_STEPS_MAX - 1);
	struct path_step *step = &journey->steps[n];
	__s64 ns = (__s64)(mark->ns - way->last_ns);

	/* Clocks of two CPUs may differ slightly. */
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
	/* The last slot is overwritten; no known path is that long. */
	if (n < PATH_STEPS_MAX - 1)
		journey->step_count = (__u8)(n + 1);
}

/* From this many steps on, waits before the last one are omitted to leave room for later steps. */
#define PATH_STEPS_BEFORE 7

static __always_inline void path_way_finish(struct path_way *way, __u8 end, struct path_counts *counts)
{
	way->event.data.end = end;
	way->event.data.total_ns = way->last_ns - way->event.head.time_ns;
	__sync_fetch_and_add(&counts->ended[end], 1);
}

/* TCP: the data is before the read position; datagrams: the next one. */
static __always_inline bool path_was_read(const struct path_way *way, const struct path_read *read)
{
	return !read->is_tcp || (__s32)(read->copied - way->event.data.end_seq) >= 0;
}

/* Ends a stage at a mark of the reader, if that is later than the last step. */
static __always_inline void path_step_up_to(struct path_way *way, __u8 stage, const struct path_mark *mark,
					    struct path_counts *counts)
{
	if (mark->ns > way->last_ns)
		path_step(way, stage, mark, counts);
}

/* The reader ran and had to wait again before it read; true if that was after the data arrived. */
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

/* Waits of the reader before its last one; true if there were any since the data arrived. */
static __always_inline bool path_step_before(struct path_way *way, const struct rx_task *task,
					     struct path_counts *counts)
{
	bool swapped = task->before[0].switch_ns > task->before[1].switch_ns, waited;

	if (task->before[!swapped].switch_ns <= way->last_ns)
		return false;
	waited = path_step_wait(way, &task->before[swapped], counts);
	return path_step_wait(way, &task->before[!swapped], counts) || waited;
}

/* From arrival in the socket until the reader runs; true if it had to be woken. */
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

/* The reader blocked in the reading system call itself. */
static __always_inline bool path_had_waited(const struct path_read *read, __u64 copy_ns)
{
	if (read->sees_calls)
		return !read->task.returned;
	return copy_ns - read->task.switch_ns < PATH_AT_ONCE_NS;
}

/* Steps of the reader up to the end of the copy, after those of path_step_before. */
static __always_inline void path_step_read(struct path_way *way, const struct path_read *read, bool before,
					   struct path_counts *counts)
{
	struct path_mark mark = read->now;
	__u64 copy_ns = read->task.copy_ns;
	bool woken = path_step_wake(way, read, before, counts);

	mark.ns = copy_ns ? copy_ns : read->now.ns;
	if (!woken || !path_had_waited(read, mark.ns)) {
		/* The reader was busy, in another system call or in user space. */
		if (!copy_ns)
			way->event.data.hidden |= 1u << PATH_COPY;
		path_step_up_to(way, PATH_SOCKET, &mark, counts);
	}
	if (copy_ns || woken)
		path_step_up_to(way, PATH_COPY, &read->now, counts);
}

/* The socket was closed. For TCP, copied_seq still shows what was read by an untraced read. */
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
