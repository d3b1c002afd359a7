/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "probe/datagram.h"
#include "probe/wire_tap.h"
#include "snapshot/core/delta.h"
#include "snapshot/core/netns_state.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

#define L struct lookup_record
static const struct field lookup_fields[] = {
	FIELD(L, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(L, raddr, ADDR, "name server"),
	FIELD(L, queries, COUNT, "queries sent to it"),
	FIELD(L, answers, COUNT, "replies received from it"),
	FIELD(L, slow_answers, COUNT, "replies later than 200 ms"),
	FIELD(L, failures, COUNT, "replies with a server error: SERVFAIL, REFUSED, FORMERR, NOTIMP"),
	FIELD(L, unreachable, COUNT, "queries answered by ICMP unreachable"),
	FIELD(L, answer_ns, DURATION, "total reply latency; of a query from before, since then"),
	FIELD(L, pending, COUNT, "queries without a reply"),
	FIELD(L, oldest_ns, DURATION, "age of the oldest query without a reply"),
	FIELD(L, overdue, COUNT, "queries without a reply after 300 ms"),
};
#undef L
RECORD_TYPE(lookup_type, "lookup", struct lookup_record, lookup_fields, "DNS queries to a name server");

static const struct field refusal_fields[] = {
	FIELD(struct refusal_record, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(struct refusal_record, raddr, ADDR, "remote address"),
	FIELD(struct refusal_record, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(struct refusal_record, refused, COUNT, "connections refused (RST or ICMP error in reply to SYN)"),
	FIELD(struct refusal_record, resets, COUNT, "other resets received from it"),
	FIELD(struct refusal_record, here, COUNT, "connections rejected by this host on its behalf (firewall reject)"),
	FIELD(struct refusal_record, datagrams, COUNT, "UDP datagrams rejected (ICMP port unreachable or prohibited)"),
};
RECORD_TYPE(refusal_type, "refusal", struct refusal_record, refusal_fields,
	    "a remote service that refused or reset connections");

#define DNS_PORT    53
#define SERVERS_MAX 256
#define PENDING_MAX 4096
#define PEERS_MAX   2048
#define HOSTS_MAX   1024 /* of these */
/* Where the ports of clients begin (net.ipv4.ip_local_port_range). */
#define EPHEMERAL_PORT 32768
/* Queries older than this have timed out. */
#define GIVEN_UP_NS (15 * NSEC_PER_SEC)
/* How long it is open at first, where there were signs before: the next one may be too late in a run. */
#define FIRST_NS (2 * NSEC_PER_SEC)
/* How long the tap stays open after the last sign. */
#define INTEREST_NS (30 * NSEC_PER_SEC)
/* Servers and peers not seen for this long are removed. */
#define FORGET_NS (60 * NSEC_PER_SEC)
/* Above this many datagrams between samples, inspecting each costs too much. */
#define DATAGRAMS_MAX 2000
/* Then not for this long. */
#define CROWDED_NS (10 * NSEC_PER_SEC)

/* RCODEs about the server, not the name: FORMERR, SERVFAIL, NOTIMP, REFUSED. */
#define SERVER_CODES (1u << 1 | 1u << 2 | 1u << 4 | 1u << 5)

struct lookup_key {
	struct addr raddr;
	uint16_t lport;
	uint16_t id;
};

struct query {
	uint64_t sent_ns; /* CLOCK_REALTIME */
	bool overdue;     /* and counted as such */
};

struct peer_key {
	struct addr raddr;
	uint16_t rport;
};

/* State of one namespace. */
struct wire {
	struct netns_state of;
	const struct snapshot *snapshot;            /* while the tap is read */
	int fd;                                     /* -1: closed */
	uint64_t opened_ns;                         /* CLOCK_REALTIME */
	uint64_t resets_until_ns, lookups_until_ns; /* when to stop, CLOCK_MONOTONIC; 0: closed */
	uint64_t crowded_until_ns;                  /* too many datagrams */
	enum wire_wanted wanted;
	bool has_counters;
	uint64_t failed_attempts, sent, received;
	struct datagrams datagrams;
	uint64_t taken;     /* datagrams in this sample, forwarded ones included */
	struct map servers; /* address -> struct server */
	struct map pending; /* struct lookup_key -> struct query */
	struct map peers;   /* struct peer_key -> struct peer */
	uint64_t lost;
	uint8_t listening[65536 / 8]; /* bitmap of local ports */
};

/* Counts of one server or peer, and when it was last seen (CLOCK_REALTIME), for expiry. */
struct server {
	struct lookup_record record;
	uint64_t heard_ns;
};

struct peer {
	struct refusal_record record;
	uint64_t heard_ns;
};

static void close_tap(struct wire *wire)
{
	if (wire->fd >= 0)
		close(wire->fd);
	wire->fd = -1;
	map_done(&wire->pending);
	datagrams_miss(&wire->datagrams);
}

static void release_wire(struct netns_state *state)
{
	struct wire *wire = (struct wire *)state;

	close_tap(wire);
	map_done(&wire->servers);
	map_done(&wire->peers);
	datagrams_done(&wire->datagrams);
}

static struct wire *wire_of(struct snapshot *snapshot)
{
	bool is_new;
	struct wire *wire = netns_state_find(snapshot_state(snapshot), snapshot, sizeof(*wire), release_wire, &is_new);

	if (!is_new)
		return wire;
	wire->fd = -1;
	wire->servers = MAP_INIT(sizeof(struct addr), sizeof(struct server), SERVERS_MAX);
	wire->pending = MAP_INIT(sizeof(struct lookup_key), sizeof(struct query), PENDING_MAX);
	wire->peers = MAP_INIT(sizeof(struct peer_key), sizeof(struct peer), PEERS_MAX);
	datagrams_init(&wire->datagrams);
	return wire;
}

/* --- signs that open the tap --- */

/* Change of a sum of counters since the previous sample. */
static uint64_t counters_moved(const struct snapshot *snapshot, uint32_t netns, const char *const *names,
			       uint64_t *last)
{
	uint64_t sum = 0, delta;

	for (; *names; names++) {
		uint64_t value = counter_find(snapshot, netns, *names);

		sum += value == UINT64_MAX ? 0 : value;
	}
	delta = delta_between(*last, sum);
	*last = sum;
	return delta == UINT64_MAX ? 0 : delta;
}

/* A UDP socket connected to that port; or any that is bound or connected. */
static bool has_udp_socket(const struct snapshot *snapshot, uint32_t netns, uint16_t rport)
{
	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		if (s->proto != 17 || s->netns != netns)
			continue;
		if (rport ? s->rport == rport : s->lport != 0)
			return true;
	}
	return false;
}

static void look_for_signs(struct snapshot *snapshot, struct wire *wire, uint64_t now_ns)
{
	/* AttemptFails does not count connections ended by an ICMP error. */
	static const char *const failing[] = {"TcpAttemptFails", "TcpEstabResets", "IcmpInDestUnreachs",
					      "Icmp6InDestUnreachs", NULL};
	static const char *const sending[] = {"UdpOutDatagrams", "Udp6OutDatagrams", NULL};
	static const char *const receiving[] = {"UdpInDatagrams", "Udp6InDatagrams", NULL};
	uint64_t failures = counters_moved(snapshot, wire->of.netns, failing, &wire->failed_attempts),
		 sent = counters_moved(snapshot, wire->of.netns, sending, &wire->sent),
		 received = counters_moved(snapshot, wire->of.netns, receiving, &wire->received);
	bool first = !wire->has_counters;

	wire->has_counters = true;
	if (!first && failures > 0)
		wire->resets_until_ns = now_ns + INTEREST_NS;
	else if (first && wire->failed_attempts > 0)
		wire->resets_until_ns = now_ns + FIRST_NS;
	if (!first && (sent + received > DATAGRAMS_MAX || wire->taken > DATAGRAMS_MAX))
		wire->crowded_until_ns = now_ns + CROWDED_NS;
	if (has_udp_socket(snapshot, wire->of.netns, DNS_PORT) ||
	    (!first && sent + received > 0 && now_ns >= wire->crowded_until_ns))
		wire->lookups_until_ns = now_ns + INTEREST_NS;
	else if (first && wire->sent + wire->received > 0 && has_udp_socket(snapshot, wire->of.netns, 0))
		wire->lookups_until_ns = now_ns + FIRST_NS;
}

/* --- packets --- */

static struct lookup_record *server_of(struct wire *wire, const struct addr *raddr, uint64_t time_ns)
{
	struct server *server = map_put(&wire->servers, raddr, NULL);

	if (!server) {
		wire->lost++;
		return NULL;
	}
	server->record.raddr = *raddr;
	server->heard_ns = time_ns;
	return &server->record;
}

static struct lookup_key key_of(const struct wire_packet *packet)
{
	struct lookup_key key;

	memset(&key, 0, sizeof(key));
	key.raddr = packet->raddr;
	key.lport = packet->lport;
	key.id = packet->id;
	return key;
}

static void take_query(struct wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
	struct lookup_key key = key_of(packet);
	struct lookup_record *server = server_of(wire, &packet->raddr, time_ns);
	struct query *query = map_put(&wire->pending, &key, NULL);

	if (server)
		server->queries++;
	/* A retransmitted query keeps its age. */
	if (query && query->sent_ns == 0)
		query->sent_ns = time_ns;
}

static void take_answer(struct wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
	struct lookup_key key = key_of(packet);
	const struct query *query = map_get(&wire->pending, &key);
	struct lookup_record *server = server_of(wire, &packet->raddr, time_ns);
	uint64_t sent_ns = query ? query->sent_ns : wire->opened_ns, took;

	took = time_ns > sent_ns ? time_ns - sent_ns : 0;
	/* An unsolicited reply, or the query was sent before the tap opened: then it took at least that long. */
	if (!server || (!query && (took < WIRE_SLOW_NS || took > GIVEN_UP_NS)))
		return;
	server->answers++;
	server->slow_answers += took > WIRE_SLOW_NS;
	server->failures += (SERVER_CODES >> packet->rcode) & 1;
	server->answer_ns += took;
	if (query)
		(void)map_remove(&wire->pending, &key);
}

/* The ICMP error has no query id: applies to all queries from that port. */
static void take_unreachable(struct wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
	struct lookup_record *server = server_of(wire, &packet->raddr, time_ns);
	const void *key;
	void *value;
	size_t at = 0;

	if (server)
		server->unreachable++;
	while (map_next(&wire->pending, &at, &key, &value)) {
		const struct lookup_key *pending = key;

		if (pending->lport == packet->lport && addr_equal(&pending->raddr, &packet->raddr))
			(void)map_remove(&wire->pending, key);
	}
}

/* An address of this host itself. */
static bool is_local(const struct wire *wire, const struct addr *addr)
{
	snapshot_each(wire->snapshot, address_type, struct address_record, own)
		if (own->netns == wire->of.netns && addr_equal(&own->laddr, addr))
			return true;
	return addr_is_loopback(addr);
}

static struct refusal_record *peer_of(struct wire *wire, const struct addr *raddr, uint16_t rport, uint64_t time_ns)
{
	struct peer *peer;
	struct peer_key key;

	memset(&key, 0, sizeof(key));
	key.raddr = *raddr;
	key.rport = rport;
	/* When the table is full, peers are counted per host instead of per service. */
	if (wire->peers.count >= PEERS_MAX - HOSTS_MAX && !map_get(&wire->peers, &key))
		key.rport = 0;
	peer = map_put(&wire->peers, &key, NULL);
	if (!peer) {
		wire->lost++;
		return NULL;
	}
	peer->heard_ns = time_ns;
	peer->record.raddr = key.raddr;
	peer->record.rport = key.rport;
	return &peer->record;
}

static void take_reset(struct wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
	/* Ephemeral ports of clients of this host carry no information. */
	bool is_client = wire->listening[packet->lport / 8] & 1u << packet->lport % 8;
	struct refusal_record *peer = peer_of(wire, &packet->raddr, is_client ? 0 : packet->rport, time_ns);

	if (!peer)
		return;
	/* A reset in another host's name that came over loopback was generated here, by a reject rule. */
	if (packet->kind == WIRE_REFUSED && packet->via_loopback && !is_local(wire, &packet->raddr))
		peer->here++;
	else
		peer->refused += packet->kind == WIRE_REFUSED;
	peer->resets += packet->kind == WIRE_RESET;
}

/* Of this host's own datagrams. A client that has closed its socket rejects a late answer, and so ends a traceroute. */
static void take_rejected(struct wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
	struct refusal_record *peer = packet->rport < EPHEMERAL_PORT && is_local(wire, &packet->laddr)
					      ? peer_of(wire, &packet->raddr, packet->rport, time_ns)
					      : NULL;

	if (peer)
		peer->datagrams++;
}

/* Datagrams between other hosts pass as well. */
static void take_datagram(struct wire *wire, const struct wire_packet *packet, uint64_t time_ns)
{
	wire->taken++;
	if (is_local(wire, &packet->laddr))
		datagrams_take(&wire->datagrams, packet, time_ns);
}

static void take(const struct wire_packet *packet, uint64_t time_ns, void *context)
{
	struct wire *wire = context;

	switch (packet->kind) {
	case WIRE_QUERY:
		take_query(wire, packet, time_ns);
		break;
	case WIRE_ANSWER:
		take_answer(wire, packet, time_ns);
		break;
	case WIRE_UNREACHABLE:
		take_unreachable(wire, packet, time_ns);
		break;
	case WIRE_REFUSED:
	case WIRE_RESET:
		take_reset(wire, packet, time_ns);
		break;
	case WIRE_REJECTED:
		take_rejected(wire, packet, time_ns);
		break;
	case WIRE_DATAGRAM:
		take_datagram(wire, packet, time_ns);
		break;
	case WIRE_SEGMENT:
	case WIRE_OTHER:
		break;
	}
}

/* --- records --- */

/* Ages of pending queries; drops those that timed out. */
static void count_pending(struct wire *wire, uint64_t now_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&wire->servers, &at, &key, &value))
		((struct server *)value)->record.pending = ((struct server *)value)->record.oldest_ns = 0;
	at = 0;
	while (map_next(&wire->pending, &at, &key, &value)) {
		const struct lookup_key *lookup = key;
		struct query *query = value;
		uint64_t age = now_ns > query->sent_ns ? now_ns - query->sent_ns : 0;
		struct server *server = map_get(&wire->servers, &lookup->raddr);

		if (server) {
			server->record.pending++;
			server->record.oldest_ns = max_of(server->record.oldest_ns, age);
			server->record.overdue += !query->overdue && age > WIRE_OVERDUE_NS;
		}
		query->overdue = age > WIRE_OVERDUE_NS;
		if (age > GIVEN_UP_NS)
			(void)map_remove(&wire->pending, key);
	}
}

static void add_servers(struct snapshot *snapshot, struct wire *wire, uint64_t now_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&wire->servers, &at, &key, &value)) {
		const struct server *server = value;
		struct lookup_record *record = snapshot_table_add(snapshot_table(snapshot, &lookup_type));

		if (record) {
			*record = server->record;
			record->netns = wire->of.netns;
		}
		if (now_ns > server->heard_ns + FORGET_NS)
			(void)map_remove(&wire->servers, key);
	}
}

static void add_peers(struct snapshot *snapshot, struct wire *wire, uint64_t now_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&wire->peers, &at, &key, &value)) {
		const struct peer *peer = value;
		struct refusal_record *record = snapshot_table_add(snapshot_table(snapshot, &refusal_type));

		if (record) {
			*record = peer->record;
			record->netns = wire->of.netns;
		}
		if (now_ns > peer->heard_ns + FORGET_NS)
			(void)map_remove(&wire->peers, key);
	}
}

static void note_listeners(const struct snapshot *snapshot, struct wire *wire)
{
	memset(wire->listening, 0, sizeof(wire->listening));
	snapshot_each(snapshot, socket_type, struct socket_record, s)
		if (s->proto == 6 && s->state == SOCKET_LISTEN && s->netns == wire->of.netns)
			wire->listening[s->lport / 8] |= (uint8_t)(1u << s->lport % 8);
}

/* Changes take effect with the next packet. */
static void want(struct wire *wire, enum wire_wanted wanted)
{
	if (wanted == wire->wanted || wire_tap_want(wire->fd, wanted) < 0)
		return;
	if (wire->wanted == WIRE_WANTED_DATAGRAMS)
		datagrams_miss(&wire->datagrams);
	wire->wanted = wanted;
}

/* Reads the packets since the previous sample. */
static void read_tap(struct snapshot *snapshot, struct wire *wire)
{
	uint64_t missed;

	note_listeners(snapshot, wire);
	wire->snapshot = snapshot;
	wire->taken = 0;
	missed = wire_tap_read(wire->fd, take, wire);
	if (missed > 0)
		datagrams_miss(&wire->datagrams);
	wire->lost += missed + wire->datagrams.lost;
	wire->datagrams.lost = 0;
	count_pending(wire, clock_real_ns());
	datagrams_age(&wire->datagrams, clock_real_ns());
	datagrams_find_readers(&wire->datagrams, snapshot, wire->of.netns);
	if (wire->lost > 0)
		snapshot_gap(snapshot, NULL, "limits of the tables exceeded, packets or peers lost: %llu",
			     (unsigned long long)wire->lost);
	wire->lost = 0;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct wire *wire = wire_of(snapshot);
	uint64_t now_ns = clock_monotonic_ns();
	bool lookups, resets;

	/* A single sample sees no packets. */
	if (!request->repeated)
		return 0;
	look_for_signs(snapshot, wire, now_ns);
	lookups = now_ns < wire->lookups_until_ns;
	resets = now_ns < wire->resets_until_ns;
	if (wire->fd < 0 && (lookups || resets)) {
		wire->fd = wire_tap_open(why);
		if (wire->fd < 0)
			return wire->fd;
		wire->wanted = WIRE_WANTED_RESETS;
		wire->opened_ns = clock_real_ns();
	}
	if (wire->fd >= 0) {
		read_tap(snapshot, wire);
		want(wire, !lookups                          ? WIRE_WANTED_RESETS
			   : now_ns < wire->crowded_until_ns ? WIRE_WANTED_LOOKUPS
							     : WIRE_WANTED_DATAGRAMS);
	}
	if (!lookups && !resets)
		close_tap(wire);
	add_servers(snapshot, wire, clock_real_ns());
	add_peers(snapshot, wire, clock_real_ns());
	datagrams_add(&wire->datagrams, snapshot, wire->of.netns);
	return 0;
}

static void release(void *data)
{
	netns_states_done(data, release_wire);
}

static const struct record_type *const types[] = {&lookup_type, &refusal_type, &datagram_type, NULL};
static const struct record_type *const needs[] = {&counter_type, &socket_type, &address_type,
						  &owner_type,   &thread_type, NULL};

static const struct snapshot_source wire_source = {
	.name = "wire",
	.lost = "DNS queries, UDP requests, and refused or reset connections",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.state_size = sizeof(struct netns_states),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(wire_source);
