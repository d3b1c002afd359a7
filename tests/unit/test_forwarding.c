/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A router without a socket of its own, on snapshots made by hand: ra (10.1.1.1/24) and rd (10.2.2.1/24), and a
 * connection from 10.1.1.5:4000 to 10.2.2.2:80 that passes. Each case has a near miss.
 */
#include "look.h"

#include <linux/if.h>

#include "diagnose/measure/forwarding.h"
#include "probe/drop_tally.h"
#include "probe/passing.h"
#include "snapshot/netlink/firewall.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/qdisc.h"
#include "snapshot/proc/counter.h"

#define RATE UINT64_C(1250000)
#define TCP  6
#define UDP  17
#define ICMP 1
#define ACK  0x10
#define SYN  0x02

struct router {
	/* The shaper of rd: bytes per second that it sends, bytes queued, delayed packets per sample. */
	uint64_t sends;
	uint32_t backlog, overlimits;
	bool is_class; /* an htb class below a root without a rate */
	/* Forwarded segments per sample, of 1000 bytes, and retransmissions among them; connections more like that. */
	unsigned segments, repeats, fills, more;
	/* Connections that repeat their SYN, each to a port of its own (spread) or all to 80; packets back. */
	unsigned tries, back;
	bool spread;
	/* One dropped packet of the connection, in this sample; and one ICMP error to its source. */
	const char *reason;
	unsigned bytes; /* 0: 1500 */
	bool icmp_dropped;
	bool udp_dropped; /* a datagram to that source instead, by the firewall too */
	/* Packets of the connection back, per sample. */
	unsigned answers;
	/* Dropped packets of the connection per sample, for a reason that is no fault. */
	unsigned managed;
	/* Connections that lose a segment each; and samples in which nothing comes back, and each retransmits. */
	unsigned losers;
	bool fades;
	unsigned acks; /* the same of packets back */
	/* The firewall drops the SYNs of 10.1.1.6; a connection from 10.2.2.2 to 10.1.1.8 passes, and its answers. */
	bool kept_out, reached, answered;
	bool down, no_carrier;
	bool flaps;        /* the carrier of rd, in two of five samples */
	unsigned flapped;  /* its carrier has changed that often, the last time in sample 8 */
	unsigned received; /* packets per sample, by rd */
	bool standby;      /* a second interface on the network of rd, down */
	bool standby_up;   /* and up */
	/* Counters since boot. */
	unsigned too_big, errors, rule_packets, mtu;
};

static void put(struct snapshot *snapshot, const struct record_type *type, const void *record)
{
	memcpy(snapshot_table_add(snapshot_table(snapshot, type)), record, type->size);
}

static struct addr address(const char *text)
{
	struct addr a = {};

	REQUIRE(addr_parse(text, &a) == 0);
	return a;
}

static void put_link(struct snapshot *snapshot, uint32_t ifindex, const char *dev, const char *at, bool up,
		     bool carrier, uint32_t mtu)
{
	struct link_record *link = snapshot_table_add(snapshot_table(snapshot, &link_type));
	struct address_record home = {.ifindex = ifindex, .laddr = address(at), .prefix = 24};

	link->ifindex = ifindex;
	snprintf(link->dev, sizeof(link->dev), "%s", dev);
	memcpy(home.dev, link->dev, sizeof(home.dev));
	link->flags = up ? IFF_UP : 0;
	link->carrier = carrier;
	link->mtu = mtu;
	put(snapshot, &address_type, &home);
}

static void put_shaper(struct snapshot *snapshot, const struct router *r, unsigned sample)
{
	struct qdisc_record root = {.ifindex = 3,
				    .dev = "rd",
				    .kind = "tbf",
				    .handle = "8001:",
				    .parent = "root",
				    .bytes = 5000 + r->sends * sample / 5,
				    .backlog_bytes = r->backlog,
				    .overlimits = r->overlimits * sample,
				    .rate = RATE,
				    .ceil = UINT64_MAX};
	struct qdisc_record class = root;

	if (r->is_class) {
		snprintf(root.kind, sizeof(root.kind), "htb");
		snprintf(class.kind, sizeof(class.kind), "htb");
		snprintf(root.handle, sizeof(root.handle), "1:");
		snprintf(class.handle, sizeof(class.handle), "1:10");
		snprintf(class.parent, sizeof(class.parent), "1:");
		root.rate = UINT64_MAX;
		root.overlimits = 0;
		class.ceil = RATE;
		class.rate = RATE / 10;
		class.backlog_bytes = 0;
		put(snapshot, &class_type, &class);
	}
	put(snapshot, &qdisc_type, &root);
}

static void put_passing(struct snapshot *snapshot, const struct router *r, unsigned sample)
{
	struct passing_record others = {.packets = 0};
	struct passing_record flow = {.ifindex = 3,
				      .dev = "rd",
				      .source = address("10.1.1.5"),
				      .target = address("10.2.2.2"),
				      .sport = 4000,
				      .dport = 80,
				      .packets = (uint64_t)r->segments * sample,
				      .segments = (uint64_t)r->segments * sample,
				      .bytes = UINT64_C(1000) * r->segments * sample,
				      .repeats = (uint64_t)r->repeats * sample,
				      .repeat_bytes = UINT64_C(1000) * r->repeats * sample,
				      .fills = (uint64_t)r->fills * sample,
				      .fill_bytes = UINT64_C(1000) * r->fills * sample};

	put(snapshot, &passing_type, &others);
	if (r->segments > 0 && sample > 0)
		for (unsigned i = 0; i <= r->more; i++, flow.sport++)
			put(snapshot, &passing_type, &flow);
	if (r->answers > 0 && sample > 0) {
		struct passing_record answer = {.ifindex = 2,
						.source = flow.target,
						.target = flow.source,
						.sport = 80,
						.dport = 4000,
						.packets = (uint64_t)r->answers * sample};

		put(snapshot, &passing_type, &answer);
	}
	for (unsigned i = 0; i < r->tries && sample > 0; i++) {
		struct passing_record attempt = {.ifindex = 3,
						 .source = address("10.1.1.5"),
						 .target = address("10.2.2.2"),
						 .sport = (uint16_t)(5000 + i),
						 .dport = (uint16_t)(r->spread ? 80 + i : 80),
						 .packets = sample / 5 + 1,
						 .syns = sample / 5 + 1};

		put(snapshot, &passing_type, &attempt);
	}
	if (r->back > 0) {
		struct passing_record answer = {.ifindex = 2,
						.source = address("10.2.2.2"),
						.target = address("10.1.1.77"),
						.sport = 80,
						.dport = 6000,
						.packets = (uint64_t)r->back * sample};

		put(snapshot, &passing_type, &answer);
	}
}

/* Each has a segment per sample, one of which was retransmitted, and nothing comes back in samples 7 to 9. */
static void put_losers(struct snapshot *snapshot, const struct router *r, unsigned sample)
{
	unsigned quiet = !r->fades || sample <= 6 ? 0 : min_of(sample - 6, 3U);

	for (unsigned i = 0; i < r->losers && sample > 0; i++) {
		struct passing_record loser = {.ifindex = 3,
					       .source = address("10.1.1.5"),
					       .target = address("10.2.2.2"),
					       .sport = (uint16_t)(7000 + i),
					       .dport = 443,
					       .packets = sample,
					       .segments = sample,
					       .bytes = UINT64_C(1000) * sample,
					       .repeats = r->fades ? quiet : sample >= 7,
					       .repeat_bytes = UINT64_C(1000) * (r->fades ? quiet : sample >= 7)};
		struct passing_record back = {.ifindex = 2,
					      .source = loser.target,
					      .target = loser.source,
					      .sport = 443,
					      .dport = loser.sport,
					      .packets = sample - quiet};

		put(snapshot, &passing_type, &loser);
		put(snapshot, &passing_type, &back);
		/* The same packets, seen at the interface below. */
		loser.ifindex = 9;
		put(snapshot, &passing_type, &loser);
	}
}

static void put_drops(struct snapshot *snapshot, const struct router *r, unsigned sample)
{
	struct drop_record drop = {.reason = r->reason,
				   .dev = "ra",
				   .dir = DROP_RX,
				   .proto = TCP,
				   .laddr = address("10.2.2.2"),
				   .lport = 80,
				   .raddr = address("10.1.1.5"),
				   .rport = 4000,
				   .flags = ACK,
				   .packets = 1,
				   .bytes = r->bytes ?: 1500,
				   .first_ns = LOOK_TIME_NS + 12 * LOOK_PACE_NS,
				   .last_ns = LOOK_TIME_NS + 12 * LOOK_PACE_NS};
	struct drop_record error = drop;

	/* In the last window of the look. */
	if (r->reason && sample >= 12)
		put(snapshot, &drop_type, &drop);
	error.reason = "NETFILTER_DROP";
	error.dir = DROP_TX;
	error.proto = ICMP;
	error.laddr = address("10.1.1.1");
	error.lport = error.rport = 0;
	error.flags = 0;
	if (r->icmp_dropped && sample >= 12)
		put(snapshot, &drop_type, &error);
	error.proto = UDP;
	if (r->udp_dropped && sample >= 12)
		put(snapshot, &drop_type, &error);
	drop.reason = "QDISC_CONGESTED";
	drop.packets = (uint64_t)r->managed * sample;
	if (r->managed && sample > 0)
		put(snapshot, &drop_type, &drop);
	drop.dir = DROP_TX;
	drop.packets = (uint64_t)r->acks * sample;
	if (r->acks && sample > 0)
		put(snapshot, &drop_type, &drop);
}

static void put_kept_out(struct snapshot *snapshot, const struct router *r, unsigned sample)
{
	struct drop_record drop = {.reason = "NETFILTER_DROP",
				   .dev = "ra",
				   .dir = DROP_RX,
				   .proto = TCP,
				   .laddr = address("10.2.2.2"),
				   .lport = 443,
				   .raddr = address("10.1.1.6"),
				   .rport = 4500,
				   .flags = SYN,
				   .packets = sample,
				   .bytes = 60 * sample,
				   .first_ns = LOOK_TIME_NS + LOOK_PACE_NS,
				   .last_ns = LOOK_TIME_NS + sample * LOOK_PACE_NS};
	struct passing_record there = {.ifindex = 2,
				       .dev = "ra",
				       .source = address("10.2.2.2"),
				       .target = address("10.1.1.8"),
				       .sport = 45000,
				       .dport = 9100,
				       .packets = sample};
	struct passing_record back = {.ifindex = 3,
				      .dev = "rd",
				      .source = there.target,
				      .target = there.source,
				      .sport = 9100,
				      .dport = 45000,
				      .packets = sample};

	if (r->kept_out && sample > 0)
		put(snapshot, &drop_type, &drop);
	if (r->reached && sample > 0)
		put(snapshot, &passing_type, &there);
	if (r->answered && sample > 0)
		put(snapshot, &passing_type, &back);
}

static void put_counters(struct snapshot *snapshot, const struct router *r)
{
	struct firewall_chain_record chain = {
		.nf_family = 2, .nf_table = "t", .chain = "out", .hook = 3, .policy = VERDICT_ACCEPT};
	struct firewall_rule_record rule = {.nf_family = 2,
					    .nf_table = "t",
					    .chain = "out",
					    .handle = 4,
					    .packets = r->rule_packets,
					    .verdict = VERDICT_DROP};
	struct counter_record too_big = {.counter = "IpFragFails", .value = r->too_big},
			      errors = {.counter = "IcmpOutDestUnreachs", .value = r->errors};

	put(snapshot, &counter_type, &too_big);
	put(snapshot, &counter_type, &errors);
	if (r->rule_packets == 0)
		return;
	put(snapshot, &firewall_chain_type, &chain);
	put(snapshot, &firewall_rule_type, &rule);
}

static void put_sample(struct snapshot *snapshot, unsigned sample, const void *context)
{
	const struct router *r = context;
	struct link_record *rd;

	put_link(snapshot, 2, "ra", "10.1.1.1", true, true, 1500);
	put_link(snapshot, 3, "rd", "10.2.2.1", !r->down, !r->down && !r->no_carrier, r->mtu ?: 1500);
	rd = snapshot_last(snapshot, &link_type);
	rd[-1].carrier_changes = r->flaps ? sample * 2 / 5 * 2 : r->flapped - (r->flapped && sample < 8);
	rd[-1].rx_packets = (uint64_t)r->received * sample;
	if (r->standby || r->standby_up)
		put_link(snapshot, 4, "re", "10.2.2.9", r->standby_up, r->standby_up, 1500);
	put_shaper(snapshot, r, sample);
	put_passing(snapshot, r, sample);
	put_losers(snapshot, r, sample);
	put_drops(snapshot, r, sample);
	put_kept_out(snapshot, r, sample);
	put_counters(snapshot, r);
}

static const char *look(struct router r)
{
	return look_at(put_sample, &r);
}

#define LOOK(...) look((struct router){__VA_ARGS__})

TEST(shapers_are_seen_without_a_connection)
{
	CHECK_EQ_TEXT(LOOK(.sends = RATE, .backlog = 30000, .overlimits = 40), "qdisc-shaper qdisc:rd");
	CHECK_EQ_TEXT(LOOK(.sends = RATE, .backlog = 30000, .overlimits = 40, .is_class = true),
		      "qdisc-shaper qdisc:rd");
	CHECK_EQ_TEXT(LOOK(.sends = RATE / 2, .backlog = 30000, .overlimits = 40), "");
	CHECK_EQ_TEXT(LOOK(.sends = RATE, .backlog = 0, .overlimits = 40), "");
	CHECK_EQ_TEXT(LOOK(.sends = RATE, .backlog = 30000), "");
}

TEST(retransmissions_that_pass_tell_the_side)
{
	CHECK_EQ_TEXT(LOOK(.segments = 100, .repeats = 3), "path-loss path:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.segments = 100, .fills = 3), "path-loss path:10.1.1.5");
	CHECK_EQ_TEXT(LOOK(.segments = 100, .repeats = 1), "");
	CHECK_EQ_TEXT(LOOK(.segments = 100), "");
	/* Active queue management of this host dropped them. */
	CHECK_EQ_TEXT(LOOK(.segments = 100, .repeats = 3, .managed = 3), "");
}

TEST(connections_that_lose_a_little_each)
{
	CHECK_EQ_TEXT(LOOK(.losers = 8), "path-loss path:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.losers = 5), "");
}

TEST(hosts_that_fall_silent)
{
	CHECK_EQ_TEXT(LOOK(.losers = 3, .fades = true), "path-outage path:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.losers = 1, .fades = true), "");
}

TEST(services_behind_that_are_silent)
{
	CHECK_EQ_TEXT(LOOK(.tries = 3), "path-blackhole path:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.tries = 2), "");
	/* A scan of ports, and a service that answers another client. */
	CHECK_EQ_TEXT(LOOK(.tries = 3, .spread = true), "");
	CHECK_EQ_TEXT(LOOK(.tries = 3, .back = 1), "");
	/* The same data again and again, and nothing else. */
	CHECK_EQ_TEXT(LOOK(.segments = 1, .repeats = 1), "path-blackhole path:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.segments = 1, .repeats = 1, .back = 1), "path-loss path:10.2.2.2");
}

TEST(one_data_segment_is_enough)
{
	CHECK_EQ_TEXT(LOOK(.reason = "IP_INNOROUTES"), "no-route route:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.reason = "IP_RPFILTER"), "rp-filter route:10.1.1.5");
	/* A pure ACK or a SYN does not prove an established connection. */
	CHECK_EQ_TEXT(LOOK(.reason = "IP_INNOROUTES", .bytes = 60), "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP"), "");
}

TEST(networks_that_may_only_answer)
{
	CHECK_EQ_TEXT(LOOK(.kept_out = true), "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.kept_out = true, .reached = true, .answered = true), "");
	/* What leaves to it may be dropped on the way back; and others of it may open connections. */
	CHECK_EQ_TEXT(LOOK(.kept_out = true, .reached = true), "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.kept_out = true, .reached = true, .answered = true, .segments = 5, .answers = 5),
		      "firewall-drop filter:netfilter");
}

TEST(senders_without_icmp_errors)
{
	CHECK_EQ_TEXT(LOOK(.reason = "PKT_TOO_BIG", .icmp_dropped = true), "path-mtu path:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.reason = "PKT_TOO_BIG"), "");
	CHECK_EQ_TEXT(LOOK(.reason = "PKT_TOO_BIG", .udp_dropped = true), "");
	CHECK_EQ_TEXT(LOOK(.too_big = 40, .errors = 40, .rule_packets = 38, .mtu = 1200),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.too_big = 40, .errors = 40, .rule_packets = 38), "");
	CHECK_EQ_TEXT(LOOK(.too_big = 40, .errors = 40, .rule_packets = 3, .mtu = 1200), "");
	CHECK_EQ_TEXT(LOOK(.too_big = 4, .errors = 40, .rule_packets = 40, .mtu = 1200), "");
}

TEST(links_that_routes_and_neighbours_fail_by)
{
	CHECK_EQ_TEXT(LOOK(.reason = "IP_INNOROUTES", .down = true), "link-down link:rd");
	CHECK_EQ_TEXT(LOOK(.reason = "NEIGH_FAILED", .no_carrier = true), "no-carrier link:rd");
	/* Another interface is on the same network. */
	CHECK_EQ_TEXT(LOOK(.reason = "IP_INNOROUTES", .standby = true), "no-route route:10.2.2.2");
	CHECK_EQ_TEXT(LOOK(.reason = "IP_INNOROUTES", .down = true, .standby_up = true), "no-route route:10.2.2.2");
	/* Without a sufferer a link may be down. */
	CHECK_EQ_TEXT(LOOK(.down = true), "");
	CHECK_EQ_TEXT(LOOK(.no_carrier = true), "");
}

TEST(links_that_flap)
{
	CHECK_EQ_TEXT(LOOK(.flaps = true, .received = 10), "link-flapping link:rd");
	CHECK_EQ_TEXT(LOOK(.flaps = true), "");
	/* Once now, and often before. */
	CHECK_EQ_TEXT(LOOK(.flapped = 8, .received = 10), "link-flapping link:rd");
	CHECK_EQ_TEXT(LOOK(.flapped = 7, .received = 10), "");
	CHECK_EQ_TEXT(LOOK(.flapped = 8), "");
	CHECK_EQ_TEXT(LOOK(.received = 10), "");
}

/* Figures of a connection after two windows of five samples, from its beginning on; of how many there are some. */
static struct forwarding_measures figures_of(struct router r, unsigned *ret_count)
{
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct forwarding_measures found = {};
	unsigned count = 0;

	for (unsigned sample = 0; sample <= 10; sample++) {
		snapshot_clear(snapshot);
		snapshot->begin_boot_ns = (sample + 1) * LOOK_PACE_NS;
		snapshot->begin_time_ns = LOOK_TIME_NS + sample * LOOK_PACE_NS;
		put_sample(snapshot, sample, &r);
		window_add(window, snapshot);
		if (sample == 5 || sample == 10) {
			struct graph *graph = window_finish(window);

			vec_each(&graph->modules, module)
				if (sample == 10 && (*module)->measures.forwarding) {
					found = *(*module)->measures.forwarding;
					count++;
				}
			graph_free(graph);
		}
	}
	*ret_count = count;
	return found;
}

static struct forwarding_measures figures_of_one(struct router r)
{
	unsigned count;
	struct forwarding_measures found = figures_of(r, &count);

	CHECK_EQ_UINT(count, 1);
	return found;
}

#define FIGURES(...) figures_of_one((struct router){__VA_ARGS__})

TEST(figures_of_a_connection_that_passes)
{
	/* 100 packets per sample there and 40 back; those of another client of the same service are not of it. */
	struct forwarding_measures m = FIGURES(.segments = 100, .repeats = 3, .answers = 40, .back = 7);

	CHECK_EQ_UINT(m.pass_packets, 1400);
	CHECK_EQ_UINT(m.pass_along, 1000);
	CHECK_EQ_UINT(m.pass_segments, 1000);
	CHECK_EQ_UINT(m.lost_behind, 30);
	CHECK_EQ_UINT(m.lost_before, 0);
	CHECK_NEAR(m.lost_behind_share, 0.03, 1e-9);
	CHECK_NEAR(m.lost_before_share, 0, 1e-9);
	/* Only of attempts that are kept out. */
	CHECK(m.pass_opened == UINT64_MAX && m.pass_reached == UINT64_MAX);
	m = FIGURES(.kept_out = true, .reached = true, .answered = true, .segments = 1, .answers = 1);
	CHECK_EQ_UINT(m.pass_opened, 1);
	CHECK_EQ_UINT(m.pass_reached, 1);
	/* This host dropped one per sample: ten of thirty are not lost elsewhere. */
	m = FIGURES(.segments = 100, .repeats = 3, .managed = 1);
	CHECK_EQ_UINT(m.lost_behind, 20);
	CHECK_NEAR(m.lost_behind_share, 0.02, 1e-9);
	/* Nor what is sent again for the want of ACKs. */
	m = FIGURES(.segments = 100, .repeats = 3, .managed = 1, .acks = 1);
	CHECK_EQ_UINT(m.lost_behind, 10);
	m = FIGURES(.segments = 100, .fills = 4, .acks = 4);
	CHECK_EQ_UINT(m.lost_before, 40);
	m = FIGURES(.segments = 100, .fills = 4);
	CHECK_EQ_UINT(m.pass_packets, 1000);
	CHECK_EQ_UINT(m.lost_behind, 0);
	CHECK_EQ_UINT(m.lost_before, 40);
	CHECK_NEAR(m.lost_before_share, 0.04, 1e-9);
}

/* So many retransmit where a link behind this host is bad; the first ones are evidence enough. */
TEST(figures_of_many_connections_that_pass)
{
	unsigned count;

	(void)figures_of((struct router){.segments = 100, .repeats = 3, .more = 30}, &count);
	CHECK_EQ_UINT(count, 31);
	(void)figures_of((struct router){.segments = 100, .repeats = 3, .more = 40}, &count);
	/* The one that stands for all that lose on one side may be none of the 32: all lose as much here. */
	CHECK(count == 32 || count == 33);
}
