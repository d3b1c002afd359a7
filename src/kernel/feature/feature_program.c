/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups "programs" and "data": every BPF program type and map type that nest uses, each tested. */
#include <errno.h>
#include <string.h>

#include "kernel/capability.h"
#include "kernel/feature/feature.h"
#include "kernel/first_process.h"

#define CAPS_TRACE (CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON))
#define CAPS_NET   (CAP_BIT(CAP_BPF) | CAP_BIT(CAP_NET_ADMIN))

struct program_note {
	enum probe_slot slot;
	const char *group;
	uint64_t caps;
	const char *config; /* the kernel option it needs */
	const char *without;
	const char *since; /* the first kernel with it, when later than 5.10 */
};

#define FIRST_CHOICE   "first choice of every event; nest falls back to plain tracepoints, which are slower"
#define NO_TRACEPOINTS "nothing while tp_btf works"
#define NO_FUNCTIONS                                                                                                   \
	"no tracing of kernel functions without a tracepoint; "                                                        \
	"tracepoint events are not affected"
#define NO_ITER "sockets are listed by sock_diag instead: slower, with fewer fields"

static const struct program_note notes[] = {
	{PROBE_RELOCATION, "programs", CAPS_TRACE, "CONFIG_DEBUG_INFO_BTF",
	 "cannot read kernel fields: no events, whatever can be attached"},
	{PROBE_TP_BTF, "programs", CAPS_TRACE, "CONFIG_DEBUG_INFO_BTF", FIRST_CHOICE},
	{PROBE_RAW_TP, "programs", CAPS_TRACE, "CONFIG_BPF_EVENTS", "no fallback for events where tp_btf is missing"},
	{PROBE_TRACEPOINT, "programs", CAPS_TRACE, "CONFIG_BPF_EVENTS", NO_TRACEPOINTS},
	{PROBE_SYSCALL_TP_BTF, "programs", CAPS_TRACE, "CONFIG_FTRACE_SYSCALLS",
	 "no system calls from BTF tracepoints: connect, accept, bind and close need tracefs"},
	{PROBE_SYSCALL_TRACEPOINT, "programs", CAPS_TRACE, "CONFIG_FTRACE_SYSCALLS",
	 "nest falls back to tp_btf_syscall: every system call of the host costs a few ns more while tracing"},
	{PROBE_FENTRY, "programs", CAPS_TRACE, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", NO_FUNCTIONS},
	{PROBE_FEXIT, "programs", CAPS_TRACE, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", NO_FUNCTIONS},
	{PROBE_KPROBE, "programs", CAPS_TRACE, "CONFIG_KPROBES", NO_FUNCTIONS},
	{PROBE_KRETPROBE, "programs", CAPS_TRACE, "CONFIG_KPROBES", NO_FUNCTIONS},
	{PROBE_KPROBE_MULTI, "programs", CAPS_TRACE, "CONFIG_FPROBE", "cannot trace many kernel functions at once",
	 "5.18"},
	{PROBE_UPROBE, "programs", CAPS_TRACE | CAP_BIT(CAP_SYS_ADMIN), "CONFIG_UPROBES",
	 "no user functions: libc name lookups, TLS libraries, nest flow on a running "
	 "process"},
	{PROBE_URETPROBE, "programs", CAPS_TRACE | CAP_BIT(CAP_SYS_ADMIN), "CONFIG_UPROBES",
	 "no return values and no durations of user functions"},
	{PROBE_LSM, "programs", CAPS_TRACE, "CONFIG_BPF_LSM", "nothing: nest does not use it"},
	{PROBE_PERF_EVENT, "programs", CAPS_TRACE, "CONFIG_PERF_EVENTS", "no CPU sampling while traffic stalls"},
	{PROBE_ITER_TCP, "programs", CAPS_TRACE, "CONFIG_BPF_SYSCALL", NO_ITER},
	{PROBE_ITER_UDP, "programs", CAPS_TRACE, "CONFIG_BPF_SYSCALL", NO_ITER},
	{PROBE_ITER_UNIX, "programs", CAPS_TRACE, "CONFIG_BPF_SYSCALL", NO_ITER, "5.16"},
	{PROBE_ITER_TASK, "programs", CAPS_TRACE, "CONFIG_BPF_SYSCALL", "nest lists processes from /proc instead"},
	{PROBE_ITER_TASK_FILE, "programs", CAPS_TRACE, "CONFIG_BPF_SYSCALL",
	 "nest finds socket owners in /proc instead, about 7 times slower"},
	{PROBE_ITER_SK_STORAGE, "programs", CAPS_TRACE, "CONFIG_BPF_SYSCALL",
	 "per-socket data is known only from events, not as a list"},
	{PROBE_SOCKOPS, "programs", CAPS_NET, "CONFIG_CGROUP_BPF",
	 "no per-cgroup TCP callbacks (RTT, retransmissions)"},
	{PROBE_CGROUP_SKB, "programs", CAPS_NET, "CONFIG_CGROUP_BPF", "no packets per cgroup"},
	{PROBE_CGROUP_CONNECT, "programs", CAPS_NET, "CONFIG_CGROUP_BPF", "UDP connects only from system calls"},
	{PROBE_CGROUP_RELEASE, "programs", CAPS_NET, "CONFIG_CGROUP_BPF", "UDP socket close only from system calls"},
	{PROBE_SOCKET_FILTER, "programs", CAP_BIT(CAP_BPF), "CONFIG_BPF_SYSCALL",
	 "captured packets are filtered after the copy"},
	{PROBE_TC, "programs", CAPS_NET, "CONFIG_NET_CLS_BPF", "no packets between device and qdisc"},
	{PROBE_TCX, "programs", CAPS_NET, "CONFIG_NET_XGRESS",
	 "nest falls back to tc, which leaves a clsact qdisc behind", "6.6"},
	{PROBE_XDP, "programs", CAPS_NET, "CONFIG_BPF_SYSCALL", "no packets before the kernel's stack"},
	{PROBE_NETFILTER, "programs", CAPS_NET, "CONFIG_NETFILTER_BPF_LINK", "firewall verdicts only from drop reasons",
	 "6.4"},
	{PROBE_SK_LOOKUP, "programs", CAPS_NET, "CONFIG_BPF_SYSCALL", "nothing: nest does not use it"},
	{PROBE_RINGBUF, "data", CAPS_TRACE, "CONFIG_BPF_SYSCALL", "no events reach nest, only counts and histograms"},
	{PROBE_ATOMICS, "data", CAPS_TRACE, "CONFIG_BPF_JIT",
	 "nest uses its BPF programs for older kernels: no packet paths, bounded memory of sockets", "5.12"},
	{PROBE_SK_STORAGE, "data", CAPS_TRACE, "CONFIG_BPF_SYSCALL",
	 "socket owners and timestamps are kept in hash maps, which can overflow"},
	{PROBE_STACK, "data", CAPS_TRACE, "CONFIG_STACKTRACE", "no kernel or user stacks with events"},
	{PROBE_TIMER, "data", CAP_BIT(CAP_BPF), "CONFIG_BPF_SYSCALL", "nothing: nest does not use it"},
};
_Static_assert(ARRAY_SIZE(notes) == PROBE_SLOTS, "every probe has a note");

/* The mount command, when a missing mount is the reason; else NULL. */
static const char *mount_advice(const char *words)
{
	if (strstr(words, "tracefs is not mounted"))
		return "mount -t tracefs nodev /sys/kernel/tracing";
	if (strstr(words, "/sys/") && access("/sys/kernel", F_OK) < 0)
		return "mount -t sysfs nodev /sys";
	if (strstr(words, "/proc") && access("/proc/self", F_OK) < 0)
		return "mount -t proc nodev /proc";
	if (strstr(words, "cgroup2"))
		return "as for cgroup2";
	if (strstr(words, "vmlinux BTF"))
		return "as for btf";
	return NULL;
}

/* An old kernel's configuration does not list options added later. */
static bool is_too_old(const struct feature_context *context, const struct program_note *note)
{
	return note->since && proctext_release(context->release) < proctext_release(note->since);
}

static void advise_refused(const struct feature_context *context, const struct program_note *note,
			   const struct probe_result *result, struct check *check)
{
	bool is_denied = result->error == -EPERM || result->error == -EACCES;
	const char *mount = mount_advice(result->why.text);
	char advice[320];

	if (note->caps & ~context->caps && is_denied) {
		feature_caps_advice(context, note->caps, advice, sizeof(advice));
		check_advise(check, note->without, "%s", advice);
	} else if (result->error == -ECANCELED) {
		check_advise(check, note->without, "as for netns_make");
	} else if (mount) {
		check_advise(check, note->without, "%s", mount);
	} else if (is_too_old(context, note)) {
		check_advise(check, note->without, "Linux %s or later; this is %s", note->since, context->release);
	} else if (feature_config(context, note->config) == CONFIG_OFF) {
		check_advise(check, note->without, "a kernel built with %s=y; not set in %s", note->config,
			     context->config_path);
	} else if (is_denied) {
		check_advise(check, note->without,
			     "another kernel, or another security policy of this host or container: refused "
			     "despite the capabilities");
	} else {
		check_advise(check, note->without, "a kernel with it; this one's error is above");
	}
}

/* Skips "cannot load probe.bpf.o: ", "cannot attach probe_x: ": the stage and the check's name say that. */
static const char *without_prefix(const char *text)
{
	const char *end = strncmp(text, "cannot ", 7) == 0 ? strstr(text, ": ") : NULL;

	return end ? end + 2 : text;
}

static void report_failure(const struct feature_context *context, const struct program_note *note,
			   const struct probe_result *result, struct check *check)
{
	static const char *const stages[] = {[PROBE_NOT_RUN] = "",
					     [PROBE_REFUSED] = "not loaded: ",
					     [PROBE_LOADED] = "loaded, not attached: ",
					     [PROBE_ATTACHED] = "attached, did not run: ",
					     [PROBE_RAN] = ""};
	enum check_state state = result->stage == PROBE_ATTACHED ? CHECK_LIMITED : CHECK_MISSING;
	const char *words = without_prefix(result->why.text);
	const char *name = enum_name_find(&errno_names, (uint64_t)-result->error);
	bool has_error = (name && strstr(words, name)) || result->error == -ECANCELED || result->error == -ESRCH;
	char config[96];

	if (result->error == -ECANCELED)
		state = CHECK_LIMITED;
	if (strstr(words, "vmlinux BTF"))
		words = "cannot read the kernel's BTF";
	check_result(
		check, state, "%s%s%s%s%s", stages[result->stage], words, *words && !has_error ? ": " : "",
		has_error ? "" : check_error_words(result->error),
		feature_config_words(context, is_too_old(context, note) ? NULL : note->config, config, sizeof(config)));
}

static void check_one(struct feature_context *context, const struct program_note *note)
{
	const struct probe_result *result = &context->probes.results[note->slot];
	struct check *check = check_add(context->list, note->group, probe_name(note->slot));

	if (result->stage == PROBE_RAN) {
		check_result(check, CHECK_OK, "loaded, attached, ran");
		return;
	}
	if (result->stage == PROBE_NOT_RUN) {
		check_result(check, CHECK_UNKNOWN, "not tested: the test process stopped early (%s)",
			     check_error_words(context->probes.child_error));
		check_advise(check, note->without, "nest doctor --debug shows libbpf's messages; please report this");
		return;
	}
	report_failure(context, note, result, check);
	advise_refused(context, note, result, check);
}

static void check_stats(struct feature_context *context)
{
	struct check *check = check_add(context->list, "data", "bpf_stats");
	int error = context->probes.stats_error;
	char advice[320];

	if (error == 0) {
		check_result(check, CHECK_OK, "switched on and off");
		return;
	}
	check_result(check, CHECK_MISSING, "%s", check_error_words(error));
	feature_caps_advice(context, CAP_BIT(CAP_SYS_ADMIN), advice, sizeof(advice));
	check_advise(check, "no measurement of tracing overhead", "%s",
		     context->caps & CAP_BIT(CAP_SYS_ADMIN) ? "Linux 5.8 or later" : advice);
}

/* pid 1 was watched during all tests: no need to wait. */
static void check_first_process(struct feature_context *context)
{
	struct check *check = check_add(context->list, "programs", "first_process");
	enum first_process_state state = context->first ? first_process_look(context->first) : FIRST_PROCESS_UNKNOWN;

	if (state == FIRST_PROCESS_SEEN)
		check_result(check, CHECK_OK, "programs run in every process, pid 1 included");
	else if (state == FIRST_PROCESS_HIDDEN)
		check_result(check, CHECK_LIMITED, "this kernel does not run BPF programs while pid 1 is on the CPU");
	else
		check_result(check, CHECK_UNKNOWN, "%s",
			     context->first ? "pid 1 did not run during the test" : context->first_why.text);
	check_advise(check,
		     state == FIRST_PROCESS_HIDDEN
			     ? "blind while pid 1 is on the CPU: no arriving packets, no timers, no activity of pid 1; "
			       "each run reports how long"
			     : "gaps while pid 1 is on the CPU are unknown; a run that finds some reports them",
		     "%s", state == FIRST_PROCESS_HIDDEN ? "another kernel" : "repeat as root, outside containers");
}

void feature_program_check(struct feature_context *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		check_one(context, &notes[i]);
	check_first_process(context);
	check_stats(context);
}
