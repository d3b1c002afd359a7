/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot on its way from the process that took it to the one that uses it (run/sampler.h). Both are the same
 * program, so records travel as they lie in memory; texts travel beside them, and the receiver checks every size and
 * every reference.
 */
#pragma once

#include "snapshot/core/snapshot.h"

/* Gives back the memory of large tables while they leave: the receiver fills its own with them. */
int snapshot_send(struct snapshot *snapshot, int fd) _must_check_;
/* Replaces the content. -EBADMSG: malformed, -EPIPE: the sender has gone; the snapshot is empty then. */
int snapshot_receive(struct snapshot *snapshot, int fd, struct why *why) _must_check_;
