/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/shortage_tally.h"

#include "probe/tally.h"
#include "snapshot/proc/process.h"

static const struct field shortage_fields[] = {
	FIELD(struct shortage_record, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(struct shortage_record, pid, ID, "process", .zero_is_unknown = true),
	FIELD(struct shortage_record, failures, COUNT, "socket() calls that failed with EMFILE"),
};
RECORD_TYPE(shortage_type, "shortage", struct shortage_record, shortage_fields,
	    "processes without a descriptor for a new socket");

#define PROCESSES_MAX 1024
/* Near the limit: so few descriptors are free. A connection that passes a proxy takes two for a moment. */
#define FREE_FEW 8

static bool fill(struct snapshot *snapshot _unused_, const struct record *event _unused_,
		 const struct tally_figures *figures, void *data)
{
	((struct shortage_record *)data)->failures = figures->count;
	return true;
}

/* The event is the return of every system call: not for hosts where nobody is near the limit. */
static bool sees_shortage(const struct snapshot *snapshot, uint64_t *memory _unused_)
{
	snapshot_each(snapshot, process_type, struct process_record, p)
		if (p->fds != UINT32_MAX && p->fd_max != UINT32_MAX && (uint64_t)p->fds + FREE_FEW >= p->fd_max)
			return true;
	return false;
}

static const char *const keys[] = {"netns", "pid", NULL};
static const char *const rest[] = {"netns", NULL};

static const struct tally shortage_tally = {
	.event = "sock.create",
	.where = "error == EMFILE",
	.by = keys,
	.rest = rest,
	.cap = PROCESSES_MAX,
	.sign = sees_shortage,
	.fill = fill,
};
TALLY_SOURCE(shortage_source, shortage_tally, shortage_type, "shortage",
	     "processes without a descriptor for a new socket");
