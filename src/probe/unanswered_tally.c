/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/unanswered_tally.h"

#include "event/tcp/tcp.h"
#include "event/tcp/tcp_exchange.h"
#include "event/tcp/tcp_exchange_names.h"
#include "probe/tally.h"

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
	.fill = fill,
};
TALLY_SOURCE(unanswered_source, unanswered_tally, unanswered_type, "unanswered",
	     "requests that ended without an answer, by service");
