/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attach functions for program types whose section name does not define the target. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "kernel/feature/probe_kind.h"
#include "kernel/proctext.h"

/* The loopback is the first interface of every network namespace. */
#define LOOPBACK_INDEX 1

/* Not in the headers of older libraries. */
#define ATTACH_TCX_INGRESS 46
#define ATTACH_NETFILTER   45

#ifndef SO_ATTACH_BPF
#define SO_ATTACH_BPF 50
#endif

static struct bpf_program *program_of(const struct probe_try *try)
{
	return kernel_object_program(try->object, try->kind->program);
}

static int keep(struct probe_try *try, struct bpf_link *link)
{
	return kernel_object_keep_link(try->object, try->kind->program, link, &try->why);
}

static int keep_fd(struct probe_try *try, int fd)
{
	if (fd < 0)
		return fd == -1 ? -errno : fd;
	try->fd = fd;
	return 0;
}

/* libbpf's error does not say that tracefs is missing. */
int probe_attach_tracepoint(struct probe_try *try)
{
	if (access("/sys/kernel/tracing/events", X_OK) < 0 && access("/sys/kernel/debug/tracing/events", X_OK) < 0)
		return why_set(&try->why, -errno,
			       errno == ENOENT ? "tracefs is not mounted" : "cannot read the events of tracefs");
	return kernel_object_attach(try->object, try->kind->program, &try->why);
}

/*
 * Without an event source for probes, libbpf falls back to events in tracefs, and those would
 * stay if this process were killed. Every supported kernel with probes has the event source.
 */
static int need_event_source(struct probe_try *try, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	if (access(path, R_OK) < 0)
		return why_set(&try->why, -errno, "cannot read %s", path);
	return 0;
}

int probe_attach_kprobe(struct probe_try *try)
{
	int r = need_event_source(try, "kprobe");

	return r < 0 ? r : kernel_object_attach(try->object, try->kind->program, &try->why);
}

int probe_attach_kprobe_multi(struct probe_try *try)
{
	const char *symbol = "tcp_sendmsg";
	LIBBPF_OPTS(bpf_kprobe_multi_opts, options, .syms = &symbol, .cnt = 1);

	return keep(try, bpf_program__attach_kprobe_multi_opts(program_of(try), NULL, &options));
}

struct file_place {
	uintptr_t address;
	size_t offset;
	bool found;
};

/* Maps an address of this process to its offset in the mapped file. */
static int find_place(struct dl_phdr_info *info, size_t size _unused_, void *context)
{
	struct file_place *place = context;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || place->address < start || place->address >= start + segment->p_memsz)
			continue;
		place->offset = place->address - start + segment->p_offset;
		place->found = true;
	}
	return 1; /* stop after the first: the program itself */
}

int probe_attach_uprobe(struct probe_try *try)
{
	bool at_return = try->kind->slot == PROBE_URETPROBE;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return);
	struct file_place place = {.address = (uintptr_t)probe_target};
	/* Not its target, whose directories this user may not be allowed to enter. */
	const char *path = "/proc/self/exe";
	int r = need_event_source(try, "uprobe");

	if (r < 0)
		return r;
	dl_iterate_phdr(find_place, &place);
	if (!place.found || access(path, R_OK) < 0)
		return why_set(&try->why, place.found ? -errno : -ENOENT, "cannot read %s", path);
	return keep(try, bpf_program__attach_uprobe_opts(program_of(try), 0, path, place.offset, &options));
}

int probe_attach_perf_event(struct probe_try *try)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};
	int cpu = sched_getcpu(), fd;
	struct bpf_link *link;
	cpu_set_t only;

	/* As a profiler does: all processes, one CPU; this process stays on that CPU to keep it busy. */
	CPU_ZERO(&only);
	CPU_SET(max_of(cpu, 0), &only);
	(void)sched_setaffinity(0, sizeof(only), &only);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, max_of(cpu, 0), -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return why_set(&try->why, -errno, "perf_event_open of the CPU clock failed");
	link = bpf_program__attach_perf_event(program_of(try), fd);
	if (!link) {
		int error = errno;

		(void)close(fd);
		errno = error;
	}
	return keep(try, link);
}

int probe_attach_iter(struct probe_try *try)
{
	union bpf_iter_link_info info = {};
	LIBBPF_OPTS(bpf_iter_attach_opts, options);
	struct bpf_link *link;
	int r;

	if (try->kind->map) {
		r = kernel_object_map_fd(try->object, try->kind->map);
		if (r < 0)
			return r;
		info.map.map_fd = (unsigned)r;
		options.link_info = &info;
		options.link_info_len = sizeof(info);
	}
	link = bpf_program__attach_iter(program_of(try), &options);
	r = keep(try, link);
	return r < 0 ? r : keep_fd(try, bpf_iter_create(bpf_link__fd(link)));
}

/* The cgroup of this process: programs attached there see only its members, and only during the probe. */
static int open_own_cgroup(struct why *why)
{
	_cleanup_buf_ struct buf mounts = BUF_INIT(1 << 20), own = BUF_INIT(1 << 16);
	char mount[2048], path[2048], whole[4096];
	int fd;

	if (buf_read_file(&mounts, "/proc/self/mountinfo") < 0 || buf_read_file(&own, "/proc/self/cgroup") < 0)
		return why_set(why, -ENOENT, "/proc does not list the cgroup mounts");
	if (proctext_cgroup2_mount(buf_text(&mounts), mount, sizeof(mount)) < 0)
		return why_set(why, -ENOENT, "no cgroup2 file system is mounted");
	if (proctext_cgroup2_own(buf_text(&own), path, sizeof(path)) < 0)
		return why_set(why, -ENOENT, "this process is in no v2 cgroup");
	snprintf(whole, sizeof(whole), "%s%s", mount, path);
	fd = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? why_set(why, -errno, "cannot open %s", whole) : fd;
}

int probe_attach_cgroup(struct probe_try *try)
{
	_cleanup_close_ int fd = open_own_cgroup(&try->why);

	return fd < 0 ? fd : keep(try, bpf_program__attach_cgroup(program_of(try), fd));
}

int probe_attach_socket(struct probe_try *try)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int program = bpf_program__fd(program_of(try));
	int r = keep_fd(try, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	if (r < 0)
		return r;
	if (bind(try->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(try->fd, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof(program)) < 0)
		return -errno;
	return 0;
}

int probe_attach_tc(struct probe_try *try)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = LOOPBACK_INDEX, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, options, .prog_fd = bpf_program__fd(program_of(try)));
	int r = bpf_tc_hook_create(&hook);

	if (r < 0 && r != -EEXIST)
		return why_set(&try->why, r, "cannot create a clsact qdisc");
	/* Removed with the private network namespace. */
	return bpf_tc_attach(&hook, &options);
}

int probe_attach_tcx(struct probe_try *try)
{
	int fd = bpf_program__fd(program_of(try));

	return keep_fd(try, bpf_link_create(fd, LOOPBACK_INDEX, (enum bpf_attach_type)ATTACH_TCX_INGRESS, NULL));
}

int probe_attach_xdp(struct probe_try *try)
{
	return keep(try, bpf_program__attach_xdp(program_of(try), LOOPBACK_INDEX));
}

/* The bpf() argument of this link type, which libbpf 1.1 does not know. */
int probe_attach_netfilter(struct probe_try *try)
{
	struct {
		uint32_t prog_fd, target_fd, attach_type, flags;
		uint32_t family, hook;
		int32_t priority;
		uint32_t hook_flags;
		uint64_t rest[16];
	} attr = {
		.prog_fd = (uint32_t)bpf_program__fd(program_of(try)),
		.attach_type = ATTACH_NETFILTER,
		.family = AF_INET,
		.hook = 1, /* NF_INET_LOCAL_IN */
		.priority = 100,
	};

	return keep_fd(try, (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)));
}

int probe_attach_netns(struct probe_try *try)
{
	_cleanup_close_ int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return why_set(&try->why, -errno, "cannot open /proc/self/ns/net");
	return keep(try, bpf_program__attach_netns(program_of(try), fd));
}

/* For programs that are run directly, not attached. */
int probe_attach_nothing(struct probe_try *try _unused_)
{
	return 0;
}
