/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what the walk copied of a connection to what the kernel's socket diagnosis would tell about it. */
#pragma once

#include "snapshot/socket/sock_walk.h"
#include "snapshot/socket/socket_answer.h"

/* What many connections share, found out once. */
#define DECODE_NAMES 32

struct sock_decode {
	struct sock_walk *walk;
	unsigned lane;
	uint64_t hz;
	uint64_t monotonic_ms;
	bool unable; /* somebody's congestion control tells things that only the kernel can */
	struct decode_name {
		uint64_t address; /* 0: free */
		uint64_t number;  /* of a control group */
		char name[16];    /* of a congestion control */
		bool bbr;
	} groups[DECODE_NAMES], controls[DECODE_NAMES];
};

void sock_decode_begin(struct sock_decode *decode, struct sock_walk *walk, unsigned lane);
/* False for one that is not what the table said: it went away while it was copied. */
bool sock_decode_is_whole(const struct sock_decode *decode, const uint8_t *record);
uint8_t sock_decode_state(const struct sock_decode *decode, const uint8_t *record);
void sock_decode_record(struct sock_decode *decode, const uint8_t *record, struct socket_answer *answer);
