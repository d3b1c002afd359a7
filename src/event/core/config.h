/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What one event is told before it is loaded: which part of the filter it evaluates, which fields somebody will look
 * at, and whether it passes records on or adds them up. It is read-only data, so the verifier knows every value and
 * drops the code that a run does not need.
 */
#pragma once

#include <linux/types.h>

#define EVENT_TERMS_MAX 16
#define EVENT_KEYS_MAX  6
/* Room for all of them: six addresses with their families. */
#define EVENT_KEY_WORDS 18
#define EVENT_SLOTS_MAX 66
/* Words of the head with process, protocol, ports and comm: the key where config.brief says so. */
#define EVENT_BRIEF_WORDS 4
/* Further fields that are added up. */
#define EVENT_ADDS_MAX 4
/* Rooms for events under construction on one processor: a process, a softirq, an interrupt, and one to spare. */
#define EVENT_ROOMS 4

/* How a value lies in the event. */
enum event_form {
	EVENT_FORM_NONE,
	EVENT_U8,
	EVENT_U16,
	EVENT_U32,
	EVENT_U64,
	EVENT_I32,
	EVENT_I64,
	EVENT_WORDS,
	EVENT_ADDR
};

enum event_op {
	EVENT_EQ,
	EVENT_NE,
	EVENT_LT,
	EVENT_LE,
	EVENT_GT,
	EVENT_GE,
	EVENT_ALL_BITS,
	EVENT_KNOWN,
	EVENT_UNKNOWN
};

#define EVENT_ZERO_UNKNOWN 1
#define EVENT_ONES_KNOWN   2 /* all bits set is a value like others: ports */

/*
 * One comparison. Terms of the same clause are alternatives, and all clauses must hold. Words of 16 bytes (addresses,
 * names) are compared under a mask.
 */
struct event_term {
	__u16 offset;
	__u8 form;
	__u8 op;
	__u8 flags;
	__u8 clause;
	__u8 family; /* of an address */
	__u8 unused;
	__u64 value[2];
	__u64 mask[2];
};

/*
 * What events are kept apart by: words of the event, with what does not belong to a key masked out. Fields that lie in
 * one word share it, so a key is short, and the kernel's hash of it cheap.
 */
struct event_key_word {
	__u64 mask;
	__u16 offset; /* a multiple of 8 */
	__u16 unused[3];
};

/* A number that is added up besides the first one. */
struct event_added {
	__u16 offset;
	__u8 form;
	__u8 flags;
};

enum event_mode {
	EVENT_STREAM, /* every event to the program */
	EVENT_COUNT,
	EVENT_SUM,    /* count, sum, smallest, largest */
	EVENT_LOG2,   /* and slots by powers of two */
	EVENT_LINEAR, /* and slots of equal width */
};

/* Parts of the head that cost something, filled only when somebody looks at them. */
enum event_need {
	EVENT_NEED_OWNER = 1 << 0, /* pid, tid, uid, comm */
	EVENT_NEED_CGROUP = 1 << 1,
	EVENT_NEED_ENDPOINTS = 1 << 2,
	EVENT_NEED_NETNS = 1 << 3,
	EVENT_NEED_COOKIE = 1 << 4,
	EVENT_NEED_KSTACK = 1 << 5,
	EVENT_NEED_USTACK = 1 << 6,
	EVENT_NEED_TIME = 1 << 7,
	EVENT_NEED_COMM = 1 << 8,
	/* Besides the rest of the endpoints and of the owner: programs that come often leave them out. */
	EVENT_NEED_ADDRESSES = 1 << 9,
	EVENT_NEED_UID = 1 << 10,
};

struct event_config {
	__u32 id;
	__u32 needs;
	__u32 mode;
	__u32 term_count;
	__u32 key_words;
	__u32 by_tree;   /* only processes that are followed */
	__u32 by_cgroup; /* only control groups that are followed */
	__u32 asked;     /* the event is told in this run: programs that serve several events leave out the others */
	/* A bit for each word behind the head that somebody will look at: the program need not fill in the others. */
	__u64 wanted;
	__u32 comm_is_padded; /* names of tasks end with zeroes (from Linux 5.17 on): they can be read as they are */
	/* One program reports the event, and the kernel never runs it inside itself on one CPU: nobody else adds. */
	__u32 alone;
	/*
	 * The program adds up by the key of EVENT_BRIEF_WORDS, without making an event: there is no filter, and of the
	 * head nothing is needed that does not lie in them.
	 */
	__u32 brief;
	__u32 unused;
	struct event_key_word key[EVENT_KEY_WORDS];
	__u16 value_offset;
	__u8 value_form;
	__u8 value_flags;
	__u32 slot_count; /* of a linear histogram, without the two ends */
	__s64 slot_first;
	__s64 slot_width;
	__u32 add_count; /* only without slots, in whose place their sums are */
	struct event_added adds[EVENT_ADDS_MAX];
	struct event_term terms[EVENT_TERMS_MAX];
};

/*
 * A group of added-up events. How much of it there is depends on the mode. The extremes are kept so that the smallest
 * number of each is what every value beats, and both grow: a group of zeroes is one without events.
 */
struct event_group {
	__u64 count;
	__s64 sum;
	__u64 min; /* EVENT_GROUP_MIN of the smallest */
	__u64 max; /* EVENT_GROUP_MAX of the largest */
	__u64 slots[EVENT_SLOTS_MAX];
};

/*
 * Asking the kernel's hash for a group costs more than all the rest of an event. So each processor has a table of its
 * own in front of it: where a key falls, the first that comes stays until the interval ends, and whoever finds another
 * one there goes to the hash. The key's words follow, then the group.
 */
#define EVENT_FRONT_BITS  6
#define EVENT_FRONT_SLOTS (1 << EVENT_FRONT_BITS)

struct event_front {
	__u64 state;
	__u64 key[];
};

enum event_front_state {
	EVENT_FRONT_FREE,
	EVENT_FRONT_TAKEN, /* the key is being written */
	EVENT_FRONT_READY
};

/* Words of a key as it lies in maps: without keys there is one group, and one word of nothing. */
#define EVENT_KEY_STORED(config)   ((config)->key_words ? (config)->key_words : 1)

#define EVENT_GROUP_MAX(value)     ((__u64)(value) ^ 1ull << 63)
#define EVENT_GROUP_MIN(value)     (~EVENT_GROUP_MAX(value))
#define EVENT_GROUP_MAX_OF(stored) ((__s64)((stored) ^ 1ull << 63))
#define EVENT_GROUP_MIN_OF(stored) EVENT_GROUP_MAX_OF(~(stored))

/* Events that were not told, by the reason. */
struct event_losses {
	__u64 ring;   /* the program did not read fast enough */
	__u64 groups; /* more groups than the map holds */
	__u64 rooms;  /* more programs inside each other than there are rooms */
	__u64 memory; /* the beginning could not be kept until the end came */
};
