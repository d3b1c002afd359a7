/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection of the fleet, from both of its ends: what each end counted (conn_minute.h), what was lost between them,
 * and what the hosts found about it. A finding about a host's own modules is a fact of that host; one about the path or
 * the peer is an inference, which the other end confirms or refutes.
 */
#pragma once

#include "diagnose/infer/diagnosis.h"
#include "fleet/kept_answer.h"

struct fleet_conn;

/* conn: "ADDR:PORT-ADDR:PORT", seen from the first. -EINVAL: not that; -ENODATA: no host has rows of it. */
int fleet_conn_make(struct fleet_link *link, const char *conn, const struct fleet_span *span,
		    struct fleet_conn **ret_conn, struct why *why) _must_check_;
void fleet_conn_free(struct fleet_conn *conn);
static inline void fleet_conn_freep(struct fleet_conn **conn)
{
	fleet_conn_free(*conn);
}

/* As of a diagnosis of two recordings; valid as long as the connection. */
const struct diagnosis_record *fleet_conn_diagnosis(const struct fleet_conn *conn);

/* --- for tests --- */

/* One finding of one host. */
struct fleet_conn_finding {
	const char *host;
	const char *cause, *layer, *module;
	double certainty;
};

/* Certainty with both ends known. other_own: the other host found a fault of its own; lost: share, NAN: unknown. */
double fleet_conn_judge(const struct fleet_conn_finding *finding, bool other_own, double lost);
