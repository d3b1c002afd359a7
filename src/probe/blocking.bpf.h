/* SPDX-License-Identifier: GPL-2.0-only */
/* What the BPF programs of blocking.c share with it. */
#pragma once

#include <linux/types.h>

/* What a thread is blocked in. */
enum blocking_what {
	BLOCKING_NOT,
	BLOCKING_OTHER,   /* nothing of the network: disk, lock, timer, pipe, child */
	BLOCKING_RECEIVE, /* reading from a socket */
	BLOCKING_MORE,    /* polling one whose last data was received, not sent */
	BLOCKING_SEND,    /* writing to a socket, or polling one for room */
	BLOCKING_CONNECT,
	BLOCKING_ACCEPT,
	BLOCKING_POLL, /* polling many descriptors, or none with anything outstanding */
	BLOCKING_LIST, /* of calls only: the descriptors stand in a list, as of poll */
};

/* System calls beyond this number are no waits of the network. */
#define BLOCKING_CALLS 512
/* Of a poll, this many descriptors are looked at. */
#define BLOCKING_FDS 4
/* Of a program, this many questions are kept. */
#define BLOCKING_QUESTIONS 8

/* Everything that is added up: of a client the service, of a server its own port. */
struct blocking_key {
	__u32 tid;
	__u8 what;
	__u8 proto;
	__u16 lport; /* of a server; otherwise 0 */
	__u16 rport;
	__u16 zero;
	__u32 raddr[4]; /* IPv4 as v4-mapped */
};

/* The last waits, for their median; in units of 256 ns. */
#define BLOCKING_RECENT       16
#define BLOCKING_RECENT_SHIFT 8

struct blocking_sum {
	__u64 ns, count, max_ns;
	__u32 tgid;
	__u32 kept; /* waits kept so far, the first of them in recent[0] */
	__u32 recent[BLOCKING_RECENT];
};

/* One thread, as of its last switch to another. */
struct blocking_thread {
	__u64 out_ns;           /* CLOCK_MONOTONIC */
	__u64 run_ns, delay_ns; /* as in /proc/TID/schedstat */
	__u64 runs;             /* times on a CPU, from there as well */
	__u64 file, sk;         /* that key was made from; 0: it must be made again */
	__u64 pending_ns;       /* of a wait that goes on: several calls may wait for one answer */
	__u32 ports;            /* of sk */
	__u32 mark;             /* changes when something was received; 0: each call is a wait of its own */
	__u16 call;
	__u8 blocked;
	__u8 skipped; /* how often it need not be looked at */
	__u8 partial; /* the wait began before it was looked at */
	__u8 zero[3];
	struct blocking_key key; /* what it blocks in */
	struct blocking_sum sum; /* of key, since it is this one */
};

/*
 * A thread that blocks very often in the same call on the same descriptor is looked at only now and then: in between,
 * all that it is blocked counts for the same.
 */
struct blocking_skip {
	__u64 argument;
	__u32 tid;
	__u16 call;
	__u8 left, all; /* times to skip; whatever the call is */
};

#define BLOCKING_SKIPS    1024 /* by the lower bits of the number of the thread */
#define BLOCKING_SKIP_MAX 32
#define BLOCKING_OFTEN_NS 100000

/* A connection that never received anything and was sent this much between polls carries a stream, no questions. */
#define BLOCKING_PUSHES 4

/* A question: the last data on the connection was sent by this program; or it connects. */
struct blocking_question {
	__u64 sk;
	__u64 asked_ns; /* 0: none */
	__u32 ports;
	__u32 copied_seq; /* reading an answer moves it */
	__u32 pushes;     /* sent after a poll, without anything received before */
	__u32 polled;     /* since it was asked */
};

struct blocking_program {
	__u32 next;
	__u32 zero;
	struct blocking_question questions[BLOCKING_QUESTIONS];
};
