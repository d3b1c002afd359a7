/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "kernel/symbols.h"
#include "kernel/user_symbols.h"
#include "record/value.h"
#include "tool/core/stacks.h"

#define FRAMES_MAX 127
#define STACKS_MAX 100000

struct known {
	uint32_t pid; /* 0: kernel */
	int32_t id;
};

void stacks_done(struct stacks *stacks)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&stacks->known, &at, &key, &value))
		value_free_stack(value);
	map_done(&stacks->known);
	user_symbols_free(stacks->user);
}

static const char *find_name(struct stacks *stacks, uint32_t pid, uint64_t address)
{
	if (pid)
		return user_symbols_find(stacks->user, pid, address);
	return stacks->kernel ? kernel_symbols_find(stacks->kernel, address) : NULL;
}

/* The innermost frames belong to the instrumentation itself: skip them. */
static bool is_own(const char *name)
{
	return strncmp(name, "bpf_", 4) == 0 || strncmp(name, "__bpf_", 6) == 0 ||
	       strncmp(name, "__traceiter_", 12) == 0 || strncmp(name, "trace_call_bpf", 14) == 0;
}

static struct stack look_up(struct stacks *stacks, uint32_t pid, int32_t id)
{
	uint64_t addresses[FRAMES_MAX];
	unsigned count = stacks->read ? stacks->read(stacks->source, id, addresses, FRAMES_MAX) : 0;
	struct stack stack = {};
	const char **frames;
	/* Without names nobody knows. */
	bool outside = pid != 0 || !stacks->kernel;

	if (count == 0)
		return stack;
	frames = xzalloc(count * sizeof(*frames));
	for (unsigned i = 0; i < count; i++) {
		const char *name = find_name(stacks, pid, addresses[i]);

		outside = outside || (name && !is_own(name));
		if (!outside)
			continue;
		frames[stack.count++] = name ? xstrdup(name) : xasprintf("0x%" PRIx64, addresses[i]);
	}
	stack.frames = frames;
	return stack;
}

static struct stack find_stack(struct stacks *stacks, uint32_t pid, int32_t id)
{
	struct known key = {pid, id};
	struct stack *stack;
	bool is_new;

	if (id < 0)
		return (struct stack){};
	if (!stacks->known.key_size)
		stacks->known = MAP_INIT(sizeof(struct known), sizeof(struct stack), STACKS_MAX);
	stack = map_put(&stacks->known, &key, &is_new);
	if (!stack)
		return (struct stack){};
	if (is_new)
		*stack = look_up(stacks, pid, id);
	return *stack;
}

struct stack stacks_kernel(struct stacks *stacks, int32_t id)
{
	/* Without symbols, show addresses. */
	if (id >= 0)
		stacks->kernel = kernel_symbols_get(NULL);
	return find_stack(stacks, 0, id);
}

struct stack stacks_user(struct stacks *stacks, uint32_t pid, int32_t id)
{
	if (id < 0 || pid == 0)
		return (struct stack){};
	if (!stacks->user)
		stacks->user = user_symbols_new();
	return find_stack(stacks, pid, id);
}
