/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hooks attached on demand: a BPF program that detects the need sets a variable. */
#include "event/core/live_private.h"

int live_late_add(struct live *live, const struct event_hook *hook, const char *program)
{
	void *wanted;
	int r = kernel_object_variable(live->object, hook->late, sizeof(uint32_t), &wanted);

	if (r < 0)
		return why_set(&live->why, r, "the BPF object lacks a variable");
	*vec_add(&live->late) = (struct live_late){.hook = hook, .program = program, .wanted = wanted};
	return 0;
}

void live_late_look(struct live *live)
{
	size_t kept = 0;

	for (size_t i = 0; i < live->late.count; i++) {
		const struct live_late late = live->late.items[i];

		if (!__atomic_load_n(late.wanted, __ATOMIC_RELAXED)) {
			live->late.items[kept++] = late;
			continue;
		}
		/* If attaching fails, the other programs continue without it. */
		if (live_attach_now(live, late.hook, late.program) < 0 && live->late_refused)
			live->late_refused(live->why.text);
	}
	live->late.count = kept;
}

bool live_has_late(const struct live *live)
{
	return live->late.count > 0;
}
