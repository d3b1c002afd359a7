/* SPDX-License-Identifier: GPL-2.0-only */
/* Input and output of the BPF program that finds a connection. */
#pragma once

#include <linux/bpf.h>

struct keepalive_question {
	struct bpf_sock_tuple tuple; /* as in the peer's packets */
	__u32 size;                  /* used size of the tuple */
	__u32 pad;
};

struct keepalive_answer {
	__u32 found;
	__u32 snd_una, rcv_nxt, rcv_wnd;
	__u32 heard;     /* sequence number of the last window update (snd_wl1) */
	__u32 has_times; /* segments carry timestamps */
	__u32 tsval, tsecr;
	__u32 rcv_wscale;
};
