/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool/core/keep.h"
#include "base/clock.h"
#include "store/about.h"

int keep_source(struct store *store, const struct live *live, unsigned request, const struct event *event)
{
	struct event_loss loss = live_loss(live, request);
	uint64_t lost = event_loss_total(&loss);
	struct store_table *table;
	int r = store_table_open(store, attached_type.name, &SHAPE_OF(&attached_type), &table);

	vec_each(&live_hooks(live)->choices, choice) {
		bool taken = hook_choice_get(choice) != NULL;
		struct attached_record record = {.time_ns = clock_real_ns(),
						 .event = event->name,
						 .hook = taken ? choice->section : NULL,
						 .reason = taken ? NULL : choice->reason};

		if (r == 0 && choice->request == request)
			r = store_add(table, &RECORD_OF(&record));
	}
	if (r == 0 && lost)
		r = store_add_loss(store, event->name, lost);
	return r;
}
