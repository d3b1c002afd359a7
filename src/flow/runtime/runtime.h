/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libnestflow.so: the recorder inside an observed program. It is preloaded, defines the hooks that
 * -finstrument-functions calls and wraps the socket functions of the C library, and writes the trace.
 *
 * Rules of this folder, because it is a guest: only the C library; no allocation and no lock on the path of a call;
 * everything async-signal-safe and reentrant; errno is preserved; its failures are counted, never shown to the host.
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

/* Room behind the limit for the longest record other than a list. */
#define SLACK_WORDS 64u

/* Hidden from the program: no indirection through the PLT. */
#pragma GCC visibility push(hidden)

extern struct flow_live *live; /* NULL: not recording */
extern bool use_counter;
/* TRACE.live was truncated: recording is over, see guard.c. */
extern bool live_is_gone;
void live_guard(size_t bytes);
/* Strict seccomp: the thread may only read and write; reading the clock or any other system call would kill it. */
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

/* Stack pointer, without a frame. */
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

/* From here on signal handlers leave the slot alone; before it only the depth may be read, which handlers restore. */
static inline void slot_take(struct flow_slot *t)
{
#if defined(__x86_64__)
	/* In a function without a frame this is never 0. */
	__asm__ volatile("mov %%esp, %0" : "=m"(t->busy));
#else
	t->busy = (uint32_t)stack_address() | 1;
#endif
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Stores the depth and releases the slot. */
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
	void *fn;      /* with FN_LONG: its calls take the slow path */
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

/* Never set in a function address. */
#define FN_LONG       (UINT64_C(1) << 63)
#define FN_CACHE_BITS 14
extern struct fn_entry fn_cache[1u << FN_CACHE_BITS];

/* Instrumented functions are at least 16 bytes apart, so neighbours never collide. */
static inline uint32_t fn_hash(const void *fn)
{
	return (uint32_t)((uintptr_t)fn >> 4 & ((1u << FN_CACHE_BITS) - 1));
}

/* Home entry of a function, unless another one claimed it first. */
static inline const struct fn_entry *fn_home(const void *fn)
{
	_Static_assert(sizeof(struct fn_entry) == 16, "the address bits are the offset");
	return (const struct fn_entry *)((uintptr_t)fn_cache + ((uintptr_t)fn & ((1u << FN_CACHE_BITS) - 1) << 4));
}

/* Entry of a function, created at its first call; NULL: table full. */
const struct fn_entry *fn_find(void *fn);
/* Records a thread name (16 bytes). */
void thread_name_write(uint32_t thread, const char *name);
/* Scans the loaded libraries. Not in a signal handler. */
void modules_update(void);

/* --- writing (slot.c) --- */

/* This thread's slot, claimed at its first event; NULL: not recording. */
struct flow_slot *slot_get(void);
/* Starts and ends work on the slot; false when a signal handler interrupted such work: the event is counted as lost. */
bool slot_enter(struct flow_slot *t);
void slot_leave(struct flow_slot *t);
/* Reserves words (in the calling thread's slot, entered); NULL when paused, muted or lost. */
uint32_t *slot_reserve(struct flow_slot *t, uint32_t words);
/* Adds a record of the fourth form with the words its head announces; false when paused, muted or lost. */
bool slot_add_other(struct flow_slot *t, uint64_t now, uint32_t head, const void *payload);
/* Writes or folds the chunk, and starts a new one. */
void slot_turn_over(struct flow_slot *t);
/* The calling thread may have been renamed. */
void slot_note_name(void);
/* Another thread of this process was renamed. */
void slot_name_other(pthread_t thread, const char *name);
/* Marks the calling thread as sealed, or not. */
void slot_seal(bool now);
void slots_begin(void);
void slots_end(void);
/* Slot of a stack that the program made, on which nothing runs yet; NULL: none is free. */
struct flow_slot *slot_of_stack(const void *stack);
/* The calling thread goes on with another stack. */
void slot_switch(struct flow_slot *t);
/* Ends open calls down to this depth; the slot is entered. */
void slot_unwind(struct flow_slot *t, uint32_t depth);

/* --- packing chunks (pack.c) --- */

/* NULL: no memory. */
struct pack_room *pack_room_new(void);
void pack_room_free(struct pack_room *pack);
/* Packs the chunk into room words after the header of out; false: too long. The chunk itself is unchanged. */
bool pack_chunk(struct pack_room *pack, const struct flow_chunk *chunk, struct flow_chunk *out, uint32_t room);

/* --- collecting chunks (gather.c) --- */

/* Packs the slot's chunk and collects or writes it; false: neither it nor the collected ones were written. */
bool gather_chunk(struct flow_slot *t, struct flow_chunk *chunk);
/* Writes all collected chunks; false on failure: they are counted as lost. */
bool gather_flush(struct flow_slot *t);

/* --- summaries instead of a trace (fold.c) --- */

static inline struct digest_thread *slot_digest(struct flow_slot *t)
{
	return (struct digest_thread *)((uintptr_t)t + flow_slot_digest_offset(live));
}

/* Folds the slot's chunk or, for a dead thread, ends its open calls; false when the lock was not obtained. */
bool digest_take(struct flow_slot *t, bool gone);

/* --- the trace and its live file (file.c) --- */

bool own_files_open(const char *path);
int own_buffers_fd(void);
/* Allocates disk blocks for that part of the live file. */
bool own_buffers_back(uint64_t at, uint64_t bytes);
/* Whether a descriptor belongs to the recorder, and moving it away. */
bool own_files_have(int fd);
void own_files_yield(int fd);
/* Completes a chunk header: sizes, clock, checksum. */
void trace_file_seal(struct flow_chunk *chunk);
/* Appends sealed chunks, each with header and payload, all or none; false on failure. */
bool trace_file_append(const struct flow_chunk *chunks, size_t bytes);
/* Seals and appends a chunk. */
bool trace_file_add(struct flow_chunk *chunk);

/* --- sockets (socket.c) --- */

void sockets_begin(void);
/* Number of a descriptor's socket, determined at first use; 0: not a socket. */
uint32_t socket_of(int fd);
/* The same for a socket first seen in an operation that started then: its description must not be later. */
uint32_t socket_at(int fd, uint64_t start);
/* A new descriptor: forgets what was known about the number. */
uint32_t socket_seen(int fd, uint64_t start);
/* The same socket under another descriptor. */
void socket_copy(int from, int to);
void socket_gone(int fd);
/* Describes a socket again: it now has an address or a peer. */
void socket_describe(int fd);

struct op {
	enum flow_op op;
	int fd;
	uint32_t socket;
	int64_t result; /* as returned by the function; errno is read for -1 */
	uint64_t start;
	uint64_t aux;
};

/* Records how long the thread has waited for a CPU since the last time (delay.c). */
void delay_look(struct flow_slot *t, uint64_t now, enum flow_delay kind);
/* What the thread had recorded when it left a stack. */
struct delay_mark {
	uint32_t tid;
	uint64_t delay_ns, runs;
};
/*
 * The slot's stack was suspended since then. Scheduling delay of the thread meanwhile, since `before`, is recorded for
 * it as well; NULL: it waited for a socket.
 */
void delay_skip(struct flow_slot *t, uint64_t since, const struct delay_mark *before);

/* Starts an operation, and the clock of a thread whose first event this is. */
static inline uint64_t op_begin(void)
{
	uint64_t now;

	if (unlikely(!current))
		(void)slot_get();
	now = now_ticks();
	if (current && unlikely(now - current->delay_at >= live->delay_ticks) && live->delay_ticks) {
		delay_look(current, now, FLOW_DELAY_RUNNING);
		now = now_ticks();
	}
	return now;
}

/* Ends the operation now. Preserves errno. */
void op_end(const struct op *op);
struct wait_answer {
	uint64_t data;
	uint32_t events;
};
#define WAIT_ANSWERS_MAX 64
void op_end_wait(const struct op *op, const struct wait_answer *answers, uint32_t count);

#pragma GCC visibility pop
