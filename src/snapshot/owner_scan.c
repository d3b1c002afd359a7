/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "snapshot/owner_scan.h"

/*
 * Loading the BPF program takes as long as reading this many descriptors through /proc (measured: docs/snapshot.md); with
 * fewer files open on the host, a single look is done sooner without it.
 */
#define BPF_WORTH_FILES 5000
/* More descriptors than this are not kept. */
#define FOUND_MAX ((size_t)4 << 20)

/* Files open on the whole host: an upper limit of what a scan will meet, to be had for one read. */
static uint64_t open_files(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(256);
	uint64_t count;

	if (buf_read_file(&text, "/proc/sys/fs/file-nr") < 0 || text.len == 0)
		return 0;
	text.data[strcspn(text.data, " \t\n")] = '\0';
	return parse_u64(text.data, 0, UINT64_MAX, &count) < 0 ? 0 : count;
}

static void on_found(void *context, const struct owner_record *found)
{
	struct owner_list *list = context;

	if (list->count < FOUND_MAX)
		vec_push(list, *found);
}

static void run_part(void *context)
{
	struct owner_part *part = context;
	struct owner_list *list = &part->scan->lists[part->index];

	list->count = 0;
	part->hidden = 0;
	part->why.text[0] = '\0';
	if (part->scan->use_bpf) {
		part->result = 0;
		if (!part->scan->bpf)
			part->result = owner_bpf_open(&part->scan->bpf, &part->why);
		if (part->result == 0)
			part->result = owner_scan_bpf(part->scan->bpf, on_found, list, &part->why);
		part->scan->bpf_failed = part->result < 0;
	} else {
		struct owner_share share = {.index = part->index, .parts = part->parts};

		part->result = owner_scan_proc(&share, on_found, list, &part->why);
		part->hidden = share.hidden;
	}
}

static unsigned start_parts(struct owner_scan *scan, unsigned parts, bool beside)
{
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++) {
		scan->lists[i].count = 0;
		scan->parts[i] = (struct owner_part){.scan = scan, .index = i, .parts = parts};
	}
	for (unsigned i = beside ? 0 : 1; i < parts; i++)
		worker_start(&scan->parts[i].worker, run_part, &scan->parts[i]);
	return parts;
}

static int wait_parts(struct owner_scan *scan, struct why *why)
{
	int r = 0;

	scan->hidden = 0;
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++) {
		worker_join(&scan->parts[i].worker);
		scan->hidden += scan->parts[i].hidden;
		if (scan->parts[i].result < 0 && r == 0) {
			r = scan->parts[i].result;
			if (why)
				*why = scan->parts[i].why;
		}
	}
	return r;
}

static void choose(struct owner_scan *scan, const struct snapshot_request *request, uint64_t files)
{
	scan->use_bpf =
		!request->no_bpf && !scan->bpf_failed && (scan->bpf || request->repeated || files >= BPF_WORTH_FILES);
}

void owner_scan_begin(struct owner_scan *scan, const struct snapshot_request *request)
{
	uint64_t files = open_files();

	/* One that was begun for a snapshot that came to nothing. */
	if (scan->began_ns)
		(void)wait_parts(scan, NULL);
	scan->began_ns = 0;
	if (files < WORKER_WORTH || worker_cpus() < 2)
		return;
	scan->began_ns = clock_monotonic_ns();
	choose(scan, request, files);
	(void)start_parts(scan, scan->use_bpf ? 1 : OWNER_SCAN_LISTS, true);
}

/* All of it here and now, dividing /proc where that pays. */
static int scan_now(struct owner_scan *scan, struct why *why)
{
	unsigned parts = 1;

	if (!scan->use_bpf && worker_cpus() > 1 && open_files() >= WORKER_WORTH)
		parts = OWNER_SCAN_LISTS;
	(void)start_parts(scan, parts, false);
	run_part(&scan->parts[0]);
	return wait_parts(scan, why);
}

int owner_scan_finish(struct owner_scan *scan, const struct snapshot_request *request, struct why *why)
{
	int r;

	if (scan->began_ns) {
		r = wait_parts(scan, why);
	} else {
		scan->began_ns = clock_monotonic_ns();
		choose(scan, request, open_files());
		r = scan_now(scan, why);
	}
	/* What BPF may not do, /proc may. */
	if (r < 0 && scan->use_bpf) {
		scan->use_bpf = false;
		r = scan_now(scan, why);
	}
	scan->ended_ns = clock_monotonic_ns();
	scan->took_ns = scan->ended_ns - scan->began_ns;
	scan->began_ns = 0;
	return r;
}

void owner_scan_done(struct owner_scan *scan)
{
	(void)wait_parts(scan, NULL);
	for (unsigned i = 0; i < OWNER_SCAN_LISTS; i++)
		vec_done(&scan->lists[i]);
	owner_bpf_close(scan->bpf);
}
