/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/datagram.h"

#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/macros.h"

#define D struct datagram_record
static const struct field datagram_fields[] = {
	FIELD(D, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(D, raddr, ADDR, "remote address"),
	FIELD(D, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(D, lport, ID, "local port of the oldest request without an answer, or of the service here",
	      .zero_is_unknown = true),
	FIELD(D, serves, BOOL, "the service is here, and its clients are others"),
	FIELD(D, is_read, BOOL, "a program reads from the port that it sends from"),
	FIELD(D, pid, ID, "program that waits for it and nothing else", .zero_is_unknown = true),
	FIELD(D, comm, TEXT, "its name"),
	FIELD(D, requests, COUNT, "requests to it"),
	FIELD(D, repeats, COUNT, "datagrams that repeat the one before"),
	FIELD(D, unheeded, COUNT, "of these, sent although an answer came in between, which was too late"),
	FIELD(D, answers, COUNT, "answers from it"),
	FIELD(D, slow_answers, COUNT, "answers later than 200 ms after the last request or repeat"),
	FIELD(D, answer_ns, DURATION, "total time from a request to its answer"),
	FIELD(D, pending, COUNT, "requests without an answer"),
	FIELD(D, oldest_ns, DURATION, "age of the oldest request without an answer"),
	FIELD(D, overdue, COUNT, "requests without an answer after 300 ms"),
};
#undef D
RECORD_TYPE(datagram_type, "datagram", struct datagram_record, datagram_fields,
	    "UDP requests to a remote service, or to one of this host");

#define SERVICES_MAX 1024
#define FLOWS_MAX    4096
/* Where the ports of clients begin (net.ipv4.ip_local_port_range). */
#define EPHEMERAL_PORT 32768
/* A datagram that passes two interfaces on top of each other is seen twice within less. */
#define SEEN_TWICE_NS (20 * NSEC_PER_MSEC)
/* Nobody repeats a request sooner; the same samples of a sensor may be sent sooner. */
#define REPEAT_NS (100 * NSEC_PER_MSEC)
#define FORGET_NS (15 * NSEC_PER_SEC)

struct flow_key {
	struct addr raddr;
	uint16_t lport, rport;
};

struct flow {
	uint64_t first_ns;          /* of the request that has no answer; 0: none */
	uint64_t last_ns;           /* of the last request or repeat */
	uint32_t digest;            /* of that */
	uint32_t repeats, unheeded; /* that do not count yet */
	bool overdue;
};

struct service {
	struct datagram_record record;
	uint64_t heard_ns;
	bool varies; /* a port has sent it different requests: the same again is a repeat, and no sign of life */
};

void datagrams_init(struct datagrams *datagrams)
{
	*datagrams = (struct datagrams){
		.services = MAP_INIT(sizeof(struct endpoint), sizeof(struct service), SERVICES_MAX),
		.flows = MAP_INIT(sizeof(struct flow_key), sizeof(struct flow), FLOWS_MAX),
	};
}

void datagrams_done(struct datagrams *datagrams)
{
	map_done(&datagrams->services);
	map_done(&datagrams->flows);
}

static struct flow_key flow_key_of(const struct wire_packet *packet)
{
	struct flow_key key;

	memset(&key, 0, sizeof(key));
	key.raddr = packet->raddr;
	key.lport = packet->lport;
	key.rport = packet->rport;
	return key;
}

static struct endpoint service_key(const struct addr *raddr, uint16_t rport)
{
	struct endpoint key;

	memset(&key, 0, sizeof(key));
	key.addr = *raddr;
	key.port = rport;
	return key;
}

/* The port of a service is lower than those of its clients. */
static bool is_served(const struct flow_key *flow)
{
	return flow->lport < flow->rport;
}

/* A service of this host has no remote address: its clients have many. */
static struct endpoint service_key_of(const struct flow_key *flow)
{
	static const struct addr none;

	return is_served(flow) ? service_key(&none, flow->lport) : service_key(&flow->raddr, flow->rport);
}

static struct service *service_of(struct datagrams *datagrams, const struct flow_key *flow, uint64_t time_ns)
{
	struct endpoint key = service_key_of(flow);
	struct service *service = map_put(&datagrams->services, &key, NULL);

	if (!service)
		return NULL;
	service->heard_ns = time_ns;
	service->record.serves = is_served(flow);
	if (service->record.serves) {
		service->record.lport = flow->lport;
	} else {
		service->record.raddr = flow->raddr;
		service->record.rport = flow->rport;
	}
	return service;
}

/* Two ports of the same kind ask nothing of each other. */
static bool is_exchange(const struct flow_key *flow)
{
	return flow->lport != flow->rport && min_of(flow->lport, flow->rport) < EPHEMERAL_PORT &&
	       !addr_is_multicast(&flow->raddr);
}

static void count_repeat(struct service *service, struct flow *flow, bool same, bool differs)
{
	flow->repeats += same;
	flow->unheeded += same && flow->first_ns == 0;
	service->varies |= differs;
	if (!service->varies)
		return;
	service->record.repeats += flow->repeats;
	service->record.unheeded += flow->unheeded;
	flow->repeats = flow->unheeded = 0;
}

static void take_request(struct datagrams *datagrams, const struct flow_key *key, const struct wire_packet *packet,
			 uint64_t time_ns)
{
	struct flow *flow = map_put(&datagrams->flows, key, NULL);
	struct service *service = flow ? service_of(datagrams, key, time_ns) : NULL;
	uint64_t since_ns;
	bool same;

	datagrams->lost += !service;
	if (!service)
		return;
	since_ns = time_ns > flow->last_ns ? time_ns - flow->last_ns : 0;
	same = flow->last_ns && flow->digest == packet->digest;
	if (same && since_ns < SEEN_TWICE_NS)
		return;
	same = same && since_ns >= REPEAT_NS;
	service->record.requests += !same;
	count_repeat(service, flow, same, flow->last_ns && flow->digest != packet->digest);
	/* Another request: the program no longer waits for the answer to the one before. */
	if (flow->first_ns == 0 || (!same && flow->overdue)) {
		flow->first_ns = time_ns;
		flow->overdue = false;
	}
	flow->last_ns = time_ns;
	flow->digest = packet->digest;
}

static void take_answer(struct datagrams *datagrams, const struct flow_key *key, uint64_t time_ns)
{
	struct flow *flow = map_get(&datagrams->flows, key);
	struct service *service =
		flow && flow->first_ns && time_ns >= flow->last_ns ? service_of(datagrams, key, time_ns) : NULL;

	if (!service)
		return;
	service->record.answers++;
	service->record.slow_answers += time_ns - flow->last_ns > WIRE_SLOW_NS;
	service->record.answer_ns += time_ns - flow->first_ns;
	flow->first_ns = 0;
	flow->overdue = false;
}

void datagrams_take(struct datagrams *datagrams, const struct wire_packet *packet, uint64_t time_ns)
{
	struct flow_key key = flow_key_of(packet);

	if (!is_exchange(&key))
		return;
	if (packet->outgoing != is_served(&key))
		take_request(datagrams, &key, packet, time_ns);
	else
		take_answer(datagrams, &key, time_ns);
}

void datagrams_miss(struct datagrams *datagrams)
{
	map_done(&datagrams->flows);
}

static void forget_services(struct datagrams *datagrams, uint64_t now_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&datagrams->services, &at, &key, &value)) {
		struct service *service = value;

		service->record.pending = service->record.oldest_ns = 0;
		if (!service->record.serves)
			service->record.lport = 0;
		if (now_ns > service->heard_ns + FORGET_NS)
			(void)map_remove(&datagrams->services, key);
	}
}

void datagrams_age(struct datagrams *datagrams, uint64_t now_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	forget_services(datagrams, now_ns);
	while (map_next(&datagrams->flows, &at, &key, &value)) {
		const struct flow_key *ports = key;
		struct endpoint asked = service_key_of(ports);
		struct service *service = map_get(&datagrams->services, &asked);
		struct flow *flow = value;
		uint64_t age = flow->first_ns && now_ns > flow->first_ns ? now_ns - flow->first_ns : 0;

		if (service && flow->first_ns) {
			service->record.pending++;
			service->record.overdue += !flow->overdue && age > WIRE_OVERDUE_NS;
			flow->overdue = age > WIRE_OVERDUE_NS;
			if (age >= service->record.oldest_ns && !service->record.serves)
				service->record.lport = ports->lport;
			service->record.oldest_ns = max_of(service->record.oldest_ns, age);
		}
		if (now_ns > flow->last_ns + FORGET_NS)
			(void)map_remove(&datagrams->flows, key);
	}
}

void datagrams_add(const struct datagrams *datagrams, struct snapshot *snapshot, uint32_t netns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&datagrams->services, &at, &key, &value)) {
		struct datagram_record *record = snapshot_table_add(snapshot_table(snapshot, &datagram_type));

		if (!record)
			return;
		*record = ((const struct service *)value)->record;
		record->netns = netns;
	}
}
