/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows that pass this host. A retransmission seen passing says where the segment was lost: behind this host when it
 * passed before, before it when it did not; unless this host itself dropped as many of that flow, for whatever reason.
 * And of flows whose packets were dropped: whether anything of them passes at all, by which interface they would leave,
 * and whether ICMP errors reach the sender. A service that nothing passes back from is silent only if its clients try
 * again: replies may take another route.
 */
#include "diagnose/measure/forwarding.h"

#include <math.h>
#include <string.h>

#include "diagnose/graph/window.h"
#include "diagnose/measure/drop_class.h"
#include "diagnose/measure/dropped.h"
#include "diagnose/measure/flow_module.h"
#include "diagnose/measure/network.h"
#include "diagnose/measure/passing_host.h"
#include "probe/drop_tally.h"
#include "probe/passing.h"
#include "snapshot/netlink/link.h"

#define F struct forwarding_measures
static const struct field forwarding_fields[] = {
	FIELD(F, pass_packets, COUNT, "forwarded packets, both directions, in this window and the three before"),
	FIELD(F, pass_along, COUNT, "of these, in this direction"),
	FIELD(F, pass_opened, COUNT,
	      "connections that hosts behind the interface of its source opened and that pass, in the same time"),
	FIELD(F, pass_reached, COUNT, "connections to these hosts whose packets back pass, in the same time"),
	FIELD(F, pass_segments, COUNT, "forwarded data segments, this direction"),
	FIELD(F, lost_behind, COUNT, "retransmissions of data forwarded before, less packets dropped by this host"),
	FIELD(F, lost_behind_share, RATIO, "their share of the forwarded data", .unit = "%"),
	FIELD(F, lost_before, COUNT, "retransmissions of data not forwarded before, less packets dropped by this host"),
	FIELD(F, lost_before_share, RATIO, "their share of the forwarded data", .unit = "%"),
	FIELD(F, path_lost, COUNT,
	      "these retransmissions of all connections with the end on whose side they are lost, if several lose"),
	FIELD(F, path_lost_flows, COUNT, "connections that they are of"),
	FIELD(F, path_lost_share, RATIO, "their share of the data that these connections forwarded", .unit = "%"),
	FIELD(F, path_lost_behind, BOOL, "that end is its destination"),
	FIELD(F, quiet_times, COUNT,
	      "times that nothing came from that end for 0.35 s or more, while two connections or more retransmitted "
	      "to it, and then something did"),
	FIELD(F, quiet_ns, DURATION, "longest of these times"),
	FIELD(F, quiet_repeats, COUNT, "segments retransmitted in them"),
	FIELD(F, quiet_share, RATIO, "that, of all that were retransmitted to that end", .unit = "%"),
	FIELD(F, tried_flows, COUNT,
	      "connections to its destination port with retransmitted SYNs and no packet in the other direction"),
	FIELD(F, silent_repeats, COUNT, "retransmissions of it, with no new data and no packet in the other direction"),
	FIELD(F, icmp_dropped, COUNT, "ICMP messages to its source that the firewall of this host dropped"),
	FIELD(F, out_dev, TEXT, "outgoing interface, if known"),
	FIELD(F, out_up, BOOL, "that interface is up"),
	FIELD(F, out_carrier, BOOL, "that interface has a carrier"),
};
#undef F
RECORD_TYPE(forwarding_measures_type, "measure.forwarding", struct forwarding_measures, forwarding_fields,
	    "packets, retransmissions and outgoing interface of a forwarded flow");

#define TCP    6
#define ICMP   1
#define ICMPV6 58
#define KEEP   PASSING_WINDOWS
/* Flow modules made here in a window, and retransmissions below which there is none. */
#define FLOWS_MAX 32
#define LOST_MIN  5
/* Connections with a host that lose: a single one is judged by itself. */
#define SIDE_FLOWS 2
/* SYNs and retransmissions that make a flow one that tries again. */
#define TRIES_MIN 2

enum figure { PACKETS, SEGMENTS, BYTES, REPEATS, REPEAT_BYTES, FILLS, FILL_BYTES, SYNS, FIGURES };

struct flow_key {
	struct addr source, target;
	uint16_t sport, dport;
	uint32_t ifindex; /* it leaves by; 0: drops, wherever */
};

/* Running totals and what they moved by, newest window first. */
struct flow_track {
	struct track track;
	uint64_t sample; /* to which now belongs: several records make up the drops of a flow */
	uint64_t now[FIGURES], last[FIGURES];
	uint64_t seen[2]; /* packets and retransmissions, of the sample before */
	uint64_t moved[KEEP][FIGURES];
};

struct dev_text {
	char text[16];
};

struct state {
	uint64_t samples;
	bool knows;         /* flows were followed in the last sample */
	struct map devs;    /* struct dev_text -> its ifindex */
	struct map passing; /* flow_key -> flow_track */
	struct map drops;   /* flow_key -> flow_track: PACKETS alone */
	struct map errors;  /* flow_key with a target alone -> flow_track: dropped ICMP messages to it */
	struct passing_hosts hosts;
	uint64_t before_ns; /* time of the sample before; 0: there is none */
	struct networks networks;
};

#define TRACKS MAP_INIT(sizeof(struct flow_key), sizeof(struct flow_track), 20000)
static const struct state initial = {
	.devs = MAP_INIT(sizeof(struct dev_text), sizeof(uint32_t), 10000),
	.passing = TRACKS,
	.drops = TRACKS,
	.errors = TRACKS,
	.networks = NETWORKS_INIT,
};

/* --- samples --- */

static struct flow_key key_of(const struct addr *source, uint16_t sport, const struct addr *target, uint16_t dport)
{
	struct flow_key key;

	memset(&key, 0, sizeof(key));
	key.source = *source;
	key.target = *target;
	key.sport = sport;
	key.dport = dport;
	return key;
}

static struct dev_text dev_of(const char *name)
{
	struct dev_text dev = {};

	memcpy(dev.text, name, strnlen(name, sizeof(dev.text)));
	return dev;
}

static void add_total(struct window *window, const struct state *state, struct map *tracks, const struct flow_key *key,
		      const uint64_t *figures)
{
	struct flow_track *track = map_put(tracks, key, NULL);

	if (!track) {
		window->lost++;
		return;
	}
	(void)track_see(window, &track->track);
	if (track->sample != state->samples)
		memset(track->now, 0, sizeof(track->now));
	track->sample = state->samples;
	for (unsigned i = 0; i < FIGURES; i++)
		track->now[i] += figures[i];
}

static void sample_passing(struct window *window, struct state *state, const struct passing_record *p)
{
	uint64_t figures[FIGURES] = {p->packets,      p->segments, p->bytes,      p->repeats,
				     p->repeat_bytes, p->fills,    p->fill_bytes, p->syns};
	struct flow_key key = key_of(&p->source, p->sport, &p->target, p->dport);
	struct dev_text dev = dev_of(p->dev);
	uint32_t *ifindex;

	state->knows = true;
	if (p->source.family == ADDR_UNKNOWN)
		return;
	ifindex = map_put(&state->devs, &dev, NULL);
	if (ifindex)
		*ifindex = p->ifindex;
	key.ifindex = p->ifindex;
	add_total(window, state, &state->passing, &key, figures);
}

static void sample_drop(struct window *window, struct state *state, const struct drop_record *d)
{
	uint64_t figures[FIGURES] = {d->packets};
	bool leaves = d->dir == DROP_TX;
	static const struct addr none;
	struct flow_key key;

	if (d->laddr.family == ADDR_UNKNOWN)
		return;
	if (d->proto == TCP) {
		key = leaves ? key_of(&d->laddr, d->lport, &d->raddr, d->rport)
			     : key_of(&d->raddr, d->rport, &d->laddr, d->lport);
		add_total(window, state, &state->drops, &key, figures);
	} else if (leaves && (d->proto == ICMP || d->proto == ICMPV6) &&
		   drop_class_of(d->reason, d->place) == DROP_FIREWALL) {
		key = key_of(&none, 0, &d->raddr, 0);
		add_total(window, state, &state->errors, &key, figures);
	}
}

static uint64_t grown(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

struct step_sums {
	uint64_t packets, repeats;
};

/* What passed since the sample before; of a flow that leaves by several interfaces, one above the other, once. */
static void note_steps(struct state *state, uint64_t now_ns)
{
	struct map steps = MAP_INIT(sizeof(struct flow_key), sizeof(struct step_sums), 20000);
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->passing, &at, &key, &value)) {
		struct flow_key plain = *(const struct flow_key *)key;
		struct flow_track *track = value;
		struct step_sums *sums;

		plain.ifindex = 0;
		sums = track->sample == state->samples ? map_put(&steps, &plain, NULL) : NULL;
		if (!sums)
			continue;
		sums->packets = max_of(sums->packets, grown(track->seen[0], track->now[PACKETS]));
		sums->repeats = max_of(sums->repeats, grown(track->seen[1], track->now[REPEATS]));
		track->seen[0] = track->now[PACKETS];
		track->seen[1] = track->now[REPEATS];
	}
	at = 0;
	while (state->before_ns && map_next(&steps, &at, &key, &value)) {
		const struct flow_key *flow = key;
		const struct step_sums *sums = value;
		struct passing_step step = {&flow->source, &flow->target, sums->packets, sums->repeats};

		passing_hosts_note(&state->hosts, state->samples, &step);
	}
	passing_hosts_end_sample(&state->hosts, state->samples, now_ns, state->before_ns);
	state->before_ns = now_ns;
	map_done(&steps);
}

static void forget_past(const struct window *window, struct map *tracks)
{
	track_each(window, tracks, struct flow_track, track) memcpy(track->last, track->now, sizeof(track->last));
}

static void sample(struct window *window, void *data, const struct snapshot *snapshot)
{
	struct state *state = data;

	state->samples++;
	state->knows = false;
	snapshot_each(snapshot, passing_type, struct passing_record, passing)
		sample_passing(window, state, passing);
	snapshot_each(snapshot, drop_type, struct drop_record, drop)
		sample_drop(window, state, drop);
	/* What a recording's first sample holds happened before. */
	if (state->samples == 1) {
		forget_past(window, &state->passing);
		forget_past(window, &state->drops);
		forget_past(window, &state->errors);
	}
	if (state->knows)
		note_steps(state, snapshot->begin_boot_ns);
	networks_sample(&state->networks, snapshot);
}

/* --- a window --- */

/* A total that shrank was reset. */
static void settle(const struct window *window, struct map *tracks)
{
	track_each(window, tracks, struct flow_track, track)
	{
		for (unsigned i = 0; i < FIGURES; i++)
			track->moved[0][i] =
				track->now[i] >= track->last[i] ? track->now[i] - track->last[i] : track->now[i];
		memcpy(track->last, track->now, sizeof(track->last));
	}
}

static void age(const struct window *window, struct map *tracks)
{
	track_forget(window, tracks, NULL);
	track_each(window, tracks, struct flow_track, track)
	{
		memmove(track->moved[1], track->moved[0], sizeof(track->moved) - sizeof(track->moved[0]));
		memset(track->moved[0], 0, sizeof(track->moved[0]));
	}
}

static uint64_t sum_of(const struct flow_track *track, enum figure figure)
{
	uint64_t sum = 0;

	for (unsigned i = 0; track && i < KEEP; i++)
		sum += track->moved[i][figure];
	return sum;
}

/* Address translation changes one end: three of four are enough. */
static bool is_of(const struct flow_measures *flow, const struct flow_key *key, bool reverse)
{
	const struct addr *source = reverse ? &key->target : &key->source,
			  *target = reverse ? &key->source : &key->target;
	uint16_t sport = reverse ? key->dport : key->sport, dport = reverse ? key->sport : key->dport;

	return addr_equal(&flow->flow_source, source) + addr_equal(&flow->flow_target, target) +
		       (flow->flow_sport == sport) + (flow->flow_dport == dport) >=
	       3;
}

static void set_passed(const struct state *state, const struct flow_measures *flow, struct forwarding_measures *m)
{
	const void *key;
	void *value;
	size_t at = 0;

	m->pass_packets = m->pass_along = 0;
	while (map_next(&state->passing, &at, &key, &value)) {
		bool along = is_of(flow, key, false);

		if (along || is_of(flow, key, true))
			m->pass_packets += sum_of(value, PACKETS);
		if (along)
			m->pass_along += sum_of(value, PACKETS);
	}
}

/* --- which way connections are opened between the networks of this host --- */

/* Hosts that something leaves to by an interface: they are behind it. */
static void find_hosts(const struct state *state, uint32_t ifindex, struct map *hosts)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->passing, &at, &key, &value))
		if (((const struct flow_key *)key)->ifindex == ifindex && sum_of(value, PACKETS) > 0)
			(void)map_put(hosts, &((const struct flow_key *)key)->target, NULL);
}

/* What these hosts send passes: from a higher port to connections of their own, from a lower one as an answer. */
static void set_sides(const struct state *state, const struct flow_measures *flow, struct forwarding_measures *m)
{
	struct map hosts = MAP_INIT(sizeof(struct addr), sizeof(uint8_t), 20000);
	struct dev_text dev = dev_of(flow->dev);
	const uint32_t *ifindex = map_get(&state->devs, &dev);
	const void *key;
	void *value;
	size_t at = 0;

	m->pass_opened = m->pass_reached = 0;
	if (ifindex)
		find_hosts(state, *ifindex, &hosts);
	(void)map_put(&hosts, &flow->flow_source, NULL);
	while (map_next(&state->passing, &at, &key, &value)) {
		const struct flow_key *passing = key;

		if (sum_of(value, PACKETS) > 0 && map_get(&hosts, &passing->source))
			(*(passing->sport > passing->dport ? &m->pass_opened : &m->pass_reached))++;
	}
	map_done(&hosts);
}

static struct forwarding_measures *begin(struct module *module, struct graph *graph)
{
	struct forwarding_measures *m = graph_alloc(graph, sizeof(*m));

	for (uint32_t i = 0; i < forwarding_measures_type.field_count; i++)
		value_set_unknown(&forwarding_measures_type.fields[i], m);
	module->measures.forwarding = m;
	return m;
}

/* An interface without a link is what its neighbours and routes fail by. */
static void set_outlet(const struct state *state, struct module *module, struct forwarding_measures *m,
		       struct graph *graph)
{
	struct flow_measures *flow = flow_module_measures(module);
	const struct outlet *outlet = networks_find(&state->networks, &flow->flow_target);

	if (!outlet)
		return;
	memcpy(m->out_dev, outlet->dev, sizeof(m->out_dev));
	m->out_up = outlet->up;
	m->out_carrier = outlet->carrier;
	if (outlet_has_link(outlet))
		return;
	memcpy(flow->dev, outlet->dev, sizeof(flow->dev));
	module->related[MODULE_LINK] = flow_module_below(graph, MODULE_LINK, outlet->dev);
	graph_add_edge(module, module->related[MODULE_LINK]);
}

/* Attempts that the firewall drops or rejects. */
static bool is_kept_out(const struct module *module)
{
	const struct dropped_measures *dropped = module->measures.dropped;

	return module->measures.flow->forwarded && dropped && !dropped->drop_established &&
	       dropped->drop_firewall + dropped->drop_reject > 0;
}

/* A flow that the drops made a module of. */
static void join(const struct state *state, struct module *module, struct graph *graph)
{
	const struct flow_measures *flow = module->measures.flow;
	struct forwarding_measures *m = begin(module, graph);
	static const struct addr none;
	struct flow_key sender = key_of(&none, 0, &flow->flow_source, 0);

	if (state->knows && flow->flow_proto == TCP) {
		set_passed(state, flow, m);
		if (is_kept_out(module))
			set_sides(state, flow, m);
	}
	m->icmp_dropped = sum_of(map_get(&state->errors, &sender), PACKETS);
	set_outlet(state, module, m, graph);
}

static uint64_t less(uint64_t count, uint64_t dropped)
{
	return count > dropped ? count - dropped : 0;
}

static double share_of(uint64_t left, uint64_t count, uint64_t bytes, uint64_t all)
{
	return count == 0 || all == 0 ? 0 : (double)bytes / (double)all * (double)left / (double)count;
}

/* The module of a forwarded flow, on the path to one of its ends. */
static struct module *passing_module(struct graph *graph, const struct flow_key *key, const struct addr *end)
{
	struct endpoint from = {key->source, key->sport}, to = {key->target, key->dport};
	struct module *module = flow_module_of(graph, TCP, &from, &to);
	char text[ADDR_TEXT_MAX];

	if (!module->measures.forwarding)
		(void)begin(module, graph);
	flow_module_measures(module)->forwarded = true;
	addr_format(end, text);
	if (!module->related[MODULE_PATH])
		module->related[MODULE_PATH] = flow_module_below(graph, MODULE_PATH, text);
	graph_add_edge(module, module->related[MODULE_PATH]);
	return module;
}

/* What a flow lost on either side of this host. */
struct losses {
	uint64_t behind, before;
};

static struct losses losses_of(const struct state *state, const struct flow_key *key, const struct flow_track *track)
{
	struct flow_key plain = key_of(&key->source, key->sport, &key->target, key->dport),
			back = key_of(&key->target, key->dport, &key->source, key->sport);
	uint64_t dropped = sum_of(map_get(&state->drops, &plain), PACKETS);
	/* Data is also retransmitted when its ACK is dropped here. */
	uint64_t acks = sum_of(map_get(&state->drops, &back), PACKETS);

	return (struct losses){less(sum_of(track, REPEATS), dropped + acks), less(sum_of(track, FILLS), dropped)};
}

/* Silences of the end on whose side a flow loses. */
static void set_quiet(const struct state *state, const struct addr *end, struct forwarding_measures *m)
{
	const struct passing_host *host = passing_hosts_find(&state->hosts, end);
	uint64_t all = 0;

	m->quiet_times = m->quiet_ns = m->quiet_repeats = 0;
	for (unsigned i = 0; host && i < PASSING_WINDOWS; i++) {
		m->quiet_times += host->gaps[i];
		m->quiet_ns = max_of(m->quiet_ns, host->gap_ns[i]);
		m->quiet_repeats += host->gap_repeats[i];
		all += host->all_repeats[i];
	}
	m->quiet_share = all ? (double)m->quiet_repeats / (double)all : NAN;
}

/* Makes a module of a flow that retransmits; false: it does not. */
static bool judge(const struct state *state, const struct flow_key *key, const struct flow_track *track,
		  struct graph *graph)
{
	uint64_t repeats = sum_of(track, REPEATS), fills = sum_of(track, FILLS), bytes = sum_of(track, BYTES);
	struct losses lost = losses_of(state, key, track);
	uint64_t behind = lost.behind, before = lost.before;
	struct forwarding_measures *m;
	struct module *module;

	if (behind < LOST_MIN && before < LOST_MIN)
		return false;
	/* The path to the end on whose side they are lost. */
	module = passing_module(graph, key, behind >= before ? &key->target : &key->source);
	m = (struct forwarding_measures *)module->measures.forwarding;
	set_passed(state, module->measures.flow, m);
	set_quiet(state, behind >= before ? &key->target : &key->source, m);
	m->pass_segments = sum_of(track, SEGMENTS);
	m->lost_behind = behind;
	m->lost_before = before;
	m->lost_behind_share = share_of(behind, repeats, sum_of(track, REPEAT_BYTES), bytes);
	m->lost_before_share = share_of(before, fills, sum_of(track, FILL_BYTES), bytes);
	return true;
}

/* --- several flows that lose a little each --- */

/* What is lost on the way to or from one host; the flow that loses most stands for all of them. */
struct side {
	uint64_t lost, flows, lost_bytes, bytes, most;
	bool behind;
	const struct flow_key *flow;
};

static void add_to_side(struct map *sides, const struct addr *end, const struct flow_key *key,
			const struct flow_track *track, uint64_t lost, bool behind)
{
	struct side *side = map_put(sides, end, NULL);

	if (!side)
		return;
	side->bytes += sum_of(track, BYTES);
	if (lost == 0)
		return;
	side->lost += lost;
	side->flows++;
	side->lost_bytes += sum_of(track, behind ? REPEAT_BYTES : FILL_BYTES);
	if (lost <= side->most)
		return;
	side->most = lost;
	side->behind = behind;
	side->flow = key;
}

static void judge_side(const struct state *state, const struct addr *end, const struct side *side, struct graph *graph)
{
	struct module *module = passing_module(graph, side->flow, end);
	struct forwarding_measures *m = (struct forwarding_measures *)module->measures.forwarding;

	set_passed(state, module->measures.flow, m);
	m->path_lost = side->lost;
	m->path_lost_flows = side->flows;
	m->path_lost_share = side->bytes ? (double)side->lost_bytes / (double)side->bytes : NAN;
	m->path_lost_behind = side->behind;
	set_quiet(state, end, m);
}

/* A flow that leaves by several interfaces, one above the other, is one: where most of it was seen. */
static void pick_flows(const struct state *state, struct map *flows)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->passing, &at, &key, &value)) {
		struct flow_key plain = *(const struct flow_key *)key;
		const struct flow_track **best;

		plain.ifindex = 0;
		best = map_put(flows, &plain, NULL);
		if (best && (!*best || sum_of(*best, SEGMENTS) < sum_of(value, SEGMENTS)))
			*best = value;
	}
}

static void judge_sides(const struct state *state, struct graph *graph)
{
	struct map flows = MAP_INIT(sizeof(struct flow_key), sizeof(struct flow_track *), 20000);
	struct map sides = MAP_INIT(sizeof(struct addr), sizeof(struct side), 20000);
	unsigned made = 0;
	const void *key;
	void *value;
	size_t at = 0;

	pick_flows(state, &flows);
	while (map_next(&flows, &at, &key, &value)) {
		const struct flow_key *flow = key;
		const struct flow_track *track = *(struct flow_track *const *)value;
		struct losses lost = losses_of(state, flow, track);

		add_to_side(&sides, &flow->target, flow, track, lost.behind, true);
		add_to_side(&sides, &flow->source, flow, track, lost.before, false);
	}
	at = 0;
	while (made < FLOWS_MAX && map_next(&sides, &at, &key, &value)) {
		const struct side *side = value;

		if (side->flows < SIDE_FLOWS || side->lost < LOST_MIN)
			continue;
		judge_side(state, key, side, graph);
		made++;
	}
	map_done(&sides);
	map_done(&flows);
}

/* --- services behind this host that are silent --- */

struct end {
	struct addr addr;
	uint16_t port;
};

/* Packets that passed from or to one end of a connection; connections to it whose SYN was repeated. */
struct end_use {
	uint64_t from, to, tried;
	const struct flow_key *flow; /* one of these, or one that repeats data */
	const struct flow_track *track;
};

static struct end_use *use_of(struct map *ends, const struct addr *addr, uint16_t port)
{
	struct end end;

	memset(&end, 0, sizeof(end));
	end.addr = *addr;
	end.port = port;
	return map_put(ends, &end, NULL);
}

/* Retransmissions of a flow without new data. */
static uint64_t repeats_of(const struct flow_track *track)
{
	return sum_of(track, BYTES) == sum_of(track, REPEAT_BYTES) ? sum_of(track, REPEATS) : 0;
}

static void count_ends(const struct state *state, struct map *ends)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->passing, &at, &key, &value)) {
		const struct flow_key *flow = key;
		struct end_use *source = use_of(ends, &flow->source, flow->sport);
		struct end_use *target = source ? use_of(ends, &flow->target, flow->dport) : NULL;

		/* The first may have moved. */
		source = target ? use_of(ends, &flow->source, flow->sport) : NULL;
		if (!source)
			continue;
		source->from += sum_of(value, PACKETS);
		target->to += sum_of(value, PACKETS);
	}
}

/* A flow of which nothing passes back: not from the service, whoever asked, nor to the client, whoever answered. */
static bool is_silent(const struct state *state, struct map *ends, const struct flow_key *flow)
{
	struct flow_key back = key_of(&flow->target, flow->dport, &flow->source, flow->sport);
	const struct end_use *client = use_of(ends, &flow->source, flow->sport),
			     *service = use_of(ends, &flow->target, flow->dport);

	return client && service && client->to == 0 && service->from == 0 &&
	       sum_of(map_get(&state->drops, &back), PACKETS) == 0;
}

static void count_tries(const struct state *state, struct map *ends)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->passing, &at, &key, &value)) {
		const struct flow_key *flow = key;
		struct end_use *service;
		bool tries = sum_of(value, SYNS) >= TRIES_MIN;

		if ((!tries && repeats_of(value) < TRIES_MIN) || !is_silent(state, ends, flow))
			continue;
		service = use_of(ends, &flow->target, flow->dport);
		service->tried += tries;
		if (!service->flow || repeats_of(value) > repeats_of(service->track)) {
			service->flow = flow;
			service->track = value;
		}
	}
}

/* One module for each silent service. */
static void judge_silent(const struct state *state, struct graph *graph)
{
	struct map ends = MAP_INIT(sizeof(struct end), sizeof(struct end_use), 20000);
	unsigned made = 0;
	const void *key;
	void *value;
	size_t at = 0;

	count_ends(state, &ends);
	count_tries(state, &ends);
	while (made < FLOWS_MAX && map_next(&ends, &at, &key, &value)) {
		const struct end_use *service = value;
		struct forwarding_measures *m;
		struct module *module;

		if (!service->flow)
			continue;
		module = passing_module(graph, service->flow, &service->flow->target);
		m = (struct forwarding_measures *)module->measures.forwarding;
		m->tried_flows = service->tried;
		m->silent_repeats = repeats_of(service->track);
		set_outlet(state, module, m, graph);
		made++;
	}
	map_done(&ends);
}

static void finish(struct window *window, void *data, struct graph *graph)
{
	struct state *state = data;
	unsigned made = 0;
	const void *key;
	void *value;
	size_t at = 0;

	settle(window, &state->passing);
	settle(window, &state->drops);
	settle(window, &state->errors);
	for (size_t i = 0, count = graph->modules.count; i < count; i++)
		if (graph->modules.items[i]->kind == MODULE_FLOW && graph->modules.items[i]->measures.flow)
			join(state, graph->modules.items[i], graph);
	while (made < FLOWS_MAX && map_next(&state->passing, &at, &key, &value))
		made += judge(state, key, value, graph);
	judge_sides(state, graph);
	judge_silent(state, graph);
	passing_hosts_end_window(&state->hosts);
	age(window, &state->passing);
	age(window, &state->drops);
	age(window, &state->errors);
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->devs);
	map_done(&state->passing);
	map_done(&state->drops);
	map_done(&state->errors);
	passing_hosts_done(&state->hosts);
	networks_done(&state->networks);
}

/* After "packet-drops", whose flows it adds to. */
static const struct measurer forwarding_measurer = {
	.name = "passing-flows",
	.stage = MEASURE_EGRESS,
	.needs = MEASURER_NEEDS(&passing_type, &drop_type, &link_type, &address_type),
	.state_size = sizeof(struct state),
	.initial = &initial,
	.sample = sample,
	.finish = finish,
	.release = release,
};
MEASURER(forwarding_measurer);
