/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/unanswered_tally.h"

#include "base/clock.h"
#include "base/map.h"
#include "event/tcp/tcp.h"
#include "event/tcp/tcp_exchange.h"
#include "event/tcp/tcp_exchange_names.h"
#include "probe/asking.h"
#include "probe/tally.h"
#include "snapshot/socket/socket.h"

#define U struct unanswered_record
static const struct field unanswered_fields[] = {
	FIELD(U, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(U, serves, BOOL, "this host is the server"),
	FIELD(U, service, ADDR, "address of the service; unknown where this host is the server"),
	FIELD(U, service_port, ID, "port of the service", .zero_is_unknown = true),
	FIELD(U, outcome, ENUM, "how the connection ended", .names = &tcp_exchange_outcome_names,
	      .zero_is_unknown = true),
	FIELD(U, requests, COUNT, "requests that ended without an answer since the first sample"),
	FIELD(U, min_ns, DURATION, "shortest wait of these"),
	FIELD(U, mean_ns, DURATION, "mean wait"),
	FIELD(U, max_ns, DURATION, "longest wait"),
};
#undef U
RECORD_TYPE(unanswered_type, "unanswered", struct unanswered_record, unanswered_fields,
	    "requests that ended without an answer, by service");

#define SERVICES_MAX 1024

static bool fill(struct snapshot *snapshot _unused_, const struct record *event, const struct tally_figures *figures,
		 void *data)
{
	struct unanswered_record *record = data;

	record->serves = ((const struct tcp_exchange *)event->parts[EVENT_PART_DATA])->role == TCP_ROLE_SERVER;
	record->requests = figures->count;
	record->min_ns = (uint64_t)figures->min;
	record->mean_ns = (uint64_t)figures->sum / figures->count;
	record->max_ns = (uint64_t)figures->max;
	return true;
}

/* A reply this late may stay away; the next sample still comes before it counts as unanswered. */
#define WAITS_NS (50 * NSEC_PER_MSEC)
/* Samples at a slower pace miss waits of 300 ms between them. */
#define APART_NS (500 * NSEC_PER_MSEC)

struct local {
	uint32_t netns, port;
};

static void note_listeners(const struct snapshot *snapshot, struct map *ports)
{
	snapshot_each(snapshot, socket_type, struct socket_record, s)
		if (s->state == SOCKET_LISTEN)
			(void)map_put(ports, &(struct local){s->netns, s->lport}, NULL);
}

/* In one tick both: what the kernel knows of the order. */
static bool has_sent_last(const struct snapshot *snapshot, const struct tcp_record *t)
{
	if (t->last_sent_ns != t->last_received_ns || t->order != TCP_ORDER_UNKNOWN)
		return t->last_sent_ns < t->last_received_ns || t->order == TCP_SENT_LAST;
	snapshot_each(snapshot, asking_type, struct asking_record, asking)
		if (asking->cookie == t->tcp_cookie)
			return asking->sent_last;
	return true;
}

static bool waits(const struct snapshot *snapshot, const struct socket_record *s, const struct map *listening)
{
	const struct tcp_record *t = socket_tcp(snapshot, s);

	bool open = s->state == SOCKET_ESTABLISHED || s->state == SOCKET_FIN_WAIT1 || s->state == SOCKET_FIN_WAIT2;

	return t && open && t->bytes_sent != 0 && t->last_sent_ns >= WAITS_NS &&
	       t->last_sent_ns <= t->last_received_ns && !map_get(listening, &(struct local){s->netns, s->lport}) &&
	       has_sent_last(snapshot, t);
}

/* A client of this host waits for a reply. */
static bool sees_waits(const struct snapshot *snapshot, uint64_t *memory)
{
	_cleanup_(map_done) struct map listening = MAP_INIT(sizeof(struct local), 1, 1 << 16);
	bool apart = *memory && snapshot->begin_boot_ns - *memory > APART_NS;

	*memory = snapshot->begin_boot_ns;
	if (apart || !snapshot_wants(snapshot, &tcp_type))
		return true;
	note_listeners(snapshot, &listening);
	snapshot_each(snapshot, socket_type, struct socket_record, s)
		if (waits(snapshot, s, &listening))
			return true;
	return false;
}

static const char *const keys[] = {"netns", "role", "service", "service_port", "outcome", NULL};
static const char *const rest[] = {"netns", "role", "outcome", NULL};

/* Nobody waits for less; a longer silence was no wait for an answer. */
static const struct tally unanswered_tally = {
	.event = "tcp.exchange",
	.where = "lat >= 300ms and lat <= 60s",
	.by = keys,
	.rest = rest,
	.value = "lat_ns",
	.cap = SERVICES_MAX,
	.sign = sees_waits,
	.fill = fill,
};
TALLY_SOURCE(unanswered_source, unanswered_tally, unanswered_type, "unanswered",
	     "requests that ended without an answer, by service");
