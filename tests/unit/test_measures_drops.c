/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of a connection that this host dropped, by their number: one at every other sample from the third on. */
#include "measured.h"

#include "diagnose/measure/dropped.h"
#include "probe/drop_tally.h"
#include "snapshot/netlink/conntrack.h"

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

/* Each reason counts in its own figure alone. */
TEST(drops_by_reason)
{
	static const struct {
		const char *reason, *field;
	} cases[] = {
		{"NETFILTER_DROP", "drop_firewall"}, {"TC_EGRESS", "drop_tc"},       {"QDISC_DROP", "drop_qdisc"},
		{"IP_RPFILTER", "drop_rp_filter"},   {"NEIGH_FAILED", "drop_neigh"}, {"IP_OUTNOROUTES", "drop_route"},
		{"PKT_TOO_BIG", "drop_too_big"},     {"PROTO_MEM", "drop_memory"},   {"IP_CSUM", "drop_damaged"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t other = 0; other < ARRAY_SIZE(cases); other++)
			check_drops(cases[i].reason, 5 * BYTES * 2,
				    (struct expected[]){
					    {"drop_count", "14"}, {cases[other].field, i == other ? "14" : "0"}, {}});
}

/* Packets that conntrack dropped because its table was full, from the third sample on. */
static unsigned conntrack_drops;

static void dropped_by_conntrack(struct snapshot *snapshot, unsigned sample)
{
	struct conntrack_record conntrack = {.dropped = sample < 2 ? 0 : conntrack_drops};

	dropped(snapshot, sample);
	put(snapshot, &conntrack_type, &conntrack);
}

/* The reason of both is the same: those of the full table must be half of them. */
TEST(a_full_table_is_no_rule)
{
	static const struct expected half[] = {{"drop_conntrack", "14"}, {"drop_firewall", "0"}, {}},
				     less[] = {{"drop_conntrack", "0"}, {"drop_firewall", "14"}, {}};

	reason = "NETFILTER_DROP";
	for (conntrack_drops = 6; conntrack_drops <= 7; conntrack_drops++) {
		struct graph *graph = measure(sends, dropped_by_conntrack, 3);

		check_some(&dropped_measures_type, module_of(graph, CONN)->measures.dropped,
			   conntrack_drops == 7 ? half : less);
		measured(&graph);
	}
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

static void put_address(struct snapshot *snapshot, const char *text, uint8_t prefix)
{
	struct address_record address;

	blank(&address_type, &address);
	REQUIRE(addr_parse(text, &address.laddr) == 0);
	address.ifindex = 2;
	address.prefix = prefix;
	put(snapshot, &address_type, &address);
}

static const char *sender;

/* The same SYN again and again, forwarded. */
static void syns_dropped(struct snapshot *snapshot, unsigned sample)
{
	bool v6 = strchr(sender, ':');
	struct drop_record drop = {
		.reason = "NETFILTER_DROP", .dev = "eth0", .dir = DROP_RX, .proto = 6, .flags = 0x02, .lport = 443};

	if (sample < 2)
		return;
	REQUIRE(addr_parse(v6 ? "2001:db8:2::2" : "203.0.113.2", &drop.laddr) == 0);
	REQUIRE(addr_parse(sender, &drop.raddr) == 0);
	/* Networks of this host. */
	put_address(snapshot, "192.0.2.1", 24);
	put_address(snapshot, "2001:db8:9::1", 64);
	drop.rport = 4000;
	drop.packets = sample / 2;
	drop.bytes = drop.packets * 60;
	drop.first_ns = time_of(snapshot, 2, sample);
	drop.last_ns = time_of(snapshot, sample / 2 * 2, sample);
	put(snapshot, &drop_type, &drop);
}

static const struct dropped_measures *only_drops(const struct graph *graph)
{
	const struct dropped_measures *found = NULL;

	vec_each(&graph->modules, module) {
		CHECK(!found || !(*module)->measures.dropped);
		found = found ?: (*module)->measures.dropped;
	}
	return found;
}

/* RFC 1918, RFC 6598, RFC 4193 and link-local, and the first address beyond each of them. */
TEST(who_is_near)
{
	static const struct expected near[] = {{"drop_count", "14"}, {"drop_near", "true"}, {}},
				     far[] = {{"drop_count", "14"}, {"drop_near", "false"}, {}};
	static const struct {
		const char *from;
		const struct expected *list;
	} cases[] = {
		{"10.9.9.9", near},    {"11.9.9.9", far},        {"172.16.0.1", near}, {"172.31.255.1", near},
		{"172.32.0.1", far},   {"192.168.3.4", near},    {"192.169.3.4", far}, {"193.168.3.4", far},
		{"100.64.0.1", near},  {"100.127.0.1", near},    {"100.128.0.1", far}, {"101.64.0.1", far},
		{"169.254.3.4", near}, {"169.253.3.4", far},     {"170.254.3.4", far}, {"198.51.100.5", far},
		{"fd01::5", near},     {"fc01::5", near},        {"fe01::5", far},     {"fe80::5", near},
		{"febf::5", near},     {"fec0::5", far},         {"2001:db8::5", far}, {"192.0.2.77", near},
		{"192.0.3.77", far},   {"2001:db8:9::77", near},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct graph *graph;

		sender = cases[i].from;
		graph = measure(sends, syns_dropped, 3);
		unit_note("%s", sender);
		check_some(&dropped_measures_type, only_drops(graph), cases[i].list);
		measured(&graph);
	}
}
