/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When packets arrive, told by the kernel itself: it stamps all of them while somebody asks for that. A hook would have
 * to remember each until TCP has it.
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"

struct path_stamps {
	int fd;              /* a socket that asks for stamps; -1: we do not, and it is others who may */
	uint64_t *offset_ns; /* shared with the programs: the time of the day, less their clock */
};

void path_stamps_init(struct path_stamps *stamps);
/* Keeps the offset right while the loop runs. */
int path_stamps_start(struct path_stamps *stamps, bool ask, uint64_t *offset_ns, struct loop *loop) _must_check_;
void path_stamps_done(struct path_stamps *stamps);
