/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/core/available.h"

#include <string.h>

#include "base/log.h"
#include "event/core/available_cache.h"
#include "event/core/live.h"
#include "event/core/missing.h"

static int guess(struct availability *availability)
{
	struct hook_refusals refusals = {};
	struct kernel_object *object;
	int r = event_check_host(&availability->why);

	if (r == 0)
		r = kernel_object_find(hook_object(), &object, &availability->why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < availability->count; i++)
		for (uint32_t k = 0; k < availability->events[i]->role_count; k++)
			if (availability->events[i]->roles[k].set == EVENT_SET_ALL)
				hook_plan_add(&availability->own, (unsigned)i, &availability->events[i]->roles[k], 1);
	r = available_cache_load(&refusals);
	hook_plan_guess(&availability->own, object, r == 0 ? &refusals : NULL);
	vec_done(&refusals);
	kernel_object_close(object);
	return 0;
}

void availability_look(struct availability *availability)
{
	*availability = (struct availability){};
	availability->events = event_list(&availability->count);
	if (guess(availability) == 0)
		availability->plan = &availability->own;
}

void availability_try(struct availability *availability)
{
	_cleanup_free_ struct event_request *requests = NULL;
	int r;

	*availability = (struct availability){};
	availability->events = event_list(&availability->count);
	requests = xzalloc((availability->count + 1) * sizeof(*requests));
	for (size_t i = 0; i < availability->count; i++)
		requests[i] = (struct event_request){.event = availability->events[i], .config.needs = ~(uint32_t)0};
	if (live_open(requests, (unsigned)availability->count, &(struct live_options){.probe = true},
		      &availability->live, &availability->why) < 0)
		return;
	availability->plan = live_hooks(availability->live);
	r = available_cache_save(&availability->plan->refusals);
	/* Then the next quick answer is a guess again. */
	if (r < 0)
		log_debug("cannot cache the result: %s", strerror(-r));
}

void availability_done(struct availability *availability)
{
	hook_plan_done(&availability->own);
	live_close(availability->live);
	free(availability->events);
}

static const char *reason_of(const struct availability *availability, const struct event *event)
{
	vec_each(&availability->plan->choices, choice)
		if (choice->request < availability->count && !choice->role->without && !hook_choice_get(choice) &&
		    availability->events[choice->request] == event)
			return choice->reason;
	return NULL;
}

const char *availability_reason(const struct availability *availability, const char *name)
{
	const struct event *events[EVENT_UNION_MAX];
	unsigned count = event_resolve(name, events);
	const char *reason = NULL;

	if (count == 0)
		return "no such event was built in";
	if (!availability->plan)
		return availability->why.text;
	for (unsigned i = 0; !reason && i < count; i++)
		reason = reason_of(availability, events[i]);
	return reason;
}

const char *event_unavailable(const char *event)
{
	static struct availability here;

	if (!here.events)
		availability_look(&here);
	return here.plan ? availability_reason(&here, event) : NULL;
}
