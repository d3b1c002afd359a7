/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU samples: fields, and one clock per CPU. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/core/attach.h"
#include "event/core/event.h"
#include "event/cpu/cpu_sample.h"

static unsigned rate_hz = CPU_SAMPLE_HZ_DEFAULT;

void cpu_sample_set_rate(unsigned hz)
{
	rate_hz = hz;
}

static const struct enum_name mode_items[] = {
	{CPU_SAMPLE_KERNEL, "kernel", NULL},
	{CPU_SAMPLE_USER, "user", NULL},
};
static struct enum_names mode_names = {.items = mode_items, .count = ARRAY_SIZE(mode_items)};

static const struct field sample_fields[] = {
	FIELD(struct cpu_sample, mode, ENUM, "what the CPU ran", .names = &mode_names, .zero_is_unknown = true),
	FIELD(struct cpu_sample, cpu_ns, DURATION, "CPU time that the sample represents"),
};

static int open_clock(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC / rate_hz,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int explain_refusal(int error, struct why *why)
{
	return why_set(why, error,
		       "cannot open a CPU clock (perf_event_open: %s): needs CAP_PERFMON, and "
		       "kernel.perf_event_paranoid not above 3",
		       strerror(-error));
}

static int check_clock(struct why *why)
{
	_cleanup_close_ int fd = open_clock(sched_getcpu());

	return fd < 0 ? explain_refusal(fd, why) : 0;
}

/* Opens a clock on each online CPU. */
static int attach_clocks(struct kernel_object *object, const char *program, struct why *why)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned attached = 0;

	for (int cpu = 0; cpu < cpus; cpu++) {
		int fd = open_clock(cpu), r;
		struct bpf_link *link;

		/* CPU is offline. */
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return explain_refusal(fd, why);
		/* The link owns the descriptor; without a link, close it here. */
		link = bpf_program__attach_perf_event(kernel_object_program(object, program), fd);
		if (!link) {
			r = -errno;
			close(fd);
			return explain_refusal(r, why);
		}
		r = kernel_object_keep_link(object, program, link, why);
		if (r < 0)
			return r;
		attached++;
	}
	return attached ? 0 : explain_refusal(-ENODEV, why);
}

static const struct event_role sample_roles[] = {
	{
		.name = "CPU clocks",
		.hooks = {{.programs = {"cpu_sample_tick"}, .attach = attach_clocks, .check = check_clock}},
	},
};
EVENT_TYPE(cpu_sample, "cpu.sample", struct cpu_sample, sample_fields, sample_roles, "CPU sample, 99 per second",
	   .current = true, .frames_at = offsetof(struct cpu_sample, frames));
