/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Common head of all events, written by BPF. No holes; addresses are aligned for comparison in 8-byte words. Unknown
 * numbers are 0, except uid and stack ids, where 0 is valid: event_begin sets those.
 */
#pragma once

#include "base/net_types.h"

#define EVENT_COMM_LEN 16
/* Size of a UNIX socket path, with its terminator. A power of two: the verifier understands masks. */
#define EVENT_PATH_LEN 64

struct event_head {
	__u64 time_ns; /* since boot in the kernel, CLOCK_REALTIME in user space */
	__u64 cookie;
	__u64 cgroup_id;
	struct addr laddr;
	__u8 family; /* EVENT_FAMILY_* */
	__u16 lport;
	__u32 pid;
	struct addr raddr;
	__u8 proto;
	__u16 rport;
	__u32 tid;
	char comm[EVENT_COMM_LEN];
	__u32 uid;
	__u32 netns;
	__u32 cpu;
	__s32 kstack_id; /* negative: none */
	__s32 ustack_id;
	__u32 event; /* index of the request */
};

_Static_assert(sizeof(struct event_head) == 112, "no holes");
_Static_assert(__builtin_offsetof(struct event_head, laddr.family) == 40 &&
		       __builtin_offsetof(struct event_head, raddr.family) == 64,
	       "family, port and process share a word: event_set_used_briefly");

/* A stack carried by an event, innermost first; zero after the last frame. */
#define EVENT_FRAMES_MAX 62
struct event_frames {
	__u32 count;
	__u32 unused;
	__u64 addresses[EVENT_FRAMES_MAX];
};

/* enum addr_family for IP; other families are EVENT_FAMILY_OTHER plus AF_*. */
#define EVENT_FAMILY_OTHER 64

/* Unknown, where 0 is a valid value. */
#define EVENT_UNKNOWN32 0xffffffffu
#define EVENT_UNKNOWN64 0xffffffffffffffffull
