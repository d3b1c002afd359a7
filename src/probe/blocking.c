/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/blocking.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "kernel/object.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

static const struct enum_name what_items[] = {
	{BLOCKING_OTHER, "other", "disk, lock, timer, pipe, child: not the network"},
	{BLOCKING_RECEIVE, "receive", "reading from a socket"},
	{BLOCKING_MORE, "more", "polling a socket whose last data was received"},
	{BLOCKING_SEND, "send", "writing to a socket"},
	{BLOCKING_CONNECT, "connect", "connecting"},
	{BLOCKING_ACCEPT, "accept", "accepting a connection"},
	{BLOCKING_POLL, "poll", "polling, with no outstanding request known"},
};
static struct enum_names what_names = {.items = what_items, .count = ARRAY_SIZE(what_items)};

#define B struct blocking_record
static const struct field blocking_fields[] = {
	FIELD(B, pid, ID, "process", .zero_is_unknown = true),
	FIELD(B, tid, ID, "thread", .zero_is_unknown = true),
	FIELD(B, what, ENUM, "what it was blocked in", .names = &what_names),
	FIELD(B, proto, ENUM, "protocol", .names = &socket_proto_names, .zero_is_unknown = true),
	FIELD(B, lport, ID, "local port, of a server", .zero_is_unknown = true),
	FIELD(B, raddr, ADDR, "remote address"),
	FIELD(B, rport, ID, "remote port, of a service", .zero_is_unknown = true),
	FIELD(B, wait_ns, DURATION, "total time blocked", .drift = DRIFTS),
	FIELD(B, count, COUNT, "waits that ended"),
	FIELD(B, p50_ns, DURATION, "median of the last 16 waits"),
	FIELD(B, max_ns, DURATION, "longest wait", .drift = DRIFTS),
	FIELD(B, estimate, BOOL, "estimated from samples", .hidden = true),
};
#undef B
RECORD_TYPE(blocking_type, "blocking", struct blocking_record, blocking_fields,
	    "time that the threads of network programs were blocked");

/* By name: numbers differ between architectures. */
static const struct {
	const char *name;
	uint8_t what;
} calls[] = {
	{"read", BLOCKING_RECEIVE},      {"readv", BLOCKING_RECEIVE},       {"recvfrom", BLOCKING_RECEIVE},
	{"recvmsg", BLOCKING_RECEIVE},   {"recvmmsg", BLOCKING_RECEIVE},    {"splice", BLOCKING_RECEIVE},
	{"write", BLOCKING_SEND},        {"writev", BLOCKING_SEND},         {"sendto", BLOCKING_SEND},
	{"sendmsg", BLOCKING_SEND},      {"sendmmsg", BLOCKING_SEND},       {"sendfile", BLOCKING_SEND},
	{"connect", BLOCKING_CONNECT},   {"accept", BLOCKING_ACCEPT},       {"accept4", BLOCKING_ACCEPT},
	{"poll", BLOCKING_LIST},         {"ppoll", BLOCKING_LIST},          {"select", BLOCKING_POLL},
	{"pselect6", BLOCKING_POLL},     {"epoll_wait", BLOCKING_POLL},     {"epoll_pwait", BLOCKING_POLL},
	{"epoll_pwait2", BLOCKING_POLL}, {"io_uring_enter", BLOCKING_POLL},
};

#define THREADS_MIN 4096
#define THREADS_MAX 16384
#define SUMS_MAX    (2 * THREADS_MAX)
#define BATCH       1024
/*
 * Looking at a context switch costs up to 200 ns. Where there are more of them, the program is attached for a part of
 * the time, one or more intervals between samples, and what it sees then stands for the rest.
 */
#define SWITCHES_PER_SECOND 50000
/* A thread that is not listed in /proc, and has not run for this long, has ended. */
#define ENDED_NS NSEC_PER_SEC

struct entry {
	uint32_t tid;
	struct blocking_thread thread;
};

/* A thread as sampling saw it last: for estimates. */
struct sampled {
	uint64_t at_ns, run_ns, wait_ns;
	struct blocking_key key;
};

struct state {
	struct kernel_object *object;
	bool failed;
	struct why why; /* it failed */
	int programs_fd, threads_fd, sums_fd;
	uint64_t *listening, *lost;
	struct blocking_skip *skips;
	const char *send;               /* program that traces questions; NULL: none */
	bool asks;                      /* it is attached */
	struct bpf_link *link;          /* to context switches; NULL: not now */
	bool partly;                    /* not all the time */
	uint64_t switches, switches_ns; /* of the host, up to the sample before */
	double credit;                  /* context switches that may be looked at */
	bool silent;                    /* they cannot be */
	uint64_t lost_before;           /* reported already */
	uint64_t refused;               /* programs beyond the room for them */
	struct map programs;            /* pid -> uint8_t: is watched */
	struct map known;               /* tid -> uint8_t: was entered */
	struct map rows;    /* struct blocking_key -> struct blocking_sum, of this sample; of estimates of all */
	struct map sampled; /* tid -> struct sampled */
	struct map alive;   /* tid -> position in the table of threads, of this sample */
	struct map sockets; /* struct holder -> position in the table of sockets, of this sample */
	uint8_t kinds[BLOCKING_CALLS];
	uint32_t asker; /* process that asked for the samples */
};

struct holder {
	uint32_t pid, fd;
};

/* --- what /proc says a thread is blocked in --- */

static void load_kinds(struct state *state)
{
	uint64_t number;

	memset(state->kinds, BLOCKING_OTHER, sizeof(state->kinds));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (enum_value_find(&syscall_names, calls[i].name, &number) == 0 && number < BLOCKING_CALLS)
			state->kinds[number] = calls[i].what;
}

static bool is_listener(const struct socket_record *s)
{
	return s->proto == 6 && s->state == SOCKET_LISTEN;
}

static bool is_listening(const struct state *state, uint16_t port)
{
	return state->listening && state->listening[port / 64] >> (port % 64) & 1;
}

static void find_sockets(struct state *state, const struct snapshot *snapshot)
{
	const struct socket_record *sockets = snapshot_first(snapshot, &socket_type);
	struct map inodes = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 2000000);
	uint32_t *at;

	map_done(&state->sockets);
	state->sockets = MAP_INIT(sizeof(struct holder), sizeof(uint32_t), 2000000);
	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (s->inode && (at = map_put(&inodes, &s->inode, NULL)))
			*at = (uint32_t)(s - sockets);
	snapshot_each(snapshot, owner_type, const struct owner_record, o) {
		const uint32_t *socket = map_get(&inodes, &o->inode);
		struct holder holder = {o->pid, o->fd};

		if (socket && (at = map_put(&state->sockets, &holder, NULL)))
			*at = *socket;
	}
	map_done(&inodes);
}

static void set_socket(const struct state *state, const struct socket_record *s, struct blocking_key *key)
{
	key->proto = s->proto;
	if (s->proto == 6 && is_listening(state, s->lport))
		key->lport = s->lport;
	else
		key->rport = s->rport == UINT16_MAX ? 0 : s->rport;
	if (key->lport == 0 || key->what == BLOCKING_SEND)
		memcpy(key->raddr, s->raddr.bytes, sizeof(key->raddr));
}

/* A poll of one descriptor, which the thread has named: for data of a client's socket. */
static bool polls_for_data(const struct state *state, const struct socket_record *s)
{
	if (s->proto == 17)
		return s->rport != 0 && s->rport != UINT16_MAX;
	return s->proto == 6 && s->state == SOCKET_ESTABLISHED && s->sendq_bytes == 0 && !is_listening(state, s->lport);
}

static struct blocking_key key_of(const struct state *state, const struct snapshot *snapshot,
				  const struct thread_record *t)
{
	const struct socket_record *sockets = snapshot_first(snapshot, &socket_type);
	struct holder holder = {t->pid, t->syscall_fd};
	const uint32_t *socket = map_get(&state->sockets, &holder);
	struct blocking_key key;

	memset(&key, 0, sizeof(key));
	key.tid = t->tid;
	key.what = t->syscall < BLOCKING_CALLS && t->thread_state == 'S' ? state->kinds[t->syscall] : BLOCKING_OTHER;
	if (key.what == BLOCKING_LIST)
		key.what = socket && polls_for_data(state, &sockets[*socket]) ? BLOCKING_RECEIVE : BLOCKING_POLL;
	if (key.what == BLOCKING_RECEIVE || key.what == BLOCKING_SEND || key.what == BLOCKING_CONNECT) {
		if (socket)
			set_socket(state, &sockets[*socket], &key);
		else
			key.what = BLOCKING_OTHER;
	}
	return key;
}

/* --- the programs in the kernel --- */

/* send: the program that sees what is sent; NULL: questions are not traced. */
static int choose(struct state *state, const char *send, struct why *why)
{
	int r = kernel_object_find("blocking.bpf.o", &state->object, why);

	if (r == 0)
		r = kernel_object_choose(state->object, "blocking_switch", why);
	if (r == 0 && send)
		r = kernel_object_choose(state->object, send, why);
	if (r == 0 && send)
		r = kernel_object_choose(state->object, "blocking_state", why);
	if (r == 0)
		r = kernel_object_open_chosen(state->object, why);
	return r;
}

static int find_variables(struct state *state)
{
	int r = kernel_object_variable(state->object, "blocking_listening", 1024 * sizeof(*state->listening),
				       (void **)&state->listening);

	if (r == 0)
		r = kernel_object_variable(state->object, "blocking_skips", BLOCKING_SKIPS * sizeof(*state->skips),
					   (void **)&state->skips);
	if (r == 0)
		r = kernel_object_variable(state->object, "blocking_lost", sizeof(*state->lost), (void **)&state->lost);
	return r;
}

static int attach_switch(struct state *state, struct why *why)
{
	const struct bpf_program *program = kernel_object_program(state->object, "blocking_switch");

	state->link = bpf_program__attach(program);
	return state->link ? 0 : why_set(why, -errno, "cannot attach to sched_switch: %s", strerror(errno));
}

static void detach_switch(struct state *state)
{
	(void)bpf_link__destroy(state->link);
	state->link = NULL;
}

/* Room for eight times as many threads as there are: each sample reads the maps from end to end. */
static int size_maps(struct state *state, const struct snapshot *snapshot)
{
	size_t wanted = snapshot_table(snapshot, &thread_type)->count * 8;
	uint32_t threads = (uint32_t)min_of(max_of(wanted, (size_t)THREADS_MIN), (size_t)THREADS_MAX);
	int r = kernel_object_size_map(state->object, "blocking_threads", threads);

	if (r == 0)
		r = kernel_object_size_map(state->object, "blocking_sums", 2 * threads);
	return r == 0 ? kernel_object_size_map(state->object, "blocking_programs", threads / 2) : r;
}

static int attach(struct state *state, const struct snapshot *snapshot, const char *send, struct why *why)
{
	void *kinds;
	int r = choose(state, send, why);

	if (r == 0)
		r = size_maps(state, snapshot);
	if (r == 0)
		r = kernel_object_variable(state->object, "blocking_calls", sizeof(state->kinds), &kinds);
	if (r == 0)
		memcpy(kinds, state->kinds, sizeof(state->kinds));
	if (r == 0)
		r = kernel_object_load(state->object, why);
	if (r == 0)
		r = find_variables(state);
	if (r == 0)
		r = attach_switch(state, why);
	if (r < 0) {
		kernel_object_close(state->object);
		state->object = NULL;
		state->listening = NULL;
	}
	return r;
}

/* Without any of them, questions of programs that poll are seen in samples alone. */
static int load(struct state *state, const struct snapshot *snapshot, struct why *why)
{
	static const char *const sends[] = {"blocking_send", "blocking_sendmsg", NULL};
	int r = -ENOENT;

	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(sends); i++) {
		state->send = sends[i];
		r = attach(state, snapshot, sends[i], why);
	}
	if (r < 0)
		return r;
	state->silent = !state->send;
	state->programs_fd = kernel_object_map_fd(state->object, "blocking_programs");
	state->threads_fd = kernel_object_map_fd(state->object, "blocking_threads");
	state->sums_fd = kernel_object_map_fd(state->object, "blocking_sums");
	return 0;
}

/* A program polls and has connections of its own making: only then its questions are of interest. */
static bool has_questions(const struct state *state, const struct snapshot *snapshot)
{
	const struct socket_record *sockets = snapshot_first(snapshot, &socket_type);
	struct map polling = MAP_INIT(sizeof(uint32_t), sizeof(uint8_t), 100000);
	bool found = false;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->rows, &at, &key, &value))
		if (((const struct blocking_key *)key)->what == BLOCKING_POLL)
			(void)map_put(&polling, &((const struct blocking_sum *)value)->tgid, NULL);
	for (at = 0; !found && polling.count && map_next(&state->sockets, &at, &key, &value);) {
		const struct socket_record *s = &sockets[*(const uint32_t *)value];

		found = s->proto == 6 && !is_listener(s) && !is_listening(state, s->lport) &&
			map_get(&polling, &((const struct holder *)key)->pid);
	}
	map_done(&polling);
	return found;
}

static void trace_questions(struct state *state, const struct snapshot *snapshot)
{
	struct why why = {};

	if (state->asks || state->silent || !has_questions(state, snapshot))
		return;
	state->asks = kernel_object_attach(state->object, state->send, &why) == 0 &&
		      kernel_object_attach(state->object, "blocking_state", &why) == 0;
	state->silent = !state->asks;
}

static void set_listening(struct state *state, const struct snapshot *snapshot)
{
	if (!state->listening)
		return;
	/* A port stays: its connections remain those of a server. */
	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (is_listener(s))
			state->listening[s->lport / 64] |= UINT64_C(1) << (s->lport % 64);
}

/* nest itself would only measure its own sampling. */
static bool is_own(const struct state *state, uint32_t pid)
{
	return pid == state->asker || pid == (uint32_t)getpid();
}

static void watch_programs(struct state *state, const struct snapshot *snapshot)
{
	bool is_new, any = false;

	snapshot_each(snapshot, process_type, const struct process_record, p) {
		struct blocking_program program = {};

		if (is_own(state, p->pid) || !map_put(&state->programs, &p->pid, &is_new) || !is_new)
			continue;
		if (bpf_map_update_elem(state->programs_fd, &p->pid, &program, BPF_NOEXIST) < 0)
			state->refused++;
		any = true;
	}
	/* Their threads may be marked as nobody's. */
	if (any)
		memset(state->skips, 0, BLOCKING_SKIPS * sizeof(*state->skips));
}

static bool is_timed(const struct thread_record *t)
{
	return t->run_ns != UINT64_MAX && t->wait_ns != UINT64_MAX && t->timeslices != UINT64_MAX;
}

/* As /proc shows it: its wait counts from now on. */
static void set_thread(struct state *state, const struct snapshot *snapshot, const struct thread_record *t,
		       struct blocking_thread *thread)
{
	memset(thread, 0, sizeof(*thread));
	thread->out_ns = clock_monotonic_ns();
	thread->run_ns = t->run_ns;
	thread->delay_ns = t->wait_ns;
	thread->runs = t->timeslices;
	thread->blocked = t->thread_state != 'R';
	thread->partial = 1;
	thread->key = key_of(state, snapshot, t);
	thread->sum.tgid = t->pid;
}

static void enter_threads(struct state *state, const struct snapshot *snapshot)
{
	bool is_new;

	snapshot_each(snapshot, thread_type, const struct thread_record, t) {
		struct blocking_thread thread;

		if (!map_get(&state->programs, &t->pid) || !is_timed(t) || !map_put(&state->known, &t->tid, &is_new) ||
		    !is_new)
			continue;
		set_thread(state, snapshot, t, &thread);
		(void)bpf_map_update_elem(state->threads_fd, &t->tid, &thread, BPF_NOEXIST);
	}
}

static void add_sum(struct blocking_sum *to, const struct blocking_sum *from)
{
	to->tgid = from->tgid;
	to->ns += from->ns;
	to->count += from->count;
	to->max_ns = max_of(to->max_ns, from->max_ns);
	for (uint32_t i = 0; i < BLOCKING_RECENT && i < from->kept; i++)
		to->recent[to->kept++ % BLOCKING_RECENT] = from->recent[i];
}

static int by_length(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median_ns(const struct blocking_sum *sum)
{
	uint32_t waits[BLOCKING_RECENT], count = min_of(sum->kept, (uint32_t)BLOCKING_RECENT);

	if (count == 0)
		return UINT64_MAX;
	memcpy(waits, sum->recent, sizeof(waits));
	qsort(waits, count, sizeof(*waits), by_length);
	return (uint64_t)waits[count / 2] << BLOCKING_RECENT_SHIFT;
}

/* The thread has run more often than was seen. Only while nothing is attached, which would write the same entry. */
static void enter_again(struct state *state, const struct snapshot *snapshot, const struct thread_record *t,
			const struct blocking_thread *before)
{
	struct blocking_thread thread;
	struct blocking_sum sum = {};

	if (before->sum.ns) {
		(void)bpf_map_lookup_elem(state->sums_fd, &before->key, &sum);
		add_sum(&sum, &before->sum);
		if (bpf_map_update_elem(state->sums_fd, &before->key, &sum, BPF_ANY) < 0)
			state->refused++;
	}
	set_thread(state, snapshot, t, &thread);
	(void)bpf_map_update_elem(state->threads_fd, &t->tid, &thread, BPF_EXIST);
}

/* Whether all that the thread was blocked since its last switch is one wait, or several of the same. */
static bool is_continuous(const struct blocking_thread *thread, const struct thread_record *t)
{
	return is_timed(t) && t->timeslices <= thread->runs + 1 + thread->skipped;
}

static void list_alive(struct state *state, const struct snapshot *snapshot)
{
	const struct thread_record *threads = snapshot_first(snapshot, &thread_type);

	map_done(&state->alive);
	state->alive = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 1000000);
	snapshot_each(snapshot, thread_type, const struct thread_record, t) {
		uint32_t *at = map_put(&state->alive, &t->tid, NULL);

		if (at)
			*at = (uint32_t)(t - threads);
	}
}

static void add_row(struct state *state, const struct blocking_key *key, const struct blocking_sum *sum)
{
	struct blocking_sum *row = map_put(&state->rows, key, NULL);

	if (!row)
		return;
	add_sum(row, sum);
}

/* What the thread is blocked for already: the time since it left the CPU, less what it ran or waited to run since. */
static uint64_t open_ns(const struct blocking_thread *thread, const struct thread_record *t, uint64_t now_ns)
{
	uint64_t busy_ns = 0, off_ns = now_ns > thread->out_ns ? now_ns - thread->out_ns : 0;

	if (!thread->blocked || !t || !is_continuous(thread, t))
		return 0;
	if (t->run_ns > thread->run_ns)
		busy_ns += t->run_ns - thread->run_ns;
	if (t->wait_ns > thread->delay_ns)
		busy_ns += t->wait_ns - thread->delay_ns;
	return off_ns > busy_ns ? off_ns - busy_ns : 0;
}

/* Calls take for each entry of a map; removes those for which it returns true. */
static void read_map(int fd, size_t key_size, size_t value_size,
		     bool (*take)(struct state *state, const void *key, const void *value, const void *context),
		     struct state *state, const void *context)
{
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	_cleanup_free_ uint8_t *keys = xzalloc(BATCH * key_size), *values = xzalloc(BATCH * value_size);
	VEC(uint8_t) ended = {};
	uint8_t at[64] = {}, next[64] = {};
	bool first = true;

	for (unsigned n = 0; n < SUMS_MAX; n++) {
		uint32_t count = BATCH;
		int r = bpf_map_lookup_batch(fd, first ? NULL : at, next, keys, values, &count, &options);

		if (r < 0 && errno != ENOENT)
			break;
		for (uint32_t i = 0; i < count; i++) {
			if (!take(state, keys + i * key_size, values + i * value_size, context))
				continue;
			vec_reserve(&ended, ended.count + key_size);
			memcpy(ended.items + ended.count, keys + i * key_size, key_size);
			ended.count += key_size;
		}
		if (r < 0)
			break;
		memcpy(at, next, sizeof(at));
		first = false;
	}
	for (size_t i = 0; i < ended.count; i += key_size)
		(void)bpf_map_delete_elem(fd, ended.items + i);
	vec_done(&ended);
}

static bool take_thread(struct state *state, const void *key, const void *value, const void *context)
{
	const struct snapshot *snapshot = context;
	const struct thread_record *threads = snapshot_first(snapshot, &thread_type);
	const uint32_t *at = map_get(&state->alive, key);
	const struct blocking_thread *thread = value;
	struct blocking_sum sum = thread->sum;
	uint64_t now_ns = clock_monotonic_ns(), open = open_ns(thread, at ? &threads[*at] : NULL, now_ns);

	sum.ns += open;
	sum.max_ns = max_of(sum.max_ns, thread->pending_ns + open);
	if (thread->key.what != BLOCKING_NOT)
		add_row(state, &thread->key, &sum);
	if (at && !state->link && !is_continuous(thread, &threads[*at]) && is_timed(&threads[*at]))
		enter_again(state, snapshot, &threads[*at], thread);
	if (at || now_ns < thread->out_ns + ENDED_NS)
		return false;
	(void)map_remove(&state->known, key);
	return true;
}

static bool take_sum(struct state *state, const void *key, const void *value, const void *context _unused_)
{
	const struct blocking_key *of = key;

	add_row(state, of, value);
	return !map_get(&state->alive, &of->tid) && !map_get(&state->known, &of->tid);
}

static bool has_ended(uint32_t pid)
{
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void forget_programs(struct state *state, const struct snapshot *snapshot)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->programs, &at, &key, &value)) {
		uint32_t pid = *(const uint32_t *)key;

		if (process_find(snapshot, pid) || !has_ended(pid))
			continue;
		(void)bpf_map_delete_elem(state->programs_fd, &pid);
		(void)map_remove(&state->programs, &pid);
	}
}

static uint64_t read_switches(struct snapshot *snapshot)
{
	uint64_t count;

	if (snapshot_read(snapshot, "/proc/stat") < 0 || !scan_keyed(buf_text(&snapshot->text), "ctxt", &count))
		return 0;
	return count;
}

static void keep_pace(struct state *state, struct snapshot *snapshot)
{
	uint64_t switches = read_switches(snapshot), now_ns = clock_monotonic_ns();
	struct why why = {};

	if (state->switches) {
		state->credit += SWITCHES_PER_SECOND * ((double)(now_ns - state->switches_ns) / 1e9);
		state->credit = min_of(state->credit, (double)SWITCHES_PER_SECOND);
		state->credit -= state->link ? (double)(switches - state->switches) : 0;
	}
	state->switches = switches;
	state->switches_ns = now_ns;
	if (state->credit < 0 && state->link) {
		detach_switch(state);
		state->partly = true;
	} else if (state->credit >= 0 && !state->link) {
		(void)attach_switch(state, &why);
	}
}

static void measure(struct state *state, struct snapshot *snapshot)
{
	uint64_t lost;

	state->refused = 0;
	set_listening(state, snapshot);
	watch_programs(state, snapshot);
	enter_threads(state, snapshot);
	map_done(&state->rows);
	state->rows = MAP_INIT(sizeof(struct blocking_key), sizeof(struct blocking_sum), SUMS_MAX + THREADS_MAX);
	read_map(state->threads_fd, sizeof(uint32_t), sizeof(struct blocking_thread), take_thread, state, snapshot);
	read_map(state->sums_fd, sizeof(struct blocking_key), sizeof(struct blocking_sum), take_sum, state, snapshot);
	trace_questions(state, snapshot);
	forget_programs(state, snapshot);
	keep_pace(state, snapshot);
	lost = __atomic_load_n(state->lost, __ATOMIC_RELAXED) - state->lost_before;
	state->lost_before += lost;
	lost += state->refused;
	if (lost)
		snapshot_gap(snapshot, "what some threads were blocked in", "%llu wait%s exceeded the table",
			     (unsigned long long)lost, text_plural(lost));
}

/* --- estimates --- */

/* Each thread counts as blocked, since the sample before, in what it is blocked in now. */
static void estimate(struct state *state, const struct snapshot *snapshot)
{
	uint64_t now_ns = clock_monotonic_ns();

	snapshot_each(snapshot, thread_type, const struct thread_record, t) {
		struct sampled *s = is_own(state, t->pid) ? NULL : map_put(&state->sampled, &t->tid, NULL);
		struct blocking_sum sum = {.tgid = t->pid, .count = 0};
		uint64_t busy_ns;

		if (!s || t->run_ns == UINT64_MAX || t->wait_ns == UINT64_MAX)
			continue;
		if (t->thread_state != 'R')
			s->key = key_of(state, snapshot, t);
		busy_ns = t->run_ns - s->run_ns + t->wait_ns - s->wait_ns;
		sum.ns = s->at_ns && now_ns - s->at_ns > busy_ns ? now_ns - s->at_ns - busy_ns : 0;
		*s = (struct sampled){now_ns, t->run_ns, t->wait_ns, s->key};
		if (s->key.what != BLOCKING_NOT)
			add_row(state, &s->key, &sum);
	}
}

/* --- the source --- */

static void give_rows(struct state *state, struct snapshot *snapshot)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->rows, &at, &key, &value)) {
		const struct blocking_key *of = key;
		const struct blocking_sum *sum = value;
		struct blocking_record *record = snapshot_table_add(snapshot_table(snapshot, &blocking_type));
		static const uint32_t none[4];

		if (!record)
			return;
		*record = (struct blocking_record){
			.pid = sum->tgid,
			.tid = of->tid,
			.what = of->what,
			.proto = of->proto,
			.lport = of->lport,
			.rport = of->rport,
			.wait_ns = sum->ns,
			.count = state->failed || state->partly ? UINT64_MAX : sum->count,
			.p50_ns = median_ns(sum),
			.max_ns = state->failed ? UINT64_MAX : sum->max_ns,
			.estimate = state->failed || state->partly,
		};
		if (memcmp(of->raddr, none, sizeof(none)) != 0)
			record->raddr = addr_from_v6(of->raddr);
	}
}

static void start(struct state *state)
{
	state->programs = MAP_INIT(sizeof(uint32_t), sizeof(uint8_t), 8192);
	state->known = MAP_INIT(sizeof(uint32_t), sizeof(uint8_t), THREADS_MAX);
	state->rows = MAP_INIT(sizeof(struct blocking_key), sizeof(struct blocking_sum), SUMS_MAX + THREADS_MAX);
	state->sampled = MAP_INIT(sizeof(uint32_t), sizeof(struct sampled), 100000);
	load_kinds(state);
}

/* One sample has no time in which anything could be blocked. */
static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why _unused_)
{
	struct state *state = snapshot_state(snapshot);

	if (!request->repeated)
		return 0;
	if (state->programs.key_size == 0)
		start(state);
	state->asker = request->asker;
	if (!state->object && !state->failed)
		state->failed = request->no_bpf || load(state, snapshot, &state->why) < 0;
	find_sockets(state, snapshot);
	list_alive(state, snapshot);
	if (state->failed) {
		estimate(state, snapshot);
		snapshot_gap(snapshot, NULL, "%s", state->why.text[0] ? state->why.text : "BPF programs are not used");
	} else {
		measure(state, snapshot);
	}
	give_rows(state, snapshot);
	return 0;
}

static void release(void *data)
{
	struct state *state = data;

	detach_switch(state);
	kernel_object_close(state->object);
	map_done(&state->programs);
	map_done(&state->known);
	map_done(&state->rows);
	map_done(&state->sampled);
	map_done(&state->alive);
	map_done(&state->sockets);
}

static const struct record_type *const types[] = {&blocking_type, NULL};
static const struct record_type *const needs[] = {&socket_type, &owner_type, &process_type, &thread_type, NULL};

static const struct snapshot_source blocking_source = {
	.name = "wait-times",
	.lost = "exact waiting times of programs: they are estimated from samples",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(blocking_source);
