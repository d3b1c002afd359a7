/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interruptions of connections in a run of snapshots, one record each, with what they had in common. */
#pragma once

#include "run/run_snapshots.h"
#include "view/output.h"

enum stall_share {
	STALL_UNKNOWN,    /* nobody else used the path, so nobody can tell */
	STALL_CONNECTION, /* others to the same host made progress */
	STALL_PEER,       /* the peer closed its window */
	STALL_PATH,       /* all connections to the host */
	STALL_HOST,       /* connections to several hosts, and none made progress */
	STALL_LINK,       /* the interface lost or regained its carrier, or was set down or up */
};

struct stall_record {
	uint64_t time_ns; /* of the last progress before it */
	uint64_t span_ns;
	uint64_t error_ns; /* of the span, either way */
	uint8_t kind;
	uint8_t shared;
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint32_t pid;
	char comm[16];
	char dev[16];
	uint64_t path_conns, other_conns;
	uint32_t timeouts, retrans;
	uint32_t link_changes;
	bool ongoing;
	uint32_t netns;
	uint64_t cookie;
};

extern const struct record_type stall_type;

struct run_stalls {
	struct run_sink sink;
	struct run_snapshots snapshots;
	const struct output_options *output;
	const struct output_column *columns;
	uint64_t least_ns; /* shorter ones are not shown */
	struct map tracks; /* netns -> struct netns_stalls * */
	struct snapshot_slice *slice;
	uint64_t boot_to_time_ns;
	uint64_t now_ns; /* of the last sample, boot time */
	uint64_t due_ns;
	uint64_t samples;
};

/* Makes it a source of the run with this as its sink. */
void run_stalls_init(struct run_stalls *stalls, struct run *run, const char *netns);
