/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds out which hooks work, for all events at once. A refused program fails its whole attempt; so programs that
 * loaded are not loaded again until all others had their turn, and attached ones never. A loaded tracepoint program
 * counts as attachable once one program of its kind was attached: detaching takes up to 0.1 s each, and there are many.
 */
#include <errno.h>
#include <string.h>

#include "event/core/live_private.h"
#include "kernel/libbpf_words.h"

static uint32_t kind_of(const struct live *live, const struct event_hook *hook, const char *program)
{
	static const char *const alike[] = {"tp_btf/", "tracepoint/"};
	const char *section = kernel_object_section(live->object, program);

	for (unsigned i = 0; section && !hook->attach && i < ARRAY_SIZE(alike); i++)
		if (strncmp(section, alike[i], strlen(alike[i])) == 0)
			return 1U << i;
	return 0;
}

static struct live_probed *find_probed(struct live *live, const char *program)
{
	vec_each(&live->probed, probed)
		if (strcmp(probed->program, program) == 0)
			return probed;
	return NULL;
}

static void note_state(struct live *live, const struct event_hook *hook, const char *program,
		       enum live_probe_state state)
{
	struct live_probed *probed = find_probed(live, program);
	uint32_t kind = kind_of(live, hook, program);

	if (probed)
		probed->state = max_of(probed->state, state);
	else
		vec_push(&live->probed, (struct live_probed){.program = program, .state = state, .kind = kind});
	if (state == LIVE_PROBE_ATTACHED)
		live->proven_kinds |= kind;
}

static enum live_probe_state state_of(struct live *live, const char *program)
{
	const struct live_probed *probed = find_probed(live, program);

	if (!probed)
		return LIVE_PROBE_OPEN;
	return probed->kind & live->proven_kinds ? LIVE_PROBE_ATTACHED : probed->state;
}

bool live_probe_wants(struct live *live, const char *program)
{
	return !live->probing || state_of(live, program) == live->probing_state;
}

struct before {
	struct live *live;
	const char *failed;
};

/* libbpf loads programs in the order of the object. */
static int note_loaded(const struct event_hook *hook, const char *program, void *context)
{
	const struct before *before = context;

	if (live_probe_wants(before->live, program) &&
	    kernel_object_comes_before(before->live->object, program, before->failed))
		note_state(before->live, hook, program, LIVE_PROBE_LOADED);
	return 0;
}

static int attach_or_refuse(const struct event_hook *hook, const char *program, void *context)
{
	struct live *live = context;

	if (!live_probe_wants(live, program))
		return 0;
	if (kind_of(live, hook, program) & live->proven_kinds || live_attach(hook, program, live) == 0)
		note_state(live, hook, program, LIVE_PROBE_ATTACHED);
	else
		(void)hook_plan_refuse(&live->plan, program, live->why.text);
	return 0;
}

static int probe_once(struct live *live, struct why *why)
{
	struct before before = {.live = live, .failed = live->failed};
	int r = live_open_object(live, why);

	if (r < 0)
		return r;
	r = kernel_object_load(live->object, &live->why);
	if (r == 0)
		return hook_plan_each(&live->plan, attach_or_refuse, live);
	snprintf(live->failed, sizeof(live->failed), "%s", libbpf_words_blamed());
	(void)hook_plan_each(&live->plan, note_loaded, &before);
	if (!hook_plan_refuse(&live->plan, live->failed, live->why.text))
		return why_set(why, r, "%s", live->why.text);
	return 0;
}

static int find_state(const struct event_hook *hook _unused_, const char *program, void *context)
{
	struct live *live = context;

	return state_of(live, program) == live->probing_state ? -EAGAIN : 0;
}

/* Whether programs remain to be tested: first those never loaded, then those not attached. */
static bool is_anything_left(struct live *live)
{
	for (live->probing_state = LIVE_PROBE_OPEN; live->probing_state < LIVE_PROBE_ATTACHED; live->probing_state++)
		if (hook_plan_each(&live->plan, find_state, live) < 0)
			return true;
	return false;
}

int live_probe(struct live *live, struct why *why)
{
	/* Each attempt removes a hook, except the final one of each state. */
	size_t attempts = live->plan.choices.count * EVENT_HOOKS_MAX + 2;

	live->probing = true;
	while (attempts-- > 0 && is_anything_left(live)) {
		int r;

		kernel_object_close(take_ptr(live->object));
		r = probe_once(live, why);
		if (r < 0)
			return r;
	}
	return 0;
}
