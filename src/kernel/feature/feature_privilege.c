/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group "privileges": capabilities, and the sysctls that replace them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "kernel/capability.h"
#include "kernel/feature/feature.h"

static const struct {
	unsigned cap;
	const char *name;
	const char *without;
} capabilities[] = {
	{CAP_BPF, "cap_bpf", "cannot load BPF programs: no events, no tools; sock_diag and /proc remain"},
	{CAP_PERFMON, "cap_perfmon", "BPF programs cannot read kernel memory or attach to tracepoints: no events"},
	{CAP_NET_ADMIN, "cap_net_admin",
	 "no conntrack, no firewall rules, no socket memory counters, no network programs"},
	{CAP_SYS_PTRACE, "cap_sys_ptrace", "no owners of other users' sockets, no functions of their programs"},
	{CAP_SYSLOG, "cap_syslog", "no symbols in kernel stacks where kptr_restrict hides addresses"},
	{CAP_SYS_ADMIN, "cap_sys_admin", "no other network namespaces, no measurement of tracing overhead"},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search",
	 "cannot read files of other users (namespaces, programs, tracefs)"},
	{CAP_SYS_RESOURCE, "cap_sys_resource",
	 "cannot raise RLIMIT_MEMLOCK and RLIMIT_NOFILE; rarely needed since Linux 5.11"},
};

static void check_capabilities(struct feature_context *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		struct check *check = check_add(context->list, "privileges", capabilities[i].name);
		bool held = context->caps >> capabilities[i].cap & 1;
		char advice[320];

		if (context->caps_error < 0)
			check_result(check, CHECK_UNKNOWN, "capget: %s", check_error_words(context->caps_error));
		else
			check_result(check, held ? CHECK_OK : CHECK_MISSING, held ? "held" : "not held by user %u",
				     (unsigned)geteuid());
		feature_caps_advice(context, CAP_BIT(capabilities[i].cap), advice, sizeof(advice));
		check_advise(check, capabilities[i].without, "%s",
			     capabilities[i].cap == CAP_SYS_RESOURCE && geteuid() != 0 ? "run as root" : advice);
	}
}

/* A sysctl is ok when its value permits, or when a held capability overrides it. */
struct sysctl_note {
	const char *name;
	const char *path;
	uint64_t overriding; /* any of these capabilities */
	int64_t permits_to;  /* values up to this one permit every user */
	const char *without;
	const char *how;
};

static const struct sysctl_note sysctls[] = {
	{"perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid", CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_SYS_ADMIN),
	 -1, "no kernel perf events: no sampling, no perf tracepoints",
	 "run as root, or sysctl kernel.perf_event_paranoid=-1"},
	{"kptr_restrict", "/proc/sys/kernel/kptr_restrict", CAP_BIT(CAP_SYSLOG), 0,
	 "kernel addresses are hidden: no symbols in kernel stacks", "run as root, or sysctl kernel.kptr_restrict=0"},
};

static void check_sysctl(struct feature_context *context, const struct sysctl_note *note)
{
	struct check *check = check_add(context->list, "privileges", note->name);
	int64_t value;
	int r = feature_read_number(note->path, &value);
	bool overridden = context->caps & note->overriding;

	if (r < 0)
		check_result(check, CHECK_UNKNOWN, "%s: %s", note->path, check_error_words(r));
	else
		check_result(check, value <= note->permits_to || overridden ? CHECK_OK : CHECK_LIMITED, "%lld%s",
			     (long long)value,
			     value <= note->permits_to ? ": open to every user"
			     : overridden              ? ": does not restrict this user"
						       : ": restricts this user");
	check_advise(check, note->without, "%s", r < 0 ? "mount -t proc nodev /proc to see it" : note->how);
}

/* The first lines are enough: addresses are shown or hidden for the whole file. */
static void check_kallsyms(struct feature_context *context)
{
	struct check *check = check_add(context->list, "privileges", "kallsyms");
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	char text[65536];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int error = n < 0 ? -errno : 0, shown;

	text[max_of(n, 0)] = '\0';
	shown = proctext_kallsyms_shown(text);
	if (error < 0)
		check_result(check, CHECK_MISSING, "/proc/kallsyms: %s", check_error_words(error));
	else if (shown < 0)
		check_result(check, CHECK_MISSING, "/proc/kallsyms has no symbols");
	else
		check_result(check, shown ? CHECK_OK : CHECK_LIMITED,
			     shown ? "readable, with addresses" : "names without addresses");
	check_advise(check, "no symbols in kernel stacks and drop locations",
		     error == -ENOENT ? "mount -t proc nodev /proc"
				      : "run as root, or sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}

/* Always ok: unprivileged programs cannot do what nest needs, and the sysctl is best left on. */
static void check_unprivileged_bpf(struct feature_context *context)
{
	struct check *check = check_add(context->list, "privileges", "unprivileged_bpf");
	const char *path = "/proc/sys/kernel/unprivileged_bpf_disabled";
	int64_t value;
	int r = feature_read_number(path, &value);

	if (r < 0)
		check_result(check, CHECK_UNKNOWN, "%s: %s", path, check_error_words(r));
	else
		check_result(check, CHECK_OK, "%lld: BPF %s", (long long)value,
			     value ? "needs CAP_BPF" : "is open to every user, for socket filters");
	check_advise(check, "nothing: nest needs CAP_BPF either way", "mount -t proc nodev /proc to see it");
}

static void check_memlock(struct feature_context *context)
{
	struct check *check = check_add(context->list, "privileges", "memlock");
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		check_result(check, CHECK_UNKNOWN, "getrlimit: %s", check_error_words(-errno));
	else if (limit.rlim_cur == RLIM_INFINITY)
		check_result(check, CHECK_OK, "no limit");
	else
		/* Since 5.11 maps are charged to the memory cgroup; the limit still applies to perf buffers. */
		check_result(check, CHECK_OK, "%llu KiB; maps do not count against it since Linux 5.11",
			     (unsigned long long)limit.rlim_cur / 1024);
}

void feature_privilege_check(struct feature_context *context)
{
	check_capabilities(context);
	check_unprivileged_bpf(context);
	for (size_t i = 0; i < ARRAY_SIZE(sysctls); i++)
		check_sysctl(context, &sysctls[i]);
	check_kallsyms(context);
	check_memlock(context);
}
