/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retransmissions in kind, and the life of a connection as the kernel remembers it. */
#pragma once

#include "record/field.h"

struct retransmission_measures {
	/* In the last three windows. */
	uint64_t recent_retrans, recent_rtos, recent_spurious, recent_reorders;
	double recent_spurious_share, recent_wasted_share;
	uint64_t recent_acked_bytes, recent_ooo;
	double recent_ooo_share, recent_duplicate_share;
	uint64_t path_losing, path_losing_served, path_acks_lost;
	/* The same of the namespace. */
	uint64_t recent_fast, recent_probes, recent_probe_repairs, recent_duplicates;
	/* Of the life of the connection before the run. */
	uint64_t life_recoveries, life_spurious;
	double life_recovery_share;
	double life_loss_share, life_spurious_share, life_wasted_share, life_ooo_share;
	uint64_t life_ack_ns, ack_ns;
	double ack_growth;
	double life_rwnd_share, life_sndbuf_share;
	uint64_t life_rate, busy_rate;
	double life_slowdown;
};

extern const struct record_type retransmission_measures_type;
