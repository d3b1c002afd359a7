/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What every event begins with, written by BPF and read by the program. The order leaves no holes and puts the
 * addresses where they can be compared eight bytes at a time. A number that is unknown is zero, except uid and the
 * stacks, where zero means something: event_begin sets those.
 */
#pragma once

#include "base/net_types.h"

#define EVENT_COMM_LEN 16
/* Room for the path of a UNIX socket, its end included. A power of two: the verifier understands masks. */
#define EVENT_PATH_LEN 64

struct event_head {
	__u64 time_ns; /* since boot while it is in the kernel, CLOCK_REALTIME once the program has it */
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
	__u32 event; /* number of the event in the run */
};

_Static_assert(sizeof(struct event_head) == 112, "no holes");
_Static_assert(__builtin_offsetof(struct event_head, laddr.family) == 40 &&
		       __builtin_offsetof(struct event_head, raddr.family) == 64,
	       "family, port and process share a word: event_set_used_briefly");

/* A stack that an event brings along, innermost first; behind the last one are zeros. */
#define EVENT_FRAMES_MAX 62
struct event_frames {
	__u32 count;
	__u32 unused;
	__u64 addresses[EVENT_FRAMES_MAX];
};

/* enum addr_family for IP; any other family is its AF_ number from here on. */
#define EVENT_FAMILY_OTHER 64

/* Unknown, where zero is a value. */
#define EVENT_UNKNOWN32 0xffffffffu
#define EVENT_UNKNOWN64 0xffffffffffffffffull
