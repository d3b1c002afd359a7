/* SPDX-License-Identifier: GPL-2.0-only */
/* What the program that finds a connection is asked, and what it answers. */
#pragma once

#include <linux/bpf.h>

struct keepalive_question {
	struct bpf_sock_tuple tuple; /* as the peer's packets have it */
	__u32 size;                  /* of the part that is used */
	__u32 pad;
};

struct keepalive_answer {
	__u32 found;
	__u32 snd_nxt, rcv_nxt, rcv_wnd;
	__u32 heard;     /* number of the last segment that told of the peer's window */
	__u32 has_times; /* segments carry timestamps */
	__u32 tsval, tsecr;
	__u32 rcv_wscale;
};
