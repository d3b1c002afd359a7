/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reader side of path.rx: when the reading thread was woken, scheduled, copied, and returned from its system call. For
 * threads that have read before, every wait on a run queue is recorded, whatever woke them.
 */
#pragma once

#include <asm/unistd.h>

#include "event/path/path_rx.bpf.h"
#include "kernel/registers.bpf.h"

#define MSG_PEEK     2
#define MSG_DONTWAIT 0x40
#define PF_KTHREAD   0x00200000
#define PF_IO_WORKER 0x00000010

/* Other runnable tasks on the CPU of this one, which may itself be counted. */
static __always_inline __u32 tasks_beside(struct task_struct *task, bool is_counted)
{
	const struct task_struct___group *group = (const void *)task;
	__u32 running;

	if (!bpf_core_field_exists(group->se.cfs_rq))
		return PATH_NO_NOTE;
	running = group->se.cfs_rq->rq->nr_running;
	return running && is_counted ? running - 1 : running;
}

static __always_inline __u32 cpu_of(struct task_struct *task)
{
	const struct task_struct___group *group = (const void *)task;

	return bpf_core_field_exists(group->se.cfs_rq) ? (__u32)group->se.cfs_rq->rq->cpu : 0;
}

/* Total run queue delay of a thread up to its last schedule-in; 0: unknown. */
static __always_inline __u64 delay_of(const struct task_struct *task)
{
	const struct task_struct___delay *delay = (const void *)task;

	return bpf_core_field_exists(delay->sched_info) ? BPF_CORE_READ(delay, sched_info.run_delay) : 0;
}

/* The same for a task passed to a hook (BTF pointer). */
static __always_inline __u64 delay_of_traced(const struct task_struct *task)
{
	const struct task_struct___delay *delay = (const void *)task;

	return bpf_core_field_exists(delay->sched_info) ? delay->sched_info.run_delay : 0;
}

static __always_inline struct rx_task *task_claim(__u32 tid)
{
	struct rx_task *task = rx_task_at(tid);

	if (task && task->tid != tid) {
		__builtin_memset(task, 0, sizeof(*task));
		task->tid = tid;
	}
	return task;
}

/* The system call a task is in, plus 1; 0: unknown. */
static __always_inline __u32 syscall_of(struct task_struct *task)
{
	struct pt_regs___kernel *regs = (struct pt_regs___kernel *)bpf_task_pt_regs(task);

	return (__u32)regs->REGISTER_CALL + 1;
}

/* Shorter waits get no step of their own. */
#define RX_WAIT_MIN_NS 20000
/* Older waits are replaced, however long. */
#define RX_WAIT_OLD_NS 1000000000ull

static __always_inline __u64 wait_length(const struct rx_wait *wait, __u64 now)
{
	return now - wait->switch_ns > RX_WAIT_OLD_NS ? 0 : wait->switch_ns - wait->waking_ns;
}

/* A task that ran waits again: earlier data may still be unread. */
static __always_inline void keep_wait(struct rx_task *task)
{
	__u64 waited = task->switch_ns - task->waking_ns, first, second;
	struct rx_wait *wait;

	if (task->state != RX_TASK_RUNS || waited < RX_WAIT_MIN_NS || task->switch_ns <= task->waking_ns)
		return;
	first = wait_length(&task->before[0], task->switch_ns);
	second = wait_length(&task->before[1], task->switch_ns);
	wait = first < second ? &task->before[0] : &task->before[1];
	if (waited < first && waited < second)
		return;
	wait->waking_ns = task->waking_ns;
	wait->switch_ns = task->switch_ns;
	wait->ahead = task->ahead;
	wait->cpu = task->switch_cpu;
}

static __always_inline bool is_queued(const struct task_struct *task)
{
	const struct task_struct___queued *number = (const void *)task;
	const struct task_struct___queued_byte *byte = (const void *)task;

	return bpf_core_field_size(byte->on_rq) == sizeof(byte->on_rq) ? byte->on_rq : number->on_rq;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(path_rx_waking, struct task_struct *woken)
{
	struct rx_cpu *cpu = rx_this_cpu();
	__u32 tid = (__u32)woken->pid;
	struct rx_task *task;
	__u64 cause;

	if (!cpu)
		return 0;
	cause = cpu->wake_sk;
	task = rx_task_at(tid);
	if (!task || (!cause && (task->tid != tid || !task->reader)))
		return 0;
	/* Woken again: it ran in between, traced or not. */
	task = task_claim(tid);
	if (!task)
		return 0;
	keep_wait(task);
	task->cause = cause;
	task->waking_ns = cause ? cpu->wake_ns : rx_nothing_waits() ? 0 : path_clock();
	task->waits_in = syscall_of(woken);
	task->wakeup_cpu = (__u16)bpf_get_smp_processor_id();
	task->delay_ns = delay_of_traced(woken);
	/* On the CPU where it ran last, which may still count it while it sleeps. */
	task->ahead = tasks_beside(woken, is_queued(woken));
	task->ahead_cpu = cpu_of(woken);
	task->state = RX_TASK_WAKING;
	return 0;
}

/*
 * When a task being scheduled in was queued; 0: unknown. The kernel records it in its own clock: the age of that mark,
 * plus the wait before a migration. A task that runs at once finds the clock unchanged.
 */
static __always_inline __u64 queued_since(const struct rx_task *task, struct task_struct *next, __u64 now)
{
	const struct task_struct___delay *delay = (const void *)next;
	const struct task_struct___group *group = (const void *)next;
	__u64 queued, waited;

	if (!bpf_core_field_exists(delay->sched_info) || !bpf_core_field_exists(group->se.cfs_rq))
		return 0;
	queued = delay->sched_info.last_queued;
	waited = delay->sched_info.run_delay - task->delay_ns + group->se.cfs_rq->rq->clock - queued;
	return queued && waited && waited < now - task->waking_ns ? now - waited : 0;
}

/* A system call that waits for one source and reads it. */
static __always_inline bool is_reading_call(__u32 call)
{
	switch (call) {
	case __NR_read + 1:
	case __NR_readv + 1:
	case __NR_recvfrom + 1:
	case __NR_recvmsg + 1:
	case __NR_recvmmsg + 1:
		return true;
	default:
		return false;
	}
}

/* A woken or preempted task runs. */
static __always_inline void comes_to_run(struct rx_task *task, struct task_struct *next, __u64 now)
{
	task->switch_ns = now;
	task->switch_cpu = (__u16)bpf_get_smp_processor_id();
	task->returned = 0;
	if (task->state == RX_TASK_WAKING) {
		task->wakeup_ns = queued_since(task, next, task->switch_ns);
		if (task->ahead_cpu != task->switch_cpu)
			task->ahead = tasks_beside(next, true);
		/* Woken by the awaited data: it copies now, no clock needed. */
		if (task->cause && is_reading_call(task->waits_in))
			task->copy_ns = now;
	}
	task->state = RX_TASK_RUNS;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(path_rx_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 out = (__u32)prev->pid, in = (__u32)next->pid;
	struct rx_task *task = rx_task_at(in);
	struct rx_cpu *cpu = rx_this_cpu();
	__u64 now = 0;

	/* Later wake-ups have another cause. */
	if (cpu && cpu->wake_sk)
		cpu->wake_sk = 0;
	if (task && task->tid == in && (task->state == RX_TASK_WAKING || task->state == RX_TASK_WOKEN)) {
		now = rx_nothing_waits() ? 0 : path_clock();
		comes_to_run(task, next, now);
	}
	task = rx_task_at(out);
	/* Preempted while runnable: it waits for a CPU again. */
	if (task && task->tid == out && task->reader && ((struct task_struct___state *)prev)->__state == 0) {
		keep_wait(task);
		task->waking_ns = task->wakeup_ns = now ?: path_clock();
		task->wakeup_cpu = (__u16)bpf_get_smp_processor_id();
		task->cause = 0;
		task->ahead = tasks_beside(prev, true);
		task->state = RX_TASK_WOKEN;
	}
	return 0;
}

SEC("tp_btf/skb_copy_datagram_iovec")
int BPF_PROG(path_rx_copy)
{
	__u32 tid = (__u32)bpf_get_current_task_btf()->pid;
	struct rx_task *task = rx_task_at(tid);

	if (task && task->tid == tid && !task->copy_ns && !rx_nothing_waits())
		task->copy_ns = path_clock();
	return 0;
}

/* --- the data is read --------------------------------------------------------------------------------------------- */

struct rx_read {
	void *ctx;
	struct rx_queue *queue;
	struct task_struct *current;
	struct rx_task *task;
	struct path_read info;
	struct path_who who;
	__u32 at;
	__u8 done;    /* datagrams: one per call */
	__u8 waits;   /* data remains in the queue */
	__u8 at_once; /* the reader does not block in the reading call */
};

/* The journey continues to the return of the system call, if traced; true when stashed for that. */
static __always_inline bool keep_for_return(const struct rx_read *read, const struct path_way *way)
{
	struct rx_task *task = read->task;
	__u32 place = task->tid & ((1 << RX_STASH_BITS) - 1);
	struct rx_stash *stash;

	if (!*(volatile __u32 *)&path_rx_sees_calls || read->current->flags & (PF_KTHREAD | PF_IO_WORKER))
		return false;
	stash = bpf_map_lookup_elem(&path_rx_stash, &place);
	if (!stash)
		return false;
	if (!task->stashed) {
		if (stash->count)
			return false;
		stash->tid = task->tid;
	}
	if (stash->tid != task->tid || stash->count >= RX_STASH_MAX)
		return false;
	path_way_copy(&stash->ways[stash->count & (RX_STASH_MAX - 1)], way);
	/* A copy without a pool slot. */
	stash->ways[stash->count & (RX_STASH_MAX - 1)].number = 0;
	stash->count++;
	task->stashed = 1;
	return true;
}

/*
 * Wake-up and schedule-in were not traced. But the kernel sums up each thread's run queue delay, so its share of the
 * time since the data arrived is known; for the rest the reader was busy, or copied.
 */
static __always_inline void few_step_read(struct path_way *way, const struct path_read *info, __u64 delay_ns,
					  bool at_once)
{
	struct path_mark mark = info->now;
	__u64 all = mark.ns > way->last_ns ? mark.ns - way->last_ns : 0, waited = 0;
	bool waited_here;

	if (way->delay_ns && way->event.data.reader == info->task.tid)
		waited = delay_ns - way->delay_ns;
	else
		way->event.data.hidden |= 1u << PATH_SCHED;
	if (waited > all)
		waited = all;
	waited_here = way->asleep && !at_once && all - waited < PATH_AT_ONCE_NS;
	if (waited) {
		mark.ns = way->last_ns + waited;
		path_step(way, PATH_SCHED, &mark, rx_counts());
	}
	if (!waited_here)
		way->event.data.hidden |= 1u << PATH_COPY;
	path_step_up_to(way, waited_here ? PATH_COPY : PATH_SOCKET, &info->now, rx_counts());
}

/* Global, so that it is verified once: inlined into the loop it dominated the load time. */
__noinline int path_rx_step_read(struct path_way *way, struct path_read *info, __u64 delay_ns, bool at_once)
{
	if (!way || !info)
		return 0;
	if (way->few)
		few_step_read(way, info, delay_ns, at_once);
	else
		path_step_read(way, info, path_step_before(way, &info->task, rx_counts()), rx_counts());
	return 0;
}

static long read_one(__u32 index, struct rx_read *read)
{
	__u64 *slot = &read->queue->numbers[read->at++ & (RX_QUEUE_MAX - 1)], number = *slot;
	struct path_way *way = number ? rx_pool_find(number) : NULL;

	if (!way || way->state != PATH_WAY_WAITING) {
		/* Its slot was reused. */
		if (number)
			(void)__sync_val_compare_and_swap(slot, number, 0);
		return 0;
	}
	if (read->done || !path_was_read(way, &read->info)) {
		read->waits = 1;
		return 0;
	}
	if (__sync_val_compare_and_swap(slot, number, 0) != number)
		return 0;
	way->state = PATH_WAY_READING;
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, -1);
	read->done = !read->info.is_tcp;
	(void)path_rx_step_read(way, &read->info, way->few ? delay_of(read->current) : 0, read->at_once);
	path_set_current(&way->event.head, &read->who);
	way->event.head.cpu = read->info.now.cpu;
	way->event.data.reader = read->task->tid;
	if (!keep_for_return(read, way)) {
		way->event.data.hidden |= 1u << PATH_RETURN;
		rx_report(read->ctx, way, PATH_DELIVERED);
	} else {
		rx_give_back(way);
	}
	if (!read->waits)
		read->queue->head = read->at;
	return 0;
}

/* What was read, and by whom. */
static __always_inline void report_read(const struct rx_read *read, __u64 cookie)
{
	struct path_read_event *e = rx_message(PATH_READ, cookie);

	if (!e)
		return;
	path_set_current(&e->head, &read->who);
	rx_send(e, &read->info);
}

/* Datagrams gone from the socket besides the one just read, out of count that wait as far as known. */
static __always_inline __u32 missed_datagrams(struct sock *sk, __u32 count)
{
	__u32 left;

	if (count <= 1 || sk->sk_protocol != IPPROTO_UDP)
		return 0;
	left = sk->sk_receive_queue.qlen + BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen) + 1;
	return count > left ? count - left : 0;
}

static long give_up(__u32 index, struct rx_queue **queue)
{
	__u64 *slot = &(*queue)->numbers[(*queue)->head++ & (RX_QUEUE_MAX - 1)], number = *slot;
	struct path_way *way = number ? rx_pool_find(number) : NULL;

	if (way && way->state == PATH_WAY_WAITING && __sync_val_compare_and_swap(slot, number, 0) == number) {
		if (rx_is_sampled())
			__sync_fetch_and_add(&path_rx_waiting, -1);
		rx_give_back(way);
		__sync_fetch_and_add(&rx_counts()->ended[PATH_UNFINISHED], 1);
	}
	return 0;
}

/* After a missed hook, each datagram would otherwise end with the next one. */
static __always_inline void give_up_missed(struct rx_queue *queue, struct sock *sk)
{
	__u32 missed = queue->spilled ? 0 : missed_datagrams(sk, queue->tail - queue->head);

	if (missed)
		bpf_loop(missed < RX_QUEUE_MAX ? missed : RX_QUEUE_MAX, give_up, &queue, 0);
}

static __always_inline void read_all(struct rx_read *read, struct sock *sk)
{
	struct rx_queue *queue = read->queue;
	__u32 count = queue->tail - queue->head;

	read->info.now = path_now(PATH_PROCESS);
	read->info.task = *read->task;
	path_note_current(&path_rx_config, &read->who, read->current);
	read->info.for_sock = read->task->cause == (__u64)sk;
	read->info.sees_calls = *(volatile __u32 *)&path_rx_sees_calls;
	if (!read->info.sees_calls && read->task->waits_in) {
		/* Whether it blocked in this system call or another one. */
		read->info.sees_calls = 1;
		read->info.task.returned = read->task->waits_in != syscall_of(read->current);
	}
	if (count > RX_QUEUE_MAX)
		count = RX_QUEUE_MAX;
	read->at = queue->tail - count;
	if (count == 1)
		(void)read_one(0, read);
	else if (count)
		bpf_loop(count, read_one, read, 0);
	if (queue->spilled && !read->done) {
		report_read(read, bpf_get_socket_cookie(sk));
		if (!read->info.is_tcp)
			__sync_fetch_and_add(&queue->spilled, -1);
	}
}

/* Read before its socket's notification, or not followed. */
static __always_inline void note_early(struct rx_queue *queue)
{
	queue->early_ns = path_clock();
	__sync_fetch_and_add(&queue->early, 1);
}

static __always_inline int read_chosen(void *ctx, struct sock *sk, int result, int flags)
{
	struct rx_queue *queue;
	struct rx_read read = {.ctx = ctx};
	struct tcp_sock *tp;
	__u32 tid;

	read.current = bpf_get_current_task_btf();
	tid = (__u32)read.current->pid;
	queue = rx_queue_find(sk);
	if (!queue || queue->reader != tid)
		path_learn_owner(&path_rx_config, sk);
	/* A datagram can be read before its socket's notification, including the first. */
	if (!queue && !is_tcp(sk) && result >= 0)
		queue = rx_queue_make(sk);
	if (!queue)
		return 0;
	queue->reader = tid;
	queue->reader_at = (__u64)read.current;
	read.queue = queue;
	read.at_once = flags & MSG_DONTWAIT ? 1 : 0;
	read.task = task_claim(tid);
	if (!read.task)
		return 0;
	read.task->reader = 1;
	if (result < 0 || flags & MSG_PEEK)
		goto out;
	if (!is_tcp(sk) && queue->tail == queue->head && !queue->spilled && !rx_is_sampled())
		note_early(queue);
	if (queue->tail != queue->head || queue->spilled) {
		read.info.is_tcp = sk->sk_protocol == IPPROTO_TCP;
		if (read.info.is_tcp) {
			tp = tcp_of(sk);
			if (!tp)
				return 0;
			read.info.copied = tp->copied_seq;
			read_all(&read, sk);
			if (tp->copied_seq == tp->rcv_nxt)
				queue->spilled = 0;
		} else {
			give_up_missed(queue, sk);
			read_all(&read, sk);
			if (read.done && queue->early)
				__sync_fetch_and_add(&queue->early, -1);
		}
	}
out:
	read.task->copy_ns = 0;
	return 0;
}

/* With few flows this check comes first, before any initialisation. */
static __always_inline int was_read(void *ctx, struct sock *sk, int result, int flags)
{
	return path_is_sock_chosen(sk) || rx_is_marked(sk) ? read_chosen(ctx, sk, result, flags) : 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(path_rx_read, struct sock *sk, int result, int flags)
{
	return was_read(ctx, sk, result, flags);
}

/* Spliced data raises no read event, but TCP adjusts its buffer after any kind of read. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(path_rx_spliced, struct sock *sk)
{
	__u32 call = syscall_of(bpf_get_current_task_btf());

	return call == __NR_splice + 1 || call == __NR_sendfile + 1 ? was_read(ctx, sk, 0, 0) : 0;
}

/* Before Linux 6.3. */
SEC("fexit/inet_recvmsg")
int BPF_PROG(path_rx_read_inet, struct socket *socket, void *message, unsigned long size, int flags, int result)
{
	struct sock *sk = socket->sk;

	return sk ? was_read(ctx, sk, result, flags) : 0;
}

SEC("fexit/inet6_recvmsg")
int BPF_PROG(path_rx_read_inet6, struct socket *socket, void *message, unsigned long size, int flags, int result)
{
	struct sock *sk = socket->sk;

	return sk ? was_read(ctx, sk, result, flags) : 0;
}

/*
 * Where functions cannot be traced (arm64 before 6.4), for TCP: after each segment that was read. Datagrams are not
 * followed there (path_rx_receive).
 */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(path_rx_read_adjust, struct sock *sk)
{
	return was_read(ctx, sk, 0, 0);
}

/* Every system call of the host runs this: all but readers leave at once. */
SEC("tp_btf/sys_exit")
int BPF_PROG(path_rx_return)
{
	__u32 tid = (__u32)bpf_get_current_task_btf()->pid, place = tid & ((1 << RX_STASH_BITS) - 1);
	struct rx_task *task = rx_task_at(tid);
	struct path_mark now;
	struct rx_stash *stash;

	if (!path_rx_sees_calls)
		path_rx_sees_calls = 1;
	if (!task || task->tid != tid || !task->reader)
		return 0;
	task->returned = 1;
	if (!task->stashed)
		return 0;
	task->stashed = 0;
	stash = bpf_map_lookup_elem(&path_rx_stash, &place);
	if (!stash || stash->tid != tid)
		return 0;
	now = path_now(PATH_PROCESS);
	for (__u32 i = 0; i < RX_STASH_MAX; i++) {
		if (i >= stash->count)
			break;
		path_step(&stash->ways[i], PATH_RETURN, &now, rx_counts());
		rx_report(ctx, &stash->ways[i], PATH_DELIVERED);
	}
	stash->count = 0;
	return 0;
}
