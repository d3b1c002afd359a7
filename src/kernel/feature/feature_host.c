/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group "host": cgroups, namespaces, processes, pressure. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/confine.h"
#include "kernel/capability.h"
#include "kernel/feature/feature.h"

static const char *proc_advice(int error)
{
	return error == -ENOENT ? "mount -t proc nodev /proc" : "run as root";
}

static void check_cgroup2(struct feature_context *context, const char *mount)
{
	struct check *check = check_add(context->list, "host", "cgroup2");
	_cleanup_buf_ struct buf controllers = {};
	char path[2200];

	if (!*mount) {
		if (context->mounts_error < 0)
			check_result(check, CHECK_UNKNOWN, "/proc/self/mountinfo: %s",
				     check_error_words(context->mounts_error));
		else
			check_result(check, CHECK_MISSING, "no cgroup2 file system is mounted");
		check_advise(check, "no cgroup and container names, no cgroup programs", "%s",
			     context->mounts_error < 0 ? proc_advice(context->mounts_error)
						       : "mount -t cgroup2 nodev /sys/fs/cgroup");
		return;
	}
	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	if (feature_read(path, &controllers) < 0) {
		check_result(check, CHECK_LIMITED, "%.200s; cannot read its controllers", mount);
		check_advise(check, "cgroup limits are unknown", "run as root");
		return;
	}
	check_result(check, CHECK_OK, "%.200s; controllers: %.100s", mount,
		     controllers.len ? buf_text(&controllers) : "none");
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += len)
		if ((p == text || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[len]))
			return true;
	return false;
}

/* Throttling is read from cpu.stat of either version. */
static void check_cpu_controller(struct feature_context *context, const char *mount)
{
	struct check *check = check_add(context->list, "host", "cgroup_cpu");
	_cleanup_buf_ struct buf controllers = {};
	char path[2200], version1[256];

	proctext_cgroup1_controllers(buf_text(&context->mounts), version1, sizeof(version1));
	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	if (*mount && feature_read(path, &controllers) >= 0 && has_word(buf_text(&controllers), "cpu"))
		check_result(check, CHECK_OK, "cgroup v2, at %.200s", mount);
	else if (has_word(version1, "cpu"))
		check_result(check, CHECK_OK, "cgroup v1 (mounted: %s)", version1);
	else
		check_result(check, context->mounts_error < 0 ? CHECK_UNKNOWN : CHECK_MISSING,
			     "no cpu controller is mounted");
	check_advise(check, "a throttled process (CPU quota) cannot be distinguished from a slow one",
		     "mount the cpu controller, or run outside the container");
}

static void check_namespaces(struct feature_context *context)
{
	static const char *const names[] = {"netns_enter", "netns_make"};
	const int errors[] = {context->probes.setns_error, context->probes.unshare_error};
	static const char *const without[] = {
		"only the network namespace of nest itself is visible, not those of containers",
		"this check loads packet filter programs but does not attach them; nest itself does not need it"};
	char advice[320];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct check *check = check_add(context->list, "host", names[i]);

		if (errors[i] == 0)
			check_result(check, CHECK_OK, i == 0 ? "entered its own namespace" : "created and removed one");
		else
			check_result(check, errors[i] == -ECANCELED ? CHECK_UNKNOWN : CHECK_MISSING, "%s: %s",
				     i == 0 ? "setns" : "unshare", check_error_words(errors[i]));
		feature_caps_advice(context, CAP_BIT(CAP_SYS_ADMIN), advice, sizeof(advice));
		check_advise(check, without[i], "%s",
			     errors[i] == -ENOENT ? "mount -t proc nodev /proc"
			     : context->caps & CAP_BIT(CAP_SYS_ADMIN)
				     ? "allow it in the security policy of this host or container"
				     : advice);
	}
}

/* A process of another user, or pid 1. */
static int pick_process(char *path, size_t size)
{
	DIR *directory = opendir("/proc");
	bool found = false;

	if (!directory)
		return -errno;
	for (struct dirent *entry; !found && (entry = readdir(directory));) {
		struct stat status;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, size, "/proc/%.20s", entry->d_name);
		found = stat(path, &status) == 0 && status.st_uid != geteuid();
		snprintf(path, size, "/proc/%.20s/fd", entry->d_name);
	}
	(void)closedir(directory);
	if (!found)
		snprintf(path, size, "/proc/1/fd");
	return 0;
}

static void check_owners(struct feature_context *context)
{
	struct check *check = check_add(context->list, "host", "socket_owners");
	char path[64], advice[320];
	DIR *directory;
	int r = pick_process(path, sizeof(path));

	directory = r < 0 ? NULL : opendir(path);
	if (directory) {
		(void)closedir(directory);
		check_result(check, CHECK_OK, "can read the open files of other processes (%s)", path);
		return;
	}
	if (r >= 0)
		r = -errno;
	check_result(check, r == -EACCES || r == -EPERM ? CHECK_LIMITED : CHECK_MISSING, "%s: %s",
		     r == -ENOENT ? "/proc" : path, check_error_words(r));
	feature_caps_advice(context, CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH), advice, sizeof(advice));
	check_advise(check, "sockets of other users are listed without their process", "%s",
		     r == -ENOENT ? proc_advice(r) : advice);
}

static void check_pressure(struct feature_context *context)
{
	struct check *check = check_add(context->list, "host", "pressure");
	_cleanup_buf_ struct buf text = {};
	double avg10;
	int r = feature_read("/proc/pressure/cpu", &text);
	char config[96];

	if (r >= 0)
		r = proctext_pressure(buf_text(&text), &avg10);
	if (r >= 0)
		check_result(check, CHECK_OK, "some task waited for a CPU in %.1f %% of the last 10 s", avg10);
	else
		check_result(check, CHECK_MISSING, "/proc/pressure/cpu: %s%s", check_error_words(r),
			     feature_config_words(context, "CONFIG_PSI", config, sizeof(config)));
	check_advise(check, "CPU shortage is detected from run queue lengths only",
		     access("/proc/self", F_OK) == 0 ? "a kernel built with CONFIG_PSI=y, booted with psi=1"
						     : "mount -t proc nodev /proc");
}

/* A seccomp filter refuses what the kernel would permit, and shows nowhere else. */
static void check_seccomp(struct feature_context *context)
{
	struct check *check = check_add(context->list, "host", "no_seccomp");
	int mode = prctl(PR_GET_SECCOMP);

	if (mode < 0)
		check_result(check, CHECK_UNKNOWN, "prctl: %s", check_error_words(-errno));
	else
		check_result(check, mode == 0 ? CHECK_OK : CHECK_LIMITED,
			     mode == 0 ? "no seccomp filter" : "a seccomp filter is active (mode %d)", mode);
	check_advise(check, "the filter may refuse bpf, perf_event_open or setns despite the capabilities",
		     "run outside the container or service, or with a seccomp profile that permits them");
}

/* What readers of files and finished attaching give privilege up with; without it they run all the same. */
static void check_confinement(struct feature_context *context)
{
	struct check *landlock = check_add(context->list, "host", "landlock"), *filter;
	int version = confine_landlock_version();

	if (version > 0)
		check_result(landlock, CHECK_OK, "version %d%s", version,
			     version < 3   ? "; truncating files is not limited"
			     : version < 6 ? "; signals and abstract UNIX sockets are not limited"
					   : "");
	else
		check_result(landlock, CHECK_MISSING, "this kernel has no Landlock, or it is disabled");
	check_advise(landlock, "readers of files (-f, report, sql, flow) can open every file that the user can",
		     "a kernel from 5.13 on with CONFIG_SECURITY_LANDLOCK, and landlock in the lsm= list");
	filter = check_add(context->list, "host", "seccomp_filter");
	check_result(filter, confine_has_seccomp() ? CHECK_OK : CHECK_MISSING, "%s",
		     confine_has_seccomp() ? "system calls can be filtered" : "this kernel has no seccomp filters");
	check_advise(filter, "system calls of readers and of attached tools are not limited",
		     "a kernel with CONFIG_SECCOMP_FILTER");
}

void feature_host_check(struct feature_context *context)
{
	char mount[2048];

	if (proctext_cgroup2_mount(buf_text(&context->mounts), mount, sizeof(mount)) < 0)
		mount[0] = '\0';
	check_cgroup2(context, mount);
	check_cpu_controller(context, mount);
	check_namespaces(context);
	check_owners(context);
	check_pressure(context);
	check_seccomp(context);
	check_confinement(context);
}
