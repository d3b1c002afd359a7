/* SPDX-License-Identifier: GPL-2.0-only */
/* Connection attempts without an answer, shared with the BPF program. */
#pragma once

#include <linux/types.h>

/* By socket cookie. */
struct attempt_open {
	__u64 began_ns; /* CLOCK_MONOTONIC */
	__u64 sent_ns;  /* the SYN; 0: none yet */
	__u64 ended_ns; /* given up without an answer; 0: not yet */
	__u32 raddr[4]; /* IPv4: mapped */
	__u32 netns;
	__u32 tgid;
	__u16 rport;
	__u16 portless; /* connect() found no free local port */
	__u16 unused[2];
	char comm[16];
};

/* A service; the value is the number of its answers to connection attempts. */
struct attempt_service {
	__u32 raddr[4];
	__u32 netns;
	__u32 rport;
};

/* Of a program's attempts to a port, the last one that sent a packet. */
struct attempt_left_key {
	__u32 tgid;
	__u32 rport;
};
