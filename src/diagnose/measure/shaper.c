/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shapers at work, from their own counters: no socket of this host needs to use them. A forwarded or bridged flow, and
 * one redirected to an ifb device, waits in a queue that no connection's route leads to. Only a qdisc or class that
 * delayed packets in the window (overlimits) and held some becomes a module.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/bucket.h"
#include "diagnose/measure/host_counters.h"
#include "diagnose/measure/shaper.h"
#include "snapshot/core/delta.h"
#include "snapshot/netlink/qdisc.h"

#define S struct shaper_measures
static const struct field shaper_fields[] = {
	FIELD(S, dev, TEXT, "interface"),
	FIELD(S, shaper_kind, TEXT, "kind of the qdisc or class with the rate"),
	FIELD(S, shaper_handle, TEXT, "its handle"),
	FIELD(S, shaper_rate, BYTES, "its configured rate; of a class, its ceil", .unit = "B/s", .as_bits = true),
	FIELD(S, shaper_sent_rate, BYTES, "rate at which it sent", .unit = "B/s", .as_bits = true),
	FIELD(S, shaper_use, RATIO, "rate at which it sent, as a share of the configured rate", .unit = "%"),
	FIELD(S, shaper_overlimits, COUNT, "times that it delayed a packet to keep its rate"),
	FIELD(S, shaper_drops, COUNT, "packets that it dropped"),
	FIELD(S, shaper_backlog_min, BYTES, "smallest backlog of any sample; of a class, that of the interface"),
	FIELD(S, shaper_backlog_peak, BYTES, "largest backlog of any sample"),
	FIELD(S, shaper_backlog_share, RATIO, "samples with a backlog", .unit = "%"),
	FIELD(S, shaper_delay_ns, DURATION, "time to drain the largest backlog"),
};
#undef S
RECORD_TYPE(shaper_measures_type, "measure.shaper", struct shaper_measures, shaper_fields,
	    "a qdisc or class that sends at its configured rate");

struct shaper_key {
	uint32_t ifindex;
	bool is_class;
	char handle[12];
	uint8_t unused[3];
};

struct shaper_track {
	struct track track;
	bool has_base, is_class;
	struct qdisc_record now, base;
	uint64_t base_ns, last_ns;
	unsigned samples, waiting;
	uint64_t backlog_min, backlog_peak;
};

struct state {
	struct map shapers; /* shaper_key -> shaper_track: qdiscs and classes with a rate, and roots */
};

static const struct state initial = {
	.shapers = MAP_INIT(sizeof(struct shaper_key), sizeof(struct shaper_track), 10000),
};

static uint64_t known_rate(uint64_t rate)
{
	return rate == UINT64_MAX ? 0 : rate;
}

/* 0: it has none. */
static uint64_t rate_of(const struct qdisc_record *qdisc)
{
	return known_rate(qdisc->ceil) ?: known_rate(qdisc->rate);
}

static bool is_root(const struct qdisc_record *qdisc)
{
	return strcmp(qdisc->parent, "root") == 0;
}

static struct shaper_key key_of(const struct qdisc_record *qdisc, bool is_class)
{
	struct shaper_key key;

	memset(&key, 0, sizeof(key));
	key.ifindex = qdisc->ifindex;
	key.is_class = is_class;
	memcpy(key.handle, qdisc->handle, sizeof(key.handle));
	return key;
}

static void sample_one(struct window *window, struct state *state, const struct qdisc_record *qdisc, bool is_class,
		       uint64_t now_ns)
{
	struct shaper_key key = key_of(qdisc, is_class);
	struct shaper_track *track = map_put(&state->shapers, &key, NULL);

	if (!track) {
		window->lost++;
		return;
	}
	if (track_see(window, &track->track)) {
		bool began = track->has_base;

		track->base = began ? track->now : *qdisc;
		track->base_ns = began ? track->last_ns : now_ns;
		track->has_base = true;
		track->samples = track->waiting = 0;
		track->backlog_min = UINT64_MAX;
		track->backlog_peak = 0;
	}
	track->is_class = is_class;
	track->now = *qdisc;
	track->last_ns = now_ns;
	if (qdisc->backlog_bytes == UINT32_MAX)
		return;
	track->samples++;
	track->waiting += qdisc->backlog_bytes > 0;
	track->backlog_min = min_of(track->backlog_min, qdisc->backlog_bytes);
	track->backlog_peak = max_of(track->backlog_peak, qdisc->backlog_bytes);
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	/* The backlog of a root stands for that of its classes: an inner class has none of its own. */
	snapshot_each(snapshot, qdisc_type, struct qdisc_record, qdisc)
		if (rate_of(qdisc) > 0 || is_root(qdisc))
			sample_one(window, state, qdisc, false, snapshot->begin_boot_ns);
	snapshot_each(snapshot, class_type, struct qdisc_record, class)
		if (rate_of(class) > 0)
			sample_one(window, state, class, true, snapshot->begin_boot_ns);
}

/* The parent of the first class is "root" as well. */
static const struct shaper_track *root_of(const struct window *window, const struct state *state, uint32_t ifindex)
{
	track_each(window, &state->shapers, struct shaper_track, track)
	{
		if (!track->is_class && track->now.ifindex == ifindex && is_root(&track->now))
			return track;
	}
	return NULL;
}

/* False: it shapes nothing. backlog: whose queue it is. */
static bool measure(const struct shaper_track *track, const struct shaper_track *backlog, struct shaper_measures *m)
{
	const struct qdisc_record *a = &track->base, *b = &track->now;
	uint64_t sent = delta_between(a->bytes, b->bytes), span_ns = track->last_ns - track->base_ns;

	*m = (struct shaper_measures){
		.shaper_rate = rate_of(b),
		.shaper_overlimits = delta_between32(a->overlimits, b->overlimits),
		.shaper_drops = delta_between32(a->drops, b->drops),
	};
	if (m->shaper_rate == 0 || m->shaper_overlimits == 0 || m->shaper_overlimits == UINT64_MAX ||
	    sent == UINT64_MAX || span_ns == 0 || !backlog || backlog->samples == 0 || backlog->waiting == 0)
		return false;
	memcpy(m->dev, b->dev, sizeof(m->dev));
	memcpy(m->shaper_kind, b->kind, sizeof(m->shaper_kind));
	memcpy(m->shaper_handle, b->handle, sizeof(m->shaper_handle));
	m->shaper_sent_rate = (uint64_t)((double)sent * NSEC_PER_SEC / (double)span_ns);
	m->shaper_use = (double)m->shaper_sent_rate / (double)m->shaper_rate;
	m->shaper_backlog_min = backlog->backlog_min;
	m->shaper_backlog_peak = backlog->backlog_peak;
	m->shaper_backlog_share = (double)backlog->waiting / backlog->samples;
	m->shaper_delay_ns = (uint64_t)((double)m->shaper_backlog_peak / (double)m->shaper_rate * NSEC_PER_SEC);
	return true;
}

/* Of several shapers on an interface, that nearest to its rate: the others have tokens left. */
static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;

	track_each(window, &state->shapers, struct shaper_track, track)
	{
		struct shaper_measures m;
		struct module *module;
		_cleanup_free_ char *id = NULL;

		if (!measure(track, track->is_class ? root_of(window, state, track->now.ifindex) : track, &m))
			continue;
		id = xasprintf("%s:%s", module_kind_name(MODULE_QDISC), m.dev);
		module = graph_module(graph, MODULE_QDISC, id, m.dev);
		if (module->measures.shaper && module->measures.shaper->shaper_use >= m.shaper_use)
			continue;
		module->measures.shaper = memcpy(graph_alloc(graph, sizeof(m)), &m, sizeof(m));
		module->activity = ACTIVITY_ACTIVE;
	}
	track_forget(window, &state->shapers, NULL);
}

static void release(void *data)
{
	map_done(&((struct state *)data)->shapers);
}

static const struct measurer shaper_measurer = {
	.name = "shapers",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&qdisc_type, &class_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(shaper_measurer);

static const struct module_scope qdisc_scope = {.kind = MODULE_QDISC,
						.parts = {MODULE_PART(shaper), MODULE_PART(bucket), MODULE_PART(host)}};
MODULE_SCOPE(qdisc_scope);
