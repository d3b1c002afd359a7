/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Survives the truncation of TRACE.live, after which the next access of any thread raises SIGBUS. The mapping is then
 * replaced, in one step, by private memory in which recording is paused and every slot is valid: threads that are
 * inside the recorder go on there, and nothing is recorded from then on.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "flow/runtime/runtime.h"

bool live_is_gone;

static size_t live_bytes;
/* The header up to its tables, which may be gone when it is needed. */
static char header[offsetof(struct flow_live, filters)];
static struct sigaction before;

static void make_slot(struct flow_live *spare, uint32_t index)
{
	struct flow_slot *t = flow_slot_at(spare, index);
	/* Where it will be; the memory that is there now must not be touched. */
	struct flow_slot *final = (struct flow_slot *)((uintptr_t)live + ((uintptr_t)t - (uintptr_t)spare));

	t->index = index;
	t->at = t->base = flow_slot_words(final);
	t->resync = 1;
	t->stamp_depth = spare->stamp_depth;
	t->untimed = FLOW_STACK_MAX - spare->stamp_depth;
	spare->states[index] = FLOW_SLOT_TAKEN | FLOW_SLOT_BACKED;
}

/* Only system calls: it runs in a signal handler. */
static bool replace_live(void)
{
	struct flow_live *spare =
		mmap(NULL, live_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (spare == MAP_FAILED)
		return false;
	memcpy(spare, header, sizeof(header));
	spare->paused = 1;
	spare->toggle_signal = 0;
	spare->digest_at = 0;
	for (uint32_t i = 0; i < spare->slot_count; i++)
		make_slot(spare, i);
	__atomic_store_n(&live_is_gone, true, __ATOMIC_SEQ_CST);
	return mremap(spare, live_bytes, live_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, live) == live;
}

static bool is_of_live(const siginfo_t *info)
{
	return info->si_code == BUS_ADRERR && live && (uintptr_t)info->si_addr - (uintptr_t)live < live_bytes;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	/* Another thread may have been faster: then the access works now. */
	if (is_of_live(info) && (live_is_gone || replace_live())) {
		errno = saved;
		return;
	}
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(number);
	} else {
		/* As without us: the access is repeated; a signal of kill() is raised once more. */
		(void)sigaction(SIGBUS, &before, NULL);
		if (info->si_code <= 0)
			(void)raise(SIGBUS);
	}
	errno = saved;
}

void live_guard(size_t bytes)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	live_bytes = bytes;
	memcpy(header, live, sizeof(header));
	(void)sigaction(SIGBUS, &action, &before);
}
