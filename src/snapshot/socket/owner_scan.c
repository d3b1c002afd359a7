/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/parse.h"
#include "snapshot/socket/owner_scan.h"

/* Approximate costs: loading the program, one descriptor by BPF, one by /proc. */
#define BPF_LOAD_NS  UINT64_C(1000000)
#define BPF_TABLE_NS 80
#define BPF_FILE_NS  300
#define PROC_FILE_NS 2700
/* Inode number of the initial PID namespace, the same on every host. */
#define FIRST_PID_NAMESPACE UINT32_C(0xeffffffc)

/* Open files of the host: an upper bound on the descriptors to scan, for one read. */
static uint64_t open_files(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(256);
	uint64_t count;

	if (buf_read_file(&text, "/proc/sys/fs/file-nr") < 0 || text.len == 0)
		return 0;
	text.data[strcspn(text.data, " \t\n")] = '\0';
	return parse_u64(text.data, 0, UINT64_MAX, &count) < 0 ? 0 : count;
}

static int scan_files(struct owner_scan *scan, struct owner_list *list, struct why *why)
{
	int r = scan->files ? 0 : owner_files_open(&scan->files, why);

	if (r == 0)
		r = owner_scan_files(scan->files, list, why);
	scan->files_failed = r < 0 && r != -EAGAIN;
	scan->by_files = r == 0;
	if (r < 0)
		list->count = 0;
	return r;
}

static int scan_bpf(struct owner_scan *scan, struct owner_list *list, struct why *why)
{
	int r;

	if (scan->many && !scan->files_failed && scan_files(scan, list, why) == 0)
		return 0;
	r = scan->bpf ? 0 : owner_bpf_open(&scan->bpf, why);

	if (r == 0)
		r = owner_scan_bpf(scan->bpf, list, why);
	scan->bpf_failed = r < 0;
	return r;
}

/* BPF sees pids of the initial PID namespace; in others /proc has different numbers. */
static bool numbers_are_ours(void)
{
	struct stat stat;

	return fstatat(AT_FDCWD, "/proc/self/ns/pid", &stat, 0) == 0 && stat.st_ino == FIRST_PID_NAMESPACE;
}

static void run_part(void *context)
{
	struct owner_part *part = context;

	if (part->scan->use_bpf)
		part->result = scan_bpf(part->scan, part->list, &part->why);
	else
		owner_scan_proc(&part->scan->walk, part->list);
	part->done = true;
}

/* The waiting thread runs the first part itself, also a single one unless it can run in the background. */
static int begin_parts(struct owner_scan *scan, uint64_t files, bool beside, struct why *why)
{
	unsigned parts = 1;
	uint64_t cost = (scan->bpf ? 0 : BPF_LOAD_NS) + files * (scan->files_failed ? BPF_FILE_NS : BPF_TABLE_NS);

	scan->many = files >= WORKER_WORTH;
	scan->by_files = false;
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++) {
		scan->lists[i].count = 0;
		scan->parts[i] = (struct owner_part){.scan = scan, .list = &scan->lists[i], .done = i > 0};
	}
	if (!scan->use_bpf) {
		int r = owner_walk_begin(&scan->walk, why);

		if (r < 0)
			return r;
		if (files >= WORKER_WORTH)
			parts = min_of(worker_cpus(), (unsigned)OWNER_SCAN_LISTS);
		cost = files * PROC_FILE_NS / parts;
	}
	for (unsigned i = beside && parts == 1 ? 0 : 1; i < parts; i++)
		worker_start(&scan->parts[i].worker, run_part, &scan->parts[i], cost);
	return 0;
}

static int end_parts(struct owner_scan *scan, struct why *why)
{
	struct owner_part *first = &scan->parts[0];

	worker_join(&first->worker);
	if (!first->done)
		run_part(first);
	for (unsigned i = 1; i < OWNER_SCAN_LISTS; i++)
		worker_join(&scan->parts[i].worker);
	scan->hidden = scan->use_bpf ? 0 : scan->walk.hidden;
	if (first->result < 0)
		*why = first->why;
	return first->result;
}

/* Discards a scan begun for a snapshot that failed. */
static void abandon(struct owner_scan *scan)
{
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++)
		worker_join(&scan->parts[i].worker);
	scan->began_ns = 0;
}

void owner_scan_begin(struct owner_scan *scan, const struct snapshot_request *request)
{
	uint64_t files = open_files();
	struct why why;

	abandon(scan);
	if (files < WORKER_WORTH || worker_cpus() < 2)
		return;
	scan->use_bpf = !request->no_bpf && !scan->bpf_failed && numbers_are_ours();
	/* A failure here repeats in owner_scan_finish(), which reports it. */
	if (begin_parts(scan, files, true, &why) == 0)
		scan->began_ns = clock_monotonic_ns();
}

static int scan_now(struct owner_scan *scan, struct why *why)
{
	int r = begin_parts(scan, open_files(), false, why);

	return r < 0 ? r : end_parts(scan, why);
}

int owner_scan_finish(struct owner_scan *scan, const struct snapshot_request *request, struct why *why)
{
	int r;

	if (scan->began_ns) {
		r = end_parts(scan, why);
	} else {
		scan->began_ns = clock_monotonic_ns();
		scan->use_bpf = !request->no_bpf && !scan->bpf_failed && numbers_are_ours();
		r = scan_now(scan, why);
	}
	/* Fallback to /proc where BPF is not permitted. */
	if (r < 0 && scan->use_bpf) {
		scan->use_bpf = false;
		r = scan_now(scan, why);
	}
	scan->ended_ns = clock_monotonic_ns();
	scan->took_ns = scan->ended_ns - scan->began_ns;
	scan->began_ns = 0;
	return r;
}

int owner_scan_thoroughly(struct owner_scan *scan, struct why *why)
{
	bool failed = scan->files_failed;
	int r;

	scan->files_failed = true;
	scan->began_ns = clock_monotonic_ns();
	r = scan_now(scan, why);
	scan->ended_ns = clock_monotonic_ns();
	scan->took_ns = scan->ended_ns - scan->began_ns;
	scan->began_ns = 0;
	scan->files_failed = failed;
	return r;
}

void owner_scan_done(struct owner_scan *scan)
{
	abandon(scan);
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++)
		vec_done(&scan->lists[i]);
	vec_done(&scan->walk.pids);
	owner_bpf_close(scan->bpf);
	owner_files_close(scan->files);
}
