/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log of the running kernel. */
#pragma once

#include "base/buf.h"
#include "base/why.h"

/* All that it still holds, in the format of /dev/kmsg. */
int kmsg_read(struct buf *text, struct why *why) _must_check_;

/* Follows the log. */
struct kmsg_tail {
	int fd;
	uint64_t last;        /* sequence number of the record read last; UINT64_MAX: none yet */
	uint64_t overwritten; /* records, before they were read */
	uint64_t refused;     /* records beyond the cap of the buffer */
};
/* From now on. */
int kmsg_tail_open(struct kmsg_tail *tail, struct why *why) _must_check_;
/* Adds what was logged since. */
int kmsg_tail_read(struct kmsg_tail *tail, struct buf *text, struct why *why) _must_check_;
void kmsg_tail_close(struct kmsg_tail *tail);

/* The sequence number of a record ("6,339,5140900,-;text"); UINT64_MAX: it has none. */
uint64_t kmsg_sequence(const char *record, size_t len);
/* The wall clock time at which the log's times start; late by the time that the machine was suspended. */
uint64_t kmsg_start_ns(void);
