/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/reset_tally.h"

#include "event/tcp/tcp_reset.h"
#include "event/tcp/tcp_reset_names.h"
#include "probe/tally.h"
#include "snapshot/proc/counter.h"

_Static_assert((int)RESET_AFTER_SYN == (int)TCP_RESET_AFTER_SYN &&
		       (int)RESET_AFTER_ANSWER == (int)TCP_RESET_AFTER_ANSWER,
	       "the moments of the event");

#define R struct reset_record
static const struct field reset_fields[] = {
	FIELD(R, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(R, raddr, ADDR, "remote address"),
	FIELD(R, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(R, after, ENUM, "what the resets followed", .names = &tcp_reset_after_names, .zero_is_unknown = true),
	FIELD(R, resets, COUNT, "resets received"),
};
#undef R
RECORD_TYPE(reset_type, "reset", struct reset_record, reset_fields, "resets received, by service");

#define SERVICES_MAX 1024

static bool fill(struct snapshot *snapshot _unused_, const struct record *event _unused_,
		 const struct tally_figures *figures, void *data)
{
	((struct reset_record *)data)->resets = figures->count;
	return true;
}

/* Connections are being reset. */
static bool sees_resets(const struct snapshot *snapshot, uint64_t *memory)
{
	uint64_t resets = 1;

	snapshot_each(snapshot, netns_type, struct netns_record, netns) {
		uint64_t here = counter_find(snapshot, netns->netns, "TcpEstabResets");

		resets += here == UINT64_MAX ? 0 : here;
	}
	if (*memory == 0)
		*memory = resets;
	return resets > *memory;
}

static const char *const keys[] = {"netns", "raddr", "rport", "after", NULL};
static const char *const rest[] = {"netns", "after", NULL};

static const struct tally reset_tally = {
	.event = "tcp.reset",
	.where = "dir == rx",
	.by = keys,
	.rest = rest,
	.cap = SERVICES_MAX,
	.sign = sees_resets,
	.fill = fill,
};
TALLY_SOURCE(reset_source, reset_tally, reset_type, "reset", "resets received, by service");
