/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol counters of the whole host (or namespace); they do not distinguish connections. */
#pragma once

#include "record/field.h"

struct host_measures {
	uint64_t host_no_routes;
	uint64_t host_listen_overflows;
	uint64_t host_syn_queue_full;
	uint64_t host_syncookies;
	uint64_t host_attempt_fails;
	uint64_t host_resets_in;
	uint64_t host_resets_out;
	uint64_t host_memory_pressures;
	uint64_t host_memory_drops;
	uint64_t host_timewait_overflows;
	uint64_t host_udp_no_port;
	uint64_t host_udp_buffer_errors;
	uint64_t host_unreachable_in;
	uint64_t host_unreachable_out;
	uint64_t host_frag_needed_in;
	uint64_t host_rp_filter;
	uint64_t host_csum_errors;
	uint64_t host_syn_retrans;
	uint64_t host_out_discards;
	uint64_t host_local_retrans_fails;
	uint64_t host_zero_window_adv;
	uint64_t host_backlog_drops;
	uint64_t host_rto_count;
	uint64_t host_dsack_sent;
	uint64_t softnet_dropped, softnet_squeezed;
	uint32_t softnet_cpu; /* whose backlog dropped most */
	uint32_t softnet_cpus;
	double softnet_cpu_share;
	uint32_t softirq_cpu; /* that spent most time in softirqs */
	double softirq_cpu_share, softirq_rest_share;
	double tcp_memory_share;
	uint8_t tcp_pressure;
	uint64_t tcp_memory_bytes;
	uint64_t timewait_count, timewait_max;
	double conntrack_share;
	uint64_t conntrack_drops, conntrack_invalid;
	uint64_t firewall_drops, firewall_rejects;
	double ports_share;
	uint64_t ports_used;
};

extern const struct record_type host_measures_type;
