/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/infer/time_list.h"

#include <inttypes.h>
#include <string.h>

#include "diagnose/measure/app.h"
#include "diagnose/measure/time_use.h"

#define S struct share_record
static const struct field share_fields[] = {
	FIELD(S, share, RATIO, "share of the time", .unit = "%"),
	FIELD(S, on, TEXT, "module that it waits for"),
	FIELD(S, what, TEXT, "cpu, cpu-wait, answer, network, connect, dns, peer-reading, idle or other"),
	FIELD(S, count, COUNT, "number of these waits"),
	FIELD(S, p50_ns, DURATION, "median of them"),
	FIELD(S, max_ns, DURATION, "longest of them"),
	FIELD(S, rtt_ns, DURATION, "minimum RTT of the connection"),
};
#undef S
RECORD_TYPE(share_type, "share", struct share_record, share_fields, "a part of the time of a program");

static const struct field time_fields[] = {
	FIELD(struct time_record, module, TEXT, "the program"),
	FIELD(struct time_record, name, TEXT, "its name"),
	FIELD(struct time_record, estimate, BOOL, "estimated from samples, where nothing can be traced"),
	FIELD(struct time_record, shares, LIST, "where its time went; together 1", .element = &share_type),
};
RECORD_TYPE(time_type, "time", struct time_record, time_fields, "where the time of a program goes");

/* A program of the list. */
struct timed {
	const struct module *app;
	struct time_use use;
	double busy;
};

static bool is_shown(const struct module *module, uint64_t pid)
{
	return module->kind == MODULE_APP && !module->hidden && module->time_history && module->measures.app &&
	       (pid == 0 || module->measures.app->pid == pid);
}

static int by_work(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return x->busy != y->busy ? (x->busy < y->busy ? 1 : -1) : strcmp(x->app->id, y->app->id);
}

static const char *name_of(const struct graph *graph, const char *id)
{
	const struct module *module = graph_find(graph, id);
	const char *colon = strchr(id, ':');

	return module ? module->name : colon ? colon + 1 : id;
}

static const char *copy(struct graph *graph, const char *text, size_t size)
{
	char *to = graph_alloc(graph, size + 1);

	memcpy(to, text, strnlen(text, size));
	return to;
}

/* Of a container, the module that it has for it. */
static const char *on_of(struct graph *graph, const struct module *app, const struct time_share *share)
{
	const char *on = share->on[0] ? copy(graph, share->on, sizeof(share->on)) : NULL;
	_cleanup_free_ char *inside = on && app->place ? xasprintf("%s@%" PRIu64, on, app->place->netns) : NULL;
	const struct module *module = inside ? graph_find(graph, inside) : NULL;

	return module ? module->id : on;
}

static struct list shares_of(struct graph *graph, const struct timed *timed)
{
	const struct time_use *use = &timed->use;
	struct share_record *items = graph_alloc(graph, use->count * sizeof(*items));

	for (unsigned i = 0; i < use->count; i++) {
		const struct time_share *share = &use->shares[i];
		const char *on = on_of(graph, timed->app, share);

		items[i] = (struct share_record){
			.share = share->share,
			.on = on,
			.what = time_what_name(share->what),
			.count = on ? share->count : UINT64_MAX,
			.p50_ns = on ? share->p50_ns : UINT64_MAX,
			.max_ns = on ? share->max_ns : UINT64_MAX,
			.rtt_ns = share->rtt_ns,
			.program = timed->app->name,
			.on_name = on ? name_of(graph, on) : NULL,
			.estimate = use->estimate,
		};
	}
	return (struct list){items, use->count};
}

struct list time_list(struct graph *graph, uint64_t pid, unsigned windows)
{
	VEC(struct timed) programs = {};
	struct time_record *items;
	uint32_t count;

	vec_each(&graph->modules, module) {
		struct timed timed = {.app = *module};

		if (!is_shown(*module, pid))
			continue;
		timed.use = time_history_sum((*module)->time_history, windows);
		timed.busy = time_use_busy(&timed.use);
		if (timed.use.count)
			vec_push(&programs, timed);
	}
	vec_sort(&programs, by_work);
	count = (uint32_t)programs.count;
	items = graph_alloc(graph, max_of(count, 1U) * sizeof(*items));
	for (uint32_t i = 0; i < count; i++) {
		const struct app_measures *m = programs.items[i].app->measures.app;

		items[i] = (struct time_record){
			.module = programs.items[i].app->id,
			.name = copy(graph, m->comm, sizeof(m->comm)),
			.estimate = programs.items[i].use.estimate,
			.shares = shares_of(graph, &programs.items[i]),
		};
	}
	vec_done(&programs);
	return (struct list){items, count};
}
