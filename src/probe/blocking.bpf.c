// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds up the time that threads of chosen programs are blocked, by what they are blocked in. All is done when a thread
 * leaves the CPU: its blocked time since the last such switch is the time that passed, less its time on the CPU and on
 * the run queue, both of which the scheduler counts.
 */
#include "probe/blocking.bpf.h"
#include "kernel/registers.bpf.h"
#include "kernel/types.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define AF_INET              2
#define AF_INET6             10
#define IPPROTO_TCP          6
#define IPPROTO_UDP          17
#define TCP_ESTABLISHED      1
#define TCP_SYN_SENT         2
#define TASK_UNINTERRUPTIBLE 2
#define TASK_DEAD            0x80
#define POLLOUT              4
#define PORT_DNS             53

/* User space sets the sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct blocking_program);
} blocking_programs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct blocking_thread);
} blocking_threads SEC(".maps");

/* Sums of what threads were blocked in before. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct blocking_key);
	__type(value, struct blocking_sum);
} blocking_sums SEC(".maps");

/* By system call number. */
const volatile __u8 blocking_calls[BLOCKING_CALLS];
/* A bitmap of the ports that programs of this host listen on, kept up to date by user space. */
__u64 blocking_listening[1024];
struct blocking_skip blocking_skips[BLOCKING_SKIPS];
/* A bitmap of programs that poll, by the lower bits of their number: only these have questions. */
__u64 blocking_polling[64];
/* What did not fit. */
__u64 blocking_lost;

static __always_inline bool is_listening(__u16 port)
{
	return blocking_listening[(port >> 6) & 1023] >> (port & 63) & 1;
}

/* --- from a system call to its socket --- */

static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	/* Not task->files: for a pointer read from a trusted one the verifier searches all types, four times. */
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof(file), &files[fd]);
	return file;
}

/* A file whose private data points back to it is a socket's. */
static __always_inline struct sock *sock_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return socket && BPF_CORE_READ(socket, file) == file ? BPF_CORE_READ(socket, sk) : NULL;
}

/* Both ports of a connection in one word, of which this is the remote one. */
#define PORT_REMOTE 0xffff

static __always_inline __u32 ports_of(struct sock *sk)
{
	__u32 ports = 0;

	bpf_probe_read_kernel(&ports, sizeof(ports), &sk->__sk_common.skc_dport);
	return ports;
}

/* Whether data was received after the last was sent; in ticks, so what came in one tick counts as sent last. */
static __always_inline bool received_last(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u32 sent = BPF_CORE_READ(tp, lsndtime), received = BPF_CORE_READ(tp, inet_conn.icsk_ack.lrcvtime);

	return (__s32)(received - sent) > 0;
}

static __always_inline bool set_socket(struct blocking_key *key, struct sock *sk)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family), lport = BPF_CORE_READ(sk, __sk_common.skc_num);

	if (family != AF_INET && family != AF_INET6)
		return false;
	key->proto = (__u8)BPF_CORE_READ(sk, sk_protocol);
	if (is_listening(lport) && key->proto == IPPROTO_TCP)
		key->lport = lport;
	else
		key->rport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	if (key->lport && key->what != BLOCKING_SEND)
		return true;
	if (family == AF_INET6) {
		BPF_CORE_READ_INTO(&key->raddr, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr32);
	} else {
		key->raddr[2] = bpf_htonl(0xffff);
		key->raddr[3] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	}
	return true;
}

/* --- polls --- */

struct pollfd_user {
	__s32 fd;
	__u16 events, revents;
};

/* What waiting for a polled descriptor would be; of several descriptors the largest one wins. */
enum poll_rank { RANK_NONE, RANK_MORE, RANK_RECEIVE, RANK_SEND, RANK_DNS, RANK_CONNECT };
/* The lowest bits of a pointer to a socket are free for it. */
#define RANK_BITS 7

static __always_inline enum poll_rank rank_of(struct sock *sk, __u16 events, bool alone)
{
	__u16 proto = BPF_CORE_READ(sk, sk_protocol), lport = BPF_CORE_READ(sk, __sk_common.skc_num);
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	if (proto == IPPROTO_UDP) {
		__be16 rport = BPF_CORE_READ(sk, __sk_common.skc_dport);

		/* Connected, and nothing else is polled: an answer. */
		return rport == bpf_htons(PORT_DNS) ? RANK_DNS : alone && rport ? RANK_RECEIVE : RANK_NONE;
	}
	if (proto != IPPROTO_TCP)
		return RANK_NONE;
	if (state == TCP_SYN_SENT)
		return RANK_CONNECT;
	if (state != TCP_ESTABLISHED)
		return RANK_NONE;
	if (events & POLLOUT)
		return RANK_SEND;
	if (is_listening(lport))
		return RANK_NONE;
	return alone || !received_last(sk) ? RANK_RECEIVE : RANK_MORE;
}

static __always_inline __u8 what_of(enum poll_rank rank)
{
	switch (rank) {
	case RANK_CONNECT:
		return BLOCKING_CONNECT;
	case RANK_SEND:
		return BLOCKING_SEND;
	case RANK_MORE:
		return BLOCKING_MORE;
	case RANK_NONE:
		return BLOCKING_POLL;
	default:
		return BLOCKING_RECEIVE;
	}
}

static __always_inline struct sock *polled_sock(struct task_struct *task, const struct pollfd_user *polled)
{
	struct file *file = polled->fd < 0 ? NULL : file_of(task, polled->fd);
	struct sock *sk = file ? sock_of(file) : NULL;
	__u16 family = sk ? BPF_CORE_READ(sk, __sk_common.skc_family) : 0;

	return family == AF_INET || family == AF_INET6 ? sk : NULL;
}

/*
 * Of a descriptor that the current thread polls, the socket, and its rank in the lowest bits. A function with plain
 * numbers is verified once, not for every state of its caller: that would take 0.1 s.
 */
__noinline __u64 blocking_polled_one(__u64 at, __u32 count)
{
	struct pollfd_user polled = {};
	struct sock *sk;

	if (bpf_probe_read_user(&polled, sizeof(polled), (const void *)at) < 0)
		return 0;
	sk = polled_sock(bpf_get_current_task_btf(), &polled);
	return sk ? (__u64)sk | rank_of(sk, polled.events, count == 1) : 0;
}

/* Of all of them, the one that it waits for. */
__noinline __u64 blocking_polled(__u64 from, __u32 count)
{
	__u64 best = 0;

	for (__u32 i = 0; i < BLOCKING_FDS && i < count; i++) {
		__u64 polled = blocking_polled_one(from + i * sizeof(struct pollfd_user), count);

		if ((polled & RANK_BITS) > (best & RANK_BITS))
			best = polled;
	}
	return best;
}

static __always_inline struct sock *set_poll(struct blocking_key *key, __u64 from, __u32 count)
{
	__u64 best = blocking_polled(from, count);
	struct sock *sk = (struct sock *)(best & ~(__u64)RANK_BITS);

	key->what = what_of(best & RANK_BITS);
	if (sk)
		set_socket(key, sk);
	return sk;
}

/* --- questions of programs that poll --- */

enum open { OPEN_NOT, OPEN_ASKED, OPEN_CONNECTS };

/* Nothing was read since. A connection that is being made has no local port at first. Verified once. */
__noinline __u32 blocking_is_open(__u64 socket, __u32 asked_ports, __u32 copied_seq)
{
	struct tcp_sock *tp = (struct tcp_sock *)socket;
	__u32 ports = ports_of((struct sock *)tp) ^ asked_ports;
	__u8 state = BPF_CORE_READ(tp, inet_conn.icsk_inet.sk.__sk_common.skc_state);

	if (state == TCP_SYN_SENT)
		return ports & PORT_REMOTE ? OPEN_NOT : OPEN_CONNECTS;
	return state == TCP_ESTABLISHED && !ports && BPF_CORE_READ(tp, copied_seq) == copied_seq ? OPEN_ASKED
												 : OPEN_NOT;
}

/*
 * The socket of the last question that is still open, of a program that waits for any of its descriptors; the lowest
 * bit says that it connects.
 */
__noinline __u64 blocking_open_question(__u32 tgid)
{
	struct blocking_program *program = bpf_map_lookup_elem(&blocking_programs, &tgid);
	__u64 newest_ns = 0, found = 0;

	if (!program)
		return 0;
	blocking_polling[(tgid >> 6) & 63] |= 1ULL << (tgid & 63);
	for (int i = 0; i < BLOCKING_QUESTIONS; i++) {
		struct blocking_question *q = &program->questions[i];
		__u32 open;

		if (!q->asked_ns)
			continue;
		open = blocking_is_open(q->sk, q->ports, q->copied_seq);
		if (open == OPEN_NOT) {
			q->asked_ns = 0;
			continue;
		}
		q->polled = 1;
		if (q->pushes < BLOCKING_PUSHES && q->asked_ns > newest_ns) {
			newest_ns = q->asked_ns;
			found = q->sk | (open == OPEN_CONNECTS);
		}
	}
	return found;
}

static __always_inline struct sock *set_open_question(struct blocking_key *key, __u32 tgid)
{
	__u64 found = blocking_open_question(tgid);
	struct sock *sk = (struct sock *)(found & ~1ULL);

	if (!sk)
		return NULL;
	key->what = found & 1 ? BLOCKING_CONNECT : BLOCKING_RECEIVE;
	set_socket(key, sk);
	return sk;
}

/* --- threads --- */

static __always_inline __u32 call_of(const struct pt_regs___kernel *regs)
{
	return (__u32)regs->REGISTER_CALL;
}

/* The barrier keeps the compiler from comparing another copy than the one it indexes with. */
static __always_inline __u8 kind_of(__u64 call)
{
	barrier_var(call);
	return call < BLOCKING_CALLS ? blocking_calls[call] : BLOCKING_OTHER;
}

static __always_inline unsigned long first_argument(const struct pt_regs___kernel *regs)
{
	return regs->REGISTER_ARG0;
}

static __always_inline unsigned long second_argument(const struct pt_regs___kernel *regs)
{
	return regs->REGISTER_ARG1;
}

static __always_inline void keep_wait(struct blocking_sum *sum, __u32 wait)
{
	sum->recent[sum->kept++ & (BLOCKING_RECENT - 1)] = wait;
}

static __always_inline void add_up(struct blocking_sum *to, const struct blocking_sum *from)
{
	to->ns += from->ns;
	to->count += from->count;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (__u32 i = 0; i < BLOCKING_RECENT && i < from->kept; i++)
		keep_wait(to, from->recent[i]);
}

static __always_inline bool is_same(const struct blocking_key *a, const struct blocking_key *b)
{
	const __u32 *x = (const __u32 *)a, *y = (const __u32 *)b;
	__u32 differs = 0;

	for (unsigned i = 0; i < sizeof(*a) / sizeof(*x); i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

/* A wait has ended. Of several together, all but the longest are short (BLOCKING_OFTEN_NS). */
static __always_inline void end_wait(struct blocking_thread *thread, __u32 skipped)
{
	struct blocking_sum *sum = &thread->sum;
	__u64 waited_ns = thread->pending_ns;

	if (!waited_ns)
		return;
	sum->count += 1 + skipped;
	if (!thread->partial)
		keep_wait(sum, (__u32)(waited_ns / (1 + skipped) >> BLOCKING_RECENT_SHIFT));
	if (waited_ns > sum->max_ns && waited_ns > skipped * BLOCKING_OFTEN_NS)
		sum->max_ns = waited_ns;
	thread->pending_ns = 0;
	thread->partial = 0;
}

/* Puts the sum of what the thread was blocked in aside, and goes on with another. */
static __always_inline void change_key(struct blocking_thread *thread, const struct blocking_key *key)
{
	struct blocking_sum *sum;

	if (thread->sum.ns) {
		sum = bpf_map_lookup_elem(&blocking_sums, &thread->key);
		if (sum)
			add_up(sum, &thread->sum);
		else if (bpf_map_update_elem(&blocking_sums, &thread->key, &thread->sum, BPF_ANY) < 0)
			__sync_fetch_and_add(&blocking_lost, 1);
	}
	thread->key = *key;
	thread->sum.ns = thread->sum.count = thread->sum.max_ns = thread->sum.kept = 0;
}

/* Of a wait for an answer or a connection: as long as it is the same, the wait goes on. */
static __always_inline __u32 mark_of(struct sock *sk, const struct blocking_key *key)
{
	if (!sk || key->proto != IPPROTO_TCP)
		return 0;
	if (key->what == BLOCKING_CONNECT)
		return ports_of(sk) | 1;
	return key->what == BLOCKING_RECEIVE ? BPF_CORE_READ((struct tcp_sock *)sk, rcv_nxt) | 1 : 0;
}

/* The connection of the last time: nothing to find out. */
static __always_inline bool is_as_before(const struct blocking_thread *thread, struct file *file, __u32 call)
{
	return thread->call == call && file && thread->file == (__u64)file &&
	       ports_of((struct sock *)thread->sk) == thread->ports;
}

/* Ends the last wait, unless this one continues it. */
static __always_inline void begin_wait(struct blocking_thread *thread, const struct blocking_key *key, struct sock *sk,
				       __u32 skipped)
{
	__u32 mark = mark_of(sk, key);
	bool same = is_same(&thread->key, key);

	if (!same || !mark || mark != thread->mark || skipped)
		end_wait(thread, skipped);
	thread->mark = mark;
	if (!same)
		change_key(thread, key);
}

/* A call with a descriptor: of a socket, or of something else. */
static __always_inline struct sock *set_descriptor(struct blocking_thread *thread, struct task_struct *task,
						   struct blocking_key *key, __u8 what, __u32 fd, __u32 call)
{
	struct file *file = file_of(task, fd);
	struct sock *sk;

	if (is_as_before(thread, file, call)) {
		*key = thread->key;
		return (struct sock *)thread->sk;
	}
	sk = file ? sock_of(file) : NULL;
	key->what = what;
	if (!sk || !set_socket(key, sk)) {
		key->what = BLOCKING_OTHER;
		thread->file = 0;
		return NULL;
	}
	thread->file = (__u64)file;
	thread->sk = (__u64)sk;
	thread->ports = ports_of(sk);
	return sk;
}

/* Returns whether the same call on the same descriptor would mean the same again. */
static __always_inline bool set_what(struct blocking_thread *thread, struct task_struct *task, __u32 state,
				     const struct pt_regs___kernel *regs, __u32 skipped)
{
	__u32 call = call_of(regs);
	__u8 what = state & TASK_UNINTERRUPTIBLE ? BLOCKING_OTHER : kind_of(call);
	struct blocking_key key = {.what = BLOCKING_OTHER};
	bool by_descriptor = what == BLOCKING_RECEIVE || what == BLOCKING_SEND || what == BLOCKING_CONNECT;
	struct sock *sk = NULL;

	key.tid = task->pid;
	if (by_descriptor) {
		sk = set_descriptor(thread, task, &key, what, (__u32)first_argument(regs), call);
	} else if (what == BLOCKING_LIST) {
		/* Without descriptors it is a sleep. */
		__u32 count = (__u32)second_argument(regs);

		if (count)
			sk = set_poll(&key, first_argument(regs), count);
		if (count && key.what == BLOCKING_POLL)
			sk = set_open_question(&key, task->tgid);
	} else if (what == BLOCKING_POLL) {
		key.what = BLOCKING_POLL;
		sk = set_open_question(&key, task->tgid);
	} else if (what) {
		key.what = what;
	}
	if (!by_descriptor)
		thread->file = 0;
	thread->call = (__u16)call;
	begin_wait(thread, &key, sk, skipped);
	return what != BLOCKING_LIST && what != BLOCKING_POLL;
}

static __always_inline struct blocking_thread *new_thread(struct task_struct *task)
{
	__u32 tgid = task->tgid, tid = task->pid;
	struct blocking_thread fresh = {.key.tid = tid, .sum.tgid = tgid};

	if (!bpf_map_lookup_elem(&blocking_programs, &tgid))
		return NULL;
	if (bpf_map_update_elem(&blocking_threads, &tid, &fresh, BPF_NOEXIST) < 0)
		__sync_fetch_and_add(&blocking_lost, 1);
	return bpf_map_lookup_elem(&blocking_threads, &tid);
}

/*
 * Brings the thread up to this switch. It may have run more often than was seen, while the program was not attached:
 * then nobody knows what it was blocked in. Returns the time since the switch before.
 */
static __always_inline __u64 move_on(struct blocking_thread *thread, struct task_struct *task, __u32 skipped)
{
	struct task_struct___delay *delayed = (void *)task;
	__u64 now_ns = bpf_ktime_get_ns(), run_ns = task->se.sum_exec_runtime, delay_ns = delayed->sched_info.run_delay,
	      runs = delayed->sched_info.pcount, busy_ns = (run_ns - thread->run_ns) + (delay_ns - thread->delay_ns),
	      off_ns = now_ns - thread->out_ns;

	if (thread->blocked && runs - thread->runs == 1 + skipped && off_ns > busy_ns) {
		thread->sum.ns += off_ns - busy_ns;
		thread->pending_ns += off_ns - busy_ns;
	}
	thread->out_ns = now_ns;
	thread->run_ns = run_ns;
	thread->delay_ns = delay_ns;
	thread->runs = runs;
	return off_ns;
}

static __always_inline bool may_skip(struct blocking_skip *skip, __u32 tid, const struct pt_regs___kernel *regs)
{
	if (skip->tid != tid || !skip->left)
		return false;
	if (!skip->all && (skip->call != (__u16)call_of(regs) || skip->argument != first_argument(regs)))
		return false;
	skip->left--;
	return true;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(blocking_switch, bool preempt, struct task_struct *prev)
{
	__u32 tid = prev->pid, state = preempt ? 0 : ((struct task_struct___state *)prev)->__state, skipped = 0;
	struct blocking_skip *skip = &blocking_skips[tid & (BLOCKING_SKIPS - 1)];
	const struct pt_regs___kernel *regs;
	struct blocking_thread *thread;
	__u64 since_ns;

	if (tid == 0)
		return 0;
	regs = (const struct pt_regs___kernel *)bpf_task_pt_regs(prev);
	if (may_skip(skip, tid, regs))
		return 0;
	thread = bpf_map_lookup_elem(&blocking_threads, &tid);
	if (!thread)
		thread = new_thread(prev);
	if (!thread) {
		*skip = (struct blocking_skip){.tid = tid, .left = 255, .all = 1};
		return 0;
	}
	if (skip->tid == tid)
		skipped = thread->skipped - skip->left;
	since_ns = move_on(thread, prev, skipped);
	thread->blocked = state != 0 && !(state & TASK_DEAD);
	thread->skipped = 0;
	if (thread->blocked && set_what(thread, prev, state, regs, skipped) &&
	    since_ns < BLOCKING_OFTEN_NS * (1 + skipped))
		thread->skipped = BLOCKING_SKIP_MAX;
	*skip = (struct blocking_skip){
		.argument = first_argument(regs), .tid = tid, .call = (__u16)call_of(regs), .left = thread->skipped};
	return 0;
}

/* --- questions --- */

/* The place of the question on this socket, or of a new one. Verified once. */
__noinline __u32 blocking_place(__u32 tgid, __u64 sk)
{
	struct blocking_program *program = bpf_map_lookup_elem(&blocking_programs, &tgid);
	__u32 place = BLOCKING_QUESTIONS;

	if (!program)
		return 0;
	for (__u32 i = 0; i < BLOCKING_QUESTIONS; i++)
		if (program->questions[i].sk == sk)
			place = i;
	return place < BLOCKING_QUESTIONS ? place : program->next++;
}

/* The first argument of the program is the socket. */
static __always_inline void ask(const void *ctx, bool connects)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct blocking_program *program;
	struct blocking_question *q;
	struct tcp_sock *tp;
	struct sock *sk;

	if (!(blocking_polling[(tgid >> 6) & 63] >> (tgid & 63) & 1))
		return;
	program = bpf_map_lookup_elem(&blocking_programs, &tgid);
	if (!program)
		return;
	/* A plain number, which blocking_place takes. */
	bpf_probe_read_kernel(&sk, sizeof(sk), ctx);
	tp = (struct tcp_sock *)sk;
	q = &program->questions[blocking_place(tgid, (__u64)sk) % BLOCKING_QUESTIONS];
	if (q->sk != (__u64)sk || q->ports != ports_of(sk) || BPF_CORE_READ(tp, bytes_received))
		q->pushes = 0;
	else if (q->polled)
		q->pushes++;
	q->polled = 0;
	q->sk = (__u64)sk;
	q->ports = ports_of(sk);
	q->copied_seq = connects ? 0 : BPF_CORE_READ(tp, copied_seq);
	q->asked_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(blocking_send, struct sock *sk, int length)
{
	if (length > 0 && sk->sk_protocol == IPPROTO_TCP && !is_listening(sk->__sk_common.skc_num))
		ask(ctx, false);
	return 0;
}

/* Before Linux 6.3. What sendfile sends is not seen. */
SEC("fexit/tcp_sendmsg")
int BPF_PROG(blocking_sendmsg, struct sock *sk, struct msghdr *message, __u64 size, int length)
{
	if (length > 0 && !is_listening(sk->__sk_common.skc_num))
		ask(ctx, false);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(blocking_state, const struct sock *sk, int oldstate, int newstate)
{
	if (newstate == TCP_SYN_SENT && sk->sk_protocol == IPPROTO_TCP)
		ask(ctx, true);
	return 0;
}
