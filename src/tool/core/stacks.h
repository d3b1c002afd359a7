/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves stacks to function names. Each stack is resolved once; its frames live until the end of the run. */
#pragma once

#include "base/map.h"
#include "record/field.h"

struct stacks {
	/* Reads the addresses of a stack by id, innermost first; NULL: no stacks. */
	unsigned (*read)(const void *source, int32_t id, uint64_t *addresses, unsigned max);
	const void *source;
	struct map known;                    /* pid and id -> struct stack */
	const struct kernel_symbols *kernel; /* loaded on first use */
	struct user_symbols *user;
};

void stacks_done(struct stacks *stacks);
struct stack stacks_kernel(struct stacks *stacks, int32_t id);
struct stack stacks_user(struct stacks *stacks, uint32_t pid, int32_t id);
