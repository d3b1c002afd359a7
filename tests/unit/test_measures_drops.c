/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of a connection that this host dropped, by their number: one at every other sample from the third on. */
#include "measured.h"

#include "diagnose/measure/dropped.h"
#include "probe/drop_tally.h"

#define CONN  "conn:10.77.1.2:40000-10.77.2.2:5001"
#define BYTES 1500

static const char *reason;
/* Bytes that the connection retransmitted in the last window. */
static uint64_t retransmitted;

static void sends(struct scene *s, unsigned sample)
{
	send_well(s);
	if (sample == 2 * SAMPLES)
		s->tcp.bytes_retrans += retransmitted;
}

static uint64_t time_of(const struct snapshot *snapshot, unsigned sample, unsigned now)
{
	return snapshot->begin_time_ns - (uint64_t)(now - sample) * SAMPLE_NS;
}

static void dropped(struct snapshot *snapshot, unsigned sample)
{
	struct drop_record drop = {.reason = reason, .dev = "eth0", .dir = DROP_TX, .proto = 6, .flags = 0x10};

	if (sample < 2)
		return;
	REQUIRE(addr_parse("10.77.1.2", &drop.laddr) == 0 && addr_parse("10.77.2.2", &drop.raddr) == 0);
	drop.lport = 40000;
	drop.rport = 5001;
	drop.packets = sample / 2;
	drop.bytes = drop.packets * BYTES;
	drop.first_ns = time_of(snapshot, 2, sample);
	drop.last_ns = time_of(snapshot, sample / 2 * 2, sample);
	put(snapshot, &drop_type, &drop);
}

static void check_drops(const char *why, uint64_t bytes, const struct expected *list)
{
	struct graph *graph;

	reason = why;
	retransmitted = bytes;
	graph = measure(sends, dropped, 3);
	check_some(&dropped_measures_type, module_of(graph, CONN)->measures.dropped, list);
	measured(&graph);
}

/* Samples 2 to 28, 14 in all, 5 in the last window; from the first to the last 26 samples. */
TEST(drops_of_a_connection)
{
	static const struct expected by_a_rule[] = {{"drop_count", "14"},
						    {"drop_window", "5"},
						    {"drop_span_ns", "5200000000"},
						    {"drop_firewall", "14"},
						    {"drop_qdisc", "0"},
						    {"drop_established", "true"},
						    {"drop_explains", "true"},
						    {"drop_target", "\"10.77.2.2\""},
						    {"drop_reason", "\"NETFILTER_DROP\""},
						    {"drop_dev", "\"eth0\""},
						    {}};
	static const struct expected in_a_queue[] = {
		{"drop_count", "14"}, {"drop_firewall", "0"}, {"drop_qdisc", "14"}, {}};
	static const struct expected too_few[] = {{"drop_count", "14"}, {"drop_explains", "false"}, {}};

	/* Half of what was retransmitted is enough. */
	check_drops("NETFILTER_DROP", 5 * BYTES * 2, by_a_rule);
	check_drops("QDISC_DROP", 5 * BYTES * 2, in_a_queue);
	check_drops("NETFILTER_DROP", 5 * BYTES * 2 + 1, too_few);
}

TEST(whom_drops_accuse)
{
	struct graph *graph;

	reason = "QDISC_DROP";
	graph = measure(sends, dropped, 3);
	REQUIRE(module_of(graph, CONN)->related[MODULE_QDISC]);
	measured(&graph);
	reason = "NETFILTER_DROP";
	graph = measure(sends, dropped, 3);
	REQUIRE(module_of(graph, CONN)->related[MODULE_FILTER]);
	CHECK_EQ_TEXT(module_of(graph, CONN)->related[MODULE_FILTER]->id, "filter:netfilter");
	measured(&graph);
}
