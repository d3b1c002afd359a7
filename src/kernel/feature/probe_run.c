/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "kernel/feature/probe_kind.h"
#include "kernel/libbpf_words.h"

/* All probes together take 0.3 s, on a slow machine many times that: give up on a kernel that hangs. */
#define CHILD_LIMIT_NS        (60 * NSEC_PER_SEC)

#define PROG_TYPE_NETFILTER   32
#define ATTACH_TYPE_NETFILTER 45

const struct probe_kind probe_kinds[] = {
	{PROBE_RELOCATION, "relocation", "probe_relocation", .object = "probe_fields.bpf.o",
	 .noise = probe_noise_sleep},
	{PROBE_TP_BTF, "tp_btf", "probe_tp_btf", .noise = probe_noise_sleep},
	{PROBE_RAW_TP, "raw_tp", "probe_raw_tp", .noise = probe_noise_sleep},
	{PROBE_TRACEPOINT, "tracepoint", "probe_tracepoint", .attach = probe_attach_tracepoint,
	 .noise = probe_noise_sleep},
	{PROBE_SYSCALL_TP_BTF, "tp_btf_syscall", "probe_syscall_tp_btf", .noise = probe_noise_syscall},
	{PROBE_SYSCALL_TRACEPOINT, "tracepoint_syscall", "probe_syscall_tracepoint", .attach = probe_attach_tracepoint,
	 .noise = probe_noise_syscall},
	{PROBE_FENTRY, "fentry", "probe_fentry", .noise = probe_noise_tcp},
	{PROBE_FEXIT, "fexit", "probe_fexit", .noise = probe_noise_tcp},
	{PROBE_KPROBE, "kprobe", "probe_kprobe", .attach = probe_attach_kprobe, .noise = probe_noise_tcp},
	{PROBE_KRETPROBE, "kretprobe", "probe_kretprobe", .attach = probe_attach_kprobe, .noise = probe_noise_tcp},
	{PROBE_KPROBE_MULTI, "kprobe_multi", "probe_kprobe_multi", .attach = probe_attach_kprobe_multi,
	 .noise = probe_noise_tcp},
	{PROBE_UPROBE, "uprobe", "probe_uprobe", .attach = probe_attach_uprobe, .noise = probe_noise_call},
	{PROBE_URETPROBE, "uretprobe", "probe_uretprobe", .attach = probe_attach_uprobe, .noise = probe_noise_call},
	{PROBE_LSM, "lsm", "probe_lsm", .noise = probe_noise_tcp},
	{PROBE_PERF_EVENT, "perf_event", "probe_perf_event", .attach = probe_attach_perf_event,
	 .noise = probe_noise_spin},
	{PROBE_ITER_TCP, "iter_tcp", "probe_iter_tcp", .attach = probe_attach_iter, .noise = probe_noise_iter},
	{PROBE_ITER_UDP, "iter_udp", "probe_iter_udp", .attach = probe_attach_iter, .noise = probe_noise_iter},
	{PROBE_ITER_UNIX, "iter_unix", "probe_iter_unix", .attach = probe_attach_iter, .noise = probe_noise_iter},
	{PROBE_ITER_TASK, "iter_task", "probe_iter_task", .attach = probe_attach_iter, .noise = probe_noise_iter},
	{PROBE_ITER_TASK_FILE, "iter_task_file", "probe_iter_task_file", .object = "probe_fields.bpf.o",
	 .attach = probe_attach_iter, .noise = probe_noise_iter},
	{PROBE_ITER_SK_STORAGE, "iter_sk_storage", "probe_iter_sk_storage", .map = "probe_storage",
	 .attach = probe_attach_iter, .noise = probe_noise_iter},
	{PROBE_SOCKOPS, "sockops", "probe_sockops", .attach = probe_attach_cgroup, .noise = probe_noise_tcp},
	{PROBE_CGROUP_SKB, "cgroup_skb", "probe_cgroup_skb", .attach = probe_attach_cgroup, .noise = probe_noise_tcp},
	{PROBE_CGROUP_CONNECT, "cgroup_connect", "probe_cgroup_connect", .attach = probe_attach_cgroup,
	 .noise = probe_noise_tcp},
	{PROBE_CGROUP_RELEASE, "cgroup_release", "probe_cgroup_release", .attach = probe_attach_cgroup,
	 .noise = probe_noise_tcp},
	{PROBE_SOCKET_FILTER, "socket_filter", "probe_socket_filter", .attach = probe_attach_socket,
	 .noise = probe_noise_udp},
	{PROBE_TC, "tc", "probe_tc", .wants_private_net = true, .attach = probe_attach_tc, .noise = probe_noise_tcp},
	{PROBE_TCX, "tcx", "probe_tcx", .wants_private_net = true, .attach = probe_attach_tcx,
	 .noise = probe_noise_tcp},
	{PROBE_XDP, "xdp", "probe_xdp", .wants_private_net = true, .attach = probe_attach_xdp,
	 .noise = probe_noise_tcp},
	{PROBE_NETFILTER, "netfilter", "probe_netfilter", .wants_private_net = true,
	 .program_type = PROG_TYPE_NETFILTER, .attach_type = ATTACH_TYPE_NETFILTER, .attach = probe_attach_netfilter,
	 .noise = probe_noise_tcp},
	{PROBE_SK_LOOKUP, "sk_lookup", "probe_sk_lookup", .wants_private_net = true, .attach = probe_attach_netns,
	 .noise = probe_noise_tcp},
	{PROBE_RINGBUF, "ring_buffer", "probe_ringbuf", .map = "probe_ring", .noise = probe_noise_ring},
	{PROBE_ATOMICS, "atomics", "probe_atomics", .noise = probe_noise_sleep},
	{PROBE_SK_STORAGE, "sk_storage", "probe_sk_storage", .map = "probe_storage", .noise = probe_noise_tcp},
	{PROBE_STACK, "stack", "probe_stack", .map = "probe_stacks", .noise = probe_noise_sleep},
	{PROBE_TIMER, "bpf_timer", "probe_timer", .map = "probe_timers", .attach = probe_attach_nothing,
	 .noise = probe_noise_run},
};
const size_t probe_kind_count = ARRAY_SIZE(probe_kinds);
_Static_assert(ARRAY_SIZE(probe_kinds) == PROBE_SLOTS, "every slot has a kind");

static const char *const special_maps[] = {"probe_ring", "probe_storage", "probe_stacks", "probe_timers"};

const char *probe_name(enum probe_slot slot)
{
	for (size_t i = 0; i < probe_kind_count; i++)
		if (probe_kinds[i].slot == slot)
			return probe_kinds[i].name;
	return "?";
}

static int prepare(struct probe_try *try)
{
	const struct probe_kind *kind = try->kind;
	int r = kernel_object_open(kind->object ?: "probe.bpf.o", &try->object, &try->why);

	if (r < 0)
		return r;
	r = kernel_object_choose(try->object, kind->program, &try->why);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(special_maps); i++)
		if (!kind->object && (!kind->map || strcmp(kind->map, special_maps[i]) != 0))
			r = kernel_object_omit_map(try->object, special_maps[i]);
	if (r >= 0 && kind->program_type) {
		struct bpf_program *program = kernel_object_program(try->object, kind->program);

		r = bpf_program__set_type(program, (enum bpf_prog_type)kind->program_type);
		if (r >= 0)
			r = bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)kind->attach_type);
	}
	return r < 0 ? r : kernel_object_load(try->object, &try->why);
}

/* Sets the process to count, and finds the program's counter. */
static int connect_counters(struct probe_try *try)
{
	uint64_t *fired;
	uint32_t *tgid;
	int r = kernel_object_variable(try->object, "probe_fired", PROBE_SLOTS * sizeof(uint64_t), (void **)&fired);

	if (r < 0)
		return r;
	r = kernel_object_variable(try->object, "probe_tgid", sizeof(*tgid), (void **)&tgid);
	if (r < 0)
		return r;
	*tgid = (uint32_t)getpid();
	try->fired = &fired[try->kind->slot];
	return 0;
}

static int attach(struct probe_try *try)
{
	if (try->kind->wants_private_net && !try->private_net)
		return why_set(&try->why, -ECANCELED,
			       "tested only in a private network namespace, which could not be created");
	return try->kind->attach ? try->kind->attach(try)
				 : kernel_object_attach(try->object, try->kind->program, &try->why);
}

/* Runs until the first failure; the stage says how far it got. */
static int run_stages(struct probe_try *try, enum probe_stage *stage)
{
	int r = prepare(try);

	if (r < 0)
		return r;
	*stage = PROBE_LOADED;
	r = connect_counters(try);
	if (r < 0)
		return r;
	libbpf_words_begin();
	r = attach(try);
	if (r < 0)
		return r;
	*stage = PROBE_ATTACHED;
	r = try->kind->noise(try);
	if (r < 0)
		return r;
	if (*try->fired == 0)
		return why_set(&try->why, -ENODATA, "its trigger did not run it");
	*stage = PROBE_RAN;
	return 0;
}

static void run_one(const struct probe_kind *kind, bool private_net, struct probe_report *report)
{
	struct probe_result *result = &report->results[kind->slot];
	struct probe_try try = {.kind = kind, .private_net = private_net, .fd = -1};
	enum probe_stage stage = PROBE_REFUSED;
	cpu_set_t cpus;

	(void)sched_getaffinity(0, sizeof(cpus), &cpus);
	result->error = run_stages(&try, &stage);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	if (result->error < 0)
		result->why = try.why;
	result->stage = stage;
	closep(&try.fd);
	kernel_object_close(try.object);
}

/* Switches BPF run time accounting on briefly; closing the descriptor switches it off. */
static int try_stats(void)
{
	_cleanup_close_ int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -errno : 0;
}

static int try_setns(void)
{
	_cleanup_close_ int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 || setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

static _noreturn_ void run_child(struct probe_report *report, pid_t parent)
{
	bool private_net;

	/* The child dies with its parent; the kernel then removes its programs and links. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	report->setns_error = try_setns();
	report->unshare_error = unshare(CLONE_NEWNET) < 0 ? -errno : 0;
	private_net = report->unshare_error == 0 && probe_loopback_up() == 0;
	report->stats_error = try_stats();
	for (size_t i = 0; i < probe_kind_count; i++)
		run_one(&probe_kinds[i], private_net, report);
	report->finished = true;
	_exit(0);
}

/* 0 when the child exited by itself in time. */
static int wait_child(pid_t child, int *ret_signal)
{
	uint64_t end = clock_monotonic_ns() + CHILD_LIMIT_NS;
	bool late = false;
	int status = 0;

	for (;;) {
		pid_t r = waitpid(child, &status, late ? 0 : WNOHANG);

		if (r == child)
			break;
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r == 0 && clock_monotonic_ns() > end) {
			(void)kill(child, SIGKILL);
			late = true;
		} else if (r == 0) {
			nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		}
	}
	*ret_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return late ? -ETIMEDOUT : WIFSIGNALED(status) ? -EINTR : 0;
}

void probe_run_all(struct probe_report *ret_report)
{
	struct probe_report *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), child;
	int error, signal_number = 0;

	*ret_report = (struct probe_report){.child_error = -ENOMEM};
	if (shared == MAP_FAILED)
		return;
	/* Results that the child never writes must not look like success. */
	*shared = (struct probe_report){
		.unshare_error = -ECANCELED, .setns_error = -ECANCELED, .stats_error = -ECANCELED};
	(void)fflush(NULL);
	child = fork();
	if (child == 0)
		run_child(shared, parent);
	error = child < 0 ? -errno : wait_child(child, &signal_number);
	*ret_report = *shared;
	ret_report->child_error = error;
	ret_report->child_signal = signal_number;
	(void)munmap(shared, sizeof(*shared));
}
