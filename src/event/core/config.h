/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Configuration of an event, set before loading: its filter terms, the fields in use, and whether it streams or
 * aggregates. It is read-only data, so the verifier knows every value and removes the code that a run does not need.
 */
#pragma once

#include <linux/types.h>

#define EVENT_TERMS_MAX 16
#define EVENT_KEYS_MAX  10
/* Enough for six addresses with their families. */
#define EVENT_KEY_WORDS 18
#define EVENT_SLOTS_MAX 66
/* Words of the head with process, protocol, ports and comm: the key of config.brief. */
#define EVENT_BRIEF_WORDS 4
/* Additional summed fields. */
#define EVENT_ADDS_MAX 4
/* Event buffers per CPU: process, softirq, interrupt, and one spare. */
#define EVENT_ROOMS 4

/* Form of a value in the event. */
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
#define EVENT_ONES_KNOWN   2 /* all ones is a valid value: ports */

/*
 * One comparison. Terms of a clause are alternatives; all clauses must hold. 16-byte values (addresses, names) are
 * compared under a mask.
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

/* Group key: masked words of the event. Fields in the same word share it, so keys are short and cheap to hash. */
struct event_key_word {
	__u64 mask;
	__u16 offset; /* a multiple of 8 */
	__u16 unused[3];
};

/* An additional summed field. */
struct event_added {
	__u16 offset;
	__u8 form;
	__u8 flags;
};

enum event_mode {
	EVENT_STREAM, /* every event to user space */
	EVENT_COUNT,
	EVENT_SUM,    /* count, sum, minimum, maximum */
	EVENT_LOG2,   /* and slots by powers of two */
	EVENT_LINEAR, /* and slots of equal width */
};

/* Costly parts of the head, filled only on demand. */
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
	/* In addition to endpoints and owner: frequent programs leave them out. */
	EVENT_NEED_ADDRESSES = 1 << 9,
	EVENT_NEED_UID = 1 << 10,
};

struct event_config {
	__u32 id;
	__u32 needs;
	__u32 mode;
	__u32 term_count;
	__u32 key_words;
	__u32 by_tree;   /* followed processes only */
	__u32 by_cgroup; /* followed cgroups only */
	__u32 asked;     /* requested in this run: shared programs skip other events */
	/* Bitmap of the words after the head that are used: programs need not fill in the others. */
	__u64 wanted;
	__u32 comm_is_padded; /* comm is zero-padded (Linux 5.17 and later): readable as words */
	/* One program reports the event, and the kernel never runs it inside itself on one CPU: no atomics needed. */
	__u32 alone;
	/*
	 * Aggregates by the key of EVENT_BRIEF_WORDS without building an event: no filter, and no other part of the
	 * head needed.
	 */
	__u32 brief;
	__u32 by_kprobe; /* a kprobe is among its programs: what that keeps of a socket is not in socket storage */
	struct event_key_word key[EVENT_KEY_WORDS];
	__u16 value_offset;
	__u8 value_form;
	__u8 value_flags;
	__u32 slot_count; /* of a linear histogram, without underflow and overflow */
	__s64 slot_first;
	__s64 slot_width;
	__u32 add_count;
	struct event_added adds[EVENT_ADDS_MAX];
	struct event_term terms[EVENT_TERMS_MAX];
};

/*
 * A group of aggregated events; its size depends on the mode. The extremes are encoded so that both only grow from 0: a
 * zeroed group is empty.
 */
struct event_group {
	__u64 count;
	__s64 sum;
	__u64 min; /* EVENT_GROUP_MIN of the smallest */
	__u64 max; /* EVENT_GROUP_MAX of the largest */
	__u64 slots[EVENT_SLOTS_MAX + EVENT_ADDS_MAX];
};

/* Additional sums stand behind the slots, if there are any. */
#define EVENT_ADD_SLOT(mode, index) (((mode) >= EVENT_LOG2 ? EVENT_SLOTS_MAX : 0) + (index))

/*
 * A hash lookup costs more than the rest of an event. So each CPU has a front table: the first key of a slot keeps it
 * until the interval ends; other keys go to the hash. The key's words follow, then the group.
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

/* Words of a key in maps: without keys there is one group, and one zero word. */
#define EVENT_KEY_STORED(config)   ((config)->key_words ? (config)->key_words : 1)

#define EVENT_GROUP_MAX(value)     ((__u64)(value) ^ 1ull << 63)
#define EVENT_GROUP_MIN(value)     (~EVENT_GROUP_MAX(value))
#define EVENT_GROUP_MAX_OF(stored) ((__s64)((stored) ^ 1ull << 63))
#define EVENT_GROUP_MIN_OF(stored) EVENT_GROUP_MAX_OF(~(stored))

/* Lost events, by reason. */
struct event_losses {
	__u64 ring;   /* ring buffer full: user space reads too slowly */
	__u64 groups; /* group map full */
	__u64 rooms;  /* programs nested deeper than EVENT_ROOMS */
	__u64 memory; /* no memory to keep the start until the end */
	__u64 beyond; /* no loss: 1 if the front table had no room, so that the group map is in use */
};
