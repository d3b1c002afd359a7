/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/passing.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "kernel/object.h"
#include "probe/passing.bpf.h"
#include "snapshot/core/snapshot.h"
#include "snapshot/netlink/link.h"

#define P struct passing_record
static const struct field passing_fields[] = {
	FIELD(P, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(P, ifindex, ID, "index of the outgoing interface", .zero_is_unknown = true, .hidden = true),
	FIELD(P, dev, TEXT, "outgoing interface"),
	FIELD(P, source, ADDR, "source address on egress"),
	FIELD(P, sport, ID, "source port", .zero_is_unknown = true),
	FIELD(P, target, ADDR, "destination address on egress"),
	FIELD(P, dport, ID, "destination port", .zero_is_unknown = true),
	FIELD(P, packets, COUNT, "forwarded packets since the first sample"),
	FIELD(P, segments, COUNT, "of these, with data"),
	FIELD(P, bytes, BYTES, "data in these, retransmissions included"),
	FIELD(P, repeats, COUNT, "retransmissions of data forwarded before: lost downstream of this host"),
	FIELD(P, repeat_bytes, BYTES, "data in these"),
	FIELD(P, fills, COUNT, "retransmissions of data not forwarded before: lost upstream of this host"),
	FIELD(P, fill_bytes, BYTES, "data in these"),
	FIELD(P, reordered, COUNT, "segments that arrived out of order, within 3 ms"),
	FIELD(P, syns, COUNT, "connection attempts (SYN)"),
	FIELD(P, idle_ns, DURATION, "time since the last packet"),
};
#undef P
RECORD_TYPE(passing_type, "passing", struct passing_record, passing_fields,
	    "TCP connections that this host forwards, by direction");

#define PROGRAM "passing_forwarded"
#define BATCH   256
/* Beyond the entries of the map: hash buckets make a batch return few. */
#define BATCHES_MAX 8192
/* A packet costs up to 230 ns: at this rate 2 % of a CPU. Where more pass, none are followed. */
#define PACKETS_PER_SECOND 100000
/* A flow that rests for this long makes room for others. */
#define REST_NS (30 * NSEC_PER_SEC)

struct state {
	struct kernel_object *object;
	bool failed, too_many;
	int flows_fd, watched_fd;
	uint64_t packets, packets_ns; /* of all flows, up to the sample before */
};

static int load(struct state *state, struct why *why)
{
	int r = kernel_object_find("passing.bpf.o", &state->object, why);

	if (r == 0)
		r = kernel_object_choose(state->object, PROGRAM, why);
	if (r == 0)
		r = kernel_object_open_chosen(state->object, why);
	if (r == 0)
		r = kernel_object_load(state->object, why);
	if (r == 0)
		r = kernel_object_attach(state->object, PROGRAM, why);
	if (r < 0)
		return r;
	state->flows_fd = kernel_object_map_fd(state->object, "passing_flows");
	state->watched_fd = kernel_object_map_fd(state->object, "passing_watched");
	return state->flows_fd < 0 ? state->flows_fd : min_of(state->watched_fd, 0);
}

static bool is_on(struct snapshot *snapshot, const char *path)
{
	return snapshot_read(snapshot, path) == 0 && snapshot->text.len > 0 && snapshot->text.data[0] == '1';
}

/* Of the current namespace. A bridge forwards as well: containers have one, and then this is on. */
static bool forwards(struct snapshot *snapshot)
{
	return is_on(snapshot, "/proc/sys/net/ipv4/ip_forward") ||
	       is_on(snapshot, "/proc/sys/net/ipv6/conf/all/forwarding");
}

static struct addr address_of(uint16_t family, const uint32_t *words)
{
	return family == AF_INET ? addr_from_v4(words + 3) : addr_from_v6(words);
}

/* Figures of all namespaces: whoever asks pays for them. */
static void watch_rate(struct state *state, struct snapshot *snapshot, uint64_t packets)
{
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME), before = state->packets, before_ns = state->packets_ns;

	if (now_ns - before_ns < NSEC_PER_SEC / 10)
		return;
	state->packets = packets;
	state->packets_ns = now_ns;
	if (before_ns == 0 || packets < before ||
	    (double)(packets - before) * NSEC_PER_SEC < (double)PACKETS_PER_SECOND * (double)(now_ns - before_ns))
		return;
	kernel_object_detach(state->object);
	state->too_many = true;
	snapshot_gap(snapshot, NULL, "more than %d packets per second are forwarded", PACKETS_PER_SECOND);
}

static bool add(struct snapshot *snapshot, const struct passing_key *key, const struct passing_figures *f,
		struct dev_names *names)
{
	struct passing_record *record = snapshot_table_add(snapshot_table(snapshot, &passing_type));
	uint64_t now_ns = clock_ns(CLOCK_BOOTTIME);

	if (!record)
		return false;
	record->netns = key->netns;
	record->ifindex = key->ifindex;
	dev_name_get(names, key->ifindex, record->dev);
	record->source = address_of(key->family, key->source);
	record->target = address_of(key->family, key->target);
	record->sport = key->sport;
	record->dport = key->dport;
	record->packets = f->packets;
	record->segments = f->segments;
	record->bytes = f->bytes;
	record->repeats = f->repeats;
	record->repeat_bytes = f->repeat_bytes;
	record->fills = f->fills;
	record->fill_bytes = f->fill_bytes;
	record->reordered = f->reordered;
	record->syns = f->syns;
	record->idle_ns = now_ns > f->last_ns ? now_ns - f->last_ns : 0;
	return record->idle_ns > REST_NS;
}

static void read_flows(struct state *state, struct snapshot *snapshot)
{
	_cleanup_dev_names_ struct dev_names names = {};
	_cleanup_free_ struct passing_key *keys = xzalloc(BATCH * sizeof(*keys)), *old = xzalloc(BATCH * sizeof(*old));
	_cleanup_free_ struct passing_figures *figures = xzalloc(BATCH * sizeof(*figures));
	uint32_t at = 0, next = 0, resting = 0;
	uint64_t packets = 0;

	for (unsigned n = 0; n < BATCHES_MAX; n++) {
		uint32_t count = BATCH;
		int r = bpf_map_lookup_batch(state->flows_fd, n == 0 ? NULL : &at, &next, keys, figures, &count, NULL);

		if (r < 0 && errno != ENOENT)
			break;
		for (uint32_t i = 0; i < count; i++) {
			packets += figures[i].packets;
			if (keys[i].netns == snapshot->netns && add(snapshot, &keys[i], &figures[i], &names) &&
			    resting < BATCH)
				old[resting++] = keys[i];
		}
		if (r < 0)
			break;
		at = next;
	}
	for (uint32_t i = 0; i < resting; i++)
		(void)bpf_map_delete_elem(state->flows_fd, &old[i]);
	watch_rate(state, snapshot, packets);
}

/* The record without addresses also says that the others are complete. */
static int read_others(struct state *state, struct snapshot *snapshot)
{
	struct passing_record *record;
	uint64_t others = 0;

	if (bpf_map_lookup_elem(state->watched_fd, &snapshot->netns, &others) < 0)
		return bpf_map_update_elem(state->watched_fd, &snapshot->netns, &others, BPF_ANY) < 0 ? -errno : 0;
	record = snapshot_table_add(snapshot_table(snapshot, &passing_type));
	if (!record)
		return 0;
	record->netns = snapshot->netns;
	record->packets = others;
	return 0;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	int r = 0;

	if (!request->repeated || request->no_bpf || state->failed || state->too_many || !forwards(snapshot))
		return 0;
	if (!state->object)
		r = load(state, why);
	if (r == 0)
		r = read_others(state, snapshot);
	state->failed = r < 0;
	if (r == 0)
		read_flows(state, snapshot);
	return r;
}

static void release(void *data)
{
	kernel_object_close(((struct state *)data)->object);
}

static const struct record_type *const types[] = {&passing_type, NULL};

static const struct snapshot_source passing_source = {
	.name = "passing",
	.lost = "retransmissions of forwarded connections",
	.types = types,
	.stage = STAGE_REST,
	.on_demand = true,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(passing_source);
