/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread's slot: claimed at its first event, its chunk written when full, released when the thread ends. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "flow/runtime/runtime.h"
#include "flow/runtime/sys.h"

/* Slot of threads without one: always busy, so that the hooks take the slow path. */
static struct flow_slot no_slot = {.busy = 1};

__thread struct flow_slot *current __attribute__((tls_model("initial-exec")));
__thread struct flow_slot *hook_slot __attribute__((tls_model("initial-exec"))) = &no_slot;
__thread bool sealed __attribute__((tls_model("initial-exec")));
/* Claiming a slot runs code that may reenter (signal handlers). */
static __thread bool taking __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static bool end_key_made;
static pid_t own_pid;

/* Open calls of the forking thread, saved for the child: the parent continues to use its slot. */
static pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
static void *fork_stack[FLOW_STACK_MAX];
static uint32_t fork_depth;
static uint32_t fork_thread;
static pid_t fork_pid;

static void set_current(struct flow_slot *t)
{
	current = t;
	hook_slot = t ? t : &no_slot;
}

static bool is_special(const struct flow_slot *t)
{
	return live->paused || t->muted || t->resync || t->unmarked || live->max_depth < FLOW_STACK_MAX ||
	       live->min_ticks || !use_counter || sealed;
}

/* Restores the limit after the slow path, or keeps it cleared while an exception lasts. */
static void slot_settle(struct flow_slot *t)
{
	uint32_t room = flow_slot_room(live);

	t->limit = is_special(t) ? NULL : t->base + room - SLACK_WORDS;
	/* Pausing sets the flag first, then clears the limit. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (live->paused)
		t->limit = NULL;
}

static void begin_chunk(struct flow_slot *t)
{
	struct flow_chunk *chunk = flow_slot_chunk(t);

	chunk->start_ticks = t->last;
	chunk->depth = min_of(t->depth, FLOW_STACK_MAX);
	t->calls = 0;
	t->extra = 0;
	t->lost = 0;
	t->noted = t->depth;
	t->base = flow_slot_words(t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->at = t->base;
}

/* Completes the header. */
static void finish_header(struct flow_slot *t, struct flow_chunk *chunk)
{
	uint64_t words = (uint64_t)(t->at - t->base);

	chunk->bytes = (uint32_t)(words * 4);
	chunk->end_ticks = t->last;
	chunk->events = (uint32_t)(words - t->extra);
	chunk->calls = (uint32_t)t->calls;
	chunk->lost = t->lost;
}

/* Writes or folds the chunk of any slot. */
static bool write_chunk(struct flow_slot *t)
{
	struct flow_chunk *chunk = flow_slot_chunk(t);

	if (t->at == t->base)
		return true;
	flow_slot_count(t);
	finish_header(t, chunk);
	if (live->digest_at)
		return digest_take(t, false);
	if (live->gather_bytes)
		return gather_chunk(t, chunk);
	return trace_file_add(chunk);
}

/*
 * Adds a record of the fourth form without checking limits; the chunk has room. It becomes visible only when complete:
 * a signal handler may longjmp away from here.
 */
static void put_other(struct flow_slot *t, uint64_t now, uint32_t head, const uint32_t *payload)
{
	uint32_t *at = t->at, words = 1 + (head >> 8 & 255);

	at[0] = head;
	flow_put_u64(at + 1, now > t->last ? now - t->last : 0);
	if (words > 3)
		memcpy(at + 3, payload, (words - 3) * sizeof(*payload));
	if (now > t->last)
		t->last = now;
	t->extra += words - 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->at = at + words;
}

/* A mark describes the trace, not the program: it is not an event. */
static void put_mark(struct flow_slot *t, uint64_t now, uint32_t head, const uint32_t *payload)
{
	t->extra++;
	put_other(t, now, head, payload);
}

/* Recorded open calls, outermost first. */
static void put_stack(struct flow_slot *t)
{
	uint32_t depth = min_of(min_of(t->depth, live->max_depth), FLOW_STACK_MAX), at = 0;
	void **stack = slot_stack(t);

	do {
		uint32_t n = min_of(depth - at, (uint32_t)FLOW_OTHER_WORDS_MAX);
		uint32_t words[FLOW_OTHER_WORDS_MAX];

		for (uint32_t i = 0; i < n; i++) {
			const struct fn_entry *entry = fn_find(stack[at + i]);

			words[i] = entry ? fn_id(entry) : 0;
		}
		put_mark(t, t->last, flow_word_other(FLOW_O_STACK, n, at > 0), words);
		at += n;
	} while (at < depth);
}

/* With few timed events, returns are written together with the next event. */
static void put_returns(struct flow_slot *t)
{
	uint32_t noted = min_of(t->noted, min_of(live->max_depth, FLOW_STACK_MAX));

	if (t->stamp_depth < FLOW_STACK_MAX && noted > t->depth) {
		*t->at = FLOW_TAG_RETURN | (noted - t->depth) << 2 | FLOW_MANY;
		t->extra -= noted - t->depth - 1;
		t->at++;
	}
	t->noted = t->depth;
}

static void put_marks(struct flow_slot *t)
{
	/* A signal handler may add to it concurrently. */
	uint64_t unmarked = __atomic_exchange_n(&t->unmarked, 0, __ATOMIC_RELAXED);

	/* If a handler lost its own events, the open calls are still known. */
	if (!t->resync)
		put_returns(t);
	if (unmarked || t->skipped) {
		uint32_t why = unmarked ? t->why : FLOW_LOST_PAUSED, words[2];

		flow_put_u64(words, unmarked ? unmarked : t->skipped);
		put_mark(t, now_ticks(), flow_word_other(FLOW_O_LOST, 2, why), words);
		t->lost += unmarked;
	}
	put_stack(t);
	t->noted = t->depth;
	t->skipped = 0;
	t->resync = 0;
}

/* Threads are named while they run, by themselves or by others. */
static void note_name(struct flow_slot *t)
{
	char name[16] = "";

	if (sealed || sys_thread_name(name) < 0 || memcmp(name, t->name, sizeof(name)) == 0)
		return;
	memcpy(t->name, name, sizeof(name));
	if (!live->digest_at)
		thread_name_write(flow_slot_chunk(t)->thread, name);
}

void slot_note_name(void)
{
	struct flow_slot *t = slot_get();
	int saved = errno;

	if (t && slot_enter(t)) {
		note_name(t);
		slot_leave(t);
	}
	errno = saved;
}

void slot_name_other(pthread_t thread, const char *name)
{
	char padded[16] = "";
	int saved = errno;

	memcpy(padded, name, min_of(strlen(name), sizeof(padded) - 1));
	for (uint32_t i = 0; i < live->slot_count && !live->digest_at; i++) {
		const struct flow_slot *t = flow_slot_at(live, i);

		if ((__atomic_load_n(&live->states[i], __ATOMIC_ACQUIRE) & FLOW_SLOT_MASK) == FLOW_SLOT_USED &&
		    t->pid == (uint32_t)own_pid && t->self == (uintptr_t)thread)
			thread_name_write(flow_slot_chunk(t)->thread, padded);
	}
	errno = saved;
}

void slot_seal(bool now)
{
	sealed = now;
	if (current)
		current->limit = NULL;
}

/* The chunk is full, or its thread ends: starts a new one. */
void slot_turn_over(struct flow_slot *t)
{
	uint64_t begin = now_ticks(), events, blocked;

	note_name(t);

	if (!t->resync)
		put_returns(t);
	events = (uint64_t)(t->at - t->base) - t->extra;
	/* No handler may longjmp away in between: the chunk would be written twice. */
	blocked = sealed ? 0 : sys_block_signals(ALL_SIGNALS);
	if (write_chunk(t)) {
		flow_slot_chunk(t)->seq++;
	} else {
		__atomic_fetch_add(&t->unmarked, events + t->lost, __ATOMIC_RELAXED);
		t->why = FLOW_LOST_FULL;
		__atomic_fetch_add(&live->dropped, events, __ATOMIC_RELAXED);
		t->resync = 1;
	}
	begin_chunk(t);
	if (!sealed)
		(void)sys_block_signals(blocked);
	t->own_ticks += now_ticks() - begin;
}

/* Writes the collected chunks; no handler may longjmp away in between. */
static void flush(struct flow_slot *t)
{
	uint64_t blocked = sealed ? 0 : sys_block_signals(ALL_SIGNALS);

	(void)gather_flush(t);
	if (!sealed)
		(void)sys_block_signals(blocked);
}

uint32_t *slot_reserve(struct flow_slot *t, uint32_t words)
{
	uint32_t room = flow_slot_room(live);

	if (live->paused || t->muted) {
		if (!t->resync)
			put_returns(t); /* one word fits behind the limit */
		t->skipped++;
		t->resync = 1;
		return NULL;
	}
	if (t->resync || t->unmarked) {
		uint32_t depth = min_of(t->depth, FLOW_STACK_MAX);

		words += 8 + depth + 3 * (depth / FLOW_OTHER_WORDS_MAX + 1);
	}
	if ((uint32_t)(t->at - t->base) + words + SLACK_WORDS > room)
		slot_turn_over(t);
	if (t->resync || t->unmarked)
		put_marks(t);
	else
		put_returns(t);
	return t->at;
}

bool slot_add_other(struct flow_slot *t, uint64_t now, uint32_t head, const void *payload)
{
	if (!slot_reserve(t, 1 + (head >> 8 & 255)))
		return false;
	put_other(t, now, head, payload);
	return true;
}

/*
 * A hook left by longjmp does not come back. A handler that interrupts a hook is well below it on the stack, behind the
 * saved context, or on an alternate signal stack.
 */
static bool is_abandoned(const struct flow_slot *t)
{
	uint32_t above = (uint32_t)stack_address() - t->busy; /* wraps around when negative */
	stack_t other;

	return !sealed && above + 512 < (64u << 20) &&
	       (sigaltstack(NULL, &other) < 0 || !(other.ss_flags & SS_ONSTACK));
}

bool slot_enter(struct flow_slot *t)
{
	if (unlikely(t->busy)) {
		if (is_abandoned(t)) {
			t->busy = (uint32_t)stack_address() | 1;
			flow_words_count(t->base, (size_t)(t->at - t->base), &t->calls, &t->extra);
			t->counted = NULL;
			t->resync = 1;
			return true;
		}
		__atomic_fetch_add(&t->unmarked, 1, __ATOMIC_RELAXED);
		t->why = FLOW_LOST_SIGNAL;
		t->limit = NULL;
		return false;
	}
	t->busy = (uint32_t)stack_address() | 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	flow_slot_count(t);
	return true;
}

/* From here on the fast paths write, which count nothing. */
static void begin_count(struct flow_slot *t)
{
	t->counted_noted = t->noted;
	t->returns = 0;
	t->counted = t->at;
}

void slot_leave(struct flow_slot *t)
{
	slot_settle(t);
	begin_count(t);
	slot_give(t, t->depth);
}

/* --- claiming and releasing --- */

static bool owner_is_gone(const struct flow_slot *t)
{
	return syscall(SYS_tgkill, t->pid, t->tid, 0) < 0 && errno == ESRCH;
}

/* Takes the chunk of a dead thread. */
static void give_up_chunk(struct flow_slot *t)
{
	t->pack = NULL; /* memory of another process */
	/* It may have died between collecting the chunk and starting a new one. */
	if (!(uint32_t)t->gathered || flow_slot_chunk(t)->seq >= t->gathered >> 32)
		(void)write_chunk(t);
	(void)gather_flush(t);
	if (live->digest_at)
		(void)digest_take(t, true);
}

/* Claims a free slot, or one of a dead owner; it is not touched before its disk blocks are allocated. */
static struct flow_slot *try_slot(uint32_t index, bool reclaim)
{
	struct flow_slot *t = flow_slot_at(live, index);
	uint32_t was = __atomic_load_n(&live->states[index], __ATOMIC_ACQUIRE);

	if ((was & FLOW_SLOT_MASK) != (reclaim ? FLOW_SLOT_USED : FLOW_SLOT_FREE) || (reclaim && !owner_is_gone(t)))
		return NULL;
	if (!__atomic_compare_exchange_n(&live->states[index], &was, (was & ~FLOW_SLOT_MASK) | FLOW_SLOT_TAKEN, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return NULL;
	if (!(was & FLOW_SLOT_BACKED) && !own_buffers_back((uintptr_t)t - (uintptr_t)live, live->slot_bytes)) {
		__atomic_store_n(&live->states[index], was, __ATOMIC_RELEASE);
		return NULL;
	}
	if (reclaim)
		give_up_chunk(t);
	t->index = index;
	return t;
}

static void set_state(const struct flow_slot *t, enum flow_slot_state state)
{
	__atomic_store_n(&live->states[t->index], state | FLOW_SLOT_BACKED, __ATOMIC_RELEASE);
}

static struct flow_slot *find_slot(void)
{
	uint32_t count = live->slot_count, start = __atomic_fetch_add(&live->slot_hint, 1, __ATOMIC_RELAXED);

	for (int reclaim = 0; reclaim < 2; reclaim++)
		for (uint32_t i = 0; i < count; i++) {
			struct flow_slot *t = try_slot((start + i) % count, reclaim);

			if (t)
				return t;
		}
	return NULL;
}

static void fill_slot(struct flow_slot *t)
{
	struct flow_chunk *chunk = flow_slot_chunk(t);

	*chunk = (struct flow_chunk){
		.magic = FLOW_MAGIC,
		.kind = FLOW_CHUNK_EVENTS,
		.flags = live->stamp_depth < FLOW_STACK_MAX ? FLOW_UNTIMED : 0,
		.thread = __atomic_add_fetch(&live->last_thread, 1, __ATOMIC_RELAXED),
		.pid = (uint32_t)own_pid,
		.tid = (uint32_t)syscall(SYS_gettid),
	};
	*t = (struct flow_slot){
		.index = t->index,
		.pid = chunk->pid,
		.tid = chunk->tid,
		.self = (uintptr_t)pthread_self(),
		.last = now_ticks(),
		.stamp_depth = live->stamp_depth,
		.untimed = FLOW_STACK_MAX - live->stamp_depth,
	};
	if (live->min_ticks) {
		void *frames = mmap(NULL, FLOW_STACK_MAX * sizeof(struct flow_frame), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		t->frames = frames == MAP_FAILED ? NULL : frames;
	}
	if (live->digest_at)
		digest_thread_begin(slot_digest(t), chunk);
	else if (live->gather_bytes)
		t->pack = pack_room_new();
	begin_chunk(t);
}

static struct flow_slot *take_slot(void)
{
	struct flow_slot *t = find_slot();
	char name[16] __attribute__((aligned(4))) = "";

	if (!t)
		return NULL;
	fill_slot(t);
	(void)sys_thread_name(name);
	memcpy(t->name, name, sizeof(t->name));
	put_other(t, t->last, flow_word_other(FLOW_O_START, 4, 0), (const uint32_t *)(const void *)name);
	slot_settle(t);
	begin_count(t);
	set_state(t, FLOW_SLOT_USED);
	return t;
}

COLD struct flow_slot *slot_get(void)
{
	struct flow_slot *t = current;
	int saved = errno;

	if (t || !live || taking)
		return t;
	taking = true;
	t = take_slot();
	if (!t)
		__atomic_fetch_add(&live->lost, 1, __ATOMIC_RELAXED);
	else if (end_key_made)
		(void)pthread_setspecific(end_key, t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	set_current(t);
	taking = false;
	errno = saved;
	return t;
}

/* --- stacks that the program changes itself --- */

/* What runs on such a stack is recorded like a thread: its calls nest, and return when it is resumed. */
static struct {
	const void *stack;
	struct flow_slot *slot;
} stacks[512];
static uint32_t stack_count;
static pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;

/* What ran there before has ended, wherever it was. */
static void begin_again(struct flow_slot *t)
{
	if (!slot_enter(t))
		return;
	slot_unwind(t, 0);
	slot_leave(t);
}

struct flow_slot *slot_of_stack(const void *stack)
{
	struct flow_slot *t = NULL;
	uint32_t i = 0;

	pthread_mutex_lock(&stacks_lock);
	while (i < stack_count && stacks[i].stack != stack)
		i++;
	if (i < stack_count && stacks[i].slot->pid == (uint32_t)own_pid) {
		t = stacks[i].slot;
		begin_again(t);
	} else if (i < sizeof(stacks) / sizeof(*stacks) && !taking) {
		taking = true;
		t = take_slot();
		taking = false;
	}
	if (t) {
		stacks[i].stack = stack;
		stacks[i].slot = t;
		stack_count = i < stack_count ? stack_count : i + 1;
	}
	pthread_mutex_unlock(&stacks_lock);
	return t;
}

void slot_switch(struct flow_slot *t)
{
	const struct flow_slot *from = current;

	/* After a fork the slots of other stacks are still the parent's. */
	if (!from || from == t || t->pid != (uint32_t)own_pid)
		return;
	t->tid = from->tid;
	t->delay_at = from->delay_at;
	t->delay_ns = from->delay_ns;
	t->runs = from->runs;
	t->cpu_ns = from->cpu_ns;
	t->own_ticks = from->own_ticks;
	if (end_key_made)
		(void)pthread_setspecific(end_key, t);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	set_current(t);
}

static void end_thread(void *data)
{
	struct flow_slot *t = data;
	int saved = errno;

	/* After a fork the value may be the parent's. */
	if (!live || t != current || !slot_enter(t))
		return;
	t->muted = 0;
	if (live->delay_ticks) {
		slot_leave(t);
		delay_look(t, now_ticks(), FLOW_DELAY_RUNNING);
		if (!slot_enter(t))
			return;
	}
	(void)slot_add_other(t, now_ticks(), flow_word_other(FLOW_O_END, 0, 0), NULL);
	slot_turn_over(t);
	flush(t);
	/* Losses not marked in the thread's own trace are counted at the end of the whole trace. */
	__atomic_fetch_add(&live->lost, t->unmarked, __ATOMIC_RELAXED);
	set_current(NULL);
	if (t->frames)
		munmap(t->frames, FLOW_STACK_MAX * sizeof(struct flow_frame));
	pack_room_free(t->pack);
	t->at = t->base;
	t->busy = 0;
	set_state(t, FLOW_SLOT_FREE);
	errno = saved;
}

static void add_process(struct flow_slot *t, enum flow_process what, uint32_t pid, uint32_t thread)
{
	uint32_t words[2] = {pid, thread};

	(void)slot_add_other(t, now_ticks(), flow_word_other(FLOW_O_PROCESS, 2, what), words);
}

/* --- fork --- */

static void before_fork(void)
{
	struct flow_slot *t = current;

	pthread_mutex_lock(&fork_lock);
	fork_depth = t ? min_of(t->depth, FLOW_STACK_MAX) : 0;
	fork_thread = t ? flow_slot_chunk(t)->thread : 0;
	fork_pid = own_pid;
	for (uint32_t i = 0; i < fork_depth; i++)
		fork_stack[i] = slot_stack(t)[i];
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&fork_lock);
}

static void after_fork_child(void)
{
	struct flow_slot *t;

	set_current(NULL);
	own_pid = getpid();
	pthread_mutex_init(&fork_lock, NULL);
	t = slot_get();
	if (!t || !slot_enter(t))
		return;
	add_process(t, FLOW_PROCESS_FORK, (uint32_t)fork_pid, fork_thread);
	for (uint32_t i = 0; i < fork_depth; i++)
		slot_stack(t)[i] = fork_stack[i];
	t->depth = fork_depth;
	flow_slot_chunk(t)->depth = 0;
	t->resync = 1;
	slot_leave(t);
}

/* Pauses or resumes all processes of the recording, like nest flow stop and start. */
static void on_toggle(int number)
{
	uint32_t paused = !__atomic_load_n(&live->paused, __ATOMIC_RELAXED);

	(void)number;
	__atomic_store_n(&live->paused, paused, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; paused && i < live->slot_count; i++)
		if ((__atomic_load_n(&live->states[i], __ATOMIC_ACQUIRE) & FLOW_SLOT_MASK) == FLOW_SLOT_USED)
			__atomic_store_n(&flow_slot_at(live, i)->limit, NULL, __ATOMIC_SEQ_CST);
}

/* Takes a signal that the program does not handle; a later handler of the program replaces it. */
static void take_signal(void)
{
	struct sigaction old, action = {.sa_handler = on_toggle, .sa_flags = SA_RESTART};

	if (live->toggle_signal && sigaction((int)live->toggle_signal, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		(void)sigaction((int)live->toggle_signal, &action, NULL);
}

/* Slots of this process from before an exec. */
static void reclaim_own(void)
{
	for (uint32_t i = 0; i < live->slot_count; i++) {
		struct flow_slot *t = flow_slot_at(live, i);

		if ((__atomic_load_n(&live->states[i], __ATOMIC_ACQUIRE) & FLOW_SLOT_MASK) != FLOW_SLOT_USED ||
		    t->pid != (uint32_t)own_pid)
			continue;
		give_up_chunk(t);
		set_state(t, FLOW_SLOT_FREE);
	}
}

void slots_begin(void)
{
	struct flow_slot *t;

	own_pid = getpid();
	reclaim_own();
	end_key_made = pthread_key_create(&end_key, end_thread) == 0;
	(void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	take_signal();
	t = slot_get();
	if (!t || !slot_enter(t))
		return;
	add_process(t, FLOW_PROCESS_EXEC, (uint32_t)getppid(), 0);
	slot_leave(t);
}

/* End of the program, by exit, _exit or exec. Other threads may still run: the recorder collects their slots. */
void slots_end(void)
{
	struct flow_slot *t = current;

	/* The child of a vfork has its parent's memory. */
	if (getpid() != own_pid)
		return;
	if (t)
		delay_look(t, now_ticks(), FLOW_DELAY_RUNNING);
	if (!t || !slot_enter(t))
		return;
	add_process(t, FLOW_PROCESS_EXIT, 0, 0);
	slot_turn_over(t);
	flush(t);
	slot_leave(t);
}
