/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnestflow.so: the recorder inside an observed program. It is preloaded, defines the hooks that
 * -finstrument-functions calls and the socket functions of the C library, and writes the trace.
 *
 * Rules of this folder, because it is a guest: nothing but the C library; no allocation and no lock on the way of a
 * call; what a signal handler may interrupt, it may also call; errno is as it was; a failure of ours is counted, never
 * shown to the host.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "flow/trace/live_file.h"

#define EXPORT       __attribute__((visibility("default")))
#define COLD         __attribute__((noinline, cold))
#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)
#define min_of(a, b) ((a) < (b) ? (a) : (b))

/* Room that the longest record beside a list needs behind the limit. */
#define SLACK_WORDS 64u

/* Nothing of this is seen by the program: no detour through its tables. */
#pragma GCC visibility push(hidden)

extern struct flow_live *live; /* NULL: not recording */
extern bool use_counter;
/* The thread may read no clock and make no system call but read and write (strict seccomp): others would be its end. */
extern __thread bool sealed __attribute__((tls_model("initial-exec")));
extern __thread struct flow_slot *current __attribute__((tls_model("initial-exec")));
/* The same for the hooks, never NULL. */
extern __thread struct flow_slot *hook_slot __attribute__((tls_model("initial-exec")));

static inline uint64_t read_counter(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return 0; /* never chosen as the clock */
#endif
}

/* Where the stack is, without a frame of one's own. */
static inline uintptr_t stack_address(void)
{
#if defined(__x86_64__)
	uintptr_t sp;

	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

/*
 * From here on a signal handler leaves the slot alone; nothing of it may be read before but the depth, which is the
 * same again when a handler has returned.
 */
static inline void slot_take(struct flow_slot *t)
{
#if defined(__x86_64__)
	/* In a function without a frame of its own this is never 0. */
	__asm__ volatile("mov %%esp, %0" : "=m"(t->busy));
#else
	t->busy = (uint32_t)stack_address() | 1;
#endif
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The calls that are open now, and the slot is anybody's again. */
static inline void slot_give(struct flow_slot *t, uint64_t depth)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->state = depth;
}

static inline uint64_t now_ticks(void)
{
	struct timespec ts;

	if (unlikely(sealed))
		return current ? current->last : 0;
	if (likely(use_counter))
		return read_counter();

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void **slot_stack(struct flow_slot *t)
{
	return (void **)((uintptr_t)t + FLOW_SLOT_STACK);
}

/* --- functions (module.c) --- */

struct fn_entry {
	void *fn;      /* with FN_LONG: its calls must take the long way */
	uint32_t word; /* of its call, without ticks */
	uint32_t id_flags;
};

static inline uint32_t fn_id(const struct fn_entry *entry)
{
	return entry->id_flags >> 1;
}

static inline bool fn_excluded(const struct fn_entry *entry)
{
	return entry->id_flags & 1;
}

/* No address of a function has this bit. */
#define FN_LONG       (UINT64_C(1) << 63)
#define FN_CACHE_BITS 14
extern struct fn_entry fn_cache[1u << FN_CACHE_BITS];

/* No two functions with hooks begin within 16 bytes, and neighbours never meet. */
static inline uint32_t fn_hash(const void *fn)
{
	return (uint32_t)((uintptr_t)fn >> 4 & ((1u << FN_CACHE_BITS) - 1));
}

/* Where the entry of a function stands unless another one was there first. */
static inline const struct fn_entry *fn_home(const void *fn)
{
	_Static_assert(sizeof(struct fn_entry) == 16, "the bits of the address are the place already");
	return (const struct fn_entry *)((uintptr_t)fn_cache + ((uintptr_t)fn & ((1u << FN_CACHE_BITS) - 1) << 4));
}

/* The entry of a function, made at its first call; NULL when there is no room any more. */
const struct fn_entry *fn_find(void *fn);
/* A thread has that name (16 bytes) from now on. */
void thread_name_write(uint32_t thread, const char *name);
/* Looks at the libraries that are loaded now. Not in a signal handler. */
void modules_update(void);

/* --- writing (slot.c) --- */

/* This thread's slot, taken at its first event; NULL: not recording. */
struct flow_slot *slot_get(void);
/* Begins and ends work on the slot; false when a signal handler interrupted such work: the event is counted as lost. */
bool slot_enter(struct flow_slot *t);
void slot_leave(struct flow_slot *t);
/* Room for so many words (of the calling thread's slot, entered); NULL when paused, muted or lost. */
uint32_t *slot_reserve(struct flow_slot *t, uint32_t words);
/* A record of the fourth form with the words that its head announces; false when paused, muted or lost. */
bool slot_add_other(struct flow_slot *t, uint64_t now, uint32_t head, const void *payload);
/* What the chunk holds is written, or folded, and a new one begins. */
void slot_turn_over(struct flow_slot *t);
/* The calling thread's name may be another one by now. */
void slot_note_name(void);
/* Another thread of this process has that name now. */
void slot_name_other(pthread_t thread, const char *name);
/* From now on, or no longer, the calling thread is sealed. */
void slot_seal(bool now);
void slots_begin(void);
void slots_end(void);

/* --- chunks made shorter (pack.c) --- */

/* NULL: no memory. */
struct pack_room *pack_room_new(void);
void pack_room_free(struct pack_room *pack);
/* The chunk, shorter, with room for so many words after its header; false: too few. The chunk itself stays as it is. */
bool pack_chunk(struct pack_room *pack, const struct flow_chunk *chunk, struct flow_chunk *out, uint32_t room);

/* --- chunks written together (gather.c) --- */

/* The slot's chunk, shorter, waits with others or is written at once; false: neither it nor what waited was written. */
bool gather_chunk(struct flow_slot *t, struct flow_chunk *chunk);
/* All that wait are written; false when they could not be: they are counted as lost. */
bool gather_flush(struct flow_slot *t);

/* --- summaries instead of a trace (fold.c) --- */

static inline struct digest_thread *slot_digest(struct flow_slot *t)
{
	return (struct digest_thread *)((uintptr_t)t + flow_slot_digest_offset(live));
}

/* Folds the slot's chunk or, when its thread is gone, ends the calls still open; false when its turn did not come. */
bool digest_take(struct flow_slot *t, bool gone);

/* --- the trace and its live file (file.c) --- */

bool own_files_open(const char *path);
int own_buffers_fd(void);
/* Gives blocks on the disk to that part of the live file. */
bool own_buffers_back(uint64_t at, uint64_t bytes);
/* Whether a descriptor is one of ours, and moving it out of the program's way. */
bool own_files_have(int fd);
void own_files_yield(int fd);
/* What a header says about the whole chunk, when all of that is there. */
void trace_file_seal(struct flow_chunk *chunk);
/* Sealed chunks, each with header and payload, all of them or none; false when they could not be written. */
bool trace_file_append(const struct flow_chunk *chunks, size_t bytes);
/* One that is not sealed yet. */
bool trace_file_add(struct flow_chunk *chunk);

/* --- sockets (socket.c) --- */

void sockets_begin(void);
/* Number of the socket behind a descriptor, found out at first sight; 0: no socket. */
uint32_t socket_of(int fd);
/* The same when it turns up in an operation that began then: its description must not come after that time. */
uint32_t socket_at(int fd, uint64_t start);
/* A descriptor that is new to the program: nothing that was known about the number holds. */
uint32_t socket_seen(int fd, uint64_t start);
/* The same socket under another descriptor. */
void socket_copy(int from, int to);
void socket_gone(int fd);
/* What is known about a socket is written down again: it has an address, or a peer. */
void socket_describe(int fd);

struct op {
	enum flow_op op;
	int fd;
	uint32_t socket;
	int64_t result; /* as the function returned it; errno is read for -1 */
	uint64_t start;
	uint64_t aux;
};

/* An operation begins. A thread's first one, too: its clock must not start at the end of that. */
static inline uint64_t op_begin(void)
{
	if (unlikely(!current))
		(void)slot_get();
	return now_ticks();
}

/* The operation has ended now. errno is as it was afterwards. */
void op_end(const struct op *op);
struct wait_answer {
	uint64_t data;
	uint32_t events;
};
#define WAIT_ANSWERS_MAX 64
void op_end_wait(const struct op *op, const struct wait_answer *answers, uint32_t count);

#pragma GCC visibility pop
