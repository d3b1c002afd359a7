/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receive timestamps of packets: the kernel stamps all of them while a socket enables it. A hook instead would have to
 * remember every packet until TCP has it.
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"

struct path_stamps {
	int fd;              /* socket that enables timestamps; -1: not enabled by this run */
	uint64_t *offset_ns; /* shared with the BPF programs: CLOCK_REALTIME minus their clock */
};

void path_stamps_init(struct path_stamps *stamps);
/* Keeps the offset current while the loop runs. */
int path_stamps_start(struct path_stamps *stamps, bool enable, uint64_t *offset_ns, struct loop *loop) _must_check_;
void path_stamps_done(struct path_stamps *stamps);
