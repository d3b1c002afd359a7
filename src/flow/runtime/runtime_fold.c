/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds chunks into the digest instead of writing them: one thread at a time, across all processes. */
#include <sched.h>
#include <signal.h>

#include "flow/runtime/runtime.h"
#include "flow/runtime/sys.h"

/* Nanoseconds that a thread waits for the lock; then its chunk is lost, and counted. */
#define PATIENCE UINT64_C(2000000000)

static struct digest *the_digest(void)
{
	return (struct digest *)((uintptr_t)live + live->digest_at);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * A thread killed with the lock leaves it to the next: the digest is consistent after each step. A stopped holder, or a
 * recycled tid that only looks alive, must not delay the program repeatedly.
 */
static bool lock(struct digest *digest, uint32_t self)
{
	static uint32_t stuck;
	uint64_t until = 0;

	for (;;) {
		uint32_t owner = 0;

		if (__atomic_compare_exchange_n(&digest->lock, &owner, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
		if (!until)
			until = now_ns() + PATIENCE;
		if (owner == __atomic_load_n(&stuck, __ATOMIC_RELAXED) || now_ns() > until) {
			if (syscall(SYS_tkill, owner, 0) < 0 && errno == ESRCH &&
			    __atomic_compare_exchange_n(&digest->lock, &owner, self, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				break;
			__atomic_store_n(&stuck, owner, __ATOMIC_RELAXED);
			return false;
		}
		sched_yield();
	}
	__atomic_store_n(&stuck, 0, __ATOMIC_RELAXED);
	return true;
}

bool digest_take(struct flow_slot *t, bool gone)
{
	struct digest *digest = the_digest();

	if (!lock(digest, (uint32_t)syscall(SYS_gettid))) {
		live->last_error = EBUSY;
		return false;
	}
	if (gone)
		digest_thread_end(digest, slot_digest(t), t->last);
	else
		digest_fold(digest, slot_digest(t), flow_slot_chunk(t), flow_slot_words(t));
	__atomic_store_n(&digest->lock, 0, __ATOMIC_RELEASE);
	return true;
}
