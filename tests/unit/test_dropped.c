/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dropped packets as evidence, on snapshots made by hand: a host 10.1.1.1 with a listener on port 80 and a connection
 * from 10.1.1.5, and packets that it drops. Each case has near misses: the same drops of somebody who does not suffer.
 */
#include "unit.h"

#include "diagnose/graph/window.h"
#include "diagnose/infer/diagnosis.h"
#include "diagnose/measure/drop_class.h"
#include "diagnose/rules/knowledge.h"
#include "probe/drop_tally.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/socket/socket.h"

#define SAMPLE_NS UINT64_C(200000000)
#define BEGIN_NS  UINT64_C(1763172787000000000)
#define TCP       6
#define UDP       17
#define SYN       0x02
#define ACK       0x10
#define FIN       0x01

/* Drops of one flow; zero is the default. */
struct drops {
	const char *reason;
	const char *from, *to;
	uint16_t sport, dport;
	uint8_t proto, flags; /* TCP */
	unsigned every;       /* samples from one to the next: 3 */
	unsigned bytes;       /* each: 60 */
	const char *place;
	bool leaves;
	unsigned ports; /* tries this many ports in turn; 0: one */
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

static void put_host(struct snapshot *snapshot)
{
	struct address_record here = {.ifindex = 2, .dev = "eth0", .laddr = address("10.1.1.1"), .prefix = 24};
	struct socket_record *listener = snapshot_table_add(snapshot_table(snapshot, &socket_type)), *conn;

	listener->proto = TCP;
	listener->state = SOCKET_LISTEN;
	listener->laddr = address("10.1.1.1");
	listener->lport = 80;
	listener->cookie = 1;
	listener->backlog = 0;
	listener->backlog_max = 128;
	conn = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	conn->proto = TCP;
	conn->state = SOCKET_ESTABLISHED;
	conn->laddr = address("10.1.1.1");
	conn->lport = 80;
	conn->raddr = address("10.1.1.5");
	conn->rport = 5555;
	conn->cookie = 2;
	conn->recvq_bytes = conn->sendq_bytes = 0;
	conn->tcp = 0;
	(void)snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	put(snapshot, &address_type, &here);
}

static void put_drop(struct snapshot *snapshot, const struct drops *drops, unsigned port, unsigned count, unsigned last)
{
	struct drop_record drop = {.reason = drops->reason,
				   .place = drops->place,
				   .dev = "eth0",
				   .dir = drops->leaves ? DROP_TX : DROP_RX,
				   .proto = drops->proto,
				   .laddr = address(drops->leaves ? drops->from : drops->to),
				   .lport = drops->leaves ? drops->sport : (uint16_t)(drops->dport + port),
				   .raddr = address(drops->leaves ? drops->to : drops->from),
				   .rport = drops->leaves ? drops->dport : drops->sport,
				   .flags = drops->flags,
				   .packets = count,
				   .bytes = (uint64_t)count * drops->bytes,
				   .first_ns = BEGIN_NS + SAMPLE_NS,
				   .last_ns = BEGIN_NS + last * SAMPLE_NS};

	if (count > 0)
		put(snapshot, &drop_type, &drop);
}

/* Causes and modules that three windows of a look end with. */
static const char *look(struct drops drops)
{
	static char said[1024];
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct diagnosis *diagnosis;
	const struct diagnosis_record *record;
	const struct finding_record *findings;
	struct why why = {};

	drops.every = drops.every ?: 3;
	drops.bytes = drops.bytes ?: 60;
	drops.proto = drops.proto ?: TCP;
	REQUIRE(knowledge_load(&knowledge, &why) == 0);
	diagnosis = diagnosis_new(knowledge);
	for (unsigned sample = 0; sample < 16; sample++) {
		unsigned events = (sample + drops.every - 1) / drops.every, ports = max_of(drops.ports, 1u);

		snapshot_clear(snapshot);
		snapshot->begin_boot_ns = (uint64_t)(sample + 1) * SAMPLE_NS;
		snapshot->begin_time_ns = BEGIN_NS + sample * SAMPLE_NS;
		put_host(snapshot);
		for (unsigned port = 0; port < ports; port++)
			put_drop(snapshot, &drops, port, (events + ports - 1 - port) / ports, sample);
		window_add(window, snapshot);
		if (sample > 0 && sample % 5 == 0)
			diagnosis_add_window(diagnosis, window_finish(window));
	}
	record = diagnosis_get(diagnosis);
	findings = record->findings.items;
	said[0] = '\0';
	for (uint32_t i = 0; i < record->findings.count; i++)
		snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s %s", i ? ", " : "", findings[i].cause,
			 findings[i].module);
	diagnosis_free(diagnosis);
	return said;
}

#define LOOK(...) look((struct drops){__VA_ARGS__})

TEST(forwarded_packets_have_sufferers)
{
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 4000,
			   .dport = 443, .flags = SYN),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "198.51.100.5", .to = "10.2.2.2", .sport = 4000,
			   .dport = 443, .flags = ACK, .bytes = 1500),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "IP_INNOROUTES", .from = "10.1.1.5", .to = "10.9.9.9", .sport = 4000, .dport = 443,
			   .flags = SYN),
		      "no-route route:10.9.9.9");
	CHECK_EQ_TEXT(LOOK(.reason = "NOT_SPECIFIED", .place = "ip_error", .from = "10.1.1.5", .to = "10.9.9.9",
			   .sport = 4000, .dport = 443, .flags = SYN),
		      "route-blackhole route:10.9.9.9");
	CHECK_EQ_TEXT(LOOK(.reason = "IP_RPFILTER", .from = "10.8.8.8", .to = "10.2.2.2", .sport = 4000, .dport = 443,
			   .flags = SYN),
		      "rp-filter route:10.8.8.8");
	CHECK_EQ_TEXT(LOOK(.reason = "QDISC_DROP", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 4000, .dport = 443,
			   .flags = ACK, .bytes = 1500, .every = 1),
		      "qdisc-drops qdisc:eth0");
	CHECK_EQ_TEXT(LOOK(.reason = "TC_INGRESS", .from = "fd01::5", .to = "fd02::2", .sport = 4000, .dport = 53,
			   .proto = UDP),
		      "tc-drop filter:eth0");
	CHECK_EQ_TEXT(LOOK(.reason = "PKT_TOO_BIG", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 4000, .dport = 443,
			   .flags = ACK, .bytes = 1500),
		      "path-mtu path:10.2.2.2");
}

TEST(sockets_here_suffer)
{
	/* The connection, by its addresses; a new one to the listener; what is sent and has no socket any longer. */
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.1.1.1", .sport = 5555, .dport = 80,
			   .flags = ACK),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.6", .to = "10.1.1.1", .sport = 6666, .dport = 80,
			   .flags = SYN),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.1", .to = "192.0.2.53", .sport = 6666,
			   .dport = 53, .proto = UDP, .leaves = true),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "TCP_LISTEN_OVERFLOW", .from = "10.1.1.6", .to = "10.1.1.1", .sport = 6666,
			   .dport = 80, .flags = SYN),
		      "accept-queue-full listener:10.1.1.1:80");
}

TEST(noise_is_silent)
{
	/* A closed port, whether the firewall takes it or nobody listens; a scan; one packet. */
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.6", .to = "10.1.1.1", .sport = 6666, .dport = 81,
			   .flags = SYN),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NO_SOCKET", .from = "10.1.1.6", .to = "10.1.1.1", .sport = 6666, .dport = 80,
			   .flags = SYN),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.6", .to = "10.1.1.1", .sport = 6666, .dport = 75,
			   .flags = SYN, .ports = 10, .every = 1),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.6", .to = "10.2.2.2", .sport = 6666, .dport = 75,
			   .flags = SYN, .ports = 10, .every = 1),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 4000,
			   .dport = 443, .flags = SYN, .every = 100),
		      "");
	/* The end of a connection, duplicates, broadcast and multicast. */
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 4000,
			   .dport = 443, .flags = ACK | FIN),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "TCP_OLD_DATA", .from = "10.1.1.5", .to = "10.1.1.1", .sport = 5555, .dport = 80,
			   .flags = ACK),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.6", .to = "10.1.1.255", .sport = 137,
			   .dport = 137, .proto = UDP),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.6", .to = "224.0.0.251", .sport = 5353,
			   .dport = 5353, .proto = UDP),
		      "");
}

TEST(a_reason_that_says_nothing_has_a_place)
{
	CHECK_EQ_INT(drop_class_of("NETFILTER_DROP", NULL), DROP_FIREWALL);
	CHECK_EQ_INT(drop_class_of(NULL, "nf_hook_slow"), DROP_FIREWALL);
	CHECK_EQ_INT(drop_class_of("NOT_SPECIFIED", "nf_hook_slow"), DROP_FIREWALL);
	CHECK_EQ_INT(drop_class_of("NO_SOCKET", "nf_hook_slow"), DROP_NONE);
	CHECK_EQ_INT(drop_class_of(NULL, "tcp_v4_rcv"), DROP_NONE);
	CHECK_EQ_INT(drop_class_of(NULL, NULL), DROP_NONE);
}
