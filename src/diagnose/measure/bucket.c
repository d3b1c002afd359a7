/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Token buckets that hold less than a packet of the interface: each larger packet is dropped, whatever the rate, and
 * its sender backs off until it tries once in many seconds. What such a qdisc has dropped since it was added tells that
 * it meets such packets.
 */
#include "diagnose/measure/bucket.h"

#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/flow_module.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"

#define B struct bucket_measures
static const struct field bucket_fields[] = {
	FIELD(B, bucket_dev, TEXT, "interface"),
	FIELD(B, bucket_kind, TEXT, "kind of the qdisc"),
	FIELD(B, bucket_handle, TEXT, "its handle"),
	FIELD(B, bucket_bytes, BYTES, "size of its token bucket (burst)"),
	FIELD(B, bucket_packet_bytes, BYTES, "largest packet of that interface"),
	FIELD(B, bucket_drops_ever, COUNT, "packets that it has dropped since it was added"),
	FIELD(B, bucket_passed_bytes, BYTES, "mean size of the packets that it has sent"),
};
#undef B
RECORD_TYPE(bucket_measures_type, "measure.bucket", struct bucket_measures, bucket_fields,
	    "a qdisc whose token bucket holds less than a packet");

#define ETHERNET_HEADER 14

struct state {
	struct map buckets; /* ifindex -> struct bucket_measures, of the last sample */
};

static const struct state initial = {
	.buckets = MAP_INIT(sizeof(uint32_t), sizeof(struct bucket_measures), 10000),
};

static bool is_bucket(const struct qdisc_record *qdisc)
{
	return strcmp(qdisc->kind, "tbf") == 0 && qdisc->burst_bytes != UINT64_MAX && qdisc->burst_bytes > 0 &&
	       qdisc->drops != UINT32_MAX;
}

static uint64_t packet_of(const struct snapshot *snapshot, uint32_t ifindex)
{
	snapshot_each(snapshot, link_type, struct link_record, link)
		if (link->ifindex == ifindex && link->mtu != UINT32_MAX)
			return (uint64_t)link->mtu + ETHERNET_HEADER;
	return 0;
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	map_done(&state->buckets);
	snapshot_each(snapshot, qdisc_type, struct qdisc_record, qdisc) {
		struct bucket_measures *m;

		if (!is_bucket(qdisc) || qdisc->burst_bytes >= packet_of(snapshot, qdisc->ifindex))
			continue;
		m = map_put(&state->buckets, &qdisc->ifindex, NULL);
		if (!m) {
			window->lost++;
			continue;
		}
		*m = (struct bucket_measures){
			.bucket_bytes = qdisc->burst_bytes,
			.bucket_packet_bytes = packet_of(snapshot, qdisc->ifindex),
			.bucket_drops_ever = qdisc->drops,
			.bucket_passed_bytes = qdisc->packets && qdisc->packets != UINT64_MAX
						       ? qdisc->bytes / qdisc->packets
						       : UINT64_MAX,
		};
		memcpy(m->bucket_dev, qdisc->dev, sizeof(m->bucket_dev));
		memcpy(m->bucket_kind, qdisc->kind, sizeof(m->bucket_kind));
		memcpy(m->bucket_handle, qdisc->handle, sizeof(m->bucket_handle));
	}
}

static void finish(struct window *window _unused_, void *data, struct graph *graph)
{
	struct state *state = data;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->buckets, &at, &key, &value)) {
		const struct bucket_measures *found = value;
		struct module *module = flow_module_below(graph, MODULE_QDISC, found->bucket_dev);

		module->measures.bucket = memcpy(graph_alloc(graph, sizeof(*found)), found, sizeof(*found));
	}
}

static void release(void *data)
{
	map_done(&((struct state *)data)->buckets);
}

static const struct measurer bucket_measurer = {
	.name = "buckets",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&qdisc_type, &link_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(bucket_measurer);
