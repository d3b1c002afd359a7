/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts a connection copied by sock_walk.c to the reply sock_diag would give. */
#pragma once

#include "snapshot/socket/sock_walk.h"
#include "snapshot/socket/socket_answer.h"

/* Data shared by many connections, cached. */
#define DECODE_NAMES 32

struct sock_decode {
	struct sock_walk *walk;
	unsigned lane;
	uint64_t hz;
	uint64_t monotonic_ms;
	bool unable; /* a congestion control has info that only the kernel can provide */
	struct decode_name {
		uint64_t address; /* 0: free */
		uint64_t number;  /* cgroup ID */
		char name[16];    /* congestion control */
		bool bbr;
	} groups[DECODE_NAMES], controls[DECODE_NAMES];
};

void sock_decode_begin(struct sock_decode *decode, struct sock_walk *walk, unsigned lane);
/* False: the socket was freed while it was copied. */
bool sock_decode_is_whole(const struct sock_decode *decode, const uint8_t *record);
uint8_t sock_decode_state(const struct sock_decode *decode, const uint8_t *record);
void sock_decode_record(struct sock_decode *decode, const uint8_t *record, struct socket_answer *answer);
