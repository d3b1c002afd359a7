/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group "kernel": version, BTF, configuration, tracefs, lockdown, and how it runs BPF programs. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/text.h"
#include "kernel/feature/feature.h"

static void check_name(struct feature_context *context)
{
	struct check *check = check_add(context->list, "kernel", "kernel");
	struct utsname name;

	if (uname(&name) < 0) {
		check_result(check, CHECK_UNKNOWN, "uname: %s", check_error_words(-errno));
		return;
	}
	check_result(check, CHECK_OK, "%s %s %s, %ld CPUs online", name.sysname, name.release, name.machine,
		     sysconf(_SC_NPROCESSORS_ONLN));
	if (proctext_release(name.release) < 5010) {
		check->state = CHECK_LIMITED;
		check_advise(check, "kernels before 5.10 are not tested: anything may be missing",
			     "Linux 5.10 or later");
	}
}

static void check_btf(struct feature_context *context)
{
	struct check *check = check_add(context->list, "kernel", "btf");
	const char *path = "/sys/kernel/btf/vmlinux";
	char config[96];

	if (access(path, R_OK) == 0) {
		check_result(check, CHECK_OK, "%s", path);
		return;
	}
	check_result(check, CHECK_MISSING, "%s: %s%s", path, check_error_words(-errno),
		     feature_config_words(context, "CONFIG_DEBUG_INFO_BTF", config, sizeof(config)));
	check_advise(check, "no BTF tracepoints, no iterators, no kernel fields (CO-RE): hardly any event",
		     access("/sys/kernel", F_OK) < 0 ? "mount -t sysfs nodev /sys"
						     : "a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian's are)");
}

/* Each loaded module has its own file, next to vmlinux. */
static void check_module_btf(struct feature_context *context)
{
	struct check *check = check_add(context->list, "kernel", "btf_modules");
	_cleanup_buf_ struct buf modules = {};
	DIR *directory = opendir("/sys/kernel/btf");
	unsigned count = 0;

	if (!directory) {
		check_result(check, CHECK_MISSING, "/sys/kernel/btf: %s", check_error_words(-errno));
		check_advise(check, "no tracepoints of modules", "as for btf");
		return;
	}
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.' && strcmp(entry->d_name, "vmlinux") != 0;
	(void)closedir(directory);
	if (count > 0)
		check_result(check, CHECK_OK, "for %u module%s", count, text_plural(count));
	else if (feature_read("/proc/modules", &modules) < 0 || modules.len == 0)
		check_result(check, CHECK_OK, "not needed: no module is loaded");
	else {
		check_result(check, CHECK_MISSING, "modules are loaded, but none has BTF");
		check_advise(check, "no tracepoints of modules", "a kernel built with CONFIG_DEBUG_INFO_BTF_MODULES=y");
	}
}

static void check_jit(struct feature_context *context)
{
	struct check *check = check_add(context->list, "kernel", "jit");
	int64_t value;
	int r = feature_read_number("/proc/sys/net/core/bpf_jit_enable", &value);

	if (r == -EACCES || r == -EPERM || r == -ENOENT) {
		enum config_state always = feature_config(context, "CONFIG_BPF_JIT_ALWAYS_ON");

		check_result(check, always == CONFIG_ON ? CHECK_OK : CHECK_UNKNOWN, "%s%s",
			     always == CONFIG_ON ? "always on (CONFIG_BPF_JIT_ALWAYS_ON)" : "net.core.bpf_jit_enable: ",
			     always == CONFIG_ON ? "" : check_error_words(r));
	} else if (r < 0) {
		check_result(check, CHECK_UNKNOWN, "net.core.bpf_jit_enable: %s", check_error_words(r));
	} else {
		check_result(check, value ? CHECK_OK : CHECK_LIMITED, "net.core.bpf_jit_enable = %lld",
			     (long long)value);
	}
	check_advise(check, "without the JIT, programs are interpreted and events cost several times more",
		     r < 0 ? "mount -t proc nodev /proc to see it" : "sysctl net.core.bpf_jit_enable=1");
}

static void check_config(struct feature_context *context)
{
	struct check *check = check_add(context->list, "kernel", "config");

	if (context->config.len > 0)
		check_result(check, CHECK_OK, "%s", context->config_path);
	else
		check_result(check, CHECK_LIMITED, "cannot read /proc/config.gz or /boot/config-%s", context->release);
	check_advise(check, "reasons name only the error, not the missing kernel option",
		     access("/proc/self", F_OK) == 0 ? "modprobe configs, or install the running kernel's package"
						     : "mount -t proc nodev /proc");
}

static void check_tracefs(struct feature_context *context)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct check *check = check_add(context->list, "kernel", "tracefs");
	char path[64];
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/events/sched", places[i]);
		if (access(path, R_OK | X_OK) == 0) {
			check_result(check, CHECK_OK, "%s", places[i]);
			return;
		}
		if (errno != ENOENT)
			error = -errno;
	}
	if (error == -ENOENT)
		check_result(check, CHECK_MISSING, "not mounted at %s", places[0]);
	else
		check_result(check, CHECK_MISSING, "%s: %s", places[0], check_error_words(error));
	check_advise(check, "no perf tracepoints, such as those of single system calls; BTF tracepoints do not need it",
		     error != -ENOENT ? "run as root"
		     : access("/sys/kernel", F_OK) == 0
			     ? "mount -t tracefs nodev /sys/kernel/tracing"
			     : "mount -t sysfs nodev /sys && mount -t tracefs nodev /sys/kernel/tracing");
}

static void check_lockdown(struct feature_context *context)
{
	struct check *check = check_add(context->list, "kernel", "lockdown");
	_cleanup_buf_ struct buf text = {};
	const char *path = "/sys/kernel/security/lockdown", *source = path;
	char mode[32] = "";
	int r = feature_read(path, &text);

	if (r >= 0)
		r = proctext_bracketed(buf_text(&text), mode, sizeof(mode));
	if (r < 0 && feature_config(context, "CONFIG_LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY") == CONFIG_ON)
		source = "forced by the kernel configuration", snprintf(mode, sizeof(mode), "confidentiality");
	else if (r < 0 && feature_config(context, "CONFIG_LOCK_DOWN_KERNEL_FORCE_INTEGRITY") == CONFIG_ON)
		source = "forced by the kernel configuration", snprintf(mode, sizeof(mode), "integrity");
	else if (r < 0 && feature_config(context, "CONFIG_SECURITY_LOCKDOWN_LSM") == CONFIG_OFF)
		source = "not built in", snprintf(mode, sizeof(mode), "none");

	if (!*mode)
		check_result(check, CHECK_UNKNOWN, "%s: %s", path, check_error_words(r));
	else
		check_result(check, strcmp(mode, "none") == 0 ? CHECK_OK : CHECK_LIMITED, "%s (%s)", mode, source);
	check_advise(check, "lockdown may refuse probes (integrity) and BPF reads of kernel memory (confidentiality)",
		     *mode ? "boot without lockdown=, or without Secure Boot where that forces it"
			   : "mount -t securityfs nodev /sys/kernel/security to see it");
}

static void check_clock(struct feature_context *context)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"};
	struct check *check = check_add(context->list, "kernel", "clock_source");
	_cleanup_buf_ struct buf text = {};
	int r = feature_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", &text);
	enum check_state state = CHECK_OK;

	if (r < 0) {
		check_result(check, CHECK_UNKNOWN, "current_clocksource: %s", check_error_words(r));
		check_advise(check, "the cost of a timestamp is unknown", "mount -t sysfs nodev /sys");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		if (strcmp(buf_text(&text), slow[i]) == 0)
			state = CHECK_LIMITED;
	check_result(check, state, "%.100s", buf_text(&text));
	check_advise(check, "a timestamp costs about 1 us or is coarse: events are slower, times less exact",
		     "see dmesg for why the kernel abandoned the TSC");
}

void feature_kernel_check(struct feature_context *context)
{
	check_name(context);
	check_btf(context);
	check_module_btf(context);
	check_jit(context);
	check_config(context);
	check_tracefs(context);
	check_lockdown(context);
	check_clock(context);
}
