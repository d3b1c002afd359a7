/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/far_side.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/far_end.h"
#include "snapshot/core/slice.h"
#include "snapshot/netlink/translation.h"
#include "snapshot/socket/socket.h"
#include "view/format.h"

/* A network namespace of the other end. */
struct far_netns {
	uint32_t netns;
	struct window *window;
	struct diagnosis *diagnosis;
};

struct far_side {
	struct recording *recording;
	struct replay *replay;
	struct snapshot *snapshot;
	struct snapshot_slice *slice;
	bool pending; /* the snapshot is later than what was asked for so far */
	const struct knowledge *knowledge;
	VEC(struct far_netns) namespaces;
	struct end_pairs pairs;
	struct far_end_view view;
	char *own_host, *far_host;
};

/* --- names --- */

/* a of /tmp/a.nest */
static char *stem_of(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *end = strrchr(name, '.');

	return xstrndup(name, end && end > name ? (size_t)(end - name) : strlen(name));
}

static void name_hosts(struct far_side *far, const struct recording *own)
{
	const char *here = recording_host(own)->host, *there = recording_host(far->recording)->host;
	bool same = strcmp(here, there) == 0;

	far->own_host = same ? stem_of(recording_path(own)) : xstrdup(here);
	far->far_host = same ? stem_of(recording_path(far->recording)) : xstrdup(there);
}

const char *far_side_own_host(const struct far_side *far)
{
	return far->own_host;
}

const char *far_side_far_host(const struct far_side *far)
{
	return far->far_host;
}

/* --- matching --- */

typedef void see_sample_fn(struct end_pairs *pairs, const struct snapshot *snapshot);

static void add_here(struct end_pairs *pairs, const struct snapshot *snapshot)
{
	end_pairs_add(pairs, END_HERE, snapshot);
}

static void add_there(struct end_pairs *pairs, const struct snapshot *snapshot)
{
	end_pairs_add(pairs, END_THERE, snapshot);
}

static int collect(struct end_pairs *pairs, see_sample_fn *see, struct recording *recording,
		   const struct time_range *range, struct why *why)
{
	static const struct record_type *const connections[] = {&socket_type, &tcp_type, NULL};
	static const struct record_type *const translations[] = {&translation_type, NULL};
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	bool translates = see == end_pairs_translate;
	int r;

	/* Earlier versions did not record it. */
	if (translates && !recording_has(recording, translation_type.name))
		return 0;
	r = replay_open(recording, range, translates ? translations : connections, &replay, why);
	if (r < 0)
		return r;
	while ((r = replay_next(replay, snapshot, why)) > 0)
		see(pairs, snapshot);
	return r;
}

/* Both hosts may translate, and so may routers between them. */
static int collect_translations(struct far_side *far, struct recording *own, const struct text_list *routers,
				struct why *why)
{
	struct time_range all = {.to_ns = UINT64_MAX};
	int r = collect(&far->pairs, end_pairs_translate, own, &all, why);

	if (r == 0)
		r = collect(&far->pairs, end_pairs_translate, far->recording, &all, why);
	for (size_t i = 0; i < routers->count && r == 0; i++) {
		_cleanup_(recording_closep) struct recording *router = NULL;
		size_t before = far->pairs.names.count;

		r = recording_open(routers->items[i], &router, why);
		if (r == 0)
			r = collect(&far->pairs, end_pairs_translate, router, &all, why);
		if (r == 0 && far->pairs.names.count == before)
			log_warn("%s: no connection that NAT translates", routers->items[i]);
	}
	return r;
}

static void align(struct far_side *far)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1024);
	struct clock_bound bound = end_pairs_align(&far->pairs);

	far->view.offset_ns = clock_bound_offset(&bound, &far->view.error_ns);
	buf_add_text(&text, "both ends: ");
	format_add_plural(&text, far->pairs.pairs.count, "connection");
	buf_add_format(&text, " matched; the clock of %s is ", far->far_host);
	format_add_duration(&text, far->view.offset_ns < 0 ? -far->view.offset_ns : far->view.offset_ns);
	buf_add_text(&text, far->view.offset_ns < 0 ? " behind" : " ahead");
	if (far->view.error_ns == UINT64_MAX) {
		buf_add_text(&text, " (traffic in one direction only: not bounded)");
	} else {
		buf_add_text(&text, ", within ");
		format_add_duration(&text, (int64_t)far->view.error_ns);
	}
	log_info("%s", buf_text(&text));
	if (far->pairs.refused)
		log_warn("%" PRIu64 " sample%s of connections beyond the limit not compared: use --from and --to",
			 far->pairs.refused, text_plural(far->pairs.refused));
}

static int match(struct far_side *far, struct recording *own, const struct far_side_request *request, struct why *why)
{
	struct time_range all = {.to_ns = UINT64_MAX};
	int r = collect_translations(far, own, request->routers, why);

	if (r == 0)
		r = collect(&far->pairs, add_here, own, request->range, why);
	if (r == 0)
		r = collect(&far->pairs, add_there, far->recording, &all, why);
	if (r < 0)
		return r;
	if (end_pairs_match(&far->pairs) > 0)
		align(far);
	else
		log_warn("%s and %s have no connection in common: diagnosed from one end. The addresses and ports of "
			 "one must be those of the other (with NAT between them, also give the recording of the "
			 "router: --nat FILE)",
			 recording_path(own), recording_path(far->recording));
	return 0;
}

int far_side_open(const struct far_side_request *request, struct recording *own, struct far_side **ret_far,
		  struct why *why)
{
	struct far_side *far = xzalloc(sizeof(*far));
	struct time_range all = {.to_ns = UINT64_MAX};
	int r;

	far->snapshot = snapshot_new();
	far->slice = snapshot_slice_new();
	far->knowledge = request->knowledge;
	far->pairs = (struct end_pairs)END_PAIRS_INIT;
	far->view.tracks = MAP_INIT(sizeof(struct end_key), sizeof(struct far_end_track), 1000000);
	r = recording_open(request->file, &far->recording, why);
	if (r == 0) {
		name_hosts(far, own);
		r = match(far, own, request, why);
	}
	if (r == 0) {
		far->view.own_host = far->own_host;
		far->view.far_host = far->far_host;
		far->view.pairs = &far->pairs;
		r = replay_open(far->recording, &all, NULL, &far->replay, why);
	}
	if (r < 0 || far->pairs.pairs.count == 0)
		far_side_close(far);
	else
		*ret_far = far;
	return r;
}

void far_side_close(struct far_side *far)
{
	if (!far)
		return;
	vec_each(&far->namespaces, netns) {
		diagnosis_free(netns->diagnosis);
		window_free(netns->window);
	}
	vec_done(&far->namespaces);
	replay_close(far->replay);
	snapshot_free(far->snapshot);
	snapshot_slice_free(far->slice);
	recording_close(far->recording);
	end_pairs_done(&far->pairs);
	map_done(&far->view.tracks);
	free(far->own_host);
	free(far->far_host);
	free(far);
}

/* --- in step with this end --- */

static struct far_netns *find_netns(struct far_side *far, uint32_t inum)
{
	struct far_netns *netns;

	vec_each(&far->namespaces, known)
		if (known->netns == inum)
			return known;
	netns = vec_add(&far->namespaces);
	netns->netns = inum;
	netns->window = window_new();
	netns->window->netns = inum;
	netns->diagnosis = diagnosis_new(far->knowledge);
	return netns;
}

static void add_sample(struct far_side *far)
{
	snapshot_each(far->snapshot, netns_type, const struct netns_record, record)
		(void)find_netns(far, record->netns);
	snapshot_slice_divide(far->slice, far->snapshot);
	vec_each(&far->namespaces, netns)
		window_add(netns->window, snapshot_slice_cut(far->slice, netns->netns));
}

int far_side_advance(struct far_side *far, uint64_t now_ns, struct why *why)
{
	uint64_t until_ns = (uint64_t)((int64_t)now_ns + far->view.offset_ns);
	int r = 1;

	for (;;) {
		if (!far->pending) {
			r = replay_next(far->replay, far->snapshot, why);
			far->pending = r > 0;
		}
		if (r <= 0)
			return r;
		if (far->snapshot->begin_time_ns > until_ns)
			return 0;
		add_sample(far);
		far->pending = false;
	}
}

void far_side_end_window(struct far_side *far)
{
	vec_each(&far->namespaces, netns) {
		if (netns->window->samples == 0)
			continue;
		(void)diagnosis_add_window(netns->diagnosis, window_finish(netns->window));
	}
}

/*
 * What the other end alone says about one of its connections in this window. Whether another window agrees is asked
 * once, of what both ends say together.
 */
static bool find_finding(const struct graph *graph, const struct module *module, void *context,
			 struct far_end_finding *ret_finding)
{
	struct far_side *far = context;

	vec_each(&far->namespaces, netns) {
		struct suspicion suspicion;

		if (diagnosis_graph(netns->diagnosis) != graph ||
		    !diagnosis_suspects(netns->diagnosis, module->id, &suspicion))
			continue;
		*ret_finding = (struct far_end_finding){suspicion.cause, suspicion.layer, suspicion.certainty};
		return true;
	}
	return false;
}

void far_side_join(struct far_side *far, struct graph *graph)
{
	VEC(const struct graph *) there = {};

	vec_each(&far->namespaces, netns)
		if (diagnosis_graph(netns->diagnosis))
			vec_push(&there, diagnosis_graph(netns->diagnosis));
	far_end_join(&far->view, graph, there.items, there.count, graph->start_ns + graph->window_ns, find_finding,
		     far);
	vec_done(&there);
}
