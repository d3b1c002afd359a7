/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dropped packets as evidence, on snapshots made by hand: a host 10.1.1.1 with a listener on port 80 and a connection
 * from 10.1.1.5, and packets that it drops. Each case has near misses: the same drops of somebody who does not suffer.
 */
#include "look.h"

#include <errno.h>
#include <linux/neighbour.h>

#include "diagnose/measure/drop_class.h"
#include "probe/drop_tally.h"
#include "probe/remembered.h"
#include "snapshot/netlink/conntrack.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/netlink/route.h"
#include "snapshot/socket/socket.h"

#define TCP 6
#define UDP 17
#define SYN 0x02
#define ACK 0x10
#define FIN 0x01

/* Drops of one flow; zero is the default. */
struct drops {
	const char *reason;
	const char *from, *to;
	uint16_t sport, dport;
	uint8_t proto, flags; /* TCP */
	unsigned every;       /* samples from one to the next: 3 */
	bool once;            /* one, in the fourth sample */
	unsigned bytes;       /* each: 60 */
	const char *place;
	bool leaves;
	unsigned ports; /* tries this many ports in turn; 0: one */
	unsigned crowd; /* as many senders, each twice, with other ports unless same_port; 0: only the one */
	bool same_port;
	uint16_t error;     /* of the route lookup, in every fourth sample */
	unsigned invalid;   /* packets that conntrack marks so, of hundred dropped ones */
	const char *silent; /* a neighbour on eth0 that does not answer */
	bool client;        /* the destination is an open UDP socket, connected to the source */
	const char *asked;  /* the kernel was asked about this host */
	bool remembered;    /* and remembers it */
	uint16_t listens;   /* another port with a listener */
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

static void put_listener(struct snapshot *snapshot, uint16_t port, uint64_t cookie)
{
	struct socket_record *listener = snapshot_table_add(snapshot_table(snapshot, &socket_type));

	listener->proto = TCP;
	listener->state = SOCKET_LISTEN;
	listener->laddr = address("10.1.1.1");
	listener->lport = port;
	listener->cookie = cookie;
	listener->backlog = 0;
	listener->backlog_max = 128;
}

static void put_host(struct snapshot *snapshot)
{
	struct address_record here = {.ifindex = 2, .dev = "eth0", .laddr = address("10.1.1.1"), .prefix = 24};
	struct socket_record *conn;
	struct tcp_record *tcp;

	put_listener(snapshot, 80, 1);
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
	tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	tcp->bytes_received = tcp->bytes_sent = tcp->bytes_acked = 1000;
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
				   .first_ns = LOOK_TIME_NS + LOOK_PACE_NS,
				   .last_ns = LOOK_TIME_NS + last * LOOK_PACE_NS};

	if (count > 0)
		put(snapshot, &drop_type, &drop);
}

/* Senders 10.1.3.1 and on, of which two packets are dropped, two windows apart. */
static void put_crowd(struct snapshot *snapshot, const struct drops *drops, unsigned sample)
{
	for (unsigned i = 0; i < drops->crowd; i++) {
		struct drops one = *drops;
		char from[32];

		snprintf(from, sizeof(from), "10.1.3.%u", i + 1);
		one.from = from;
		put_drop(snapshot, &one, 0, drops->same_port && sample > 11 ? 2 : 1, sample > 11 ? 12 : 2);
		one.sport++;
		put_drop(snapshot, &one, 0, !drops->same_port && sample > 11, 12);
	}
}

static void put_destination(struct snapshot *snapshot, const struct drops *drops, uint16_t error)
{
	struct destination_record destination = {.raddr = address(drops->to), .error = error, .ifindex = 2};

	put(snapshot, &destination_type, &destination);
}

static void put_client(struct snapshot *snapshot, const struct drops *drops)
{
	struct socket_record *client = snapshot_table_add(snapshot_table(snapshot, &socket_type));

	client->proto = UDP;
	client->state = SOCKET_ESTABLISHED;
	client->laddr = address(drops->to);
	client->lport = drops->dport;
	client->raddr = address(drops->from);
	client->rport = drops->sport;
	client->cookie = 3;
	client->recvq_bytes = client->sendq_bytes = 0;
}

static void put_sample(struct snapshot *snapshot, unsigned sample, const void *context)
{
	const struct drops *drops = context;
	unsigned events = drops->once ? sample >= 4 : (sample + drops->every - 1) / drops->every,
		 ports = max_of(drops->ports, 1u);

	put_host(snapshot);
	if (sample > 1)
		put_crowd(snapshot, drops, sample);
	for (unsigned port = 0; port < ports && !drops->crowd; port++)
		put_drop(snapshot, drops, port, (events + ports - 1 - port) / ports, sample);
	if (drops->invalid)
		put(snapshot, &conntrack_type, &(struct conntrack_record){.invalid = events * drops->invalid / 100});
	if (drops->client)
		put_client(snapshot, drops);
	if (drops->silent)
		put(snapshot, &neighbour_type,
		    &(struct neighbour_record){
			    .dev = "eth0", .raddr = address(drops->silent), .neigh_state = NUD_INCOMPLETE});
	if (drops->listens)
		put_listener(snapshot, drops->listens, 4);
	if (drops->asked)
		put(snapshot, &remembered_type,
		    &(struct remembered_record){.raddr = address(drops->asked), .remembered = drops->remembered});
	if (drops->error)
		put_destination(snapshot, drops, sample % 4 == 2 ? drops->error : 0);
}

static const char *look(struct drops drops)
{
	drops.every = drops.every ?: 3;
	drops.bytes = drops.bytes ?: 60;
	drops.proto = drops.proto ?: TCP;
	return look_at(put_sample, &drops);
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

#define IN .reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.1.1.1", .sport = 5555, .dport = 80, .flags = ACK

/* A rule about invalid packets drops nothing else; one of many rules may drop a few of them. */
TEST(invalid_packets_are_most_of_those_dropped)
{
	CHECK_EQ_TEXT(LOOK(IN, .every = 1, .invalid = 100), "conntrack-invalid filter:netfilter");
	CHECK_EQ_TEXT(LOOK(IN, .every = 1), "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(IN, .every = 1, .invalid = 40), "firewall-drop filter:netfilter");
}

/* Retransmissions are seconds apart soon: one is enough where nothing else moves. */
TEST(one_packet_of_a_connection_that_rests)
{
	CHECK_EQ_TEXT(LOOK(IN, .once = true), "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.1.1.1", .sport = 5556, .dport = 80,
			   .flags = ACK, .once = true),
		      "");
}

#define REPLIES .reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 443, .dport = 40000

/* To ten ports in turn: the answers of a service, or somebody who looks for open ones. */
TEST(replies_to_many_ports_are_no_scan)
{
	CHECK_EQ_TEXT(LOOK(REPLIES, .flags = SYN | ACK, .ports = 10, .every = 1), "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(REPLIES, .flags = SYN, .ports = 10, .every = 1), "");
	CHECK_EQ_TEXT(LOOK(REPLIES, .proto = UDP, .ports = 10, .every = 1), "firewall-drop filter:netfilter");
	/* From a client's port. */
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.1.1.5", .to = "10.2.2.2", .sport = 33000,
			   .dport = 40000, .proto = UDP, .ports = 10, .every = 1),
		      "");
}

/* The same connection acknowledges again, or each time another one does. */
TEST(acknowledgements_that_come_again)
{
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "198.51.100.5", .to = "10.2.2.2", .sport = 40000,
			   .dport = 443, .flags = ACK, .every = 2),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "198.51.100.5", .to = "10.2.2.2", .sport = 40000,
			   .dport = 443, .flags = ACK, .once = true),
		      "");
}

#define OUT .reason = "IP_OUTNOROUTES", .from = "10.1.1.1", .to = "10.1.1.5", .sport = 80, .dport = 5555, .leaves = true

/* The kernel gives one reason for both; the lookup tells them apart, also when the route comes and goes. */
TEST(a_blackhole_is_no_missing_route)
{
	CHECK_EQ_TEXT(LOOK(OUT, .flags = ACK, .error = EINVAL), "route-blackhole route:10.1.1.5");
	CHECK_EQ_TEXT(LOOK(OUT, .flags = ACK, .error = EACCES), "route-blackhole route:10.1.1.5");
	CHECK_EQ_TEXT(LOOK(OUT, .flags = ACK, .error = ENETUNREACH), "no-route route:10.1.1.5");
	CHECK_EQ_TEXT(LOOK(OUT, .flags = ACK), "no-route route:10.1.1.5");
}

/* To a socket that is open, or to none. */
#define ANSWERS                                                                                                        \
	.reason = "NETFILTER_DROP", .from = "10.3.3.3", .to = "10.1.1.1", .sport = 1813, .dport = 40000, .proto = UDP

TEST(answers_that_a_client_waits_for)
{
	CHECK_EQ_TEXT(LOOK(ANSWERS, .client = true), "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(ANSWERS), "");
}

#define PURGED .reason = "QUEUE_PURGE", .from = "10.1.1.5", .sport = 4000, .dport = 443, .flags = SYN

/* A queue is purged for a neighbour without an answer; or with a socket, whose packets had arrived. */
TEST(a_purged_queue_had_a_reason)
{
	CHECK_EQ_TEXT(LOOK(PURGED, .to = "10.2.2.2", .silent = "10.1.1.9"), "neighbour-failed neigh:10.1.1.9");
	CHECK_EQ_TEXT(LOOK(PURGED, .to = "10.2.2.2"), "");
	CHECK_EQ_TEXT(LOOK(PURGED, .to = "10.1.1.1", .silent = "10.1.1.9"), "");
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

#define KNOCK .reason = "NETFILTER_DROP", .to = "10.1.1.1", .sport = 6666, .flags = SYN

/* 10.1.1.5 has a connection with port 80. A host that was never a peer is kept out by design; others miss something. */
TEST(strangers_are_kept_out)
{
	CHECK_EQ_TEXT(LOOK(KNOCK, .from = "10.1.1.6", .dport = 80, .asked = "10.1.1.6"), "");
	CHECK_EQ_TEXT(LOOK(KNOCK, .from = "10.1.1.6", .dport = 80, .asked = "10.1.1.6", .remembered = true),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(KNOCK, .from = "10.1.1.6", .dport = 80, .asked = "10.1.1.7"),
		      "firewall-drop filter:netfilter");
	/* A peer whose connection is open, and a service that nobody reaches. */
	CHECK_EQ_TEXT(LOOK(KNOCK, .from = "10.1.1.5", .dport = 80, .asked = "10.1.1.5"),
		      "firewall-drop filter:netfilter");
	CHECK_EQ_TEXT(LOOK(KNOCK, .from = "10.1.1.6", .dport = 443, .asked = "10.1.1.6", .listens = 443),
		      "firewall-drop filter:netfilter");
}

TEST(invented_senders_are_noise)
{
	CHECK_EQ_TEXT(
		LOOK(.reason = "IP_RPFILTER", .to = "10.2.2.2", .sport = 4000, .dport = 443, .flags = SYN, .crowd = 6),
		"");
	CHECK_EQ_TEXT(LOOK(.reason = "IP_RPFILTER", .to = "10.2.2.2", .sport = 4000, .dport = 443, .flags = ACK,
			   .bytes = 1500, .crowd = 6),
		      "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .to = "10.1.1.1", .sport = 4000, .dport = 80, .flags = SYN,
			   .crowd = 6),
		      "");
	/* Those who send the same again are real, however many; a few who try again with other ports as well. */
	CHECK(strstr(LOOK(.reason = "IP_RPFILTER", .to = "10.2.2.2", .sport = 4000, .dport = 443, .flags = SYN,
			  .crowd = 6, .same_port = true),
		     "rp-filter route:10.1.3.6"));
	CHECK(strstr(
		LOOK(.reason = "IP_RPFILTER", .to = "10.2.2.2", .sport = 4000, .dport = 443, .flags = SYN, .crowd = 5),
		"rp-filter route:10.1.3.5"));
	CHECK_EQ_TEXT(LOOK(.reason = "TCP_LISTEN_OVERFLOW", .to = "10.1.1.1", .sport = 4000, .dport = 80, .flags = SYN,
			   .crowd = 6),
		      "accept-queue-full listener:10.1.1.1:80");
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

#define STREAM .reason = "IP_RPFILTER", .from = "10.8.8.8", .sport = 40000, .dport = 5004, .proto = UDP, .every = 1

/* A group that a program here has joined: the kernel looks at the source of no other. */
TEST(multicast_that_a_program_here_wants)
{
	CHECK_EQ_TEXT(LOOK(STREAM, .to = "239.77.0.9", .client = true), "rp-filter route:10.8.8.8");
	CHECK_EQ_TEXT(LOOK(STREAM, .to = "239.77.0.9"), "");
	CHECK_EQ_TEXT(LOOK(STREAM, .to = "224.0.0.251", .client = true), "");
	CHECK_EQ_TEXT(LOOK(.reason = "NETFILTER_DROP", .from = "10.8.8.8", .to = "239.77.0.9", .sport = 40000,
			   .dport = 5004, .proto = UDP, .every = 1, .client = true),
		      "");
}
