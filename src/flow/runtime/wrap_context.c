/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrappers of the C library's functions that change stacks (user threads). What runs on a stack of its own is recorded
 * like a thread, in a slot of its own; while another one runs, it waits: for the socket that it could not use before,
 * or gave to epoll, if there is one.
 *
 * A saved context goes on inside the wrapper that saved it, which knows its slot. A new one has a stack of its own, and
 * that has a slot.
 */
#include "flow/runtime/real.h"
#include "flow/runtime/runtime.h"

/* Bytes of switch_stack, at most. */
#define SWITCH_BYTES 256

#define OFF          (!live || sealed || !current)

EXPORT int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to);
EXPORT int setcontext(const ucontext_t *to);

/* Contexts that it saves return to this function. */
static __attribute__((noinline)) int switch_stack(ucontext_t *from, const ucontext_t *to)
{
	int result = real.swapcontext(from, to);

	/* No tail call. */
	__asm__ volatile("" ::: "memory");
	return result;
}

static uintptr_t goes_on_at(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)context->uc_mcontext.pc;
#else
	(void)context;
	return (uintptr_t)switch_stack; /* unknown: never a new one */
#endif
}

/* The slot of a context that has not run yet. */
static struct flow_slot *slot_of_new(const ucontext_t *to)
{
	uintptr_t begin = (uintptr_t)to->uc_stack.ss_sp, here = stack_address();

	if (goes_on_at(to) - (uintptr_t)switch_stack < SWITCH_BYTES || !begin || here - begin < to->uc_stack.ss_size)
		return NULL;
	return slot_of_stack(to->uc_stack.ss_sp);
}

int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
	struct flow_slot *mine = current, *theirs;
	struct delay_mark before;
	uint32_t socket;
	uint64_t start;
	int result, saved = errno;

	if (!READY(swapcontext)) {
		errno = ENOSYS;
		return -1;
	}
	if (OFF)
		return switch_stack(from, to);
	start = op_begin();
	socket = mine->asked_socket;
	before = (struct delay_mark){mine->tid, mine->delay_ns, mine->runs};
	theirs = slot_of_new(to);
	if (theirs)
		slot_switch(theirs);
	errno = saved;
	result = switch_stack(from, to);
	saved = errno;
	slot_switch(mine);
	if (socket && result == 0)
		op_end(&(struct op){FLOW_OP_WAIT, mine->asked_fd, socket, 1, start, UINT64_MAX});
	if (current == mine)
		delay_skip(mine, start, socket ? NULL : &before);
	errno = saved;
	return result;
}

int setcontext(const ucontext_t *to)
{
	struct flow_slot *theirs;
	int saved = errno;

	if (!READY(setcontext)) {
		errno = ENOSYS;
		return -1;
	}
	theirs = OFF ? NULL : slot_of_new(to);
	if (theirs)
		slot_switch(theirs);
	errno = saved;
	return real.setcontext(to);
}
