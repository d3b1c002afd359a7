/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of addresses as lists of functions. A stack is looked up once; its frames stay until the end of the run. */
#pragma once

#include "base/map.h"
#include "record/field.h"

struct stacks {
	/* Addresses of a stack by its number, innermost first; NULL: there are no stacks. */
	unsigned (*read)(const void *source, int32_t id, uint64_t *addresses, unsigned max);
	const void *source;
	struct map known;              /* process and number -> struct stack */
	struct kernel_symbols *kernel; /* loaded at first use */
	struct user_symbols *user;
};

void stacks_done(struct stacks *stacks);
struct stack stacks_kernel(struct stacks *stacks, int32_t id);
struct stack stacks_user(struct stacks *stacks, uint32_t pid, int32_t id);
