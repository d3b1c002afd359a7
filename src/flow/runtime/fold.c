/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chunks that are folded into the digest instead of being written: one thread at a time, of all processes. */
#include <sched.h>
#include <signal.h>

#include "flow/runtime/runtime.h"
#include "flow/runtime/sys.h"

/* Waiting in turns of this many; then it is looked at whether whoever has the lock still lives. */
#define PATIENCE 1000u

static struct digest *the_digest(void)
{
	return (struct digest *)((uintptr_t)live + live->digest_at);
}

/* A thread that was killed with the lock leaves it to the next: the digest makes sense after each of its steps. */
static void lock(struct digest *digest, uint32_t self)
{
	for (uint32_t turn = 1;; turn++) {
		uint32_t owner = 0;

		if (__atomic_compare_exchange_n(&digest->lock, &owner, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		sched_yield();
		if (turn % PATIENCE == 0 && syscall(SYS_tkill, owner, 0) < 0 && errno == ESRCH &&
		    __atomic_compare_exchange_n(&digest->lock, &owner, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
	}
}

void digest_take(struct flow_slot *t, bool gone)
{
	struct digest *digest = the_digest();

	lock(digest, (uint32_t)syscall(SYS_gettid));
	if (gone)
		digest_thread_end(digest, slot_digest(t), t->last);
	else
		digest_fold(digest, slot_digest(t), flow_slot_chunk(t), flow_slot_words(t));
	__atomic_store_n(&digest->lock, 0, __ATOMIC_RELEASE);
}
